# "guildlog import discord reads a server's audit log back as far as the platform
# gives, idempotent, resumable, within the platform's limits; NDJSON and CSV exports of
# guildlog itself come back in the same way."

use utf8;
use lib 't/lib';
use Guildlog;
use Guildlog::Answers;
use Guildlog::File;
use Guildlog::Packets qw(id_at);
use Time::HiRes ();
use YAML::XS ();

my $nginx = Guildlog->new(api => 'guildlog_limit off;', operates => 'plan=pro');
my %type = map { (split /\t/)[1, 0] } split /\n/,
    slurp('conf/viewer/log-types.tsv');

delete @ENV{grep { /^(?:GUILDLOG_(?!TEST|BUILD)|PG)/ } keys %ENV};
my $tool = "$Guildlog::TOP/util/guildlog";
$ENV{GUILDLOG_OPERATOR} = "unix:$nginx->{operator}:/";

my $dir = $nginx->prefix . '/import';
my @audits = map { $_->{d} } grep { $_->{t} eq 'GUILD_AUDIT_LOG_ENTRY_CREATE' }
    @{ json->decode(slurp('t/viewer/events.json'))->{events} };
my ($create) = @{ json->decode(slurp('t/events/create.json')) };
my $guild = $create->{packets}[0]{d};
my $server = $guild->{id};
my ($ann, $bob, $dan) = map { "$_" } 80351110224678912, 379343322665181184,
    498123654987321344;
my ($general, $lobby, $thread) = ('613425648685547545', '613425648685547701',
    $guild->{threads}[0]{id});
my ($helper, $webhook) = ('613426091473993739', '1229874651230987654');
my $hour = 3_600_000;
my $now = time * 1000;

mkdir $dir or die $!;
$nginx->file('import/token', "the.token\n");
$nginx->file('import/wrong', "another.token\n");
my $platform = Guildlog::Answers->new(answer => \&platform);


# the stand-in of the platform

# what the audit log has, oldest first
sub audit {
    my ($at, $action, %more) = @_;
    return { id => id_at($at), action_type => $action, user_id => $ann, %more };
}


# of the audit log two pages may be read within 0.3 s.  It refuses "angry" calls,
# "curt" ones without saying for how long, fails at "down" ones, says nothing behind
# the "deaf" first pages, and shows none behind the "blind" first ones

sub platform {
    my ($it, $request) = @_;

    my $left = sub {
        my $n = $it->get($_[0]) || return 0;
        $it->set($_[0], $n - 1);
        return 1;
    };
    my ($id, $what) = $request->{path} =~ m{^/v10/guilds/(\d+)/?(.*)$};
    my $is = $id && $it->get("guild$id");
    return [401, { message => '401: Unauthorized' }]
        if $request->{header}{authorization} ne 'Bot the.token';
    return [404, { message => 'Unknown Guild' }] if !$is;
    return [502, 'no JSON'] if $left->('down');
    return [200, $what ? $is->{$what} : $is] if $what ne 'audit-logs';
    my $calls = $it->get('calls') + 1;
    return [403, { message => 'Missing Permissions' }]
        if $calls > ($it->get('blind') // $calls);

    my $now = Time::HiRes::time();
    $it->set(early => $it->get('early') + 1) if $now < $it->get('until');
    if ($left->('angry')) {
        $it->set(until => $now + 0.9);
        return [429, { message => 'You are being rate limited.',
            retry_after => 0.3 }, 'Retry-After' => 1];
    }
    if ($left->('curt')) {
        $it->set(until => $now + 0.9);
        return [429, {}];
    }
    if (($it->get('deaf') || $calls) < $calls) {
        1 while $it->get('deaf') && select undef, undef, undef, 0.02;
        return [502, {}];
    }
    $it->set(calls => $calls);
    $it->set(until => $now + 0.3) if $calls % 2 == 0;

    # behind "after", as texts: a number would be sent as one
    my @log = grep { (my $id = $_->{id}) > $request->{query}{after} }
        @{ $it->get('log') };
    return [200, { %{ $it->get('lists') },
        audit_log_entries => [splice @log, 0, $request->{query}{limit}] },
        'X-RateLimit-Remaining' => $calls % 2, 'X-RateLimit-Reset-After' => 0.3];
}


$platform->set($_ => 0) for qw(angry curt down deaf calls early until);
$platform->set("guild$server" => $guild);
$platform->set(lists => {
    users    => [{ id => $dan, username => 'dan_the_man' },
        map { $_->{user} } @{ $guild->{members} }],
    threads  => $guild->{threads},
    webhooks => [{ id => $webhook, name => 'Forecast', type => 1,
        channel_id => $general, user => { id => $ann, username => 'ann.keller' },
        application_id => undef }],
    guild_scheduled_events => $guild->{guild_scheduled_events},
    auto_moderation_rules  => [{ id => '969707018069872670', trigger_type => 1,
        name => 'No invites', creator_id => $ann }],
    integrations => [], application_commands => [],
});


# a server that is like it
sub another {
    my $id = $nginx->server;
    $platform->set("guild$id" => { %$guild, id => $id });
    return $id;
}


# the command

sub words {
    my ($server, %option) = @_;

    my %all = ('bot-token' => "$dir/token", place => "$dir/place-$server",
        platform => $platform->url . '/v10', %option);
    return "import discord $server " . join ' ', map {
        defined $all{$_} ? "--$_ '$all{$_}'" : "--$_" } sort keys %all;
}


# (what it printed, what it complained of, its status)
sub imports { return guildlog(words(@_)) }


sub guildlog {
    my ($words) = @_;
    my $out = qx{"$tool" $words 2> "$dir/errors"};
    return ($out, slurp("$dir/errors"), $? >> 8);
}


# what the bot hands in
sub hear {
    my ($server, $t, %d) = @_;
    my $answer = $nginx->operator('POST', '/events',
        [{ t => $t, d => { guild_id => $server, %d } }])->json;
    is_deeply $answer->{errors}, [], "the bot hears $t";
    return $answer;
}


my %token;

# the entries of a server, the oldest first, but for what the service tells
sub logs {
    my ($server) = @_;

    my $token = $token{$server} //= $nginx->token($server);
    my ($at, @logs) = '';
    while (defined $at) {
        my $page = $nginx->get("/servers/$server/logs?limit=200$at",
            token => $token)->json;
        push @logs, @{ $page->{entries} };
        $at = $page->{cursor} && "&cursor=$page->{cursor}";
    }
    return grep { $_->{type} != $type{tokenCreate} } reverse @logs;
}


# the numbers that entries say
sub told { return map { ($_->{reason} // '') =~ /^r(\d+)$/ ? $1 : () } @_ }


subtest 'the audit log of a server' => sub {
    # each says its number; those of the last days are of every kind
    my @log = map { audit($now - (440 - $_) * 2.4 * $hour + 60_000, 22,
        target_id => $bob, reason => "r$_") } 0 .. 439;
    %{ $log[-2 - $_] } = (%{ $audits[$_] }, id => $log[-2 - $_]{id})
        for 0 .. $#audits;
    $platform->set(log => \@log);
    $nginx->server(id => $server);

    # interrupted where it asks for the third page
    $platform->set(deaf => 2);
    my $pid = open my $pipe, '-|', "exec '$tool' " . words($server) or die $!;
    wait_for { $platform->asked(qr{audit}) == 3 };
    kill KILL => $pid;
    close $pipe;
    $platform->set(deaf => 0);

    # calls are refused, and one fails
    $platform->set(angry => 1);
    $platform->set(curt => 1);
    $platform->set(down => 1);
    my ($out, $why, $status) = imports($server);
    is "$status $why", '0 ', 'what was interrupted goes on';
    like $out, qr/\A240 entries of the audit log were read, .*\n\d+ are recorded\n/,
        '... behind what it had read';
    is $platform->get('early'), 0, 'the platform was never asked too early';
    is_deeply [told(logs($server))], [140 .. 438 - @audits, 439],
        'the entries of 30 days are there, each once, in their order';
    cmp_ok scalar(logs($server)), '>=', 300, '... those of all kinds';

    my $calls = $platform->get('calls');
    ($out, $why, $status) = imports($server);
    is "$status $why$out", "0 0 entries of the audit log were read, which"
        . " reaches back 45 days\n0 are recorded\n", 'a second time';
    is $platform->get('calls'), $calls + 1, '... nothing is read twice';

    # as the importer before this one wrote it
    $nginx->file('import/former', qq({"after":"$log[99]{id}",)
        . '"before":9007199254740991}');
    my $said = json->decode((imports($server, place => "$dir/former",
        json => undef))[0]);
    is_deeply [@$said{qw(read left tooOld untold refused)}],
        [340, 0, 40, 0, {}], 'a place of before is taken up';
    cmp_ok $said->{duplicates}, '>=', 9, 'nothing of the last day is there twice';
    is_deeply json->decode(slurp("$dir/former")), { after => $log[-1]{id},
        before => 9_007_199_254_740_991 }, '... and the place is written';
};


subtest 'what has to be told' => sub {
    my $it = another();
    my $at = $now - 2 * $hour;
    $platform->set(log => [
        audit($now - 31 * 24 * $hour, 50, target_id => 77 . '', changes =>
            [{ key => 'name', new_value => 'Gone' }]),
        audit($now - 31 * 24 * $hour, 72, target_id => $bob,
            options => { channel_id => $general, count => '1' }),
        audit($at, 51, target_id => 77 . '', changes =>
            [{ key => 'avatar_hash', new_value => 'aa' }]),
        audit($at + 1, 150), audit($at + 2, 250),
        audit($at + 3, 72, target_id => $bob,
            options => { channel_id => $general, count => '1' }),
        audit($at + 4, 27, options => { count => '1' }),
    ]);
    $platform->set("guild$it" => { %$guild, id => $it, stickers => [],
        channels => [@{ $guild->{channels} }, { id => 'none', name => 'x' }] });
    my ($out, $why, $status) = imports($it, bot => 'pro');
    is $status, 1, 'what is refused makes a part of it';
    is $out, "7 entries of the audit log were read, which reaches back 45 days\n"
        . "2 are recorded\n2 wait in the service, which records them in a moment\n"
        . "2 are older than 30 days, which is all that guildlog takes\n"
        . "1 have no log type\n"
        . "1 have no log type of their own yet, and the type 30\n"
        . "1 were refused: d.id: must be an ID\n", '... and all is told';
    my @logs;
    wait_for {
        @logs = @{ $nginx->sql(q(select array_agg(doc || '}' order by id)
            from entries where guild_id = ? and bot = 1), $it) // [] };
        @logs == 4;
    };
    is json->decode($logs[0])->{name}, 'Gone',
        'of what is too old there is the name, at least';
    pass 'what waits comes; --bot';
};


subtest 'beside a bot' => sub {
    my $it = another();
    my %live = (id => id_at($now - 1000), action_type => 24, user_id => $ann,
        target_id => $bob, changes => [{ key => 'nick', new_value => 'B' }]);
    hear($it, 'GUILD_AUDIT_LOG_ENTRY_CREATE', %live);
    $nginx->operator('POST', "/servers/$it/logs", [{ type => 5, event_id => 'x',
        timestamp => $now - 100 * $hour }]);
    $platform->set(log => [(map { audit($now - $_ * $hour, 22, target_id => $bob,
        reason => "r$_") } 200, 60, 50, 2), \%live]);

    my $said = json->decode((imports($it, json => undef))[0]);
    is_deeply [@$said{qw(read recorded duplicates left)}], [5, 2, 1, 2],
        'what it handed in is left to it, but for the last 23 hours';
    is_deeply [told(logs($it))], [200, 2], '... of which nothing is there twice';
    unlink "$dir/place-$it";
    $said = json->decode((imports($it, json => undef,
        before => $now - 55 * $hour))[0]);
    is_deeply [@$said{qw(read left)}], [5, 3], '--before says until when';
    is_deeply [told(logs($it))], [200, 60, 2], '... what is imported';
};


subtest 'names' => sub {
    my $it = another();
    my $at = $now - 30 * $hour;
    my @entries = (
        audit($at, 22, target_id => $dan),
        audit($at + 1, 14, target_id => $general, options => { id => $helper,
            type => '0' }, changes => [{ key => 'allow', new_value => '8' }]),
        audit($at + 2, 75, target_id => $bob, options => { channel_id => $thread,
            message_id => '5' }),
        audit($at + 3, 51, target_id => $webhook,
            changes => [{ key => 'avatar_hash', new_value => 'aa' }]),
        audit($at + 4, 101, target_id => '1080123456789012345',
            changes => [{ key => 'status', old_value => 1, new_value => 2 }]),
        audit($at + 5, 141, target_id => '969707018069872670',
            changes => [{ key => 'enabled', new_value => \1 }]),
        audit($at + 6, 91, target_id => $guild->{stickers}[0]{id},
            changes => [{ key => 'description', new_value => 'x' }]),
    );
    $platform->set(log => \@entries);
    is +(imports($it))[2], 0, 'are read with a page';
    is_deeply [map {
        my $entry = $_;
        join ' ', map { $entry->{$_}{name} // () } qw(executor target channel);
    } logs($it)], ['ann.keller dan_the_man', 'ann.keller general',
        'ann.keller bob Where to meet?', 'ann.keller general', ('ann.keller') x 3],
        'of people, channels and threads';
    is_deeply [map { $_->{role} // $_->{name} // () } logs($it)],
        ['Helper', 'Forecast', 'Game night', 'No invites', 'climb'],
        '... roles, webhooks, events, rules, stickers';
};


# What the bot has taught of a server stays as it was, and what happens now is
# not taken for what happened then

subtest 'an import beside a bot does no harm' => sub {
    my $it = another();
    my ($member) = grep { $_->{user}{id} eq $bob } @{ $guild->{members} };
    $nginx->operator('POST', '/events', [{ t => 'GUILD_CREATE', at => $now - 60_000,
        d => { %$guild, id => $it } }]);
    my $rename = sub { audit($_[0], 51, target_id => $webhook, changes => [
        { key => 'name', old_value => $_[1], new_value => $_[2] }]) };
    $platform->set(log => [
        audit($now - 50 * $hour, 20, target_id => $bob),
        audit($now - 40 * $hour, 22, target_id => $dan),
        $rename->($now - 30 * $hour, 'Sun', 'Rain'),
        audit($now - 20 * $hour, 27, options => { count => '1' }),
    ]);
    is +(imports($it))[2], 0, 'an import';

    hear($it, 'GUILD_MEMBER_REMOVE', user => $member->{user});
    hear($it, 'GUILD_MEMBER_ADD', %$member, user => { id => $dan,
        username => 'dan_the_man' }, roles => [], joined_at => undef);
    hear($it, 'VOICE_STATE_UPDATE', user_id => $ann, channel_id => undef);
    hear($it, 'GUILD_AUDIT_LOG_ENTRY_CREATE', action_type => 51, user_id => $ann,
        id => id_at($now), target_id => $webhook,
        changes => [{ key => 'avatar_hash', new_value => 'aa' }]);
    my %message = (id => id_at($now - 5000), channel_id => $general);
    hear($it, 'MESSAGE_CREATE', %message, content => 'rude',
        author => $member->{user});
    hear($it, 'MESSAGE_DELETE', %message);
    hear($it, 'GUILD_AUDIT_LOG_ENTRY_CREATE', action_type => 72, user_id => $ann,
        id => id_at(time * 1000), target_id => $bob,
        options => { channel_id => $general, count => '1' });

    my %by;
    wait_for {
        %by = map { $_->{type} => $_ } grep { $_->{timestamp} > $now - 10_000 }
            logs($it);
        $by{ $type{memberLeave} };
    };
    is $by{ $type{memberLeave} }{changes}[0]{new}[0]{name}, 'Member',
        'who was kicked long ago leaves by themselves, with their roles';
    is $by{ $type{memberJoin} }{count}, 214, 'who was banned is counted anew';
    is $by{ $type{voiceLeave} }{channel}{name}, 'Lobby',
        'who was in voice is known to leave it';
    is $by{ $type{messageDelete} }{executor}{name}, 'ann.keller',
        'who deleted a message now is found';
    is $by{ $type{messageDelete} }{content}, 'rude', '... and what it said';
    is $by{ $type{webhookAvatarUpdate} }{name}, 'Forecast',
        'a thing has the name that it has now';
};


subtest 'what cannot be' => sub {
    $platform->set(log => [audit($now - $hour, 22, target_id => $bob)]);
    $platform->set(blind => $platform->get('calls'));
    my ($out, $why, $status) = imports($server, place => "$dir/blind");
    is $status, 3, 'a bot that may not view the log';
    like $why, qr/View Audit Log/, '... is told what it needs';
    ok !-e "$dir/blind", '... and begins where it may';
    $platform->set(blind => $platform->get('calls') + 1);
    ($out, $why, $status) = imports($server, place => "$dir/blind");
    is $status, 3, 'one that may not any more';
    like $out, qr/^1 entries .* read.*\n1 are recorded$/m, '... and what was done';
    $platform->set(blind => undef);

    ($out, $why, $status) = imports($server, 'bot-token' => "$dir/wrong");
    is $status, 3, 'a wrong token';
    like $why, qr/does not know this token/, '... is told';
    ($out, $why, $status) = imports('613425648685547999');
    is $status, 3, 'a server in which the bot is not';
    like $why, qr/not in this server/, '... is told';
    is +(guildlog("import discord $server"))[2], 2, 'no token';
    is +(imports($server, 'bot-token' => "$dir/none"))[2], 2, '... no such file';
    is +(imports($server, 'bot-token' => '/dev/null'))[2], 2, '... nothing in it';
    $nginx->file('import/odd', '{"after":1');
    is +(imports($server, place => "$dir/odd"))[2], 2, 'a place that is none';

    my $it = another();
    $nginx->patch("/servers/$it/config/logging/channels",
        token => $nginx->token($it),
        json => { main_channel => '300000000000000001' });
    ($out, $why, $status) = imports($it);
    is $status, 2, 'a server with log channels is not flooded';
    like $why, qr/--deliver/, '... which is told';
    is +(imports($it, deliver => undef))[2], 0, '... but if somebody wants that';

    $nginx->stop;
    is +(imports($it, place => "$dir/away"))[2], 4, 'guildlog is away';
    $nginx->start;
    $platform->set(down => 100);
    ($out, $why, $status) = imports($it, place => "$dir/down");
    is $status, 4, 'the platform is away';
    is $why, "guildlog: the platform does not answer: 502\n", '... which is told';
    is $platform->get('down'), 94, '... after six tries';
    $platform->set(down => 0);
};


subtest 'an import that ends while it hands in' => sub {
    my $service = Guildlog::Answers->new(answer => sub {
        my (undef, $request) = @_;
        return [500, { error => 'broken' }] if $request->{body} =~ /AUDIT_LOG/;
        return [200, { lanes => [], first_log_at => $now - 1, errors => [],
            recorded => 0, duplicates => 0, waiting => 0,
            map { $_ => {} } qw(dropped ignored unknown) }];
    });
    my ($out, $why, $status) = imports($server, place => "$dir/cut",
        operator => $service->url);
    is $status, 4, 'is told';
    is json->decode(slurp("$dir/cut"))->{before}, $now - 1,
        '... and knows later what was there before it';
};


subtest 'what the service cannot record now' => sub {
    my $service = Guildlog::Answers->new(answer => sub {
        my (undef, $request) = @_;
        my @packets = split /\n/, $request->{body};
        return [200, { lanes => [], recorded => 0, duplicates => 0, waiting => 0,
            errors => [map { +{ index => $_, error => 'is to be sent again',
                retry => \1 } } grep { $packets[$_] =~ /AUDIT_LOG/ }
                0 .. $#packets],
            map { $_ => {} } qw(dropped ignored unknown) }];
    });
    my ($out, $why, $status) = imports($server, place => "$dir/later",
        operator => $service->url);
    is $status, 4, 'ends the import';
    like $why, qr/could not record it now/, '... which is told';
    my $place = json->decode(slurp("$dir/later"));
    my ($id) = map { $_->{id} } @{ $platform->get('log') };
    cmp_ok $place->{after}, '<', $id, '... and it comes back to it';
};


subtest 'a server that nobody has made known' => sub {
    my $it = '613425648685540001';
    $platform->set("guild$it" => { %$guild, id => $it });
    is +(imports($it))[2], 0, 'can be imported';
    my $known = $nginx->operator('PUT', "/servers/$it", {})->json;
    is_deeply [@$known{qw(name owner_id plan)}], ['Climbers of Bern', $ann, 'pro'],
        '... with its name, and the plan of the configuration';
};


subtest 'a secret is on no command line' => sub {
    my $bin = $nginx->prefix . '/bin';
    mkdir $bin;
    $nginx->file('bin/curl', "#!/bin/sh\necho \"\$@\" >> '$bin/said'\n"
        . "exec /usr/bin/curl \"\$@\"\n", 0755);
    local $ENV{PATH} = "$bin:$ENV{PATH}";
    imports($server);
    like slurp("$bin/said"), qr/--config/, 'curl is called';
    unlike slurp("$bin/said"), qr/the\.token/, '... without the token';
};


# one entry of each type, as the operator's OpenAPI document has them, and some that
# are hard to write

my $examples = YAML::XS::LoadFile("$Guildlog::TOP/conf/openapi-operator.yaml")
    ->{paths}{'/servers/{guild_id}/logs'}{post}{requestBody}{content}
    {'application/json'}{examples};
my @entries = (
    (map { $_->{value}[0] } @$examples{sort keys %$examples}),
    { event_id => 'a', type => 5, content => "=1+1, \"so\"\r\nsaid\n\nAnn",
      target => { id => '7', name => "\x{d6}zg\x{fc}r, \"the\"" } },
    { event_id => 'b', type => 5, content => q('tis), reason => '-5' },
);
my $time = time * 1000 - 3_600_000;
$_->{timestamp} = $time += 1000 for @entries;

my ($from, @to) = map { $nginx->server(plan => 'pro') } 1 .. 4;
is_deeply $nginx->operator('POST', "/servers/$from/logs", \@entries)
    ->json->{errors}, [], 'entries of all types';

my ($ndjson, $csv) = map { export($from, $_) } qw(ndjson csv);


# what the API exports, in a file
sub export {
    my ($server, $format) = @_;

    my $text = $nginx->get("/servers/$server/logs/export?format=$format",
        token => $nginx->token($server))->text;
    open my $out, '>:raw', "$dir/$server.$format" or die $!;
    print {$out} $text;
    close $out or die $!;
    return "$dir/$server.$format";
}


# entries but for what is of the place where they are, and those of the service
sub kept {
    my ($file) = @_;
    my @kept;
    for (split /\n/, slurp($file)) {
        my $entry = json->decode($_);
        delete @$entry{qw(id delivery)};
        push @kept, $entry if $entry->{timestamp} <= $time;
    }
    return \@kept;
}


sub import_of { return guildlog("import $_[0]") }


my ($out, $why, $status) = import_of("$to[0] $ndjson");
is "$status $why", '0 ', 'NDJSON comes back';
like $out, qr/^recorded \d+, duplicates 0$/, '... as a whole';
is_deeply kept(export($to[0], 'ndjson')), kept($ndjson),
    '... as it was, in its order';
($out) = import_of("$to[0] $ndjson");
like $out, qr/^recorded 0, duplicates \d+$/, '... nothing twice';

($out, $why, $status) = import_of("$to[1] $csv");
is $status, 0, 'CSV comes back';
like $why, qr/^guildlog: \d+ entries have changes/, '... what it lacks is told';
my @lacks = qw(messages messagesTruncated emoji until role_id image changes value);
my ($before, $after) = map { kept($_) } $ndjson, export($to[1], 'ndjson');
my ($changed) = grep { $before->[$_]{changes} && !defined $before->[$_]{value} }
    0 .. $#$before;
like $after->[$changed]{value}, qr/→/, '... changes are words';
for (@$before, @$after) {
    delete @$_{@lacks};
    $_->{channel} = undef if $_->{channel} && !defined $_->{channel}{id};
}
is_deeply $after, $before, '... the rest is as it was, in its order';

open my $bad, '>', "$dir/bad" or die $!;
print {$bad} qq({"id":"1","type":5,"timestamp":$time}\n{"id":"2","type":500}\n)
    . qq(no JSON\n{"id":"4","type":5,"timestamp":1000000000000}\n);
close $bad or die $!;
($out, $why, $status) = import_of("$to[2] $dir/bad");
is $status, 1, 'bad lines';
like $out, qr/^recorded 1,/, '... do not hold up others';
like $why, qr/^line 4: timestamp.*^line 3: .*^line 2: type/ms,
    '... and are told by their lines';
is +(import_of("$to[2] $tool"))[2], 2, 'a file that is no export';
is +(import_of("$to[2] $dir/none"))[2], 2, 'no file';

done_testing;
