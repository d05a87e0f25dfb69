# A page ends after about a MiB of documents, be they in blocks or not: what it
# has not comes on the next one, in the order of time, and nothing is left out.

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(api => 'guildlog_limit off;');
my $now    = int(time * 1000) - 100_000;
my $next   = 0;
my ($server, %as, @stored);


# entries at these times; type 5 is long
sub record {
    my ($type, @at) = @_;

    my $answer = $nginx->operator('POST', "/servers/$server/logs", [map { {
        event_id => 'e' . $next++, type => $type, timestamp => $now + $_,
        $type == 5 ? (content => "\x{6771}" x 4000, contentAfter => 'x' x 4000)
            : (),
    } } @at])->json;
    is $answer->{recorded}, @at, 'all are recorded';
    @stored = sort { $b->[0] <=> $a->[0] } @stored,
        map { [$_, $type] } @{ $answer->{ids} };
}


# walks through all pages
sub exact {
    my ($what, $query, @types) = @_;

    my @want = map { $_->[0] } grep { my $its = $_->[1];
        !@types || grep { $its == $_ } @types } @stored;
    my ($cursor, @got, $wrong, $pages);
    do {
        my $page = $nginx->get("/servers/$server/logs?limit=200$query"
            . ($cursor ? "&cursor=$cursor" : ''), %as)->json;
        $wrong //= "$page->{total} behind " . @got
            if $page->{total} != @want - @got;
        push @got, map { $_->{id} } @{ $page->{entries} };
        $cursor = $page->{cursor};
    } while $cursor && ++$pages < 100;
    is $wrong, undef, "$what: what is left is counted";
    is_deeply \@got, \@want, '... and comes in order';
}


for my $half ([], [5], [7], [5, 7]) {
    $server = $nginx->server(plan => 'pro');
    %as = (token => $nginx->token($server));
    $nginx->no_entries($server);
    @stored = ();

    # what comes in the end lies between the others
    record(5, map { 4 * $_ } 1 .. 90);
    record(7, map { 4 * $_ + 1 } 1 .. 90);
    exact('hot', '');
    $nginx->blocks($server);
    exact('in blocks', '');
    for my $type (@$half) {
        record($type, map { 4 * $_ + 2 + ($type == 7) } 1 .. 90);
        exact("between them, of type $type", '');
        exact('of one type', '&type=5', 5);
        exact('of the other', '&type=7', 7);
    }
    $nginx->some_blocks($server, 100);
    exact('some of these are in blocks', '');
    exact('of one type', '&type=5', 5);
}

done_testing;
