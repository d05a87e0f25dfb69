# "Everything that the cookie may not do is a 401 or 403 with the same bodies as
# for tokens", "a user who lost the right on the platform loses it here within 15
# minutes", and a visit of the platform outlives whatever happens to those who
# wait for it.

use lib 't/lib';
use Guildlog;
use Guildlog::Export qw(fill drain);
use Guildlog::H2;
use Guildlog::OpenAPI;
use Guildlog::SignIn;

my $h2 = free_port;
my $g = Guildlog->new(start => 0, openapi => 1, listen => 'sndbuf=32k',
    allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');

$g->file('behind/page', 'what is behind');
my $login = 'guildlog_login client=4000 secret=login.secret; guildlog_limit off';
login($g, $platform, $login, api => 'guildlog_limit requests=100000;',
    locations => <<~"CONF", http => <<~"HTTP");
        location /behind/ { auth_request /api/me; root @{[ $g->prefix ]}; }
        location /sign-in/ { auth_request /login; root @{[ $g->prefix ]}; }
        CONF
        server {
            listen 127.0.0.1:$h2 http2;
            location /api/ { guildlog_api; guildlog_limit requests=100000; }
            location /login { guildlog_login client=4000 secret=login.secret; }
        }
        server {
            listen 127.0.0.1:%%PORT%%;
            server_name other.example;
            location /api/ { guildlog_api; }
            location /login { guildlog_login client=5000 secret=login.secret; }
        }
        HTTP

my $one    = $g->server(name => 'One');
my $other  = $g->server(name => 'Other');
my $token  = $g->token($other);
my $at     = "/servers/$one";

$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => ['http://localhost/login/callback'] });
manages($ada => [$one], $bob => []);


sub status { return $g->get('/status', raw_path => 1)->json }


# every endpoint of the API at that server, with what it takes:
# [method, path, body]
sub endpoints {
    my ($server) = @_;

    my %piece = (guild_id => $server, log_id => 5, ignore_type => 0,
        user_id => $ada, tag_id => 'x', filter_id => 'links', alert_id => 1, id => 1,
        notification_id => 'x');
    my %query = ('/auth DELETE' => '?tokenId=x', '/members GET' => '?query=x',
        '/channels GET' => '?query=x');

    return map {
        my $it = $_;
        my $path = $it->{path} =~ s/\{(\w+)\}/$piece{$1} \/\/ die $1/ger;
        my ($end) = map { s{.*(/)}{$1}r } "$path $it->{method}";
        $path .= $query{$end} // '' if $path =~ m{/search/|/auth$};
        [$it->{method}, $path, $it->{body} ? $it->{example} // {} : undef];
    } grep { $_->{path} =~ /guild_id/ } Guildlog::OpenAPI->shared->operations;
}


# {what was answered: endpoints} of all that are asked
sub answers {
    my ($browser, $server, $which) = @_;

    my %answers;
    for (endpoints($server)) {
        my ($method, $path, $body) = @$_;
        next if $which && ($method eq 'GET') != ($which eq 'reads');
        next if $which && $path =~ /stream$/;    # it would not end
        my $answer = api($browser, $method, $path,
            defined $body ? (json => $body) : ());
        push @{ $answers{$answer->status . ' ' . $answer->text} },
            "$method $path";
    }
    return \%answers;
}


sub only {
    my ($answers, $expected, $why) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply { map { $_ => $answers->{$_} } grep { $_ ne $expected }
        keys %$answers }, {}, $why;
    cmp_ok scalar @{ $answers->{$expected} || [] }, '>', 10, '... of many';
}


subtest 'every endpoint asks who it is' => sub {
    my $entries = sub { $g->sql('select count(*) from entries'
        . ' where guild_id = ?', $other) };
    my $before  = $entries->();
    my $nobody = sign_in($bob);

    only answers($nobody, $other), '403 {}', 'somebody else may do nothing';
    $g->put("/servers/$other/config/access/$bob", token => $token,
        json => { level => 'view' });
    only answers($nobody, $other, 'changes'), '403 {}', 'who views no change';
    my $read = answers($nobody, $other, 'reads');
    is_deeply [map { @{ $read->{$_} } } grep { /^[45]0[013] / } keys %$read],
        [], '... and reads all';

    my %jar = %{ $nobody->{jar} };
    page($nobody, 'POST', '/login/logout');
    only answers({ jar => \%jar }, $other), '401 {}', 'who signed out: nothing';
    $g->delete("/servers/$other/config/access/$bob", token => $token);
    is $entries->() - $before, 2, 'nothing changed but the list itself';
};


subtest 'who asks for a server of others' => sub {
    my $nobody = sign_in($bob);
    my $dbh = $g->cluster->connect($g->dbname);

    # sessions cannot be looked up: what nobody asks for waits
    $dbh->begin_work;
    $dbh->do('lock table guildlog.session in access exclusive mode');
    my @waiting = map { started($nobody, 'GET',
        "/api/servers/$other/logs/actors") } 1 .. 8;
    wait_for { $g->waiting('logs_actors') } 60, 'they wait';
    isnt $g->get("/servers/$other/logs/actors", token => $token)->status, 429,
        'does not use up the share of that server';
    $dbh->rollback;
    my %status;
    $status{ $_->response->status }++ for @waiting;
    is_deeply [sort keys %status], [403, 429], '... but a share of their own';

    $dbh->begin_work;
    $dbh->do('select from guildlog.server where guild_id = ? for update', undef,
        $other);
    refused api($nobody, 'PATCH', "/servers/$other/config/settings",
        json => { locale => 'de' }), 403, 'waits for no lock of it';
    $dbh->rollback;
    $dbh->disconnect;
};


subtest 'a sign-in that has begun' => sub {
    my $browser = {};
    my $back = allowed($browser, $ada);
    my $answer = page($browser, 'HEAD', '/login');
    is $answer->status, 302, 'HEAD tells that people can sign in';
    is page($browser, 'HEAD', $back)->status, 405, '... and uses no code';
    is page($browser, 'GET', $back)->status, 302,
        'a page that looks whether they can does not end it';
};


subtest 'hosts' => sub {
    my $to = sub { (page({}, 'GET', '/login', headers => [@_])
        ->header('Location') =~ /redirect_uri=([^&]*)/)[0] };
    my $here = 'http%3A%2F%2Flocalhost%2Flogin%2Fcallback';

    is $to->('X-Forwarded-Host' => 'evil.example', 'X-Forwarded-Proto' =>
        'https', Forwarded => 'host=evil.example', 'X-Real-IP' => '1.2.3.4',
        Origin => 'https://evil.example', Referer => 'https://evil.example'),
        $here, 'nobody else says where people come back to';
    my ($path) = page({}, 'GET', '/login', headers => [Host => 'evil.example'])
        ->header('Location') =~ m{^http://[^/]+(/.*)};
    is +Guildlog::Client->new(port => $platform->{port})->request('GET', $path)
        ->status, 400, 'of another host the platform knows nothing';

    my $old = $g->connection;
    $old->send("GET http://localhost/login HTTP/1.0\r\n\r\n");
    like $old->response->header('Location'), qr/=\Q$here\E&/,
        'a host that no header names, as in HTTP/3';
};


subtest 'headers' => sub {
    my $browser = sign_in($ada);
    my $cookie  = $browser->{jar}{guildlog};
    my $asks = sub { $g->get($at, headers => [@_]) };
    my @mine = (Cookie => "guildlog=$cookie");

    refused $asks->(@mine, 'X-Guildlog' => $_), 401, "X-Guildlog: $_"
        for '', '11', '1, 1', 'true', "1\x{80}";
    refused $asks->(@mine, 'X-Guildlog' => 1, Origin => $_), 401, "Origin: $_"
        for '', 'http://localhost, http://localhost', 'http://localhost/',
            'http://localhost.evil.example', 'http://evil.example/localhost',
            'http://user@localhost', 'localhost';
    refused $asks->(@mine, 'X-Guildlog' => 1, Origin => 'http://localhost',
        Origin => 'https://evil.example'), 401, 'two of them';
    refused $asks->(@mine, 'X-Guildlog' => 1, Authorization => "Bearer $_"),
        401, "a token that is none: $_" for 'x', 'x.y.z';
    refused $asks->(@mine, 'X-Guildlog' => 1, Host => 'other.example'), 401,
        "another client's cookie";
    refused $asks->('X-Guildlog' => 1,
        Cookie => "guildlog=x; guildlog=$cookie"), 401, 'the first one counts';
    is $asks->('X-Guildlog' => 1, Cookie => 'x=' . 'y' x 3000
        . "; guildlog=$cookie; z=" . 'z' x 3000)->status, 200,
        'among other large ones';
    is $asks->('X-Guildlog' => 1, Cookie => 'guildlog=' . 'y' x 9000)->status,
        400, 'larger than nginx takes';
};


subtest 'names' => sub {
    my @names = ('"}],"id":"0', "a\x{1}\x{1b}[31m\r\nSet-Cookie: x=y\t",
        "\x{202e}\x{200b}<script>alert(1)</script>", "\x{1f469}" x 200, ' ');
    for my $name (@names) {
        $platform->config(people => { $ada => {
            user => { id => $ada, username => $name },
            guilds => [{ id => $one, owner => \1, name => $name,
                icon => $name }] } });
        my $me = api(sign_in($ada), 'GET', '/me')->json;
        is $me->{name}, substr($name, 0, 32 + 96 * ($name !~ /\x{1f469}/)),
            'a name is a text';
        is_deeply $me->{servers}, [{ id => $one, name => 'One', icon => undef,
            level => 'manage' }], '... and a picture a name';
    }
    my $hostile = sign_in($ada);
    is api($hostile, 'PATCH', "$at/config/settings",
        json => { locale => 'tr' })->status, 202, 'a change by that person';
};


subtest 'what the platform may say' => sub {
    my $large = join ',', map { '"x":"' . 'y' x 1000 . '"' } 1 .. 5000;

    for my $name ('', undef) {
        $platform->control('faults', [{ call => 'user', action => 'answer',
            status => 200, body => { id => $ada, username => $name } }]);
        my $browser = sign_in($ada);
        $platform->control('faults', []);
        is api($browser, 'GET', '/me')->json->{name}, $ada,
            'who has no name is told by the id';
    }

    $platform->control('faults', [{ call => 'user', action => 'answer',
        status => 200, body => { id => $ada, username => "a\0b" } },
        { call => 'guilds', action => 'answer', status => 200, body =>
            qq([{"id":"$one","name":"\\u0000\\ud83d","owner":true}]) }]);
    my $odd = api(sign_in($ada), 'GET', '/me')->json;
    is $odd->{name}, "a\x{fffd}b", 'a name with a NUL is told without it';
    is $odd->{servers}[0]{id}, $one, '... and keeps from no server';
    $platform->control('faults', []);

    for (['an id that is a number', user => { id => 7, username => 'x' }],
        ['servers by number', guilds => [{ id => 7, owner => \1 }]],
        ['no list', guilds => {}],
        ['no JSON', guilds => '<html>'],
        ['too much', guilds => "{$large}"])
    {
        my ($what, $call, $body) = @$_;
        $platform->control('faults', [{ call => $call, action => 'answer',
            status => 200, body => $body }]);
        my $browser = sign_in($ada);
        $platform->control('faults', []);
        is $browser->{answer}->status, 503, $what;
        ok !exists $browser->{jar}{guildlog}, '... is no session';
    }

    for (['permissions beyond 64 bits', 200, [{ id => $one,
            permissions => '36893488147419103264' }]],
        ['many words of one server', 200, [{ id => $one, owner => \1,
            features => [map { 'F' x 90 . $_ } 1 .. 20_000] }]])
    {
        my ($what, $status, $body) = @$_;
        $platform->control('faults', [{ call => 'guilds', action => 'answer',
            status => $status, body => $body }]);
        my $browser = sign_in($ada);
        $platform->control('faults', []);
        is api($browser, 'GET', '/me')->json->{servers}[0]{id}, $one, $what;
    }

    $platform->control('faults', [{ call => 'guilds', action => 'answer',
        status => 429, body => {}, headers => { 'Retry-After' => 1 } }]);
    is sign_in($ada)->{answer}->status, 302, 'too often is asked again';

    # what strangers ask has one limit for all of them

    my ($browser, $asked) = ({}, asked('token'));
    my $back = allowed($browser, $ada);
    $platform->control('faults', [{ call => 'token', action => 'answer',
        status => 429, body => {}, headers => { 'Retry-After' => 2 } }]);
    my $first = started($browser, 'GET', $back);
    wait_for { asked('token') > $asked } 60, 'the limit is told';
    is sign_in($ada)->{answer}->status, 302, 'another one waits for its end';
    is $first->response->status, 302, '... as who was told of it';
    my @at = (map { $_->{at} } grep { $_->{event} eq 'request'
        && $_->{call} eq 'token' } @{ $platform->control('ledger') })
        [$asked .. $asked + 1];
    cmp_ok $at[1] - $at[0], '>=', 1900, '... and nobody asks before it';
    is asked('token'), $asked + 3, '... or more often';

    # what strangers bring about does not fill the log

    my $log = length $g->error_log;
    $platform->control('faults', [
        { call => 'token', action => 'answer', times => 6, status => 500,
            body => {} },
        { call => 'user', action => 'answer', times => 6, status => 200,
            body => {} }]);
    is_deeply [map { sign_in($ada)->{answer}->status } 1 .. 12], [(503) x 12],
        'a platform that fails';
    my %second;
    $second{$_}++ for substr($g->error_log, $log)
        =~ /^(\S+ \S+) \[error\].* for who signed in/mg;
    cmp_ok scalar keys %second, '>', 0, '... is in the log';
    is_deeply [grep { $_ > 1 } values %second], [],
        '... by one line a second at most';
    $platform->control('faults', []);


    $platform->control('faults', [{ call => 'guilds', action => 'answer',
        status => 302, body => {}, headers => { Location =>
            "http://127.0.0.1:$platform->{port}/api/v10/users/\@me/guilds" } }]);
    is sign_in($ada)->{answer}->status, 503, 'it is followed nowhere';
    $platform->control('faults', []);
};

manages($ada => [$one], $bob => []);


subtest 'tokens' => sub {
    my $browser = sign_in($ada);
    my @made = map { api($browser, 'POST', "$at/auth" . ($_ % 2 ? '?bot=pro'
        : ''), json => { permissions => 1, name => "<b>$_" }) } 1 .. 6;
    is join(' ', map { $_->status } @made), '201 201 201 201 201 409',
        'at most five';
    like $made[5]->json->{error}, qr/at most 5/, '... in words';
    is scalar @{ api($browser, 'GET', "$at/auth?bot=pro")->json }, 3,
        'of each bot';
    is api($browser, 'POST', "$at/auth", json => { permissions => 1,
        creator => $bob })->status, 400, 'nobody makes one as somebody else';
};


subtest 'the status page' => sub {
    my $browser = sign_in($ada);
    my $before = status()->{auth_total};
    api($browser, 'GET', $at) for 1 .. 3;
    api({ jar => { guildlog => 'x' } }, 'GET', $at) for 1 .. 2;
    my $after = status()->{auth_total};
    is_deeply { map { $_ => $after->{$_} - $before->{$_} }
        qw(ok signature missing) }, { ok => 3, signature => 2, missing => 0 },
        'a cookie counts as what it is';
};


subtest 'subrequests' => sub {
    my $browser = sign_in($ada);
    is api($browser, 'GET', '/behind/page', raw_path => 1)->text,
        'what is behind', 'a person passes auth_request';
    is api({}, 'GET', '/behind/page', raw_path => 1)->status, 401,
        '... nobody else does';
    unlike page({}, 'GET', '/sign-in/page')->text, qr/what is behind/,
        'a sign-in is no answer to that';

    aged(901);
    my $asked = asked('guilds');
    is api($browser, 'GET', '/behind/page', raw_path => 1)->text,
        'what is behind', 'the platform is asked anew';
    is asked('guilds'), $asked + 1, '... by a subrequest';
};


subtest 'an old session' => sub {
    my $browser = sign_in($ada);
    my $asked = asked('guilds');
    aged(901);
    $platform->config(latency => [300, 300]);
    my @many = map { started($browser, 'GET', "/api$at") } 1 .. 60;
    is_deeply [grep { $_->response->status != 200 } @many], [],
        'sixty requests at once go on';
    is asked('guilds') - $asked, 1, '... after one question';

    # some of them leave meanwhile, then all
    for my $stay (1, 0) {
        my $browser = sign_in($ada);
        aged(901);
        my $asked = asked('guilds');
        my @many = map { started($browser, 'GET', "/api$at") } 1 .. 6;
        wait_for { asked('guilds') > $asked } 60, 'the platform is asked';
        my $last = pop @many;
        $_->close(reset => 1) for @many;
        $stay ? is($last->response->status, 200, 'who stays is answered')
              : $last->close(reset => 1);
        is api($browser, 'GET', $at)->status, 200, 'the next one, too';
    }

    # two streams of one connection, each cookie in a header of its own
    my $cookie = sign_in($ada)->{jar}{guildlog};
    aged(901);
    my $two = Guildlog::H2->new(port => $h2);
    my @streams = map { $two->open('GET', "/api$at", headers => ['x-guildlog',
        1, 'cookie', 'x=y', 'cookie', "guildlog=$cookie"]) } 1, 2;
    $two->reset($streams[0]);
    is $two->response($streams[1])->{status}, 200, 'by HTTP/2, too';
    $platform->config(latency => undef);
};


subtest 'nginx ends while the platform is asked' => sub {
    my $browser = sign_in($ada);
    aged(901);
    $platform->config(latency => [1500, 1500]);

    my $asked = asked('guilds');
    my $client = started($browser, 'GET', "/api$at");
    wait_for { asked('guilds') > $asked } 60, 'the platform is asked';
    $g->reload;
    my $answer = $client->response;
    is $answer->status, 200, 'a reload loses no request';

    aged(901);
    my ($worker) = $g->workers;
    $asked = asked('guilds');
    $client = started($browser, 'GET', "/api$at");
    wait_for { asked('guilds') > $asked } 60, 'the platform is asked again';
    $g->signal('KILL', $worker);
    wait_for { my ($now) = $g->workers; $now && $now != $worker };
    $platform->config(latency => undef);
    is api($browser, 'GET', $at)->status, 200, 'a worker that dies harms nobody';
};


subtest 'what lasts longer than a request' => sub {
    fill($g, $one, int(time * 1000), 10_000);
    my $browser = sign_in($ada);
    my $exports = sub {
        my $export = started($browser, 'GET', "/api$at/logs/export?type=7",
            '1.0');
        $export->readable(30);
        aged(901);
        $_[0]->();
        return drain($export)->{rows};
    };
    my $asked = asked('guilds');
    is $exports->(sub { }), 10_000, 'an export goes on after 15 minutes';
    is asked('guilds'), $asked + 1, '... for the platform was asked anew';
    cmp_ok $exports->(sub { manages($ada => [], $bob => []) }), '<', 10_000,
        '... and ends if the right is lost';
    manages($ada => [$one], $bob => []);
    $platform->control('faults', [{ call => 'guilds', action => 'answer',
        status => 500, body => {}, times => 100 }]);
    cmp_ok $exports->(sub { }), '<', 10_000, '... or if nobody tells';
    $platform->control('faults', []);
    $browser = sign_in($ada);
    cmp_ok $exports->(sub { page($browser, 'POST', '/login/logout') }), '<',
        10_000, '... or if the person signs out';
    $browser = sign_in($ada);

    $g->put("/servers/$other/config/access/$bob", token => $token,
        json => { level => 'view' });
    my @leave = map { sign_in($bob) } 1, 2;
    my @tails = map { started($_, 'GET', "/api/servers/$other/logs/stream") }
        @leave, $browser;
    is join(' ', map { ($_->line(30) =~ / (\d+)/)[0] } @tails), '200 200 403',
        'two tails';
    page($leave[0], 'POST', '/login/logout');
    ok $tails[0]->closed(30), 'who signs out sees no more';
    $g->delete("/servers/$other/config/access/$bob", token => $token);
    ok $tails[1]->closed(30), 'nor who is no more on the list';

    my $tail = started($browser, 'GET', "/api$at/logs/stream");
    like $tail->line(30), qr/ 200/, 'a tail of who manages the server';
    aged(901);
    ok $tail->closed(30), '... ends after 15 minutes';
    is api($browser, 'GET', $at)->status, 200, '... for the next one to ask';
};


subtest 'servers that go' => sub {
    my $gone = $g->server(name => 'Gone');
    manages($ada => [$one, $gone]);
    my $browser = sign_in($ada);

    is api($browser, 'DELETE', "/servers/$gone")->status, 202, 'one is reset';
    is api($browser, 'GET', "/servers/$gone")->status, 200, '... and goes on';
    $g->operator('DELETE', "/servers/$gone");
    refused api($browser, 'GET', "/servers/$gone"), 403, 'one is forgotten';
    is_deeply [map { $_->{id} } @{ api($browser, 'GET', '/me')->json->{servers} }],
        [$one], '... and not told of any more';
};


subtest 'without a master process' => sub {
    my $single = Guildlog->new(start => 0, name => 'single',
        dbname => $g->dbname, master_process => 0);
    login($single, $platform, $login);
    my $browser = sign_in($ada, nginx => $single);
    is api($browser, 'GET', $at, nginx => $single)->status, 200,
        'people sign in, too';
    aged(901);
    is api($browser, 'GET', $at, nginx => $single)->status, 200,
        '... and are asked for anew';
    $single->stop;
};


# the platform never answers, and nginx has to stop meanwhile
my $browser = sign_in($ada);
aged(901);
$platform->control('faults', [{ call => 'guilds', action => 'hang' }]);
my $asked = asked('guilds');
my $client = started($browser, 'GET', "/api$at");
wait_for { asked('guilds') > $asked } 60, 'the platform is asked';
$g->stop;
is $client->response->status, 503, 'who waited is told, and nginx stops';

done_testing;
