#!/usr/bin/perl
# "The channel is read, no sooner than 10 s after the attempt": the attempt may
# come long after the commit of its intent, if the worker does not hear of the
# commit at first.  If the channel is read too early, a message on its way looks
# lost and is sent again.

use lib 't/lib';
use Guildlog;
use Guildlog::Cutter;
use Guildlog::Platform;
use Time::HiRes qw(time);

my $g = Guildlog->new(start => 0, workers => 2, allow => [qr/signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $cutter = Guildlog::Cutter->new(dir => $g->prefix . '/cutter',
    to => $g->cluster);
$g->configure(http => $platform->directives($g),
    database => $cutter->database)->start;

my $guild = $g->server;
my $token = $g->token($guild);
my ($event, $late_ms) = (0, 7000);


sub record {
    my $answer = $g->operator('POST', "/servers/$guild/logs", [{
        event_id => 'e' . ++$event, type => 7, content => 'it' }]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids}[0];
}


sub status_of {
    my ($id) = @_;

    my $page = eval { $g->get("/servers/$guild/logs", token => $token)->json };
    my ($entry) = grep { $_->{id} eq $id } @{ $page->{entries} || [] };
    return $entry->{delivery}{status} // '';
}


$g->patch("/servers/$guild/config/logging/channels", token => $token,
    json => { main_channel => '300000000000000001' });
my $id = record();
wait_for { status_of($id) eq 'delivered' } 60, 'there is a webhook';

$cutter->rules({ match => '"begin_to"', at => 'silence', tag => 'intent' });
$platform->faults({ call => 'execute', action => 'late', ms => $late_ms,
    kill => [$g->workers] });
$id = record();
wait_for { $cutter->hits } 60, 'the answer about the intent is lost';
wait_for { !$platform->faults_left } 60,
    'then the message is sent, and its worker dies';

my $is = '';
eval { wait_for { ($is = status_of($id)) eq 'delivered' } 60 };
is $is, 'delivered', 'the entry is delivered';

# the platform has applied the message by now, or will in a moment

my ($sent) = grep { $_->{event} eq 'answer' && $_->{status} eq 'reset' }
    $platform->ledger;
wait_for { time * 1000 > $sent->{at} + $late_ms + 500 } 60;
my @times = grep { $_ eq $id } map { $platform->entries_in($_) }
    $platform->messages;
is scalar @times, 1, 'the message is in the channel once';
$g->stop;

# the channel refuses a message; the answer of the database about that is lost,
# and the refusal stored only after the lane was found, still in flight

$g->configure(http => $platform->directives($g),
    database => { %{ $cutter->database }, timeout => '60s' })->start;
$platform->config(no_history => ['300000000000000001']);
$platform->faults({ call => 'execute', action => 'answer', status => 403,
    body => { code => 50013, message => 'no' } });

my ($lane, $head) = map { locks($_) } 'lane', 'lane_head';
$lane->();
$id = record();
wait_for { waiting('delivery_waits') } 60, 'the refusal to be stored';
$head->();
$cutter->cut(half => 1);
wait_for { waiting('delivery_step') } 60, 'the lane to be found';
$head->();
wait_for { !waiting('delivery_step') } 60, 'the lane to be in doubt';
$lane->();
wait_for { $g->error_log =~ /cannot be proved/ } 60, 'the end of the doubt';

my $next = record();
$g->sql('update lane_head set not_before = null where guild_id = ?', $guild);
$g->sql('select lane_wake(guild_id, lane) from lane where guild_id = ?', $guild);
eval { wait_for { ($is = status_of($next)) eq 'delivered' } 60 };
is $is, 'delivered', 'the next entry is delivered';
is status_of($id), 'delivered', 'so is the one that was refused';
@times = grep { $_ eq $id } map { $platform->entries_in($_) }
    $platform->messages;
is scalar @times, 1, '... which is in the channel';


# locks the server's rows of that table; called again, lets go
sub locks {
    my ($table) = @_;

    my $dbh = $g->cluster->connect($g->dbname);
    return sub {
        return $dbh->commit if !$dbh->{AutoCommit};
        $dbh->begin_work;
        $dbh->do("select from guildlog.$table where guild_id = $guild
            for update");
    };
}


# does that function wait for a lock?
sub waiting {
    my ($function) = @_;

    return $g->sql(q{select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
        and query like '%' || ? || '%'}, "guildlog.$function");
}

done_testing;
