package Guildlog::Chaos;

# A service to do harm to: one or two machines on one database, each with a
# cutter in between, the stand-in of the platform, and clients at work.  harm()
# does some harm and names it; settle() waits until every entry has its outcome;
# then Guildlog::Chaos::Audit compares everything.

use strict;
use warnings;

use Test::More ();
use Time::HiRes qw(sleep time);

use Guildlog ();
use Guildlog::Chaos::Clients;
use Guildlog::Cluster;
use Guildlog::Cutter;
use Guildlog::Platform;

# where a worker is killed or cut off: a pattern of the statement, and its side
my %statements = (
    'before the intent'      => ['"begin_to"', 'before'],
    'after the intent'       => ['"begin_to"', 'after'],
    'before the outcome'     => ['"done_to"', 'before'],
    'after the outcome'      => ['"done_to"', 'after'],
    'before a lease'         => ['delivery_lease', 'before'],
    'after a lease'          => ['delivery_lease', 'after'],
    'before registered'      => ['delivery_registered', 'before'],
    'after registered'       => ['delivery_registered', 'after'],
    'before closed'          => ['delivery_closed', 'before'],
    'after closed'           => ['delivery_closed', 'after'],
    'before recorded'        => ['operator_record', 'before'],
    'after recorded'         => ['operator_record', 'after'],
    'after a change'         => ['settings_patch|channels_patch|ignore_',
                                 'after'],
    'no word of the intent'  => ['"begin_to"', 'silence'],
    'no word of the outcome' => ['"done_to"', 'silence'],
);

# or a request to the platform, and what happens to it
my %requests = (
    'in the middle of a message'  => ['execute', 'cut', bytes => 250],
    'message not applied'         => ['execute', 'reset'],
    'message applied'             => ['execute', 'apply-reset'],
    'message hangs'               => ['execute', 'hang'],
    'message applied hangs'       => ['execute', 'apply-hang'],
    'message applied late'        => ['execute', 'late', ms => 4000],
    'message applied once read'   => ['execute', 'after-read'],
    'list of webhooks'            => ['list', 'reset'],
    'webhook not made'            => ['create', 'reset'],
    'webhook made'                => ['create', 'apply-reset'],
    'webhook not deleted'         => ['delete', 'reset'],
    'webhook deleted'             => ['delete', 'apply-reset'],
    'channel read'                => ['read', 'reset'],
);

my @faults = ({ action => 'apply-reset' }, { action => 'reset' },
    { action => 'apply-answer', status => 502, body => 'bad' },
    { action => 'answer', status => 503, body => 'bad' },
    { action => 'apply-answer', status => 500, body => {} },
    { action => 'apply-answer', status => 200, body => 'garbage' },
    { action => 'late', ms => 5000 }, { action => 'after-read' },
    { action => 'slow', ms => 18_000 },
    { action => 'answer', status => 503, body => 'bad', times => 20 },
    map { { action => 'answer', status => 429, headers => {
            'Retry-After' => 1, 'X-RateLimit-Scope' => $_,
            $_ eq 'global' ? ('X-RateLimit-Global' => 'true') : () },
        body => { message => 'limited', retry_after => 0.4,
            global => $_ eq 'global' ? JSON::PP::true : JSON::PP::false } }
    } qw(user shared global));

# the frequency of each harm; the names are methods
my @harms = map { ($_->[1]) x $_->[0] } (
    [6, 'kill_worker'], [6, 'kill_deliverer'], [4, 'kill_workers'],
    [3, 'kill_master'], [2, 'kill_machine'],
    [2, 'stop_database'], [2, 'kill_database'], [2, 'kill_backend'],
    [14, 'strike_statement'], [12, 'strike_request'],
    [2, 'reload'], [1, 'reload_often'], [1, 'restart_machine'],
    [2, 'freeze_deliverer'], [2, 'end_sessions'], [2, 'cut_network'],
    [2, 'hold_network'], [2, 'restart_platform'], [6, 'break_platform'],
    [1, 'delete_webhook'], [1, 'lose_channel'], [2, 'move_platform'],
    [1, 'freeze_database'],
);


# new(seed =>, machines => 1, servers => 6, recorders => 2, pause => time that a
# client rests, platform_is => {configuration of the stand-in}, cluster => a
# cluster with a clock of its own, clock_jumps => 1, keeper => 'off')
sub new {
    my ($class, %option) = @_;

    my $self = bless { machines => 1, servers => 6, recorders => 2,
        workers => 2, pause => 0.08, keeper => 'off', %option, kills => {}, others => {},
        leased => [], resumed => [] },
        $class;
    srand $self->{seed};

    $self->{cluster} ||= Guildlog::Cluster->new;
    $self->{dbname} = $self->{cluster}->create_database;
    $self->{nginx} = [map { $self->_nginx } 1 .. $self->{machines}];
    $_->start for @{ $self->{nginx} };
    $self->_populate;
    return $self;
}


sub _nginx {
    my ($self) = @_;

    my $g = Guildlog->new(start => 0, workers => $self->{workers},
        cluster => $self->{cluster}, dbname => $self->{dbname},
        keeper => $self->{keeper},
        api => 'guildlog_limit requests=1000000;', allow => [qr/exited on signal 9/]);
    $self->{platform} ||= Guildlog::Platform->new(
        dir => $g->prefix . '/platform',
        config => { latency => [1, 300], %{ $self->{platform_is} || {} } });
    $g->{cutter} = Guildlog::Cutter->new(dir => $g->prefix . '/cutter',
        to => $self->{cluster});
    $g->configure(http => $self->{platform}->directives($g),
        database => $g->{cutter}->database);
    return $g;
}


# makes servers with channels and some first entries
sub _populate {
    my ($self) = @_;

    my $g = $self->{nginx}[0];
    for my $i (1 .. $self->{servers}) {
        my $guild = $g->server;
        my $token = $g->token($guild);
        my @channels = map { 300000000000000000 + $i * 10 + $_ . '' } 0 .. 3;
        $g->patch("/servers/$guild/config/logging/settings", token => $token,
            json => { buttons => $i % 2 ? [] : ['userID'],
                      format_type => $i % 4,
                      active_ignore => $i == 3 ? JSON::PP::true
                                               : JSON::PP::false });
        $g->patch("/servers/$guild/config/logging/channels", token => $token,
            json => { main_channel => $channels[0],
                      category_text => $channels[1] });
        $g->patch("/servers/$guild/config/logging/channels?bot=pro",
            token => $token, json => { main_channel => $channels[3] })
            if $i % 3 == 0;
        $g->operator('POST', "/servers/$guild/logs", [map { {
            event_id => "old $_", type => 7, content => "old entry $_",
            timestamp => int(time * 1000) - 600_000 } } 1 .. 150]);
        $self->{guilds}{$guild} = { token => $token, channels => \@channels,
            bots => ['', $i % 3 == 0 ? '?bot=pro' : ''] };
    }

    my $before = int(time * 1000) + 1;
    for my $guild (keys %{ $self->{guilds} }) {
        my $it = $self->{guilds}{$guild};
        $it->{before} = $before;
        $it->{count} = $g->get("/servers/$guild/logs?before=$before",
            token => $it->{token})->json->{total};
    }
}


# starts the clients
sub start {
    my ($self) = @_;

    my @machines = map { { port => $_->port, operator => $_->{operator} } }
        @{ $self->{nginx} };
    my %common = (clock_jumps => $self->{clock_jumps}, machines => \@machines, guilds => $self->{guilds},
        owner => $$);
    my $n = 0;
    for my $kind (('recorder') x $self->{recorders}, 'administrator') {
        my $name = "$kind" . ++$n;
        my $file = $self->{nginx}[0]->prefix . "/$name";
        push @{ $self->{told} }, $file;
        Guildlog::Chaos::Clients->$kind(%common, name => $name,
            file => $file, seed => $self->{seed} + $n,
            keeps => $kind eq 'administrator',
            pause => $self->{pause});
    }
    $self->{started} = time;
}


# does some harm, at random or by name
sub harm {
    my ($self, $name) = @_;

    $name ||= $harms[rand @harms];
    return $self->$name;
}


sub kills {
    my ($self) = @_;

    my $sum = 0;
    $sum += $_ for values %{ $self->{kills} };
    return $sum;
}


sub _killed { $_[0]{kills}{ $_[1] }++; return $_[1] }
sub _other  { $_[0]{others}{ $_[1] }++; return $_[1] }
sub _one    { $_[0]{nginx}[rand @{ $_[0]{nginx} }] }


# runs a query as the schema's owner; tries again if the database went away
sub sql {
    my ($self, @query) = @_;

    my $g = $self->{nginx}[0];
    my @rows = eval { $g->sql(@query) };
    if ($@) {
        delete $g->{dbh};
        @rows = $g->sql(@query);
    }
    return wantarray ? @rows : @rows ? $rows[0][0] : undef;
}


# the pids of the processes that hold leases
sub deliverers {
    my ($self) = @_;

    my %ours = map { $_ => 1 } map { $_->workers } @{ $self->{nginx} };
    my @owners = eval { map { $_->[0] } $self->sql('select distinct owner'
        . ' from shard_lease where owner is not null') };
    return grep { $ours{$_} } map { m{/(\d+)/\d+$} } @owners;
}


# harm that kills

sub kill_worker {
    my ($self) = @_;

    my @workers = $self->_one->workers or return;
    kill 'KILL', $workers[rand @workers];
    return $self->_killed('a worker');
}


sub kill_deliverer {
    my ($self) = @_;

    my @pids = $self->deliverers or return;
    my $pid = $pids[rand @pids];
    kill 'KILL', $pid;
    $self->_resumes($pid) if @{ $self->{nginx} } == 1;
    return $self->_killed('the worker that delivers');
}


sub kill_workers {
    my ($self) = @_;

    kill 'KILL', $self->_one->workers;
    return $self->_killed('all workers');
}


# the master's workers go on for some time
sub kill_master {
    my ($self) = @_;

    my $g = $self->_one;
    my @orphans = $g->kill_master;
    sleep rand 1.5;
    kill 'KILL', @orphans;
    $g->gone(@orphans);
    $g->start;
    return $self->_killed('the master');
}


sub kill_machine {
    my ($self) = @_;

    my $g = $self->_one;
    $g->kill_all;
    sleep rand 1;
    $g->start;
    return $self->_killed('a machine');
}


sub stop_database {
    my ($self) = @_;

    $self->{cluster}->stop('immediate');
    sleep rand 1;
    $self->{cluster}->start;
    return $self->_killed('immediate stop of the database');
}


sub kill_database {
    my ($self) = @_;

    $self->{cluster}->kill_all;
    sleep rand 1;
    $self->{cluster}->start;
    return $self->_killed('the database');
}


# the database's other processes end, too, and it recovers
sub kill_backend {
    my ($self) = @_;

    my $pid = eval { $self->sql(q{select pid from pg_stat_activity
        where usename = 'guildlog' order by random() limit 1}) } or return;
    kill 'KILL', $pid;
    return $self->_killed('a process of the database');
}


# harm at a point in a statement or request, which has to come first

sub strike_statement {
    my ($self) = @_;

    my @names = sort keys %statements;
    my $name  = $names[rand @names];
    my ($match, $at) = @{ $statements{$name} };
    my $kills = $at ne 'silence' && rand() < 0.8;

    $_->{cutter}->hits for @{ $self->{nginx} };
    $_->{cutter}->rules({ match => $match, at => $at, tag => $name,
        kill => $kills ? 1 : 0 }) for @{ $self->{nginx} };
    my $hit = eval { Guildlog::wait_for(sub {
        grep { $_->{cutter}->hits } @{ $self->{nginx} } }, 5) };
    $_->{cutter}->rules for @{ $self->{nginx} };

    return if !$hit;
    return $kills ? $self->_killed($name) : $self->_other("only cut off: $name");
}


sub strike_request {
    my ($self) = @_;

    my @names = sort keys %requests;
    my $name  = $names[rand @names];
    my ($call, $action, @more) = @{ $requests{$name} };
    my @pids = $self->deliverers or return;

    my $hit = eval {
        $self->{platform}->faults({ call => $call, action => $action,
            kill => \@pids, @more });
        Guildlog::wait_for(sub { !$self->{platform}->faults_left }, 5);
    };
    eval { $self->{platform}->faults };
    return $hit ? $self->_killed($name) : undef;
}


# harm that does not kill

sub reload {
    my ($self) = @_;

    $self->_one->signal('HUP');
    return $self->_other('reload');
}


sub reload_often {
    my ($self) = @_;

    my $g = $self->_one;
    for (1 .. 8) {
        $g->signal('HUP');
        sleep rand 0.2;
    }
    return $self->_other('reloads without a pause');
}


sub restart_machine {
    my ($self) = @_;

    my $g = $self->_one;
    $g->stop('TERM');
    sleep rand 1;
    $g->start;
    return $self->_other('a machine stopped in order');
}


# stops for less time than the lease
sub freeze_deliverer {
    my ($self) = @_;

    my @pids = $self->deliverers or return;
    my $pid = $pids[rand @pids];
    kill 'STOP', $pid;
    sleep 0.5 + rand 4;
    kill 'CONT', $pid;
    return $self->_other('the worker that delivers stands still');
}


sub end_sessions {
    my ($self) = @_;

    eval { $self->sql(q{select pg_terminate_backend(pid)
        from pg_stat_activity where usename = 'guildlog'}) };
    return $self->_other('sessions ended');
}


sub cut_network {
    my ($self) = @_;

    $self->_one->{cutter}->cut;
    return $self->_other('network cut');
}


sub hold_network {
    my ($self) = @_;

    $self->_one->{cutter}->hold(0.5 + rand 6, cut => rand() < 0.5);
    return $self->_other('nothing gets through');
}


sub restart_platform {
    my ($self) = @_;

    $self->{platform}->stop;
    sleep rand 1;
    $self->{platform}->start;
    return $self->_other('platform restarted');
}


sub break_platform {
    my ($self) = @_;

    my @calls = qw(execute execute execute execute create list read delete);
    eval { $self->{platform}->faults((map { {
        %{ $faults[rand @faults] }, call => $calls[rand @calls] }
    } 1 .. 1 + rand 4), { call => 'execute', action => 'answer', status => 400,
        body => { code => 50035, message => 'Invalid Form Body' } }) };
    return $self->_other('platform breaks');
}


# deletes a webhook as a moderator would; once a channel, because the second
# time is final
sub delete_webhook {
    my ($self) = @_;

    my @webhooks = grep { !$self->{deleted}{ $_->{channel_id} } }
        eval { $self->{platform}->webhooks } or return;
    my $it = $webhooks[rand @webhooks];
    $self->{deleted}{ $it->{channel_id} } = 1;
    eval { $self->{platform}->delete_webhook($it->{id}) };
    return $self->_other('webhook deleted');
}


# deletes a channel with its webhooks, makes it again and sets it again; done
# only once for each channel, too
sub lose_channel {
    my ($self) = @_;

    my $g = $self->_one;
    my ($guild) = grep {
        !$self->{deleted}{ $self->{guilds}{$_}{channels}[0] }
    } sort keys %{ $self->{guilds} } or return;
    my $it = $self->{guilds}{$guild};
    my $to = $it->{channels}[0];

    $self->{deleted}{$to} = 1;
    eval {
        $self->{platform}->config(gone => [$to]);
        $self->{platform}->delete_webhook($_->{id})
            for $self->{platform}->webhooks($to);
    };
    sleep 0.5 + rand 3;
    Guildlog::wait_for(sub {
        eval { $self->{platform}->config(gone => []); 1 } }, 30, 'a channel');
    Guildlog::wait_for(sub {
        (eval { $g->patch("/servers/$guild/config/logging/channels",
            token => $it->{token}, json => { main_channel => $to })->status }
            // 0) == 202;
    }, 60, 'a channel that is set');
    return $self->_other('channel lost, and set again');
}


# the platform moves to another address
sub move_platform {
    my ($self) = @_;

    my $g = $self->_one;
    my $host = ($g->{moved} ^= 1) ? 'localhost' : '127.0.0.1';
    $g->configure(http => $self->{platform}->directives($g,
        at => "http://$host:$self->{platform}{port}"));
    $g->signal('HUP');
    return $self->_other('platform moved');
}


# some of the database's processes stand still
sub freeze_database {
    my ($self) = @_;

    my @pids = eval { map { $_->[0] } $self->sql(q{select pid
        from pg_stat_activity where usename = 'guildlog' and random() < 0.5}) }
        or return;
    kill 'STOP', @pids;
    sleep 0.5 + rand 5;
    kill 'CONT', @pids;
    return $self->_other('processes of the database stand still');
}


# G8: the time from a kill until another worker has the leases, and until the
# next message if one comes soon: a lane whose message was under way waits for
# 10 s
sub _resumes {
    my ($self, $killed) = @_;

    my $from = time;
    my $leased = eval { Guildlog::wait_for(sub {
        grep { $_ != $killed } $self->deliverers }, 10) };
    push @{ $self->{leased} }, time - $from if $leased;
    my $then = eval { Guildlog::wait_for(sub {
        my ($last) = grep { /"event":"request"/ && /"call":"execute"/ }
            reverse $self->{platform}->ledger_tail(20);
        $last && $last =~ /"at":(\d+)/ && $1 > $from * 1000 ? $1 : 0;
    }, 5) };
    push @{ $self->{resumed} }, $then / 1000 - $from if $then;
}


# ends the harm: everything runs, what was not acknowledged is sent again, and
# every entry gets its outcome
sub settle {
    my ($self, $seconds) = @_;

    eval { $self->{platform}->faults };
    $self->{cluster}->start
        if !eval { $self->{cluster}->connect('postgres', 'postgres')->ping };

    my @late = Guildlog::Chaos::Clients->stop_all(60);
    Test::More::is("@late", '', 'all that was recorded was acknowledged');

    my $left = $self->_rests($seconds);
    Test::More::is($left, '0 0 0', 'every entry has its outcome')
        or $self->_explain;
}


# waits until nothing is left to deliver: what is
sub _rests {
    my ($self, $seconds) = @_;

    my $deadline = time + $seconds;
    my $left = '';
    while (time < $deadline) {
        $left = join ' ', eval { map { @$_ } $self->sql(q{
            select (select count(*) from log_arrival where held_to is not null),
                   (select count(*) from lane_ready r
                      join lane_head h using (guild_id, lane)
                      join lane_tail t using (guild_id, lane)
                      join lane l using (guild_id, lane)
                     where t.tail > h.head
                        or l.state in ('registering', 'closing')),
                   (select count(*) from lane_head h
                      join lane_tail t using (guild_id, lane)
                     where t.tail > h.head)}) };
        last if $left eq '0 0 0';
        sleep 0.3;
    }
    return $left;
}


# What was decided so far: it changes where a doubt is proved, whose entries may
# be sent again then.
sub decided {
    my ($self) = @_;

    $self->_rests(60);
    return join ' ', map { @$_ } $self->sql(q{
        select (select count(*) from doubt), (select count(*) from replay),
               (select sum(step) from lane_head)});
}


sub _explain {
    my ($self) = @_;

    Test::More::diag(join ' ', map { $_ // '-' } @$_) for $self->sql(q{
        select l.guild_id, l.lane, l.channel_id, l.state, l.reason,
               l.webhook_id, h.head, h.upto, h.refused_to, t.tail, h.step,
               h.attempts, now() - h.attempt_at, h.not_before - now(),
               r.since is not null, s.owner
          from lane l join lane_head h using (guild_id, lane)
          join lane_tail t using (guild_id, lane)
          left join lane_ready r using (guild_id, lane)
          left join shard_lease s on s.shard = l.shard
         where t.tail > h.head or l.state in ('registering', 'closing')});
}


1;
