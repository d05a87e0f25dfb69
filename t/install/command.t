# util/guildlog, against a running service: each command does what it says, its
# status tells how it ended, and no text of others is obeyed by a terminal.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Tool;
use IO::Select;
use IO::Socket::INET;

my $nginx = Guildlog->new(workers => 2);
my $server = $nginx->server(name => 'Attic');
my $none = '100000000000000000';

tool_for($nginx);
$ENV{GUILDLOG_ADMIN_TOKEN} = $nginx->token($server);
my $errors = $nginx->file('stderr', '');


subtest 'alerts' => sub {
    my $id = does("alert add $server --name Raid --type ban --type 41 --count 5"
        . ' --seconds 30 --by executor --role 600000000000000001') =~ s/\n//r;
    like does("alert list $server"),
        qr/^ALERT ID .*\n$id  Raid  ban, kick  5 .*  600000000000000001  yes$/m,
        'an alert is made and listed';
    does("alert set $server $id --count 7 --role none --no-enabled");
    my $shown = does("alert show $server $id");
    like $shown, qr/^count +7$/m, 'it is changed';
    like $shown, qr/^enabled +no$/m, '... and off';
    is_deeply decoded(does("alert show $server $id --json")), { by => 'executor',
        alert_id => $id, name => 'Raid', types => [39, 41], count => 7,
        seconds => 30, channel => undef, role => undef, enabled => 0 },
        '... in what was said alone';
    like +(guildlog("alert add $server --name Raid"))[1], qr/types: /,
        'what is missing is told';
    does("alert remove $server $id");
    is does("alert list $server"), '', 'it goes';
    is +(guildlog("alert show $server $id"))[2], 3, '... for good';
};


# a database that has just come back: the first request is answered by 503

subtest 'a service that was away for a moment' => sub {
    my $listen = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1')
        or die "listen: $@";
    my $asked = $nginx->file('asked', '');
    local $ENV{GUILDLOG_OPERATOR} = 'http://127.0.0.1:' . $listen->sockport;

    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        while (my $peer = $listen->accept) {
            my ($head, $body) = ('');
            $head .= readline $peer until $head =~ /\r\n\r\n/;
            read $peer, $body, $1 if $head =~ /content-length: (\d+)/i;
            my ($method) = $head =~ /^(\w+)/;
            open my $out, '>>:unix', $asked or die $!;
            print {$out} "$method ";
            my $again = slurp($asked) =~ /$method $method/;
            my $text  = $again ? '{"id":"1","name":"Loft","plan":"pro"}' : '{}';
            print {$peer} 'HTTP/1.1 ', $again ? '200 OK'
                : "503 Away\r\nRetry-After: 0", "\r\nContent-Length: ",
                length $text, "\r\nConnection: close\r\n\r\n$text";
        }
        POSIX::_exit(0);
    }

    my ($out, undef, $status) = guildlog("server set $server --name Loft");
    is $status, 0, 'what may be done twice is asked for again';
    like $out, qr/Loft/, '... and done';
    is +(guildlog("token create $server --creator 5"))[2], 4,
        'what may not is not';
    is slurp($asked), 'PUT PUT POST ', '... a second time';
    kill 'KILL', $pid;
    waitpid $pid, 0;
};


subtest 'servers' => sub {
    my $new = $server + 500_000;
    like does(qq{server set $new --name "Loft" --plan pro --locale de}),
        qr/^plan +pro$/m, 'a server is made and shown';
    is decoded(does("server show $server --json"))->{name}, 'Attic', 'and read';
    like does('server list'), qr/^ID .*^$server  pro .* Attic\n$new .* Loft$/ms,
        'and listed';

    my ($out, $why, $status) = guildlog("server forget $new");
    is $status, 2, 'no server is forgotten by mistake';
    like does("server list --json"), qr/"$new"/, 'it is there';
    does("server forget $new --yes");
    is +(guildlog("server set $new --name Back"))[2], 3,
        'and then it is being forgotten';
};


subtest 'tokens' => sub {
    my %creator = map { $_ => "--creator 20000000000000000$_" } 7, 8;
    chomp(my $token = does("token create $server $creator{7}"));
    is $nginx->get("/servers/$server", token => $token)->status, 200,
        'an Admin token is printed alone';
    does("token create $server $creator{8} --permissions basic");
    chomp(my $reads = does("token create $server $creator{8}"
        . ' --permissions read'));
    is join(' ', map { $nginx->get("/servers/$server$_", token => $reads)
        ->status } '/logs', '/config'), '200 403', 'one may only read';
    is +(guildlog("token create $server $creator{8} --permissions 3"))[2], 2,
        'kinds have names';
    my $file = $nginx->file('token', "$ENV{GUILDLOG_ADMIN_TOKEN}\n", 0600);
    local $ENV{GUILDLOG_ADMIN_TOKEN} = 'none';
    my $list = does("token list $server --token-file '$file'");
    my ($id) = $list =~ /^(\S+) +\S+ +admin +200000000000000007 /m;
    like $list, qr/^\S+ +\S+ +basic +200000000000000008 /m, 'both are listed';
    like $list, qr/^\S+ +\S+ +read +200000000000000008 /m,
        '... and the one that reads';
    does("token revoke $server $id --token-file '$file'");
    is $nginx->get("/servers/$server", token => $token)->status, 401,
        'and revoked';
    is +(guildlog("token list $server"))[2], 3, 'a bad token is refused';
};


subtest 'members' => sub {
    my $user = '200000000000000031';
    does("member set $server $user --name 'Ida R\x{f6}ll' --role 1 --role 2");
    does("member set $server 200000000000000032 --name Idle --is-bot");
    like does("member find $server ida"), qr/^ID +NAME\n$user +Ida R\x{f6}ll\n$/,
        'a member is found';
    my $rows = $nginx->sql('select bot::text from directory where id = '
        . '200000000000000032');
    is $rows, 'true', 'a bot is one';
    does("member delete $server $user");
    is does("member find $server ida"), '', 'and is gone';
};


subtest 'entries are recorded' => sub {
    my $lines = join '', map { json->encode({ event_id => "many-$_", type => 5,
        content => "note $_", target => { id => '200000000000000041',
        name => "Cl\x{e9}o" } }) . "\n" } 1 .. 2300;
    like does("record $server", $lines), qr/^recorded 2300, duplicates 0$/,
        'more than a batch';
    my $said = decoded(does('record --json', json->encode({ type => 5,
        server => "$server", event_id => 'many-1' })));
    is $said->{duplicates}, 1, 'one of a named server' or diag explain $said;

    my ($out, $why, $status) = guildlog("record $server",
        qq({"event_id":"good","type":5}\n\n{"type":5}\nno JSON));
    is $status, 1, 'bad lines';
    like $out, qr/^recorded 1,/, 'do not hold up others';
    like $why, qr/^line 3: event_id.*^line 4: /ms, 'and are told by their line';
    is +(guildlog("record $none", '{"event_id":"1","type":5}'))[2], 3,
        'an unknown server';
};


subtest 'and read' => sub {
    my $logs = does("logs $server --limit 201 --type messageDelete");
    my @lines = split /\n/, $logs;
    is @lines, 201, 'the last ones, over two pages';
    like $lines[-1], qr/^\d{4}-\d\d-\d\d [\d:]{8}  A message was deleted$/,
        'the newest at the end';
    like $lines[-2], qr/  A message by Cl\x{e9}o was deleted  "note 2300"$/,
        'each is a sentence and a text';

    my ($json) = does("search $server note 1234 --json");
    is decoded($json)->{content}, 'note 1234', 'a search, for a program';
    is does("search $server nothing such"), '', 'that finds nothing';
    is does("logs $server --before 2000-01-01T12:00Z"), '', 'before a time';
    is scalar(() = does("logs $server --after 1h --category text --limit 5")
        =~ /\n/g), 5, 'of a category';

    my ($out, $why, $status) = guildlog("logs $server --after yesterday");
    is "$status $why", "2 guildlog: --after: 'yesterday' is no time\n",
        'a bad time';
    is +(guildlog("logs $server --after 2026-02-31"))[2], 2, 'no such day';
    is +(guildlog("logs $server --type nothing"))[2], 2, 'a bad type';
};


subtest 'and exported' => sub {
    my $csv = does("export $server --search 'note 77'");
    like $csv, qr/^timestamp,.*\r\n.*,note 77,.*\r\n$/, 'as CSV';
    my $file = $nginx->prefix . '/out';
    is does("export $server --json --output '$file'"), '', 'into a file';
    is scalar(() = slurp($file) =~ /"content":"note \d+"/g), 2300,
        'as JSON, a line each';
    is +(guildlog("export $server --output /nowhere/out"))[2], 4,
        'where nothing can be written';
};


subtest 'new entries are followed' => sub {
    $nginx->operator('POST', "/servers/$server/logs",
        [{ event_id => 'before', type => 5, content => 'was there' }]);
    my $pid = open my $out, '-|', "exec '$tool' logs $server --limit 1 --follow"
        . " 2> '$errors'" or die $!;
    my $line = sub {
        my $select = IO::Select->new($out);
        return $select->can_read(20) ? scalar readline $out : 'nothing comes';
    };
    like $line->(), qr/"was there"$/, 'behind the last one';
    $nginx->operator('POST', "/servers/$server/logs",
        [{ event_id => 'live', type => 5, content => 'came now' }]);
    like $line->(), qr/"came now"$/, 'the next one comes';

    $nginx->stop;
    $nginx->start;
    $nginx->operator('POST', "/servers/$server/logs",
        [{ event_id => 'later', type => 5, content => 'came later' }]);
    like $line->(), qr/"came later"$/, 'also after a restart, and nothing twice';
    kill TERM => $pid;
    close $out;
};


subtest 'what others wrote' => sub {
    my $evil = "\e]0;owned\a\e[2J\x{9b}31m\x{202e}x\r\n";
    $nginx->operator('PUT', "/servers/$server", { name => $evil });
    $nginx->operator('PUT', "/servers/$server/members/200000000000000051",
        { name => $evil });
    $nginx->operator('POST', "/servers/$server/logs", [{ event_id => 'evil',
        type => 39, reason => $evil, executor => { id => '5', name => $evil },
        target => { id => '6', name => $evil } }]);

    my $bad = qr/[\x00-\x09\x0b-\x1f\x7f-\x9f\x{202e}]/;
    for my $words ("server show $server", 'server list', "logs $server",
        "member find $server owned", "logs $server --limit 1 --json",
        "server show $server --json")
    {
        my $out = does($words);
        like $out, qr/owned/, 'is shown';
        unlike $out, $bad, 'and not obeyed';
    }
    for my $words ("export $server --search owned",
        "export $server --format ndjson --search owned",
        "member export $server 5")
    {
        my $out = qx{script -qec "$tool $words" /dev/null};
        utf8::decode($out);
        like $out, qr/owned/, "$words prints it";
        unlike $out =~ s/\r+\n/\n/gr, $bad, 'to a terminal without commands';
    }
    unlike +(guildlog(qq{search $server --type "\$(printf '\\033[2J')" x}))[1],
        $bad, 'nor are words of the command line';
};


subtest 'what did not arrive' => sub {
    like does('undelivered'), qr/^$server +\d+ .* no_channel=\d+$/m,
        'servers are listed';
    my @lines = split /\n/, does("undelivered $server --reason no_channel");
    cmp_ok @lines, '>', 2300, 'all entries of a server are';
    is_deeply decoded(does("undelivered $server --lane 1 --json")), [],
        'those of a lane';
    is does("replay $server --reason no_channel --json") =~ s/\s//gr,
        '{"mayDuplicate":0,"replayed":0,"skipped":{"no_channel":' . $#lines
        . '}}', 'what still has no channel stays';
    is +(guildlog("replay $server --reason queued"))[2], 3, 'a bad reason';
};


subtest 'what is derived' => sub {
    is does("check $server"), "nothing differs\n", 'nothing is wrong';
    $nginx->sql('update log_head set arrival = 1 where guild_id = ?
        and bot = 0', $server);
    my ($out, $why, $status) = guildlog("check $server");
    is $status, 1, 'something is';
    like $out, qr/^STRUCTURE .*\n\w+/, 'and is listed';
    does("rebuild $server");
    does("check $server");
    is +(guildlog("check $server --db 'host=/nowhere dbname=none'"))[2], 4,
        'no database';
};


subtest 'people' => sub {
    like does("member export $server 5"), qr/"evil|"reason"/, 'are exported';
    $nginx->configure(keeper => 'on interval=20ms');
    $nginx->reload;
    does("member forget $server 5 --yes");
    wait_for { does("member export $server 5") eq '' };
};


subtest 'the machine' => sub {
    like does('status'), qr/\Aready +ok\n(?:.*\n)*?entries +.*\b\d+ recorded/,
        'is ready';
    is decoded(does('status --json'))->{ready}, 1, 'for a program too';
    like does('status'), qr/^version +\d+\.\d+/m, 'tells its version';
    is +(guildlog('status --status http://127.0.0.1:1/status'))[2], 4,
        'nobody is there';
    is_deeply [guildlog("server set $none --operator unix:/nowhere/s:/")],
        ['', "guildlog: unix:/nowhere/s:/servers/$none: nobody listens there:"
            . " does nginx run?\n", 4], 'a socket that is not there is named';
};


subtest 'help' => sub {
    my $help = does('--help');
    my @commands = $help =~ /^  (\w[\w-]*(?: [a-z]+)?)/mg;
    cmp_ok @commands, '>', 20, 'commands are listed';
    like does("$_ --help"), qr/^Usage: guildlog \Q$_\E.*^  --json /ms
        for @commands;
    is does('help logs'), does('logs --help'), 'help of a command';
    like does('--version'), qr/^guildlog \d+\.\d+/, 'a version';
    is +(guildlog($_))[2], 2, "guildlog $_" for qw(logs nonsense), 'logs 1 2',
        'logs x', "logs $server --nonsense", "logs $server --limit 0";
    is +(guildlog('token'))[1], 'guildlog: say one of: guildlog token create,'
        . " guildlog token list, guildlog token revoke\n",
        'half of a command is completed';
    is +(guildlog("token revoke $server none"))[1], 'guildlog: DELETE '
        . "$ENV{GUILDLOG_URL}/servers/$server/auth?tokenId=none: 404: there is"
        . " no such thing\n", 'a refusal is told in words';

    my $complete = sub {
        my @words = @_;
        return join ' ', split /\n/, qx{bash -c '. "\$0"
            COMP_WORDS=("\$@") COMP_CWORD=\$((\$# - 1))
            _guildlog "\$1"; printf "%s\\n" "\${COMPREPLY[@]}"' \\
            "$Guildlog::TOP/util/lib/guildlog.bash" "$tool" @words};
    };
    is $complete->('to'), 'token', 'a word is completed';
    is $complete->('token', "''"), 'create list revoke', 'and the next';
    is $complete->('server', 'set', '1', '--plan', "''"), 'free pro_lite pro',
        'a value';
    is $complete->('logs', '1', '--fo'), '--follow', 'and an option';
};


subtest 'a secret is on no command line' => sub {
    my $bin = $nginx->prefix . '/bin';
    mkdir $bin;
    $nginx->file('bin/curl', "#!/bin/sh\necho \"\$@\" >> '$bin/said'\n"
        . "exec /usr/bin/curl \"\$@\"\n", 0755);
    $nginx->file('bin/psql', "#!/bin/sh\necho \"\$@\" >> '$bin/said'\n", 0755);
    local $ENV{PATH} = "$bin:$ENV{PATH}";

    does("server show $server");
    guildlog("rebuild $server --db postgresql://me:s%65cret\@h/d");
    guildlog("rebuild $server --db 'host=h password=secret'");
    my $said = slurp("$bin/said");
    like $said, qr/--config.*-d/s, 'curl and psql are called';
    unlike $said, qr/\Q$ENV{GUILDLOG_ADMIN_TOKEN}\E|s(?:%65|e)cret/,
        'without token and password';
};


done_testing;
