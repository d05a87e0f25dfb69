# "every word of the query must match; words are matched whole in message
# content, case-insensitively, any language; or the whole query matches a part
# of the executor's, target's, channel's name, role, name or reason": nginx
# judges an entry as the database does, for every character, entry and query.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_QUERIES makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Random;

my $seed    = $ENV{GUILDLOG_SEED} // 1;
my $queries = $ENV{GUILDLOG_QUERIES} || 200;

srand $seed;
note "GUILDLOG_SEED=$seed";

my $nginx   = Guildlog->new;
my $program = $nginx->prefix . '/match';

system('bash', '-c', '. util/lib.sh; source=$top/t/lib/match.c; pure_library;
    link_pure "$1" "$source" $(sources_of "$source")', 'bash', $program) == 0
    or die "$program cannot be built";


# the program's answers to these questions, one line each
sub ask {
    my (@questions) = @_;

    my $questions = $nginx->file('questions', join '', map { "$_\n" }
        @questions);
    open my $out, "$program < $questions |" or die "$program: $!";
    chomp(my @said = <$out>);
    close $out or die "$program failed";
    return @said;
}


sub hex_of {
    my ($text) = @_;

    return '-' if !defined $text;
    utf8::encode($text);
    return '=' . unpack 'H*', $text;
}


# reports the first few differences
sub same {
    my ($got, $expected, $what, @name) = @_;

    my @differ = grep { ($got->[$_] // '') ne ($expected->[$_] // '') }
        0 .. ($#$got > $#$expected ? $#$got : $#$expected);
    ok !@differ, $what;
    diag "$name[$_]: $got->[$_], the database says $expected->[$_]"
        for splice @differ, 0, 5;
}


# what the database is asked by
utf8::decode(my $words = slurp("$Guildlog::TOP/t/search/words.sql"));
$nginx->sql($words);


# every code point

my @points = $nginx->sql(q(
    select c, '=' || encode(convert_to(fold(chr(c)), 'UTF8'), 'hex') || ' '
           || (chr(c) collate "und-x-icu"
               ~ ('[' || word_characters() || ']'))::int
      from generate_series(1, x'10ffff'::int) c
     where c not between x'd800'::int and x'dfff'::int
     order by c));

is scalar @points, 0x10ffff - 0x800, 'all code points are tested';
same [ask('points')], [map { $_->[1] } @points],
    'both fold them alike, and agree on letters of words',
    map { sprintf 'U+%04X', $_->[0] } @points;

# texts

my @odd = map { chr } 0x130, 0x131, 0x3a3, 0x3c2, 0x3c3, 0x307, 0x300, 0x1e9e,
    0x212a, 0x23a, 0x10400, 0x1f600, 0xad, 0x200d, 0xa0, 0x85, 0x915, 0x94d,
    0x6771, 0xfe0f;

sub odd_text {
    return join '', map {
        chance(0.4) ? pick(@odd) : chance(0.3) ? pick(' ', '-', '_', "\n", '.')
            : chance(0.5) ? chr between(97, 122)
            : chr pick(between(0x41, 0x5a), between(0xc0, 0x52f),
                between(0x1f00, 0x1fff), between(0x900, 0x97f))
    } 1 .. between(0, 25);
}

my @texts = map { odd_text() } 1 .. 20_000;
my @words = $nginx->sql(q(
    select '=' || encode(convert_to(fold(t), 'UTF8'), 'hex')
           || coalesce((select string_agg(' =' || encode(convert_to(w, 'UTF8'),
                                                         'hex'), '' order by w
                                          collate "C")
                          from unnest(words_of(t)) w), '')
      from unnest(?::text[]) with ordinality u (t, n) order by n), \@texts);

same [map {
    my ($fold, @word) = split;
    my %once = map { $_ => 1 } @word;
    join ' ', $fold, sort keys %once;
} ask(map { 'fold ' . hex_of($_) } @texts)], [map { $_->[0] } @words],
    '20,000 texts have the same words', @texts;

# entries

my $server = $nginx->server;
for my $n (1 .. 3) {
    my @entries = map { random_entry() } 1 .. 100;
    $_->{content} = odd_text() for grep { chance(0.3) } @entries;
    $_->{messages}[0] = { id => '1', content => odd_text(),
        attachments => [{ name => '"content": "hello"', size => 1 }] }
        for grep { chance(0.1) } @entries;
    $_->{executor}{name} = odd_text() for grep { $_->{executor} && chance(0.2) }
        @entries;
    $_->{emoji} = { id => '5', name => 'hello', animated => \1 }
        for grep { chance(0.1) } @entries;

    # the module writes some of them, the database writes the others
    if ($n < 3) {
        my $answer = $nginx->operator('POST', "/servers/$server/logs",
            \@entries);
        is $answer->json->{recorded}, 100,
            'a batch is recorded' or diag $answer->text;
    }
    else {
        $nginx->sql('select record(?, 0::smallint, ?::jsonb)', $server,
            Cpanel::JSON::XS->new->encode(\@entries));
    }
}

my @entries = $nginx->sql(q(select id, doc from entries where guild_id = ?
    order by id), $server);
cmp_ok scalar @entries, '>=', 300, 'entries are stored';
my @docs = map { 'match ' . hex_of($_->[1]) } @entries;

my @categories = $nginx->sql('select distinct category from log_type');
@categories = map { $_->[0] } @categories;

my ($found, $wrong) = (0, 0);
for (1 .. $queries) {
    my $q = random_query(@categories);
    my ($some) = @{ pick(@entries) };
    my $time = ($some >> 22) + 1_420_070_400_000;
    $q->{after}  = $time - between(-1, 1) if chance(0.1);
    $q->{before} = $time - between(-1, 1) if chance(0.1);
    $q->{search} = odd_text() if chance(0.1);
    delete $q->{search} if ($q->{search} // 'x') !~ /\S/;

    my ($row) = $nginx->sql(q(
        with q as materialized (
            select types_of($2::text[], $3::int[]) as types,
                   search_part($4) as part,
                   word_patterns(words_of(search_part($4))) as patterns,
                   $5::bigint as after, $6::bigint as before,
                   $7::bigint as channel, $8::bigint as member, $9 as side,
                   fold($10) as role
        )
        select (select string_agg((t = any (q.types))::int::text, '' order by t)
                  from generate_series(0, 101) t, q),
               array(select (coalesce(e.type = any (q.types), q.types is null)
                         and coalesce(id_time(e.id) > q.after, true)
                         and coalesce(id_time(e.id) < q.before, true)
                         and (q.channel is null
                              or e.channel_id is not distinct from q.channel)
                         and (q.member is null
                              or q.side <> 'target'
                                 and e.executor_id is not distinct from q.member
                              or q.side <> 'executor'
                                 and e.target_id is not distinct from q.member)
                         and (q.role is null
                              or coalesce(strpos(fold((e.doc || '}')::json
                                                      ->> 'role'), q.role), 0)
                                 > 0)
                         and (q.part is null
                              or entry_found(e.doc, q.patterns, q.part)))::int
                       from entries e, q
                      where e.guild_id = $1 and e.bot = 0 order by e.id)),
        $server, @$q{qw(category type search after before channel member)},
        $q->{memberRole} // 'either', $q->{role});

    my $side = { executor => 1, target => 2 }->{ $q->{memberRole} // '' } // 0;
    my (undef, @got) = ('', ask(join(' ', 'query', $row->[0] // '-',
        (map { $q->{$_} // '-' } qw(after before channel member)), $side,
        map { hex_of($q->{$_}) } qw(role search)), @docs));

    $found += $_ for @{ $row->[1] };
    next if "@got" eq "@{ $row->[1] }";

    diag "seed $seed: ", query_string($q), ': ', join ' ', map {
        "$entries[$_][1]: $got[$_]" } grep { $got[$_] ne $row->[1][$_] }
        0 .. $#entries if !$wrong++;
}
is $wrong, 0, "$queries queries find the same entries";
cmp_ok $found, '>', $queries, '... some find entries';

done_testing;
