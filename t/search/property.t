# "total: number of entries matching the filters from this page onwards",
# "categoryCounts: the category filter itself is not applied to it", "Both are
# exact, always".  Entries are recorded, some late, some are deleted again, and
# queries are asked, with any part of the entries in blocks and any part of the
# index for searches.  Each page must be the one that a plain look at all entries
# gives, and each histogram has in its buckets what such a look finds there.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_QUERIES makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Index;
use Guildlog::Random;
use List::Util qw(min uniq);
use Time::HiRes qw(time);

use constant { HOUR => 3_600_000, DAY => 86_400_000 };

my $seed    = $ENV{GUILDLOG_SEED} // 1;
my $queries = $ENV{GUILDLOG_QUERIES} || 2_400;

srand $seed;
note "GUILDLOG_SEED=$seed";

my $nginx = Guildlog->new(workers => 2, api => 'guildlog_limit off;',
    keeper => 'on interval=5ms');
index_hold($nginx);

# so that there are many, and many are divided
$nginx->sql("create or replace function $_() returns int
    language sql immutable as 'select 8'") for qw(block_size day_blocks);

my %category = map { @$_ } $nginx->sql('select id, category from log_type');
my @categories = uniq sort values %category;


# randomness


# the power says where in that time most of them are
sub entry_of {
    my ($oldest, $power) = @_;

    my $entry = random_entry();
    $entry->{timestamp} = now() - int($oldest * rand() ** $power) - 15_000;

    # several in one millisecond
    $entry->{timestamp} -= $entry->{timestamp} % 60_000 if chance(0.1);
    return $entry;
}


sub now { return int(time * 1000) }


# the model: a server is a list of what is stored, newest first

sub fold {
    my ($text) = @_;
    return lc($text) =~ s/ς/σ/gr;
}


sub words_of { return fold($_[0]) =~ /([\p{L}\p{Nd}\p{Mn}\p{Mc}]+)/g }


sub known {
    my ($entry) = @_;

    my %word = map { $_ => 1 } map { words_of($_ // '') }
        @$entry{qw(content contentAfter)},
        map { $_->{content} } @{ $entry->{messages} || [] };
    $entry->{_words} = \%word;
    $entry->{_parts} = [map { fold($_) } grep { defined }
        (map { $entry->{$_} && $entry->{$_}{name} } qw(executor target channel)),
        @$entry{qw(role name reason)}, map { texts_of(@$_{qw(old new)}) }
            @{ $entry->{changes} || [] }];
    return $entry;
}


# the strings of what changed
sub texts_of {
    return map { my $text = $_;
        ref eq 'ARRAY' ? texts_of(@$_) : ref eq 'HASH' ? texts_of($_->{name})
            : !ref && defined && $text !~ /^[0-9.]+$/ ? $text : () } @_;
}


sub found {
    my ($entry, $search) = @_;

    my $part = fold($search =~ s/^\s+|\s+$//gr);
    return 1 if grep { index($_, $part) >= 0 } @{ $entry->{_parts} };

    my @wanted = words_of($search);
    return @wanted && !grep { !$entry->{_words}{$_} } @wanted;
}


sub is_id { return $_[0] && $_[0]{id} eq $_[1] }


sub has_member {
    my ($entry, $member, $side) = @_;
    return $side ne 'target' && is_id($entry->{executor}, $member)
        || $side ne 'executor' && is_id($entry->{target}, $member);
}


# everything but the category
sub fits {
    my ($entry, $q) = @_;

    return 0 if defined $q->{search} && $q->{search} =~ /\S/
        && !found($entry, $q->{search});
    return 0 if $q->{type} && !grep { $_ == $entry->{type} } @{ $q->{type} };
    return 0 if $q->{channel} && !is_id($entry->{channel}, $q->{channel});
    return 0 if $q->{member}
        && !has_member($entry, $q->{member}, $q->{memberRole} || 'either');
    return 0 if defined $q->{role}
        && index(fold($entry->{role} // ''), fold($q->{role})) < 0;
    return 1;
}


# ids of all pages from the first, and the counts
sub expected {
    my ($server, $q) = @_;

    my $wall  = now() - $server->{retention};
    my @under = grep {
        my $at = $_->{timestamp};
        $at >= $wall && (!defined $q->{after} || $at > $q->{after})
            && (!defined $q->{before} || $at < $q->{before}) && fits($_, $q);
    } @{ $server->{entries}[$q->{bot} ? 1 : 0] };

    my %count;
    $count{ $category{ $_->{type} } }++ for @under;
    my %wanted = map { $_ => 1 } @{ $q->{category} || \@categories };

    return ([grep { $wanted{ $category{ $_->{type} } } } @under], \%count,
        defined $q->{after} && $q->{after} < $wall - 1);
}


# servers

sub new_server {
    my ($plan) = @_;

    my $retention = $plan eq 'pro' ? 30 * DAY : HOUR;
    my $id = $nginx->server(plan => $plan);
    my $server = { id => $id, plan => $plan, retention => $retention,
        token => $nginx->token($id) };
    $server->{entries} = [map { stored($id, $_) } 0, 1];
    return $server;
}


sub stored {
    my ($id, $bot) = @_;

    return [map { known(json->decode(utf8_of($_->[0]))) } $nginx->sql(
        q(select doc || '}' from entries where guild_id = ? and bot = ?
           order by id desc), $id, $bot)];
}


sub utf8_of { my ($text) = @_; utf8::encode($text); return $text }


# bots are never left out, nor is anything else: what is sent is stored
sub record {
    my ($server, $bot, @entries) = @_;

    my $answer = json->decode(utf8_of(scalar $nginx->sql(
        'select record(?, ?, ?::jsonb)', $server->{id}, $bot,
        Cpanel::JSON::XS->new->encode(\@entries))));
    is $answer->{recorded}, @entries, 'all are recorded'
        or diag explain $answer;

    my @known = map {
        my ($entry, $id) = ($entries[$_], $answer->{ids}[$_]);
        known({ %$entry, id => $id });
    } 0 .. $#entries;
    $server->{entries}[$bot] = [
        sort { $b->{id} <=> $a->{id} } @{ $server->{entries}[$bot] }, @known];
}


# queries

sub query_of {
    my ($server) = @_;

    my $entries = $server->{entries}[0];
    my $some = sub { pick(@$entries)->{timestamp} + between(-1, 1) };
    my $q = random_query(@categories);

    $q->{bot}    = 'pro'     if chance(0.1);
    $q->{after}  = $some->() if chance(0.2);
    $q->{before} = $some->() if chance(0.2);
    $q->{after}  = now() - 2 * $server->{retention} if chance(0.05);
    return $q;
}


sub page {
    my ($server, $q, %more) = @_;

    my $string = query_string({ %$q, %more });
    my $answer = $nginx->get("/servers/$server->{id}/logs?$string",
        token => $server->{token});
    return ($answer->status == 200 ? $answer->json : {}, $string);
}


# one query, all of its pages or the first few; false says what is wrong
sub wrong {
    my ($server, $q) = @_;

    my ($want, $counts, $walled) = expected($server, $q);
    my @want = map { $_->{id} } @$want;
    my $limit = chance(0.3) ? between(1, 5) : between(20, 200);
    my ($at, $cursor, $string) = (0);

    for (1 .. 4) {
        (my $page, $string) = page($server, $q, limit => $limit,
            defined $cursor ? (cursor => $cursor) : ());
        my @got  = map { $_->{id} } @{ $page->{entries} || [] };
        my @part = @want[$at .. min($at + $limit, scalar @want) - 1];

        return "$string: entries @got, not @part" if "@got" ne "@part";
        return "$string: total $page->{total}, not " . (@want - $at)
            if ($page->{total} // -1) != @want - $at;
        return "$string: counts " . json->encode($page->{categoryCounts})
            . ', not ' . json->encode($counts)
            if json->encode($page->{categoryCounts}) ne json->encode($counts);
        return "$string: walled" if !!$page->{walled} != !!$walled;
        return "$string: retention" if $page->{retentionMs} != $server->{retention};

        $at += @got;
        $cursor = $page->{cursor};
        return "$string: cursor" if defined $cursor != ($at < @want);
        last if !defined $cursor;
    }
    return;
}


# a histogram, from the first millisecond that it says it counts
sub wrong_histogram {
    my ($server, $q) = @_;

    my $most   = chance(0.5) ? between(1, 8) : between(9, 200);
    my $string = query_string({ %$q, buckets => $most });
    my @now    = (now());
    my $answer = $nginx->get("/servers/$server->{id}/logs/histogram?$string",
        token => $server->{token});
    return "$string: " . $answer->status if $answer->status != 200;
    push @now, now() + 1;    # the database rounds

    my ($want, undef, $walled) = expected($server, $q);
    my $got = $answer->json;
    my ($from, $to, $step) = @$got{qw(from to step)};
    my @wall = map { $_ - $server->{retention} } @now;
    my $cut  = !defined $q->{after} || $q->{after} + 1 < $wall[0];

    return "$string: from $from" if $cut
        ? $from < $wall[0] || $from > $wall[1] : $from != $q->{after} + 1;
    return "$string: to $to" if $to < $from || $to > $from
        && (defined $q->{before} ? $to != $q->{before}
            : $to <= $now[0] || $to > $now[1] + 1);
    return "$string: step $step" if $step * $most < $to - $from
        || $step > 1 && ($step - 1) * $most >= $to - $from;
    return "$string: walled" if !!$got->{walled} != !!$walled;

    my %bucket;
    for my $entry (@$want) {
        my $n = int(($entry->{timestamp} - $from) / $step);
        $bucket{$n}{ $category{ $entry->{type} } }++;
    }
    my @want = map { { at => $from + $_ * $step, counts => $bucket{$_} } }
        sort { $a <=> $b } keys %bucket;
    my ($is, $was) = map { json->encode($_) } $got->{buckets}, \@want;
    return $is eq $was ? undef : "$string: $is, not $was";
}


sub ask {
    my ($server, $n, $what) = @_;

    divide($server) if chance(0.5);
    my $wrong;
    for (1 .. $n) {
        my $q = query_of($server);
        last if $wrong = wrong($server, $q)
            || chance(0.3) && wrong_histogram($server, $q);
    }
    ok !$wrong, "$n queries: $what" or diag "seed $seed: $wrong";
}


# how many of its entries are in no block, and how many are in one
sub hot_and_cold {
    my ($server) = @_;

    return ($nginx->sql('select count(*) filter (where arrival is not null),
        count(*) filter (where arrival is null) from entries
        where guild_id = ?', $server->{id}))[0]->@*;
}


# blocks of some of what waits
sub some_blocks {
    my ($server) = @_;
    $nginx->some_blocks($server->{id}, between(1, 60));
}


# days that have been over for a day are counted by their parts, too
sub divide {
    my ($server) = @_;
    $nginx->sql('select count(day_divide(h.guild_id, h.bot)) from log_head h
        cross join generate_series(1, 32) where h.guild_id = ?', $server->{id});
}


# a person is forgotten, at once
sub forget {
    my ($server, $id) = @_;

    is $nginx->operator('DELETE', "/servers/$server->{id}/members/$id/logs")
        ->status, 202, 'a person is to be forgotten';
    wait_for {
        $nginx->sql('select more from keeper_forget(20000)');
        die "$_\n" for grep { defined }
            scalar $nginx->sql('select error from forgotten_person');
        !$nginx->sql('select count(*) from forgotten_person');
    } 60, 'the person is forgotten';
    $server->{entries} = [map { stored($server->{id}, $_) } 0, 1];
}


# all that the derived tables say is so
sub sound {
    my ($server) = @_;

    is join("\n", map { join ' | ', map { $_ // '' } @$_ } $nginx->sql(
        'select * from guildlog.check(?)', $server->{id})), '', 'all fits';
}


# segments of the server: of runs, and of all that a day had
sub segments {
    my ($server) = @_;

    return @{ ($nginx->sql('select count(*) filter (where not whole),
        count(*) filter (where whole) from search_segment
        where guild_id = ?', $server->{id}))[0] };
}


# entries that are held, some of which a request removes; the index is being
# made meanwhile
sub take_back {
    my ($server, @entries) = @_;

    my @settings = ("/servers/$server->{id}/config/logging/settings",
        token => $server->{token});
    $nginx->patch(@settings, json => { active_ignore => JSON::PP::true });
    record($server, 0, @entries);
    held_until($server, '1 hour');
    index_all($nginx, $server->{id});
    $nginx->blocks($server->{id});
    cmp_ok +(hot_and_cold($server))[0], '>=', @entries,
        'what is held is in no block';
    for my $id (@people) {
        $nginx->post("/servers/$server->{id}/active/ignore/executors",
            token => $server->{token}, json => { id => "$id", count => 3 });
    }
    held_until($server, '-2 seconds');
    $nginx->sql('select count(*) from held_release()');
    index_all($nginx, $server->{id});
    $nginx->patch(@settings, json => { active_ignore => JSON::PP::false });

    my $n = @{ $server->{entries}[0] };
    $server->{entries}[0] = stored($server->{id}, 0);
    cmp_ok $n - @{ $server->{entries}[0] }, '>', 5, 'some are gone';
}


sub held_until {
    my ($server, $in) = @_;
    $nginx->sql('update log_arrival set held_to = now() + ?::interval
        where guild_id = ? and held_to is not null', $in, $server->{id});
}


# the runs

for my $plan (qw(pro free pro_lite)) {
    my $server = new_server($plan);
    my $oldest = $plan eq 'pro' ? 29 * DAY : 3 * HOUR;
    my $power  = $plan eq 'pro' ? 0.3 : 2;
    my $each   = int($queries / 15) + 1;

    # nothing at the wall, which moves while this runs
    my $entries = sub {
        my ($n) = @_;
        return grep {
            my $age = now() - $_->{timestamp};
            abs($age - $server->{retention}) > 600_000;
        } map { entry_of($oldest, $power) } 1 .. $n;
    };

    ask($server, int($each / 10) + 1, "$plan, hardly anything stored");
    record($server, 0, $entries->(300)) for 1 .. 3;
    record($server, 1, $entries->(150));
    ask($server, $each, "$plan, all of them hot, no index");

    some_blocks($server) for 1 .. 4;
    cmp_ok $_, '>', 0, 'some are in blocks' for hot_and_cold($server);
    ask($server, int($each / 2), "$plan, some in blocks, no index");

    $nginx->blocks($server->{id});
    is +(hot_and_cold($server))[0], 0, 'all are in blocks';
    divide($server);
    cmp_ok $nginx->sql(q(select count(*) from log_day where parts <> '{}'
        and guild_id = ?), $server->{id}), '>', 3, 'some days have parts'
        if $plan eq 'pro';
    index_begin($nginx, $server->{id});
    index_some($nginx, $server->{id}, between(1, $plan eq 'pro' ? 20 : 1));
    cmp_ok +(segments($server))[1], '>', 0, 'and part of the index';
    ask($server, $each, "$plan, all in blocks, part of the index");

    index_all($nginx, $server->{id});
    for (1 .. 3) {
        record($server, 0, $entries->(30));
        index_some($nginx, $server->{id}, between(1, 2));
    }
    cmp_ok $_, '>', 0, 'an index of runs and of days' for segments($server);
    record($server, 0, $entries->(300));
    ask($server, $each, "$plan, more recorded behind and before them");

    take_back($server, $entries->(60));
    index_all($nginx, $server->{id});
    for (1 .. 4) {
        some_blocks($server);
        ask($server, int($each / 4), "$plan, some taken back");
        record($server, 0, $entries->(40));
    }
    sound($server);

    # what is past keeping, and goes
    if ($plan eq 'pro') {
        my $entries = $server->{entries}[0];
        record($server, 0, map { { %{ random_entry() },
            timestamp => now() - 32 * DAY - $_ * HOUR } } 0 .. 60);
        $server->{entries}[0] = $entries;
        $nginx->blocks($server->{id});
        ask($server, int($each / 4), "$plan, some are past keeping");
        cmp_ok $nginx->sql('select blocks_expire(?, 0::smallint, day_now() - 31,
            1000)', $server->{id}), '>', 0, 'these go';
        sound($server);
    }

    forget($server, $people[0]);
    index_begin($nginx, $server->{id});
    index_some($nginx, $server->{id}, between(0, 5));
    record($server, 0, $entries->(60));
    some_blocks($server);
    ask($server, int($each / 2), "$plan, somebody forgotten");

    walk($server, $entries) for 1 .. 3;

    # its log outlives it, and says so
    is $nginx->delete("/servers/$server->{id}", token => $server->{token})
        ->status, 202, 'a reset';
    my $n = @{ $server->{entries}[0] };
    is scalar @{ stored($server->{id}, 0) }, $n + 1, 'is one entry more';
    $server->{token} = $nginx->token($server->{id});
    $server->{entries}[0] = stored($server->{id}, 0);
    index_some($nginx, $server->{id}, between(0, 2));
    record($server, 0, $entries->(20));
    ask($server, int($each / 4), "$plan, reset");
    sound($server);
}


# pages while entries are recorded, late ones too
sub walk {
    my ($server, $entries) = @_;

    my $q = query_of($server);
    delete @$q{qw(bot after before)};
    my ($want) = expected($server, $q);
    my %there = map { $_->{id} => 1 } @$want;
    my $limit = int(@$want / 8) + 1;

    my (@got, $cursor, $string);
    do {
        (my $page, $string) = page($server, $q, limit => min(200, $limit),
            defined $cursor ? (cursor => $cursor) : ());
        push @got, map { $_->{id} } @{ $page->{entries} };
        $cursor = $page->{cursor};
        record($server, 0, $entries->(5));
        some_blocks($server) if chance(0.5);
        index_some($nginx, $server->{id}, between(1, 5)) if chance(0.3);
    } while defined $cursor;

    is scalar(uniq @got), scalar @got, 'nothing comes twice';
    my %got = map { $_ => 1 } @got;
    is_deeply [grep { !$got{$_} } map { $_->{id} } @$want], [],
        "nothing is lost: $string";
}


done_testing;
