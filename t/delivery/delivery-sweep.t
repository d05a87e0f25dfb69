#!/usr/bin/perl
# From time to time delivery looks at all lanes (a sweep), which also expires
# entries that wait for a webhook.  If a sweep fails, lanes that are called for
# are still found: by a worker that swept before, and by one that just began.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


sub arrives {
    my ($why) = @_;

    my ($guild, $token) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', $why, 30);
}


sub failures {
    return scalar(() = $g->error_log =~ /delivery of lanes failed.*no time/g);
}


arrives('one before');

$g->sql(q{create or replace function delivery_expire(me text,
    after_guild bigint, after_lane bigint, most int, apart boolean)
    returns setof delivery_lane
    language plpgsql as 'begin raise ''no time'' using errcode = ''55P03''; end'});
$g->sql('update shard_lease set fence = fence + 1');
wait_for { failures() } 60, 'a sweep fails';
arrives('beside sweeps that fail');

my $before = failures();
$g->stop;
$g->start;
wait_for { failures() > $before } 60, 'the first sweep of a new worker fails';
arrives('who begins with one');

$before = failures();
wait_for { failures() > $before } 60, 'another sweep fails';
pass 'failed sweeps are tried again';

done_testing;
