# conf/recipes/: each as it stands hands entries on, in their order and with a token
# that only reads, and goes on where it was when it, or nginx, was killed.

use lib 't/lib';
use Guildlog;
use Guildlog::Answers;
use Guildlog::File;
use Guildlog::Packets qw(id_at);
use Guildlog::Tool;

my $nginx = Guildlog->new(api => 'guildlog_limit off;');
my $dir = $nginx->prefix . '/recipes';
mkdir $dir;
tool_for($nginx);

my ($server, $n);
my @run;    # pids


# starts a command with this environment; what it says goes to files
sub start {
    my ($command, %environment) = @_;

    local @ENV{keys %environment} = values %environment;
    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        setpgrp;
        open STDOUT, '>>', "$dir/out" or die;
        open STDERR, '>>', "$dir/err" or die;
        { exec 'sh', '-c', "exec $command" }
        POSIX::_exit(127);
    }
    push @run, $pid;
    return $pid;
}


# kills it, with all that it has started
sub end {
    my ($pid) = @_;
    kill KILL => -$pid;
    waitpid $pid, 0;
    @run = grep { $_ != $pid } @run;
}

END {
    local $?;
    end($_) for @run;
}


# that many more entries
sub record {
    my ($count, %fields) = @_;
    my $answer = $nginx->operator('POST', "/servers/$server/logs", [map {
        { event_id => 'e' . ++$n, type => 5, content => "note $n", %fields } }
        1 .. $count]);
    die $answer->text if $answer->json->{recorded} != $count;
}


sub new_server {
    ($server, $n) = ($nginx->server(plan => 'pro'), 0);
    unlink glob "'$dir'/*";
    return $nginx->token($server, kind => 'read');
}


# the notes in texts of entries, in their order
sub notes {
    return join ' ', map { ($_->{content} // '') =~ /(\d+)/ ? $1 : () }
        map { json->decode($_) } grep { /\n\z/ && /^\{/ } @_;
}


sub lines { return -e $_[0] ? slurp($_[0]) =~ /^(.*\n)/mg : () }
sub upto { return join ' ', 1 .. $_[0] }


subtest 'files by day' => sub {
    my $unit = slurp('conf/recipes/guildlog-archive.service');
    my ($command) = $unit =~ /^ExecStart=(.*)$/m;
    my ($token_file) = $unit =~ /^Environment=GUILDLOG_TOKEN_FILE=(.*)$/m;
    my $token = new_server();
    my $into = $nginx->prefix . '/state/guildlog-archive';
    mkdir $nginx->prefix . '/state';

    # what systemd puts in place
    $nginx->file('recipes/token', "$token\n", 0600);
    for ($command, $token_file) {
        s/%S/$nginx->{prefix}\/state/;
        s/%d/$dir/;
        s{^/usr/bin/guildlog}{$tool};
        s/\$\{GUILDLOG_SERVER\}/$server/;
    }
    like $command, qr/^\Q$tool\E logs $server --follow --into /, 'the unit';
    my %as = (GUILDLOG_TOKEN_FILE => $token_file);
    my $written = sub {
        return notes(map { lines($_) } sort glob "'$into'/*.ndjson");
    };

    record(1);
    my $pid = start($command, %as);
    wait_for { -s "$into/.last" };
    record(5);
    wait_for { $written->() eq '2 3 4 5 6' };
    is $written->(), '2 3 4 5 6', 'what comes is written';

    my ($file) = glob "'$into'/*.ndjson";
    like $file, qr/\d{4}-\d\d-\d\d\.ndjson$/, 'into the file of the day';
    like +(guildlog("logs $server --follow --into '$into' --token-file "
        . "'$dir/token'"))[1], qr/another guildlog writes there/,
        'by one alone';

    end($pid);
    record(4);
    record(1, timestamp => (time - 2 * 86400) * 1000);
    $pid = start($command, %as);
    wait_for { (() = $written->() =~ /\d+/g) == 10 };
    is $written->(), '11 2 3 4 5 6 7 8 9 10',
        'after a kill it goes on; what happened earlier is in an earlier file';

    # it was killed between the line and its place, or within a line
    end($pid);
    record(1);
    my $place = slurp("$into/.last");
    $pid = start($command, %as);
    wait_for { $written->() =~ / 12$/ };
    end($pid);
    open my $out, '>', "$into/.last" or die;
    print {$out} $place;
    close $out;
    ($file) = grep { notes(lines($_)) =~ / 12$/ } glob "'$into'/*.ndjson";
    open $out, '>>', $file or die;
    print {$out} '{"content":"note 1';
    close $out;
    record(1);
    $pid = start($command, %as);
    wait_for { $written->() =~ / 13$/ };
    is $written->(), '11 2 3 4 5 6 7 8 9 10 12 13', 'nothing is there twice';

    $nginx->kill_all;
    $nginx->start;
    record(2);
    wait_for { $written->() =~ / 15$/ } 60;
    is $written->(), '11 2 3 4 5 6 7 8 9 10 12 13 14 15', 'nginx was killed';

    # it was away for longer than a tail can tell
    end($pid);
    open $out, '>', "$into/.last" or die;
    print {$out} id_at((time - 3 * 86400) * 1000), "\n";
    close $out;
    record(1);
    $pid = start($command, %as);
    wait_for { $written->() =~ /\b16\b/ } 60;
    is join(' ', sort { $a <=> $b } $written->() =~ /\d+/g),
        upto(16), 'after a long time all is fetched, and once';
    end($pid);

    unlink "$into/.last", glob "'$into'/*.ndjson";
    $pid = start("$command --after 7d", %as);
    wait_for { (() = $written->() =~ /\d+/g) == 16 };
    is $written->(), '11 ' . join(' ', grep { $_ != 11 } 1 .. 16),
        '--after begins with what is there';
    end($pid);
};


for my $recipe ('tail', 'relay') {
    subtest "recipes/$recipe" => sub {
        my $token = new_server();
        my $times = 0;
        my $hook = Guildlog::Answers->new(answer => sub {
            my ($it, $request) = @_;
            # it is away for a moment
            my $away = $request->{body} =~ /"note 3"/ && !$it->get('was away');
            $it->set('was away', 1) if $away;
            return [$away ? 503 : 204, {}];
        });
        my %as = (URL => $nginx->url . "/api/servers/$server", TOKEN => $token,
            LAST => "$dir/last", HOOK => $hook->url . '/hook');
        my $there = sub {
            return notes(lines("$dir/out")) if $recipe eq 'tail';
            return notes(map { "$_->{body}\n" } $hook->asked);
        };

        my $pid = start("conf/recipes/$recipe", %as);
        wait_for { -s "$dir/last" };
        record(5);
        my $got = $recipe eq 'tail' ? upto(5) : '1 2 3 3 4 5';
        wait_for { $there->() eq $got } 60;
        is $there->(), $got, 'hands on what comes, again what was not taken';
        is_deeply [map { $_->{header}{'idempotency-key'} } $hook->asked],
            [map { json->decode($_->{body})->{id} } $hook->asked],
            'each with its id' if $recipe eq 'relay';
        wait_for { slurp("$dir/last") =~ /^\d+\s*$/ };

        # one may come twice then
        my $once = sub { $there->() =~ s/\b(\d+) \1\b/$1/gr };
        end($pid);
        record(3);
        $pid = start("conf/recipes/$recipe", %as);
        wait_for { $there->() =~ / 8$/ } 60;
        is $once->(), upto(8), 'after a kill, too';

        $nginx->kill_all;
        $nginx->start;
        record(2);
        wait_for { $there->() =~ / 10$/ } 60;
        is $once->(), upto(10), 'and one of nginx';
        end($pid);
        unlike slurp("$dir/err"), qr/\Q$token/, 'no token is told';
    };
}


subtest 'the documents' => sub {
    my $text = slurp('conf/RECIPES.md');
    for (glob 'conf/recipes/*') {
        my ($name) = m{conf/(.*)};
        like $text, qr/\Q$name\E/, "$name is told of";
    }
    is system('python3', '-c', 'compile(open("conf/recipes/relay").read(), "", "exec")'), 0,
        'Python';
    is system('sh', '-n', 'conf/recipes/tail'), 0, 'sh';
};

done_testing;
