package Guildlog::Bench::Search;

# first pages with exact counts of searches and filters in the largest of many
# servers (--entries) over 30 days: PostgreSQL's CPU and nginx's, with strings
# kept; what the index takes to make, as entries come and of a past, and to keep

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Index;
use Guildlog::Zipf;

use constant DAY => 86_400_000;

# name, search, other parameters
my @queries = (
    ['the commonest word, in all channels', word(1)],
    ['a common word, in many names',        word(2)],
    ['a word, in some names',               word(50)],
    ['a word, in no name',                  word(800)],
    ['a rare word',                         word(4999)],
    ['no such word',             'zzzz'],
    ['two common words',         word(2, 3)],
    ['a common and a rare word', word(2, 4999)],
    ['three common words',       word(2, 3, 5)],
    ['a part of some names',     word(50) . ' 1'],
    ['one letter',               'e'],
    ['a word, the last week',    word(50), after => time * 1000 - 7 * DAY],
    ['a word, one type',         word(50), type => 7],
    ['a word, a channel',        word(50), channel => '300000000000000003'],
    ['a word, a member',         word(50), member => '200000000000000077'],
    ['a channel',                undef, channel => '300000000000000003'],
    ['a member',                 undef, member => '200000000000000077'],
);


sub run {
    my $nginx = start(api => $no_limit, http => 'guildlog_page_cache 0;',
        keeper => 'on interval=20ms');
    my $guild = $nginx->server;
    my $token = $nginx->token($guild);

    index_hold($nginx);
    Guildlog::Zipf::fill($nginx, $guild, option('entries'));

    once { [asked($nginx, $guild, $token, 1, @{ $queries[3] })] }
        "$queries[3][0], without an index: PostgreSQL's CPU, ms; nginx's";
    index_made($nginx, $guild);

    for my $query (@queries) {
        figures {
            [asked($nginx, $guild, $token, 10 * option('seconds'), @$query)];
        } "$query->[0]: PostgreSQL's CPU, ms; nginx's";
    }
}


# of these ranks
sub word { return join ' ', map { Guildlog::Zipf::word($_) } @_ }


# PostgreSQL's CPU and nginx's for each of so many pages, ms
sub asked {
    my ($nginx, $guild, $token, $times, undef, $search, %other) = @_;

    my $query = join '&', 'limit=100',
        map { "$_=" . uri($other{$_}) } sort keys %other;
    $query .= '&search=' . uri($search) if defined $search;

    my $page = sub {
        my $status = $nginx->get("/servers/$guild/logs?$query",
            token => $token, connect => { timeout => 120 })->status;
        die "a search was answered with $status\n" if $status != 200;
    };
    $page->() if $times > 1;
    my ($postgres, $workers) = (postgres_cpu($nginx), cpu($nginx));
    $page->() for 1 .. $times;
    return (postgres_cpu($nginx) - $postgres) * 1000 / $times,
        (cpu($nginx) - $workers) * 1000 / $times;
}


sub uri { return $_[0] =~ s/([^A-Za-z0-9])/sprintf '%%%02X', ord $1/ger }


# as the worker that keeps makes it: of entries as if each 1,024 of them had
# just come, with days that are over made whole; then of the same as a past
sub index_made {
    my ($nginx, $guild) = @_;

    my $n   = option('entries');
    my $doc = $nginx->sql('select avg(octet_length(doc)) from (select doc from
        entries limit 20000) e');
    my $job = $nginx->sql(
        q(select pg_get_functiondef('search_work_of'::regproc)));

    $nginx->sql($job =~ s/16384/1024/r);
    index_begin($nginx, $guild);
    $nginx->sql('update search_head set arrival = 0, back_id = 0,
        back_arrival = 0 where guild_id = ?', $guild);
    made($nginx, $guild, 'as entries come');

    $nginx->sql($job);
    index_begin($nginx, $guild);
    made($nginx, $guild, 'of a past');

    admin($nginx, 'vacuum analyze');
    once { [size($nginx) / $n, $doc] }
        '  bytes an entry, with the room that the first one left; its document';
    return;
}


sub made {
    my ($nginx, $guild, $how) = @_;

    my $n = option('entries');
    once {
        my ($postgres, $workers) = (postgres_cpu($nginx), cpu($nginx));
        index_all($nginx, $guild);
        [(cpu($nginx) - $workers) / $n * 1e6,
            (postgres_cpu($nginx) - $postgres) / $n * 1e6];
    } "the index $how, nginx's CPU, µs an entry; PostgreSQL's";
    return;
}


sub size {
    my ($nginx) = @_;

    return scalar $nginx->sql(q(select sum(pg_total_relation_size(c.oid))
        from pg_class c where c.relnamespace = 'guildlog'::regnamespace
         and c.relname ~ '^search_' and c.relkind = 'r'));
}


1;
