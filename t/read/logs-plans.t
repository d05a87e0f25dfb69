# A plan is kept as long as its connection.  Also a plan made while the
# partition of today is empty must not read, later on, whole tables by
# sequential scans.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

use constant DAY => 86_400_000;

my $nginx   = Guildlog->new;
my $guild   = $nginx->server;
my $token   = $nginx->new_token($guild)->{unique_id};
my $member  = '200000000000000007';
my $channel = '300000000000000003';
my $now     = int(time * 1000);

my @filters = (
    { type => '{5}' }, { type => '{5,6}' }, { category => '{categoryText}' },
    { after => $now - 60_000 },
);

# of what is in no segment
my @parts = (
    {}, { channel => $channel }, { member => $member, side => 'either' },
    { member => $member, side => 'executor' },
    { member => $member, side => 'target' },
    { member => $member, side => 'either', channel => $channel },
);

my $reader = session($nginx);


# records that many entries, one for each ms from a time on
sub store {
    my ($n, $at) = @_;

    $nginx->sql('select record(?::bigint, 0::smallint, (?::text)::jsonb)',
        $guild, json->encode([map { {
            event_id  => "$at-$_",
            type      => 5,
            timestamp => $at + $_,
            executor  => { id => $_ % 9 ? '200000000000000001' : $member,
                name => 'Ann' },
            target    => { id => $_ % 7 ? '200000000000000002' : $member,
                name => 'Bob' },
            channel   => { id => $_ % 8 ? '300000000000000001' : $channel,
                name => 'general' },
            content   => $_ % 5 ? 'hay' : 'a needle',
            $_ % 6 ? () : (role => 'Guard'),
        } } 1 .. $n]));
}


my %mine = (token => $token, guild => $guild, bot => 0, kind => 1);
my @names = qw(after before category type);
my %arguments = (
    logs_page   => [qw(token guild bot kind), @names, qw(most below)],
    logs_export => [qw(token guild bot kind), @names,
                    qw(locale since below most ids)],
    logs_found  => [qw(token guild bot kind ids head total more state)],
    search_open => [qw(token guild bot kind after before below known)],
    search_tail => [qw(token guild bot kind by_arrival low high since until at
                    channel member side bytes)],
    search_slices => [qw(token guild bot kind days keys froms lens)],
    logs_tail   => [qw(guild bot since most)],
    logs_begin  => [qw(token guild bot kind last_id)],
    logs_one    => [qw(token guild bot kind id)],
    logs_actors => [qw(token guild bot kind)],
);


# the rows of the tables, and how many rows were read by sequential scans
sub call {
    my ($function, %argument) = @_;

    my @arguments = @{ $arguments{$function} };
    %argument = (%mine, most => 50, locale => 'en', %argument);

    $reader->begin_work;    # a session reports its counts after its transaction
    my $before = scanned();
    my $rows   = $reader->selectall_arrayref("select * from $function("
        . join(', ', map { "$_ => ?" } @arguments) . ')', undef,
        @argument{@arguments});
    my $scanned = scanned() - $before;
    $reader->commit;
    return scalar @$rows, $scanned;
}


sub scanned {
    return ($reader->selectrow_array("select coalesce(sum(seq_tup_read), 0)
        from pg_stat_xact_user_tables
       where relname ~ '^(log_(arrival|block|day)|search_)'"))[0];
}


# so many segments of today
sub segments {
    my ($n) = @_;

    $nginx->sql(<<~'SQL', $guild, $n);
        insert into search_segment (guild_id, bot, day, key, whole, n, kinds,
                                    dir, body)
        select ?, 0, search_closed() + 1, nextval('search_key'), false, 1,
               '', '', 'bytes' from generate_series(1, ?)
        SQL
}


$nginx->sql('update search_head set format = 1 where guild_id = ?', $guild);
store(600, $now - 3 * DAY);
segments(2);
$nginx->sql('analyze log_arrival, log_block, log_day, search_segment');

my ($first, $arrival) = @{ ($nginx->sql('select id, arrival from entries
    where guild_id = ? order by id limit 1', $guild))[0] };
my @calls = ((map { my $filter = $_; map { [$_, %$filter] }
        qw(logs_page logs_export) } {}, @filters),
    (map { my $part = $_; map { ['search_tail', by_arrival => $_, low => $first,
            high => $first + (DAY << 24), since => $arrival, bytes => 262_144,
            until => $arrival + 1_000_000, %$part] } 0, 1 } @parts),
    ['search_open'], ['search_open', after => $now - 60_000],
    ['search_slices', days => '{4000,4001}', keys => '{1,2}', froms => '{0,0}',
        lens => '{1,1}'],
    ['logs_found', ids => "{$first}", head => '{', total => 1, more => 0],
    ['logs_export', since => 0, ids => "{$first}"],
    ['logs_tail', since => $arrival],
    ['logs_begin', last_id => $first], ['logs_begin', last_id => $first + 1],
    ['logs_one', id => $first], ['logs_actors']);

call(@$_) for @calls, @calls;
store(2_000, $now - 30_000);
segments(1_000);

for (@calls) {
    my ($function, %argument) = @$_;
    my ($rows, $scanned) = call($function, %argument);
    is $scanned, 0, join ' ', "$function of $rows rows:",
        map { "$_=$argument{$_}" } sort keys %argument;
}

done_testing;
