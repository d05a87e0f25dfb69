# Where the partitions for new days were not made, entries are recorded into the
# default partitions.  Making the partitions then moves the rows, and every
# request meanwhile sees all of them.

use lib 't/lib';
use Guildlog;
use Guildlog::File;

my $g = Guildlog->new(keeper => 'off', api => 'guildlog_limit off;');
my $server = $g->server(plan => 'pro');
my %as = (token => $g->token($server));
my $at = "/servers/$server";

# drops the partitions of the days, as if their time were over
for my $table (qw(log_entry log_event lane_batch)) {
    $g->sql("drop table $_->[0]") for $g->sql(
        'select name from partitions(?) where name !~ ?', $table, 'past');
}
$g->operator('PUT', "$at/channels/777", { name => 'general', type => 0 });
$g->patch("$at/config/logging/channels", %as, json =>
    { main_channel => '777' });
my $sent = $g->operator('POST', "$at/logs", [map { {
    type => 5, event_id => "e$_", content => "word$_",
    timestamp => int(time * 1000) + ($_ <= 10 ? 50_000 : -$_) } } 1 .. 500]);
is $sent->json->{recorded}, 500, 'entries are recorded';
$g->sql(q(insert into lane_batch select guild_id, lane, 1, tail, 99, now(), 1,
    2, null from lane_tail where guild_id = ?), $server);
$g->sql(q(update lane_head h set head = t.tail, upto = t.tail from lane_tail t
    where t.guild_id = h.guild_id and t.lane = h.lane and h.guild_id = ?),
    $server);

my %ask = (
    'a page'          => sub { total($_[0]->get("$at/logs", %as)) },
    'a filtered page' => sub { total($_[0]->get("$at/logs?type=5", %as)) },
    'a search'        => sub { total($_[0]->get("$at/logs?search=word7", %as)) },
    'an export'       => sub {
        scalar(() = $_[0]->get("$at/logs/export?type=5", %as)->text =~ /\n/g);
    },
    'deliveries'      => sub {
        join ' ', map { $_->{delivery}{status} }
            @{ $_[0]->get("$at/logs?limit=20&type=5", %as)->json->{logs} };
    },
    'the same event'  => sub {
        join ' ', @{ $_[0]->operator('POST', "$at/logs", [{ type => 5,
            event_id => 'e7' }])->json }{qw(recorded duplicates)};
    },
);


sub total { return $_[0]->json->{total} }


sub held {
    return scalar $g->sql(q(select count(*) from (select from log_entry_default
        union all select from log_event_default
        union all select from lane_batch_default) r));
}


my %before = map { $_ => $ask{$_}->($g) } sort keys %ask;
is $before{'a search'}, 1, 'the entries are found';
cmp_ok held(), '>', 1000, 'the default partitions have the entries';

# the keeper takes one step after another; requests meanwhile wait for its lock
my $keeper = $g->cluster->connect($g->dbname);
my $steps = 0;

while ($g->sql('select partitions_missing()') && $steps++ < 20) {
    $keeper->begin_work;
    $keeper->do('select partitions_ensure()');

    my @names = sort keys %ask;
    my %child;
    for my $i (0 .. $#names) {
        defined(my $pid = fork) or die "fork: $!";
        if (!$pid) {
            $g->file("answer$i", eval { $ask{ $names[$i] }->($g) } // $@);
            POSIX::_exit(0);
        }
        $child{$pid} = $i;
    }

    # each request has its snapshot, or waits behind one that has
    eval { wait_for { $g->waiting('logs|record') >= 3 } 5 };
    $keeper->commit;
    waitpid $_, 0 for keys %child;
    my %now = map { $names[$_] => slurp($g->prefix . "/answer$_") }
        0 .. $#names;
    is $now{$_}, $before{$_}, "step $steps: $_" for @names;
}

cmp_ok $steps, '>=', 1, 'the keeper had something to do';
cmp_ok $steps, '<', 20, 'the keeper comes to an end';
is held(), 0, 'then every row is in the partition of its day';
is total($g->get("$at/logs?type=5", %as)), 500, 'no entry is lost';

done_testing;
