# "people who manage the server on the platform" sign in, and use the API by a
# cookie.  What an attacker does with states, codes, cookies and other origins
# is a 400, 401 or 403.

use lib 't/lib';
use Guildlog;
use Guildlog::Clock;
use Guildlog::Platform;
use Guildlog::SignIn;

my $g = Guildlog->new(start => 0, openapi => 1, workers => 2);
my $clock = Guildlog::Clock->new($g->prefix);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');

my $login = 'guildlog_login client=4000 secret=login.secret; guildlog_limit off';

login($g, $platform, $login, env => $clock->env,
    http => 'guildlog_links viewer=https://logs.example/the/viewer/;');

my $back   = 'http://localhost/login/callback';
my $one    = $g->server(name => 'One');
my $two    = $g->server(name => 'Two');
my $other  = $g->server(name => 'Other');
my $unknown = '100000000000000777';
my $icon   = 'a_' . '0f' x 16;

$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => [$back, 'https://dash.example/login/callback'] },
    people => {
        $ada => { user => { id => $ada, username => 'ada',
                global_name => "Ada \x{1f469}", avatar => '0123' },
            guilds => [
                { id => $one, name => 'x', icon => $icon, permissions => '32' },
                { id => $two, name => 'x', icon => undef, owner => \1,
                  permissions => '0' },
                { id => $other, name => 'x', permissions => '2199023255491' },
                { id => $unknown, name => 'x', permissions => '8' } ] },
        $bob => { user => { id => $bob, username => 'bob', avatar => undef },
            guilds => [] } });


# to the platform and back

{
    my $browser = {};
    my $answer = page($browser, 'GET', '/login?redirect_uri=https://evil.example'
        . '&next=//evil.example&state=mine');
    is $answer->status, 302, 'the sign-in leads to the platform';
    my ($origin, $query) = split /\?/, $answer->header('Location');
    is $origin, "http://127.0.0.1:$platform->{port}/oauth2/authorize",
        '... to its page, at its origin';
    my %value = map { split /=/, $_, 2 } split /&/, $query;
    is $value{redirect_uri}, 'http%3A%2F%2Flocalhost%2Flogin%2Fcallback',
        'it leads back to here, whatever a request says';
    is "$value{response_type} $value{client_id} $value{scope}",
        'code 4000 identify%20guilds', 'it says who asks for what';
    is $value{code_challenge_method}, 'S256', 'with PKCE';
    like $value{state}, qr/^[0-9a-f]{32}$/, 'and a state that nobody chose';
    is $answer->header('Cache-Control'), 'no-store', 'nobody keeps that';
    like $answer->header('Set-Cookie'),
        qr/^guildlog_start=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
        'the state is bound to the browser';
    my $again = page({}, 'GET', '/login')->header('Location');
    unlike $again, qr/\Q$value{state}\E/, 'another sign-in has another state';
}

my $browser = sign_in($ada);
my $answer = $browser->{answer};
is $answer->status, 302, 'back from the platform';
is $answer->header('Location'), '/the/viewer/', '... to the viewer of here';
is page($browser, 'HEAD', '/login')->status, 204,
    'a page that looks is told that somebody is signed in';
is page({}, 'HEAD', '/login')->status, 302, '... or that people can sign in';
my ($set) = map { $_->[1] } grep { lc $_->[0] eq 'set-cookie' }
    @{ $answer->{headers} };
like $set, qr/^guildlog=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/,
    'a cookie for 12 hours, that no script can read';
is join(' ', sort keys %{ $browser->{jar} }), 'guildlog', 'and no other one';
unlike $g->error_log . $g->access_log, qr/\Q$browser->{jar}{guildlog}\E|\Q$secret\E/,
    'no log has it';

is_deeply api($browser, 'GET', '/me')->json, { id => $ada,
    name => "Ada \x{1f469}", avatar => '0123', servers => [
        { id => $one, name => 'One', icon => $icon, level => 'manage' },
        { id => $two, name => 'Two', icon => undef, level => 'manage' } ] },
    'who it is, and the known servers that the person manages';


# what the cookie may do

my $at = "/servers/$one";
is api($browser, 'GET', $at)->json->{name}, 'One', 'a manager reads';
is api($browser, 'GET', "$at/logs")->status, 200, '... the log';
is api($browser, 'GET', "$at/logs?search=word")->status, 200, '... searches';
is api($browser, 'GET', '/log-types')->status, 200, '... the types';
is api($browser, 'PATCH', "$at/config/settings", json => { locale => 'de' })
    ->status, 202, 'a manager changes';
is api($browser, 'GET', "$at/logs?type=70")->json->{entries}[0]{executor}{id},
    $ada, '... and is told to have done it';
is $g->get($at, token => $g->token($one), headers =>
    [Cookie => "guildlog=$browser->{jar}{guildlog}"])->status, 200,
    'a token goes on working beside it';

refused ask($browser, 'GET', $at), 401, 'not without the header';
refused ask($browser, 'GET', $at, headers => ['X-Guildlog', 0]), 401,
    'nor with another value of it';
for (['another origin', 'https://evil.example'],
    ['no origin', 'null'], ['another scheme', 'https://localhost'],
    ['another port', 'http://localhost:81'])
{
    my ($what, $origin) = @$_;
    refused api($browser, 'GET', $at, headers => [Origin => $origin]), 401,
        "not for a page of $what";
    refused ask($browser, 'DELETE', $at, headers => [Origin => $origin]), 401,
        "nor without the header of $what";
}
is api($browser, 'GET', $at, headers => [Origin => 'http://localhost'])->status,
    200, 'a page of this origin may';
refused api($browser, 'GET', "/servers/$other"), 403,
    'not at a server that the person is only in';
refused api($browser, 'PATCH', "/servers/$other/config/settings",
    json => { locale => 'de' }), 403, '... nor changing it';
refused api($browser, 'GET', "/servers/$other/logs/stream"), 403, '... no tail';
refused api($browser, 'GET', "/servers/$other/logs/export"), 403,
    '... no export';
refused api($browser, 'GET', "/servers/$other/logs?search=word"), 403,
    '... no search';
refused api($browser, 'GET', "/servers/$unknown"), 403,
    'nor at one that guildlog does not know';
{
    my $token = $g->token($one);
    refused $g->get($_, token => $token), 403, "a token is nobody: $_"
        for '/me', '/me/sessions';
}


# the list of access

{
    my $token = $g->token($other);
    my $viewer = sign_in($bob);

    refused api($viewer, 'GET', "/servers/$other"), 403, 'not on the list';
    $g->put("/servers/$other/config/access/$bob", token => $token,
        json => { level => 'view' });
    is api($viewer, 'GET', '/me')->json->{servers}[0]{level}, 'view',
        'at once on the list, to view';
    is api($viewer, 'GET', "/servers/$other/logs")->status, 200, '... that';
    refused api($viewer, 'PATCH', "/servers/$other/config/settings",
        json => { locale => 'de' }), 403, '... and change nothing';
    refused api($viewer, 'PATCH', "/servers/$other/config", json => { changes =>
        [{ method => 'PATCH', path => '/config/settings',
           body => { locale => 'de' } }] }), 403, '... nor several things at once';
    refused api($viewer, 'POST', "/servers/$other/auth",
        json => { permissions => 1 }), 403, '... and make no token';
    refused api($viewer, 'POST', "/servers/$other/active/ignore/executors",
        json => { id => '5' }), 403, '... and hide nothing';
    $g->put("/servers/$other/config/access/$bob", token => $token,
        json => { level => 'manage' });

    # of the main bot: the body of a preview names the other one no better
    my $preview = sub { api($viewer, 'POST', "/servers/$other/preview$_[0]",
        json => { entry => { event_id => 'a', type => 1 }, bot => $_[1] }) };
    is $preview->('', 'main')->status, 200, 'a preview of the one bot';
    is $preview->('?bot=pro', 'main')->status, 200, '... which the body names';
    refused $preview->('', 'pro'), 403, '... and none of the other one';
    is api($viewer, 'PATCH', "/servers/$other/config/settings",
        json => { locale => 'de' })->status, 202, 'at once a manager';
    my $both = sub { api($viewer, 'PATCH', "/servers/$other/config", json => {
        changes => [@_] }) };
    my @leave = ({ method => 'DELETE', path => "/config/access/$bob" },
        { method => 'POST', path => '/tags', body => { tag_name => 'late',
          content => 'a' } });
    refused $both->(@leave), 403, 'who goes first changes nothing more';
    is api($viewer, 'GET', "/servers/$other/config/access/$bob")->status, 200,
        '... and has not gone';
    is $both->(reverse @leave)->status, 200, 'the other way round that is fine';
    refused api($viewer, 'GET', "/servers/$other"), 403, 'at once nobody';
}


# tokens

{
    refused $g->post("$at/auth", token => $g->token($one),
        json => { permissions => 1 }), 403, 'a token makes no token';
    my $made = api($browser, 'POST', "$at/auth",
        json => { permissions => 2, name => "Ada\x{2019}s bot" });
    is $made->status, 201, 'a person does';
    is $g->post("$at/active/ignore/executors", token => $made->json->{token},
        json => { id => '5' })->status, 200, 'it works';
    my ($row) = grep { $_->{unique_id} eq $made->json->{unique_id} }
        @{ api($browser, 'GET', "$at/auth")->json };
    is $row->{name}, "Ada\x{2019}s bot", 'it has its name';
    is $row->{creator}, $ada, 'and who made it';
    my $reads = api($browser, 'POST', "$at/auth", json => { permissions => 3 })
        ->json;
    is join(' ', map { $g->get("$at$_", token => $reads->{token})->status }
        '/logs', '/config'), '200 403', 'also one that only reads';
    is api($browser, 'DELETE', "$at/auth?tokenId=$reads->{unique_id}")->status,
        200, '... which is revoked';
    is api($browser, 'POST', "$at/auth", json => { permissions => $_ })->status,
        400, "no kind: $_" for 0, 4;
    is api($browser, 'POST', "$at/auth",
        json => { permissions => 1, name => 'x' x 65 })->status, 400,
        'and a name of 64 characters at most';
    is api($browser, 'DELETE', "$at/auth?tokenId=$row->{unique_id}")->status,
        200, 'a person revokes it';
    is $g->post("$at/active/ignore/executors", token => $made->json->{token},
        json => { id => '5' })->status, 401, 'at once';

    my $session = $g->sql('select session_id from session limit 1');
    refused $g->get($at, token => $g->sign({ sub => $one, kind => 'admin',
        bot => 'main', jti => "~$session.$ada.m", iss => 'guildlog',
        iat => time, exp => time + 600 })), 401,
        'a token that calls itself a session is none';
}


# a cookie that is not as it was made

{
    my $cookie = $browser->{jar}{guildlog};
    my $flip = sub { my $c = substr $cookie, $_[0], 1;
        return substr($cookie, 0, $_[0]) . ($c eq 'A' ? 'B' : 'A')
            . substr $cookie, $_[0] + 1 };
    my $start = {};
    page($start, 'GET', '/login');

    for (['cut', substr $cookie, 0, -1], ['cut in half', substr $cookie, 0,
            length($cookie) / 2], ['of one letter', 'A'], ['empty', ''],
        ['extended', $cookie . 'AAAA'], ['doubled', $cookie x 2],
        ['of signs', '!%00"'], ['of too many bytes', 'A' x 5000],
        ['changed in front', $flip->(3)], ['changed in the middle', $flip->(60)],
        ['changed behind', $flip->(length($cookie) - 2)],
        ['of a sign-in that has begun', $start->{jar}{guildlog_start}])
    {
        my ($what, $value) = @$_;
        refused api({ jar => { guildlog => $value } }, 'GET', $at), 401,
            "a cookie $what";
    }
    # what version 0.2 sealed with the same secret: its cookie had all
    my $before = 'AAECAwQFBgcICQoL8XtFdX98Udwvj8WfKhaVAk7Mhfecik2DU2ly1HGLr5hS'
        . '4qpeH0L27FRNpMqKnIFm5kg3fHRqozA00bRvHffPH9dtOqRbF5hj7CiBufsX'
        . 'IWodNwV70Co1';
    my $browser = { jar => { guildlog => $before } };
    refused api($browser, 'GET', $at), 401, 'a cookie of before the upgrade';
    is page($browser, 'HEAD', '/login')->status, 302, '... can sign in';
    page($browser, 'GET', allowed($browser, $ada));
    is api($browser, 'GET', $at)->status, 200, '... which replaces it';

    is page({ jar => { guildlog_start => $cookie } }, 'GET',
        '/login/callback?code=x&state=' . '0' x 32)->status, 400,
        'nor does it begin a sign-in';
}


# machines with other secrets

my $second = Guildlog->new(start => 0, dbname => $g->dbname, name => 'second');
login($second, $platform, 'guildlog_login client=4000 secret=next.secret'
    . ' redirect=https://dash.example/login/callback', env => $clock->env);

sub secured {
    my ($cookie, %option) = @_;
    return api({ jar => { '__Host-guildlog' => $cookie } }, 'GET', $at,
        nginx => $second, %option);
}

refused secured($browser->{jar}{guildlog}), 401, 'a cookie of another key';
$second->configure(locations => 'location /login { guildlog_login client=4000'
    . ' secret=next.secret secret=login.secret'
    . ' redirect=https://dash.example:443/login/callback; }');
$second->reload;
is secured($browser->{jar}{guildlog})->status, 200,
    'a key that went before opens cookies';
is secured($browser->{jar}{guildlog},
    headers => [Origin => 'https://dash.example'])->status, 200,
    'the origin is that of redirect=, without the port that all know';
refused secured($browser->{jar}{guildlog},
    headers => [Origin => 'http://localhost']), 401, '... and no other one';
like page({}, 'GET', '/login', nginx => $second)->header('Set-Cookie'),
    qr/^__Host-guildlog_start=.*; Secure$/, 'over TLS no other host sets it';


# states and codes

{
    my $browser = {};
    my $path = allowed($browser, $ada);

    is page({}, 'GET', $path)->status, 400, 'a state without its browser';
    my $mallory = {};
    my $theirs = allowed($mallory, $bob);
    is page({ jar => { %{ $browser->{jar} } } }, 'GET', $theirs)->status, 400,
        'a state of another browser';
    my ($code) = $path =~ /code=(\w+)/;
    my ($state) = $theirs =~ /state=(\w+)/;
    my $answer = page($mallory, 'GET',
        "/login/callback?code=$code&state=$state");
    is $answer->status, 400, 'a code of another sign-in';
    like $answer->text, qr/the chat platform does not know this sign-in/,
        '... a page says so';
    like page({}, 'GET', $path)->text, qr/not begun in this browser/,
        '... which is something else';
    ok !exists $mallory->{jar}{guildlog}, '... and there is no session';

    my $fresh = {};
    $path = allowed($fresh, $ada);
    my %before = %{ $fresh->{jar} };
    is page($fresh, 'GET', $path)->status, 302, 'the same, as it is meant';
    my $asked = asked('token');
    is page({ jar => { %before } }, 'GET', $path)->status, 403,
        'a state that was used';
    (my $guessed = $path) =~ s/code=\w+/code=guessed/;
    is page({ jar => { %before } }, 'GET', $guessed)->status, 403,
        '... with another code';
    is asked('token'), $asked, '... and the platform is not asked';
    is page({}, 'GET', $path)->status, 400, '... without its cookie';

    my ($used) = $path =~ /state=(\w+)/;
    for ('state=x', 'code=x', "state=$used", "state=$used&state=$used&code=x",
        'code=%00&state=x', 'error=access_denied')
    {
        is page({}, 'GET', "/login/callback?$_")->status, 400,
            "a callback with $_";
    }
}

{
    # a state that was used, with a code that is good: the platform is asked
    # with the same challenge by who has the browser's cookie
    my $browser = {};
    my $answer = page($browser, 'GET', '/login');
    my %kept = %{ $browser->{jar} };
    my ($path) = $answer->header('Location') =~ m{^http://[^/]+(/.*)};
    my @back = map { Guildlog::Client->new(port => $platform->{port})
        ->request('GET', $path)->header('Location') =~ s{^http://[^/]+}{}r }
        1, 2;
    is page($browser, 'GET', $back[0])->status, 302, 'a state is good once';
    my $again = { jar => { %kept } };
    is page($again, 'GET', $back[1])->status, 403, '... and not twice';
    ok !exists $again->{jar}{guildlog}, '... there is no session';
}

{
    my $browser = { jar => { guildlog => 'chosen-by-somebody-else' } };
    page($browser, 'GET', allowed($browser, $ada));
    isnt $browser->{jar}{guildlog}, 'chosen-by-somebody-else',
        'nobody chooses the session of another';
    isnt $browser->{jar}{guildlog}, sign_in($ada)->{jar}{guildlog},
        'each sign-in has a session of its own';

    my $denied = {};
    $answer = page($denied, 'GET', allowed($denied, undef));
    is $answer->status, 403, 'who does not allow it is not signed in';
    is join(' ', keys %{ $denied->{jar} }), '', '... and has no cookie';
    is $answer->header('X-Frame-Options'), 'DENY', 'the pages are in no frame';
    like $answer->header('Content-Security-Policy'),
        qr/default-src 'none'; frame-ancestors 'none'/, '... whoever asks';
    like $answer->text, qr/not allowed.*href="\/login"/s,
        'they say what happened, and how to go on';
    is page({}, 'GET', '/login/elsewhere')->status, 404, 'no other page';
    is page({}, 'POST', '/login')->status, 405, 'no other method';
}


# a platform that does not do what it should

for ([token => { action => 'answer', status => 500, body => {} }],
    [user => { action => 'answer', status => 502, body => {} }],
    [guilds => { action => 'answer', status => 429, body => {} }],
    [token => { action => 'reset' }], [guilds => { action => 'reset' }],
    [token => { action => 'answer', status => 200, body => {} }],
    [user => { action => 'answer', status => 200, body => { id => 'x' } }],
    [guilds => { action => 'answer', status => 200, body => { a => 1 } }],
    [guilds => { action => 'answer', status => 200,
        body => [{ id => '0 or 1' }] }],
    [token => { action => 'hang' }])
{
    my ($call, $fault) = @$_;
    $platform->control('faults', [{ call => $call, times => 9, %$fault }]);
    my $browser = sign_in($ada);
    $platform->control('faults', []);
    is $browser->{answer}->status, 503,
        "the platform fails at $call: $fault->{action} "
        . ($fault->{status} // '');
    like $browser->{answer}->text, qr/not signed in/, '... a page says so';
    ok !exists $browser->{jar}{guildlog}, '... there is no session';
}


# signing out

{
    my $browser = sign_in($ada);
    my $cookie  = $browser->{jar}{guildlog};

    my $answer = page($browser, 'GET', '/login/logout');
    is $answer->status . ' ' . $answer->header('Allow'), '405 POST',
        'a link signs nobody out';
    refused page($browser, 'POST', '/login/logout',
        headers => [Origin => 'https://evil.example']), 403,
        'nor does another page';
    is secured($cookie)->status, 200, 'the session is good on both machines';
    refused page($browser, 'POST', '/login/logout',
        headers => [Origin => 'http://localhost']), 200, 'signed out';
    ok !exists $browser->{jar}{guildlog}, 'the browser forgets the cookie';
    refused api({ jar => { guildlog => $cookie } }, 'GET', $at), 401,
        'and it is good for nothing';
    refused api({ jar => { guildlog => $cookie } }, 'GET', '/me'), 401,
        '... whatever is asked';
    refused secured($cookie), 401, '... nor on the other machine';
    refused page({ jar => { guildlog => $cookie } }, 'POST', '/login/logout'),
        401, 'it ends once';
}


# the sessions of a person

{
    my ($phone, $laptop, $theirs) = (sign_in($ada), sign_in($ada),
        sign_in($bob));
    my $list = sub { api($_[0], 'GET', '/me/sessions')->json };
    my $mine = sub { (grep { $_->{current} } @{ $list->($_[0]) })[0]{id} };

    my ($one, @others) = @{ $list->($laptop) };
    is_deeply [sort keys %$one], [qw(current id since used)], 'a session';
    cmp_ok abs($one->{since} - time * 1000), '<', 60_000, '... since when';
    cmp_ok $one->{used}, '>=', $one->{since}, '... when it was last used';
    is scalar(grep { $_->{current} } $one, @others), 1, 'one is this one';
    isnt $mine->($phone), $mine->($laptop), '... another one elsewhere';
    is scalar @{ $list->($theirs) }, scalar $g->sql('select count(*) from session
        where user_id = ? and ended_at is null', $bob),
        'nobody is told of those of others';

    my $path = '/me/sessions/' . $mine->($theirs);
    refused api($laptop, 'DELETE', $path), 404, 'nobody ends one of others';
    is api($theirs, 'GET', '/me')->status, 200, '... which goes on';
    refused api($laptop, 'DELETE', "/me/sessions/$_"), 404, "no session: $_"
        for '0' x 32, '%27', "~$ada";
    refused ask($laptop, 'DELETE', '/me/sessions'), 401,
        'not without the header';
    refused api($laptop, 'DELETE', '/me/sessions',
        headers => [Origin => 'https://evil.example']), 401,
        '... nor for another page';

    refused api($laptop, 'DELETE', '/me/sessions/' . $mine->($phone)), 200,
        'one is ended elsewhere';
    refused api($phone, 'GET', '/me'), 401, '... at once';
    refused secured($phone->{jar}{guildlog}), 401, '... on all machines';
    is api($laptop, 'GET', '/me')->status, 200, '... and no other one';

    my $again = sign_in($ada);
    refused api($laptop, 'DELETE', '/me/sessions'), 200, 'all are ended';
    refused api($_, 'GET', '/me'), 401, '... here and there'
        for $laptop, $again;
    is api($theirs, 'GET', '/me')->status, 200, '... of that person';
    refused page($laptop, 'POST', '/login/logout'), 401, 'who signs out then';
    ok !exists $laptop->{jar}{guildlog}, '... has no cookie any more';

    my @all = map { sign_in($ada) } 1 .. 21;
    refused api($all[0], 'GET', '/me'), 401, 'of 21 the oldest goes';
    is api($all[$_], 'GET', '/me')->status, 200, '... not the others'
        for 1, 20;
    is scalar @{ $list->($all[1]) }, 20, '... which are 20';
}


# limits

{
    my (@left, @reset);
    do {    # until no window ends between the two
        my @answers = map { api(sign_in($bob), 'GET', '/me') } 1, 2;
        @left  = map { $_->header('X-RateLimit-Remaining') } @answers;
        @reset = map { $_->header('X-RateLimit-Reset') } @answers;
    } while $reset[1] > $reset[0];
    is $left[1], $left[0] - 1, 'the rate limit is that of the person';
}


# the platform is asked anew

{
    my $stale = sign_in($ada);
    my $cookie = $stale->{jar}{guildlog};
    my $asked = asked('guilds');

    aged(890);
    is api($stale, 'GET', $at)->status, 200, 'within 15 minutes';
    is asked('guilds'), $asked, '... the platform is not asked';

    aged(11);
    my @many = map { $g->connection } 1 .. 6;
    $_->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\nX-Guildlog: 1\r\n"
        . "Cookie: guildlog=$cookie\r\n\r\n") for @many;
    is join(' ', map { $_->response->status } @many),
        join(' ', (200) x @many), 'afterwards the person goes on';
    cmp_ok asked('guilds') - $asked, '<=', 2, '... asked for once a worker';
    $asked = asked('guilds');
    is api($stale, 'GET', $at)->status, 200, 'then nobody asks again';
    is secured($cookie)->status, 200, '... on no machine';
    is asked('guilds'), $asked, '... for 15 minutes';
    aged(901);
    is api($stale, 'PATCH', "$at/config/settings",
        json => { locale => 'ja' })->status, 202, 'a body is read, too';
    is $stale->{jar}{guildlog}, $cookie, 'the cookie is what it was';

    my $laptop = sign_in($ada);
    aged(901);
    $platform->config(people => { $ada => {
        user => { id => $ada, username => 'ada' },
        guilds => [{ id => $two, owner => \1, permissions => '0' }] },
        $bob => { user => { id => $bob, username => 'bob' }, guilds => [] } });
    refused api($stale, 'GET', $at), 403, 'a right that was lost is lost here';
    is api($stale, 'GET', "/servers/$two")->status, 200, '... not the others';
    is_deeply [map { $_->{id} } @{ api($stale, 'GET', '/me')->json->{servers} }],
        [$two], '... nor is it told of';
    refused secured($cookie), 403, 'on all machines';
    aged(-901);
    refused api($laptop, 'GET', $at), 403,
        'and in sessions that are not asked for anew';

    aged(2 * 901);
    $platform->control('faults', [{ call => 'guilds', action => 'answer',
        status => 500, body => {}, times => 100 }]);
    my $failed = Time::HiRes::time();
    $answer = api($stale, 'GET', "/servers/$two");
    is $answer->status, 503, 'a platform that fails proves no right';
    is $answer->header('Retry-After'), 5, '... for a while';
    is $stale->{jar}{guildlog}, $cookie, '... and takes no cookie';
    $asked = asked('guilds');
    api($stale, 'GET', "/servers/$two") for 1 .. 10;
    my $again = int((Time::HiRes::time() - $failed + 1) / 5);
    cmp_ok asked('guilds') - $asked, '<=', 1 + 2 * $again,
        'and is not asked again by each request, but by a worker after 5 s';
    is scalar @{ api($stale, 'GET', '/me/sessions')->json }, 20,
        'sessions are told meanwhile';
    $platform->control('faults', []);
    $clock->set(10);
    is api($stale, 'GET', "/servers/$two")->status, 200, 'then all is well';

    aged(901);
    $platform->config(taken_back => [$ada]);
    refused api($stale, 'GET', "/servers/$two"), 401,
        'who takes back what was allowed is signed out';
    $platform->config(taken_back => []);
    refused secured($cookie), 401, '... on all machines';
    refused api($laptop, 'GET', "/servers/$two"), 401, '... everywhere';
    is scalar $g->sql('select count(*) from session where user_id = ?
        and (access is not null or name <> $$$$ or servers <> $${}$$
             or icons is not null or avatar is not null)', $ada), 0,
        'and nothing of the person is left in them';
    $clock->set(0);
}

{
    my $browser = sign_in($bob);
    is api($browser, 'GET', '/me')->status, 200, 'a session';
    $clock->set(12 * 3600 + 1);
    refused api($browser, 'GET', '/me'), 401, '... ends after 12 hours';
    $clock->set(0);
}

{
    my $browser = sign_in($bob);
    $g->sql('update session set expires_at = $$epoch$$');
    refused api($browser, 'GET', '/me'), 401, '... by the database, too';

    $clock->set(3600);
    my $ahead = sign_in($bob);
    $clock->set(0);
    is api($ahead, 'GET', '/me')->status, 200,
        'a cookie of a machine whose clock is an hour ahead';
    my $left = $g->sql('select round(extract(epoch from max(expires_at)
        - now()) / 60) from session where user_id = ?', $bob);
    cmp_ok $left, '<=', 720, '... is good for 12 hours all the same';
}


# many servers

{
    my @ids = map { 220000000000000000 + $_ } 1 .. 120;
    $g->sql('insert into server (guild_id, name)
        select unnest(?::bigint[]), $$x$$ returning 1', '{' . join(',', @ids)
        . '}');
    $platform->config(people => { $ada => {
        user => { id => $ada, username => 'n' x 32, avatar => 'a_' . '1f' x 16 },
        guilds => [map { { id => "$_", icon => 'a_' . sprintf('%032x', $_),
            permissions => '8' } } @ids] } });
    my $many = sign_in($ada);
    my ($set) = map { $_->[1] } grep { lc $_->[0] eq 'set-cookie' }
        @{ $many->{answer}{headers} };
    cmp_ok length $set, '<=', 512, 'a cookie of who manages 120 servers';
    my $servers = api($many, 'GET', '/me')->json->{servers};
    is scalar @$servers, 120, '... all of which are told';
    is scalar(grep { ($_->{icon} // '') =~ /^a_/ } @$servers), 120,
        '... with their icons';
}


# many sessions

{
    my $browser = sign_in($ada);
    $g->sql("insert into session (session_id, user_id, name, expires_at)
        select 'n' || n, n / 20, 'somebody',
               case when n % 2 = 0 then now() + interval '1 hour'
                    else now() - interval '1 second' end
          from generate_series(1, 10000) n");
    is api($browser, 'GET', '/me')->status, 200, 'among 10,000 sessions';
    is sign_in($ada)->{answer}->status, 302, '... another one begins';

    my $over = "select count(*) from session where expires_at < now()";
    my $before = $g->sql($over);
    my ($turns, $more) = (0, 1);
    while ($more && $turns++ < 100) {
        my $left = $g->sql($over);
        $more = $g->sql('select more from keeper_requests(1000)');
        cmp_ok $left - $g->sql($over), '<=', 1000,
            'those that are over go in slices';
    }
    cmp_ok $turns, '>', $before / 1000, '... of many';
    is scalar $g->sql($over), 0, '... all of them';
    is api($browser, 'GET', '/me')->status, 200, '... and no other one';
}


# the database is away for a moment

{
    my $browser = sign_in($ada);
    my $cookie = $browser->{jar}{guildlog};
    my $dbh = $g->cluster->connect('postgres');
    my $name = $dbh->quote_identifier($g->dbname);

    $dbh->do("alter database $name allow_connections false");
    $dbh->do('select pg_terminate_backend(pid) from pg_stat_activity
        where datname = ? and application_name = ?', undef, $g->dbname,
        'guildlog');
    for (1 .. 3) {
        is api($browser, 'GET', '/me')->status, 503, 'nobody knows a session';
        is page($browser, 'POST', '/login/logout')->status, 503,
            '... nor ends one';
    }
    is sign_in($ada)->{answer}->status, 503, '... nor begins one';
    is $browser->{jar}{guildlog}, $cookie, '... and no cookie is lost';
    $dbh->do("alter database $name allow_connections true");
    $dbh->disconnect;
    ok wait_for { api($browser, 'GET', '/me')->status == 200 } 30,
        'then all goes on';
}


# an address that tries again and again

{
    my (%looks, %status, $last);
    $looks{ page({}, 'HEAD', '/login', nginx => $second)->status }++
        for 1 .. 70;
    is_deeply \%looks, { 302 => 70 }, 'who only opens the viewer is not limited';

    # a minute may end meanwhile
    for (1 .. 130) {
        $last = page({}, 'GET', '/login', nginx => $second);
        $status{ $last->status }++;
        last if $status{429};
    }
    ok $status{302}, '... and can sign in';
    ok $status{429}, 'sign-ins of one address are limited';
    like $last->text, qr/Too many people/, '... in words';
}

done_testing;
