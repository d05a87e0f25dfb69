# A store of an earlier version becomes what a new one is.  It keeps its rows, and
# the API answers as before, also while the index of searches is made anew.  The
# stores were made by t/install/store, and it is the time again when that was.

use lib 't/lib';
use Guildlog;
use Guildlog::Clock;
use Guildlog::Cluster;
use File::Temp qw(tempdir);
use POSIX ();

my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my $clock   = Guildlog::Clock->new($dir);
my ($cluster, $new);


# a client of PostgreSQL with the text as its input: was it well, and what it
# said
sub client {
    my ($user, $password, $text, $program, @arguments) = @_;

    local $ENV{PGPASSWORD} = $password;
    my $in = "$dir/in";
    open my $file, '>:raw', $in or die "$in: $!";
    print {$file} $text;
    close $file;
    my $said = qx{$program -h "@{[$cluster->socket_dir]}" \\
        -p "@{[$cluster->port]}" -U "$user" @arguments 2>&1 < "$in"};
    utf8::decode($said);
    return ($? == 0, $said);
}


# the objects of the schema, each as a text.  Of partitions each thing stands
# there once, whatever their days are
sub objects {
    my ($database) = @_;

    my ($ok, $dump) = client('postgres', $cluster->password, '', 'pg_dump',
        qw(-s -n guildlog -T guildlog.entries), $database);
    die $dump if !$ok;
    $dump =~ s/^(?:--.*|\\.*)\n//gm;
    my %seen;
    return grep { /\S/ && !$seen{$_}++ } map {
        s/\b(log_arrival|lane_batch)_(?:\d{8}|past)\w*/$1_DAY/g;
        s/\b(said(?:_long)?)_\d+\w*/$1_DAY/g;
        s/FOR VALUES FROM \(.*?\) TO \(.*?\)/FOR VALUES/g;
        s/(?<=WITH \()(.*?)(?=\))/join ', ', sort split m{, }, $1/ge;
        s/\A\s+|\s+\z//gr;
    } split /;\n\n/, $dump;
}


# how many rows each table has
sub rows {
    my ($dbh) = @_;

    return { map { $_->[0] => $dbh->selectrow_array(
            "select count(*) from guildlog.$_->[0]") }
        @{ $dbh->selectall_arrayref(q(select relname from pg_class
            where relnamespace = 'guildlog'::regnamespace
              and relkind in ('r', 'p') and not relispartition)) } };
}


# is all that was in the one answer in the other?  There may be more
sub within {
    my ($was, $is) = @_;

    return defined $is ? $was eq $is : 0 if defined $was && !ref $was;
    return !defined $is if !defined $was;
    return 0 if ref $was ne ref $is;
    return !grep { !within($was->{$_}, $is->{$_}) } keys %$was
        if ref $was eq 'HASH';
    return @$was == @$is && !grep { !within($was->[$_], $is->[$_]) } 0 .. $#$was
        if ref $was eq 'ARRAY';
    return "$was" eq "$is";
}


# the lines of a CSV without the fifth cell, which has been a sentence since
# 0.2
sub without_summary {
    my ($csv) = @_;

    return map { s/^((?:[^,]*,){4})(?:"(?:[^"]|"")*"|[^,]*)/$1/r }
        split /\r?\n/, $csv;
}


# the paths of which the answer is another one than the old one
sub changed {
    my ($g, $token, $answers) = @_;

    return grep { defined } map {
        my ($bot, $path, $was) = @$_;
        utf8::encode($was);
        my $answer = $g->get($path, token => $token->{$bot});
        my $same = $answer->status == 200 && (eval {
            within(json->decode($was), $answer->json)
        } // do {
            my @is = without_summary($answer->text);
            my @was = without_summary($was);
            @was == @is && !grep { index $is[$_], $was[$_] } 0 .. $#was;
        });
        $same ? undef : "$bot $path";
    } @$answers;
}


# what the keeper of an earlier version does in its turn, which is longer than usual:
# it has its lock when the upgrade begins, and then reads tables
sub keeper_of_before {
    my ($database) = @_;

    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        my $ok = eval {
            my $dbh = $cluster->connect($database);
            $dbh->begin_work;
            $dbh->do(q(select pg_advisory_xact_lock(hashtext('guildlog.keeper'))));
            wait_for { $dbh->selectrow_array(q(select count(*) from pg_locks
                where locktype = 'advisory' and not granted)) } 120, 'the upgrade';
            rows($dbh);
            $dbh->commit;
            1;
        };
        warn $@ if !$ok;
        POSIX::_exit(!$ok);
    }
    return $pid;
}


for my $file (sort glob 't/install/stores/*.sql.xz') {
    my ($version) = $file =~ m{(\d+)\.sql};
    my $dump = qx{xz -dc "$file"};
    my ($at, $main, $pro) = $dump =~ /^COPY public\.made .*\n(\d+)\t(.*)\t(.*)/m
        or die $file;

    $clock->set($at - time);
    $cluster ||= Guildlog::Cluster->new(env => $clock->env);
    my $name = $cluster->create_database;
    $new ||= [objects($name)];

    my $admin = $cluster->connect('postgres', 'postgres');
    $admin->do("drop database $name");
    $admin->do("create database $name owner guildlog_owner template template0");
    my ($ok, $said) = client('postgres', $cluster->password, $dump, 'psql',
        qw(-X -q -o /dev/null -v ON_ERROR_STOP=1 -d), $name);
    die $said if !$ok;

    my $dbh    = $cluster->connect($name);
    my $before = rows($dbh);
    is_deeply [grep { !$before->{$_} } keys %$before], [],
        "$version: something is in every table";

    my $keeper = keeper_of_before($name);
    wait_for { $dbh->selectrow_array(q(select count(*) from pg_locks
        where locktype = 'advisory' and granted)) } 60, 'the keeper of before';
    is_deeply [client('guildlog_owner', 'owner', '', 'psql', qw(-X -q -v
            operator=guildlog -v worker=guildlog -f sql/install.sql -d), $name)],
        [1, ''], "$version: it is upgraded";
    waitpid $keeper, 0;
    is $?, 0, "$version: beside a keeper of before";

    my $after = rows($dbh);
    is_deeply [grep { /^(?!keeper(?:_parked)?$|schema_version$|log_c[ho]|search_)/
            && $after->{$_} < $before->{$_} }
            grep { exists $before->{$_} } keys %$after], [],
        "$version: no row is lost, but what is made anew";

    # no release had these, so they go with sql/migrations/0040_earlier.sql
    is_deeply $dbh->selectall_arrayref(q(select l.reason, count(*)
          from guildlog.lane l join guildlog.notification n
            on n.guild_id = l.guild_id and n.description ~ l.reason
         where l.channel_id = 300000000000000009 group by 1)),
        [['foreign_channel', 1]], "$version: a channel of another server ends"
        if $version eq '0024';

    my @objects = objects($name);
    my %had = map { $_ => 1 } @$new;
    my %has = map { $_ => 1 } @objects;
    is_deeply [grep { !$has{$_} } @$new], [], "$version: it has every object";
    is_deeply [grep { !$had{$_} } @objects], [], "$version: and no other one";

    my $g = Guildlog->new(name => "nginx$version", cluster => $cluster,
        dbname => $name, env => $clock->env, api => 'guildlog_limit off;');
    my ($guild) = $dump =~ m{^main\t/servers/(\d+)}m;
    my %token = map { $_->[0] => $g->sign($g->claims($guild, bot => $_->[0],
        jti => $_->[1], iat => $at, exp => $at + 3600)) }
        ['main', $main], ['pro', $pro];
    my $answers = $dbh->selectall_arrayref('select * from public.answer');
    ok @$answers > 30, "$version: there are old answers";
    is_deeply [changed($g, \%token, $answers)], [],
        "$version: the API answers as before";

    my @wrong;
    $g->configure(keeper => 'on interval=20ms')->reload;
    wait_for {
        push @wrong, changed($g, \%token, $answers);
        $dbh->selectrow_array(q(select count(*) = 2 from guildlog.search_head
            where guild_id = ? and format > 0 and taken_to is null
              and due_at > now()), {}, $guild);
    } 180, 'an index of searches';    # a job in the dump is taken for 120 s
    is_deeply [@wrong, changed($g, \%token, $answers)], [],
        "$version: and while the index of searches is made anew";
    is_deeply $dbh->selectall_arrayref('select * from guildlog.check(?)', {},
        $guild), [], "$version: nothing differs from the entries";

    # old tokens are what they were, and there may be new ones that only read
    my $made = $g->operator('POST', "/servers/$guild/tokens",
        { permissions => 3, creator => '1' })->json;
    is_deeply [sort map { $_->{permissions} } @{ $g->get(
            "/servers/$guild/auth", token => $token{main})->json }], [1, 3],
        "$version: tokens that only read can be made";
    is $g->get("/servers/$guild/logs", token => $made->{token})->status, 200,
        "$version: ... and do";
    is $g->delete("/servers/$guild/auth?tokenId=$made->{unique_id}",
        token => $token{main})->status, 200, "$version: ... until revoked";
    $g->stop;
    $dbh->disconnect;
}

done_testing;
