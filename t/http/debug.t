# With "error_log … debug" the log tells the story of a request: its token,
# its rate limit, its endpoint, each statement and its result, and its end.
use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(log => 'debug');
my $server = $nginx->server;
my $token  = $nginx->token($server);
my $at     = "/servers/$server";


# what the log tells of one request, a line each, until that line has come
sub story {
    my ($last, @request) = @_;

    my $from = length $nginx->error_log;
    $nginx->request(@request);

    my $story;
    wait_for {
        my $log = substr $nginx->error_log, $from;
        my ($number) = $log =~ /\*(\d+) guildlog token/ or return;
        $story = join '', map { "$_\n" } $log =~ /\*$number guildlog (.*)/g;
        $story =~ /^$last/m;
    };
    return $story;
}


like story('request ends', 'GET', "$at/logs", token => $token), qr/
    \Atoken:\ ok\n
    limit:\ 499\ of\ 500\ left,\ 0\n
    endpoint\ "logs_page",\ server\ "$server"\n
    page\ cache:\ not\ known\n
    submits\ "logs_pieces"\n
    result:\ outcome\ 0,\ 4\ rows,\ \d+\ us\n
    answers\ 200,\ length\ \d+\n
    request\ ends\ with\ 0\n
/x, 'a page';

like story('answers', 'GET', "$at/logs"), qr/
    \Atoken:\ missing\n
    limit:\ 499\ of\ 500\ left,\ 0\n
    refuses\ the\ request:\ 401\n
    answers\ 401,\ length\ 2\n
/x, 'no token';

like story('answers', 'GET', "$at/nothing", token => $token), qr/
    ^refuses\ the\ request:\ 404\n
    answers\ 404,\ length\ 2\n
/xm, 'no such endpoint';

like story('request ends', 'PATCH', "$at/config/logging/settings", token => $token,
        json => { format_type => 0 }), qr/
    ^body:\ \d+\ bytes,\ 0\n
    submits\ "\w+"\n
    result:\ outcome\ 0,\ 1\ rows,\ \d+\ us\n
/xm, 'a body';

done_testing;
