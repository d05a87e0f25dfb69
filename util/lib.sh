# What the tools share.  Sourced by bash, never run.

set -euo pipefail

# keeps the caller's environment away from the servers started here
unset ${!PG@}
export LC_ALL=C.UTF-8
PATH=$PATH:/usr/sbin:/sbin

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$top/.build

# packages to build, to run, to test, to build nginx itself
packages_build=(gcc libc6-dev make nginx-light nginx-dev libpq-dev
    libjansson-dev libjwt-dev libssl-dev)
packages_run=("${packages_build[@]}" postgresql curl openssl perl
    libyaml-libyaml-perl)
packages_test=(busybox libcpanel-json-xs-perl libdbd-pg-perl
    libio-socket-ssl-perl
    libtap-parser-sourcehandler-pgtap-perl prometheus pgbouncer)
packages_viewer=(chromium fonts-wqy-microhei)
packages_python=(python3-discord mypy python3-pip python3-setuptools
    python3-venv python3-wheel)
packages_bench=(wrk)
packages_package=(build-essential debhelper libyaml-libyaml-perl)
packages_check=(clang-tidy)
packages_valgrind=(valgrind)
packages_fuzz=(clang llvm libclang-rt-dev)
packages_source=(dpkg-dev xz-utils libpcre2-dev zlib1g-dev
    debian-archive-keyring)


say() {
    printf '%s\n' "$*" >&2
}


die() {
    say "${0##*/}: $*"
    exit 1
}


# usage: prints the comment at the head of the calling script
help() {
    sed -n '2,/^$/ { s/^# \{0,1\}//; p }' "$0"
    exit 0
}


am_root() {
    ((EUID == 0))
}


# step "what it does" command...: prints only the name and a line now and then;
# if the command fails, the end of its output, too: 40 lines, or $lines
step() {
    local what=$1 log ticker status
    shift

    mkdir -p "$build"
    log=$(mktemp "$build/step.XXXXXX")
    say "$what"
    ticker "$log" &
    ticker=$!

    # no "||" here: it would keep a function from stopping at its first error
    set +e
    (set -e; "$@") > "$log" 2>&1 < /dev/null
    status=$?
    set -e

    kill $ticker
    wait $ticker 2> /dev/null || true
    ((status == 0)) || tail -n "${lines:-40}" "$log" >&2
    rm -f "$log"
    ((status == 0)) || die "failed: $what"
}


# prints ticks until it is killed, or the file or the tool is gone
ticker() {
    local never seconds
    exec {never}<> <(:)

    for ((seconds = 15; ; seconds += 15)); do
        read -r -t 15 -u "$never" || true
        [[ -e $1 ]] && kill -0 $$ 2> /dev/null || exit 0
        say "  ... $seconds s"
    done
}


# need package...: installs those that are missing, as root or by sudo.  PATH
# begins with stand-ins for their maintainer scripts, so that no service is
# started or enabled and no database cluster is made
need() {
    local missing shims name sudo=() status=0

    missing=($(comm -23 <(printf '%s\n' "$@" | sort -u) \
        <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" \
          2> /dev/null | sed -n 's/^installed //p' | sort -u)))
    ((${#missing[@]})) || return 0

    if ! am_root; then
        command -v sudo > /dev/null \
            || die "please install, as root: ${missing[*]}"
        sudo=(sudo)
    fi

    shims=$(mktemp -d)
    for name in invoke-rc.d update-rc.d service systemctl deb-systemd-invoke \
                deb-systemd-helper pg_createcluster
    do
        ln -s /bin/true "$shims/$name"
    done
    chmod 755 "$shims"

    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        NEEDRESTART_SUSPEND=1 apt-get -q -y -o DPkg::Lock::Timeout=600
        -o "DPkg::Path=$shims:/usr/sbin:/usr/bin:/sbin:/bin")

    # apt refuses until what was interrupted is ended; it may be somebody else's,
    # who is at work, and apt waits for that
    [[ -z $(dpkg --audit) ]] || (lines=0 step "Ending what was interrupted" \
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        PATH="$shims:$PATH" dpkg --configure -a) || true

    local command=(install --no-install-recommends "${missing[@]}")

    # old lists name packages that do not exist any more
    { "${apt[@]}" --simulate "${command[@]}" > /dev/null 2>&1 \
        && (lines=0 step "Installing ${missing[*]}" "${apt[@]}" "${command[@]}")
    } || {
        (step "Reading the package lists" "${apt[@]}" update) \
            && (lines=10 step "Installing ${missing[*]}" "${apt[@]}" \
                "${command[@]}")
    } || status=$?

    rm -rf "$shims"
    ((status == 0)) || die "please install, as root: ${missing[*]}"
}


# the mirror that the system's own packages come from
debian_mirror() {
    local release mirror

    release=$(. /etc/os-release; echo "$VERSION_CODENAME")
    mirror=$(apt-get --print-uris update \
        | sed -n "s|^'\(.*\)/dists/$release/InRelease'.*|\1|p" | head -n 1)
    [[ -n $mirror ]] || die "no Debian mirror is configured"
    echo "$mirror"
}


# new_debian suite folder: a Debian with nothing in it, as debootstrap makes one;
# for a day there is a copy.  Needs root
new_debian() {
    local copy=$build/debian-$1.tar

    need debootstrap
    if [[ -z $(find "$copy" -mmin -1440 2> /dev/null) ]]; then
        debootstrap --variant=minbase "$1" "$2" "$(debian_mirror)"
        echo force-unsafe-io > "$2/etc/dpkg/dpkg.cfg.d/fast"
        tar -C "$2" --one-file-system -cf "$copy.$$" .
        mv "$copy.$$" "$copy"
    else
        tar -C "$2" -xpf "$copy"
    fi
}


# node_packages folder: installs what the tests there need into the folder of that
# name in .build.  A Node.js that is not Debian's brings its own npm.
node_packages() {
    local dir=$build/${1##*/} lock=$top/$1/package-lock.json

    command -v node > /dev/null || need nodejs
    command -v npm > /dev/null || need npm

    ! cmp -s "$lock" "$dir/installed" || return 0
    mkdir -p "$dir"
    cp "$top/$1"/package{,-lock}.json "$dir"
    step "Installing the packages of $1" npm --prefix "$dir" \
        --cache "$build/npm" ci --ignore-scripts --no-audit --no-fund
    cp "$lock" "$dir/installed"
}


# the programs of the newest PostgreSQL
pg_bin() {
    local dirs=(/usr/lib/postgresql/*/bin)
    printf '%s\n' "${dirs[@]}" | sort -V | tail -n 1
}


# the package of its extension for tests in SQL
pg_tap() {
    local bin
    bin=$(pg_bin)
    bin=${bin%/bin}
    echo "postgresql-${bin##*/}-pgtap"
}


# where the control files of its extensions are
pg_share() {
    "$(pg_bin)/pg_config" --sharedir
}


# as_user user command...: runs it as that user if we are root
as_user() {
    if am_root; then
        setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups \
            env -C / HOME=/ "${@:2}"
    else
        "${@:2}"
    fi
}


# PostgreSQL refuses to run as root
as_pg() {
    as_user postgres "$@"
}


port_is_free() {
    perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(Listen => 1,
        ReuseAddr => 1, LocalAddr => "127.0.0.1", LocalPort => shift)' "$1"
}


# a free port between those of t/ and those that the kernel gives to clients
free_port() {
    local port
    until port=$((RANDOM % 7000 + 25000)) && port_is_free $port; do :; done
    echo $port
}


secret() {
    openssl rand -hex 32 | tr -d '\n'
}


# wait_for seconds command...
wait_for() {
    local tries=$(($1 * 20))
    shift

    until "$@"; do
        ((tries--)) || return 1
        sleep 0.05
    done
}


# home folder: prints the folder itself, or one in /var/tmp in its place, where
# the unprivileged users of servers that root started cannot enter it or the
# name of a socket in it would be too long.  "home" in the folder leads to it
home() {
    local home=$1

    mkdir -p "$1"
    own "$1"

    if [[ -L $1/home ]]; then
        home=$(readlink "$1/home")
        ! is_copy "$1" "$home" || { rm "$1/home"; home=; }
    elif ((${#1} > 80)) || ! as_pg test -x "$1" || ! as_user nobody test -x "$1"
    then
        home=
    elif is_copy "$1" "$1"; then
        rm -f "$1"/private/{env,port,session} "$1"/private/keys/platform \
            "$1"/nginx/nginx.pid "$1"/platform/pid \
            "$1"/pg/data/postmaster.pid
    fi

    if [[ -z $home ]]; then
        home=$(mktemp -d /var/tmp/guildlog-XXXXXX)
        ln -s "$home" "$1/home"
    fi

    mkdir -p "$home"
    own "$home"
    echo "$1" > "$home/home-of"
    echo "$home"
}


own() {
    [[ -O $1 ]] || die "$1 belongs to somebody else"
    chmod 711 "$1"
}


# is_copy folder home: another folder, of which this one is a copy, still has
# that home.  Where it is gone the folder was moved.
is_copy() {
    local of

    of=$(cat "$2/home-of" 2> /dev/null) || return
    [[ $of != "$1" ]] \
        && [[ $of/home -ef $2 || $(cat "$of/home-of" 2> /dev/null) == "$of" ]]
}


# The folder of a cluster has data/, run/ with the socket, the log, and the
# password of the superuser "postgres".  Every function takes the folder.

cluster_make() {
    local dir=$1

    # the password is there until it is whole
    [[ ! -s $dir/data/PG_VERSION || -e $dir/initdb.password ]] || return 0

    cluster_folders "$dir"
    (umask 077 && secret > "$dir/password" && cp "$dir"/{,initdb.}password)
    ! am_root || chown postgres: "$dir/initdb.password"

    as_pg "$(pg_bin)/initdb" -D "$dir/data" -U postgres -E UTF8 \
        --locale=C.UTF-8 --auth=scram-sha-256 --no-instructions \
        --pwfile="$dir/initdb.password" > /dev/null \
        || { rm -rf "$dir/data"; die "initdb failed"; }
    as_pg tee -a "$dir/data/postgresql.conf" > /dev/null \
        <<< "include 'guildlog.conf'"
    rm "$dir/initdb.password"
}


# what a cluster without data has, in that folder
cluster_folders() {
    mkdir -p "$1"
    chmod 711 "$1"
    rm -rf "$1/data" "$1/run"
    mkdir -m 700 "$1/data"
    mkdir -m 711 "$1/run"
    : > "$1/log"
    ! am_root || chown postgres: "$1"/{data,run,log}
}


# pids of the cluster's processes, also when their parent is gone
cluster_pids() {
    as_pg bash -c 'for p in /proc/[0-9]*; do
        [[ $p/cwd -ef $1 && $(< $p/comm) == postgres ]] && echo ${p#/proc/}
        done 2> /dev/null; true' bash "$1/data"
}


cluster_is_gone() {
    [[ -z $(cluster_pids "$1") ]]
}


# cluster_start folder port [setting...]: without a port ("") it listens on
# its unix socket only
cluster_start() {
    local dir=$1 port=${2:-5432} address=${2:+127.0.0.1}
    shift 2

    printf '%s\n' "unix_socket_directories = '$dir/run'" \
        "listen_addresses = '$address'" "port = $port" "$@" \
        | as_pg tee "$dir/data/guildlog.conf" > /dev/null
    echo "$port" > "$dir/port"

    cluster_restart "$dir"
}


# works also after a crash
cluster_restart() {
    local dir=$1 pids

    pids=$(cluster_pids "$dir")
    if [[ -n $pids ]]; then
        kill -KILL $pids 2> /dev/null || true
        wait_for 10 cluster_is_gone "$dir" || die "orphans in $dir"
    fi
    rm -f "$dir/data/postmaster.pid" "$dir"/run/.s.PGSQL.*

    as_pg "$(pg_bin)/pg_ctl" -D "$dir/data" -l "$dir/log" -t 120 -s -w start \
        < /dev/null > /dev/null 2>&1 9>&- \
        || { tail -n 20 "$dir/log" >&2; die "PostgreSQL does not start"; }
}


# cluster_stop folder [fast|immediate]
cluster_stop() {
    as_pg "$(pg_bin)/pg_ctl" -D "$1/data" -m "${2:-fast}" -t 60 -s -w stop \
        > /dev/null 2>&1 || true
}


# cluster_uri folder user password database
cluster_uri() {
    local host=${1//\//%2F}
    echo "postgresql://$2:$3@${host}%2Frun:$(< "$1/port")/$4"
}


cluster_admin() {
    cluster_uri "$1" postgres "$(< "$1/password")" "${2:-postgres}"
}


# sql conninfo [psql's arguments]: stops at the first error.  Everybody can read
# a command line, so the password of a URI goes into the environment.
sql() {
    local uri=$1 PGPASSWORD=${PGPASSWORD-}
    shift

    if [[ $uri =~ ^(postgres(ql)?://[^:@/]*):([^@/]*)(@.*)$ ]]; then
        uri=${BASH_REMATCH[1]}${BASH_REMATCH[4]}
        printf -v PGPASSWORD %b "${BASH_REMATCH[3]//%/\\x}"
    fi

    PGPASSWORD=$PGPASSWORD \
        "$(pg_bin)/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$uri" "$@"
}


# The owner of the schema is not a superuser.  It may make the module's role and
# see and end that role's sessions.  cluster_database folder password name
cluster_database() {
    local admin
    admin=$(cluster_admin "$1")

    sql "$admin" <<SQL
set client_min_messages = warning;
select 'create role guildlog_owner login createrole'
 where not exists (select from pg_roles where rolname = 'guildlog_owner') \gexec
alter role guildlog_owner password '$2';
grant pg_monitor, pg_signal_backend to guildlog_owner;
select 'create database $3 owner guildlog_owner'
 where not exists (select from pg_database where datname = '$3') \gexec
SQL
}


# database_parts conninfo: "host=… port=… dbname=…" as guildlog_database takes
# them, and its sslmode and sslrootcert where it is a URI that has them
database_parts() {
    local parts mode file
    parts=$(sql "$1" <<< '\echo host=:HOST port=:PORT dbname=:DBNAME') \
        || return

    mode=$(uri_parameter sslmode "$1")
    case $mode in
        ''|allow|prefer)     ;;
        disable|verify-full) parts+=" sslmode=$mode" ;;
        *)                   die "sslmode=$mode is not for nginx: disable or \
verify-full" ;;
    esac

    file=$(uri_parameter sslrootcert "$1")
    [[ -z $file ]] || parts+=" sslrootcert=$(realpath "$file")"
    echo "$parts"
}


# uri_parameter name conninfo
uri_parameter() {
    perl -e '
        my ($name, $uri) = @ARGV;
        my ($value) = $uri =~ /[?&]\Q$name\E=([^&]*)/ or exit;
        $value =~ s/%([[:xdigit:]]{2})/chr hex $1/ge;
        print $value' "$@"
}


# schema conninfo [psql's arguments]: installs or upgrades the schema
schema() {
    sql "$@" -o /dev/null -f "$top/sql/install.sql"
}


# let_in conninfo role password: sets the password, unless it works already
let_in() {
    local parts
    parts=$(database_parts "$1")

    PGPASSWORD=$3 sql "$parts user=$2" -c '' 2> /dev/null \
        || sql "$1" <<< "alter role $2 login password '$3'"
}


# render file from to [from to]...: prints the file with each "from" replaced;
# it fails where a "from" does not occur
render() {
    perl -0777 -e '
        my $file = shift;
        open my $in, "<", $file or die "$file: $!\n";
        my $text = <$in>;
        while (my ($from, $to) = splice @ARGV, 0, 2) {
            my $places = $text =~ s/(?<!\S)\Q$from\E(?![^\s;])/$to/g || 0;
            die "$file: \"$from\" does not stand there\n"
                if !$places;
        }
        print $text' "$@"
}


# at_once n command argument...: runs "command argument" for each argument, n of
# them at a time; fails after the last one if any has failed.  It waits by pid:
# "wait -n" overlooks a process that ended before it was called
at_once() {
    local n=$1 command=$2 argument pid pids=() status=0
    shift 2

    for argument; do
        if ((${#pids[@]} == n)); then
            wait "${pids[0]}" || status=1
            pids=("${pids[@]:1}")
        fi

        "$command" "$argument" &
        pids+=($!)
    done

    for pid in "${pids[@]}"; do
        wait "$pid" || status=1
    done

    return $status
}


# builds nginx's own objects that link_pure's programs call.  $flavour: asan
# (the default), fuzz, or coverage, which counts lines instead
pure_library() {
    local tree=$build/${flavour:-asan}
    local library=$tree/libnginx.a objs=$tree/objs

    [[ ! $library -nt $objs/nginx ]] || return 0

    objcopy --redefine-sym main=nginx_main "$objs/src/core/nginx.o" \
        "$tree/nginx.o"
    rm -f "$library"
    find "$objs/src" -name '*.o' ! -path '*/core/nginx.o' -print0 \
        | xargs -0 ar rcs "$library" "$tree/nginx.o" "$objs/ngx_modules.o"
}


# link_pure output source...: a program of pure files, under the sanitizers,
# with the library of its flavour; in $cflags, more flags
link_pure() {
    local tree=$build/${flavour:-asan} output=$1 flags jwt=
    shift

    ! grep -q NGX_GUILDLOG_LIBJWT "$tree/objs/ngx_auto_config.h" || jwt=-ljwt

    flags=$(make -s -C "$build/nginx-1.22" -f - flags <<MAKE
include $tree/objs/Makefile
flags: ; @echo \$(CC) \$(CFLAGS) \$(ALL_INCS)
MAKE
    )
    (cd "$build/nginx-1.22" && $flags -I "$top/src" ${cflags:-} \
        -o "$output" "$@" "$tree/libnginx.a" -lpcre2-8 -lssl -lcrypto -lcrypt \
        -lz $jwt -ljansson -lpq)
}


# The first comment of a program names the pure files it links.  Files that the
# build makes are beside its objects.
sources_of() {
    sed -n '/^ \*\//q; p' "$1" | grep -o 'ngx_guildlog_[a-z0-9_]*\.c' \
        | sort -u | sed "s|^|-o -name |" \
        | xargs find "$top/src" "$build/${flavour:-asan}/objs" -false
}


# test_cluster folder: a cluster for tests, on its socket and by TCP, with and
# without TLS, with the schema in the database "guildlog_template".  Its time
# zone is an unusual one, and one role does all parts
test_cluster() {
    test_cluster_start "$1"

    if [[ -n ${GUILDLOG_CITUS:-} ]]; then
        cluster_database "$1" owner guildlog_template
        test_cluster_citus "$1"
    else
        test_database "$1" guildlog_template
    fi
}


# test_database folder name: with the schema of now, also if it was there
test_database() {
    local uri

    cluster_database "$1" owner "$2"
    uri=$(cluster_uri "$1" guildlog_owner owner "$2")
    schema "$uri" -v operator=guildlog -v worker=guildlog
    test_entries "$uri"
    let_in "$uri" guildlog module
}


# test_entries url: tests see each entry as a row there
test_entries() {
    sql "$1" -o /dev/null -f "$top/t/lib/entries.sql"
}


# test_cluster_start folder [setting...]
test_cluster_start() {
    local dir=$1
    shift

    cluster_make "$dir"
    certificate "$dir/data/server"
    ! am_root || chown postgres: "$dir"/data/server.*
    [[ -z ${GUILDLOG_CITUS:-} ]] || set -- "$@" \
        "shared_preload_libraries = 'citus'" 'max_worker_processes = 200' \
        'max_prepared_transactions = 400' 'citus.shard_count = 8' \
        'citus.enable_unsafe_triggers = on' 'max_connections = 1000'
    cluster_start "$dir" "$(free_port)" 'fsync = off' \
        'full_page_writes = off' 'max_connections = 200' \
        'shared_buffers = 128MB' 'jit = off' 'ssl = on' \
        "timezone = 'Asia/Kathmandu'" "$@"
}


# test_standby folder primary: a hot standby of that cluster, which streams
test_standby() {
    local dir=$1 primary=$2

    cluster_folders "$dir"
    cp "$primary/password" "$dir/password"

    PGPASSWORD=$(< "$primary/password") as_pg "$(pg_bin)/pg_basebackup" \
        -h "$primary/run" -p "$(< "$primary/port")" -U postgres -w \
        -D "$dir/data" -c fast -X stream -R || die "pg_basebackup failed"
    test_cluster_start "$dir"
}


# test_cluster_citus folder: makes it a coordinator of Citus, with a worker in
# each of its folders w1 and w2, and with the schema.  The nodes trust each
# other on loopback; nginx proves to the coordinator who it is.  Copies of the
# template are made on all nodes, so nobody, not even Citus, may be connected
# to it.
test_cluster_citus() {
    local node template

    for node in "$1" "$1/w1" "$1/w2"; do
        [[ $node == "$1" ]] || test_cluster_start "$node"
        [[ $node == "$1" ]] || cluster_database "$node" owner guildlog_template
        as_pg sed -i '1i host all all 127.0.0.1/32 trust' \
            "$node/data/pg_hba.conf"
        [[ $node != "$1" ]] \
            || as_pg sed -i '1i host all guildlog 127.0.0.1/32 scram-sha-256' \
                "$node/data/pg_hba.conf"
        sql "$(cluster_admin "$node")" -o /dev/null \
            -c 'create role guildlog login' -c 'select pg_reload_conf()'
        sql "$(cluster_admin "$node" guildlog_template)" \
            -c 'create extension citus'
    done

    template=$(cluster_admin "$1" guildlog_template)
    sql "$template" -o /dev/null \
        -c "select citus_set_coordinator_host('127.0.0.1', $(< "$1/port"))" \
        -c "select citus_add_node('127.0.0.1', $(< "$1/w1/port"))" \
        -c "select citus_add_node('127.0.0.1', $(< "$1/w2/port"))"

    # the nodes have the coordinator's roles and passwords then

    cp "$1/password" "$1/w1/password"
    cp "$1/password" "$1/w2/password"

    sql "$template" -o /dev/null -v role=guildlog -v operator=guildlog \
        -v worker=guildlog -f "$top/sql/citus.sql"
    test_entries "$(cluster_uri "$1" guildlog_owner owner guildlog_template)"
    let_in "$template" guildlog module

    for node in "$1" "$1/w1" "$1/w2"; do
        sql "$(cluster_admin "$node")" -o /dev/null \
            -c 'alter database guildlog_template allow_connections false' \
            -c "select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = 'guildlog_template'"
    done
}


# certificate name: makes name.key and name.crt, self-signed, for localhost
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 30 -subj /CN=localhost -keyout "$1.key" -out "$1.crt" \
        -addext 'subjectAltName = DNS:localhost, IP:127.0.0.1' 2> /dev/null
    chmod 600 "$1.key"
}
