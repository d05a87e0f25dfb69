#!/usr/bin/perl
# "Whatever crashes: never delivered without the message's id; never a final
# not_delivered for something that may be in the channel."  Lanes that are not
# in doubt go on soon.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Platform;
use Time::HiRes qw(sleep time);

my $cluster = Guildlog::Cluster->new;
my $g = Guildlog->new(start => 0, workers => 2, cluster => $cluster,
    database => { queue_timeout => '1s' },
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $guild   = $g->server;
my $token   = $g->token($guild);
my $channel = '300000000000000001';
my $event   = 0;

$g->patch("/servers/$guild/config/logging/settings", token => $token,
    json => { buttons => [] });
$g->patch("/servers/$guild/config/logging/channels", token => $token,
    json => { main_channel => $channel });


sub record {
    my $answer = $g->operator('POST', "/servers/$guild/logs", [{
        event_id => 'e' . ++$event, type => 7, content => 'it' }]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids}[0];
}


sub word {
    my ($id) = @_;

    my ($entry) = grep { $_->{id} eq $id } @{ $g->get(
        "/servers/$guild/logs?limit=100", token => $token)
        ->json->{entries} || [] };
    return join ' ', grep { defined } @{ $entry->{delivery} }{qw(status reason)};
}


sub becomes {
    my ($id, $word, $seconds, $why) = @_;

    my $is = '';
    eval { wait_for { ($is = eval { word($id) } // '') eq $word } $seconds };
    is $is, $word, $why;
}


sub times_applied {
    my ($id) = @_;
    return scalar grep { $_ eq $id } map { $platform->entries_in($_) }
        $platform->messages($channel);
}


# the number of messages that came; those that were answered; the number of
# reads of the channel
sub came     { scalar grep { $_->{event} eq 'request' && $_->{call} eq 'execute' }
    $platform->ledger }
sub answered { scalar $platform->answers('execute') }
sub reads    { scalar $platform->answers('read') }


becomes(record(), 'delivered', 30, 'there is a webhook');

# the workers are killed while no message is under way

$g->signal('KILL', $g->workers);
wait_for { $g->workers == 2 } 30, 'new workers';
my $id = wait_for { eval { record() } } 30;
becomes($id, 'delivered', 15, 'new workers take over at once');

# the workers are killed while a message is under way

for my $case (['apply-hang', 'applied'], ['hang', 'not applied']) {
    my ($action, $why) = @$case;

    $platform->faults({ call => 'execute', action => $action });
    $id = record();
    becomes($id, 'unknown in_flight', 30, "$why: in flight");
    wait_for { !$platform->faults_left } 30, 'the message at the platform';
    $g->signal('KILL', $g->workers);
    wait_for { $g->workers == 2 } 30, 'new workers';
    my $word = wait_for { eval { word($id) } } 30;
    is $word, 'unknown in_flight', '... still in flight after a crash';
    becomes($id, 'delivered', 60, '... delivered after the channel is read');
    is times_applied($id), 1, '... once';
}

# a reload does not cut off a message that is under way

$platform->faults({ call => 'execute', action => 'answer', status => 429,
    headers => { 'Retry-After' => 1, 'X-RateLimit-Scope' => 'user' },
    body => { message => 'limited', retry_after => 1 } });
$id = record();
$g->reload;
becomes($id, 'delivered', 30, 'a reload does not lose the message');
is times_applied($id), 1, '... nor send it twice';
is scalar($g->sql(q{select count(*) from guildlog.lane_batch
    where status = 1})), 0, '... nor leave it in doubt';
$id = record();
becomes($id, 'delivered', 15, 'the new workers deliver');

# the database crashes while a message is under way

$cluster->kill_all;
sleep 0.5;
$cluster->start;
delete $g->{dbh};
$id = wait_for { eval { record() } } 30;
becomes($id, 'delivered', 30, 'a crash of the database');

# a worker must exit while the database is down.  It waits a limited time to
# store the outcome it knows, then exits; the next worker reads the channel

for my $case ([1, 'comes back in time'], [0, 'does not']) {
    my ($comes, $why) = @$case;

    my ($came, $answered) = (came(), answered());
    $platform->config(latency => [4000, 4000]);
    $id = record();
    becomes($id, 'unknown in_flight', 30, "the database $why: in flight");
    wait_for { came() > $came } 30, 'the message at the platform';
    $cluster->stop('immediate');
    delete $g->{dbh};
    wait_for { answered() > $answered } 30, 'the answer';
    $platform->config(latency => undef);
    my $reads = reads();
    my %old = map { $_ => 1 } $g->workers;
    $g->reload(nowait => 1);
    sleep 4;    # no wait for a database that is down for 2 s ends before
    $cluster->start if $comes;
    ok eval { wait_for { !grep { $old{$_} } $g->workers } 45 },
        'the worker exits';
    $cluster->start if !$comes;
    wait_for { eval { word($id) } } 30;
    becomes($id, 'delivered', 60, 'delivered');
    is times_applied($id), 1, 'once';
    cmp_ok reads() - $reads, $comes ? '==' : '>', 0,
        $comes ? 'the outcome was stored' : 'the channel is read';
}

my @requests = map { $_->{event} eq 'request' && $_->{call} eq 'create'
    ? 1 : () } $platform->ledger;
is scalar @requests, 1, 'all this uses one webhook';

$g->stop;
is scalar($cluster->connect($g->dbname)->selectrow_array(q{select count(*)
    from guildlog.shard_lease where owner is not null})), 0,
    'a worker that stops gives up its leases';

done_testing;
