#!/usr/bin/perl
# A worker that delivers may fail to allocate memory.  It goes on later with the
# lane at hand and with all others.  It never mistakes the platform's answer,
# and never loses a turn to send for good.

use lib 't/lib';
BEGIN { $ENV{GUILDLOG_BUILD} = 'asan' }    # each allocation is a malloc() there
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Fault;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, allow => [qr/Cannot allocate memory/],
    api => 'guildlog_limit off;');
my $fault = Guildlog::Fault->new($g->prefix . '/logs');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g), env => $fault->env)->start;
deliver_with($g, $platform);
my $worker = wait_for { ($g->workers)[0] } 60, 'a worker';


# lets allocations in a function fail while the code runs, until one has failed
sub without_memory {
    my ($function, $work) = @_;

    $fault->fail_within($worker, $function);
    $work->();
    wait_for { $fault->hit } 60, "$function()";
    $fault->failed;
}


subtest 'turns to send' => sub {
    my ($guild, $token) = server();
    my @types = 20 .. 31;
    for my $type (@types) {
        my $answer = $g->patch("/servers/$guild/config/logging/settings/$type",
            token => $token, json => { log_channel => ++$channel . '' });
        die $answer->text if $answer->status != 202;
    }
    my @first = map { record($guild, 1, type => $_) } @types;
    becomes($guild, $token, $_, 'delivered', 'a lane', 60) for @first;

    # more entries than may be sent at once for one server

    $fault->fail_within($worker, 'ngx_guildlog_platform_call');
    my @ids = map { record($guild, 1, type => $_) } @types;
    wait_for { !grep { word($guild, $token, $_) ne 'not_delivered retrying' }
        @ids } 60, 'no entry can be sent';
    $fault->failed;
    becomes($guild, $token, $_, 'delivered', 'then it is sent', 60) for @ids;
};


subtest 'an answer that cannot be read' => sub {
    my ($guild, $token, $to) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'one', 60);
    my $limit = sub {
        my ($status, $body) = @_;
        my $id;
        $platform->faults({ call => 'execute', channel => $to,
            action => 'answer', status => $status, body => $body });
        without_memory('ngx_guildlog_verdict',
            sub { ($id) = record($guild, 1, type => 30) });
        becomes($guild, $token, $id, 'delivered', "$status: it is sent again",
            60);
        is times_applied($to, $id), 1, '... once';
    };
    $limit->(429, { retry_after => 0.1, global => JSON::PP::true,
        message => 'You are being rate limited.' });
    $limit->(403, { code => 50013, message => 'Missing Permissions' });
    is $g->sql('select state from lane where channel_id = ?', $to), 'active',
        'its lane stays active';
};


subtest 'a webhook that is there already' => sub {
    $platform->faults({ call => 'create', action => 'apply-reset' });
    my ($guild, $token, $to);
    without_memory('ngx_guildlog_verdict',
        sub { ($guild, $token, $to) = server() });
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered',
        'an existing webhook is used', 60);
    is scalar($platform->webhooks($to)), 1, 'no second one is made';
};

# jansson aborts where an allocation for the character of an escape fails

subtest 'an answer that is cut in the middle of an escape' => sub {
    my ($guild, $token, $to) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'one', 60);

    my @ids;
    for my $n (8 .. 21) {
        $platform->faults({ call => 'execute', channel => $to,
            action => 'answer', status => 429, body => { retry_after => 0.01,
                message => 'x' x ($n % 2 ? 5 : 1) . "\x01" x 100 } });
        $fault->fail($worker, 1 + int($n / 2), 1,
            'ngx_guildlog_verdict');
        push @ids, record($guild, 1);
        wait_for { $fault->hit || word($guild, $token, $ids[-1])
            eq 'delivered' } 60, 'a fault, or a delivery';
        $fault->failed;
        becomes($guild, $token, $ids[-1], 'delivered', 'it is sent again', 60);
    }
    is scalar(grep { times_applied($to, $_) != 1 } @ids), 0, 'each once';
};

is_deeply [$g->workers], [$worker], 'the worker never restarted';
$g->stop;

done_testing;
