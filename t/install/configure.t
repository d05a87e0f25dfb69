# util/guildlog, the configuration of a server: what an administrator sets is what
# the service has then, types have names, and a whole configuration can be taken
# from one server to another.

use lib 't/lib', 'util/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Platform;
use Guildlog::RandomChange;
use Guildlog::Tool;

my $nginx = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $nginx->prefix . '/platform');
$nginx->configure(http => $platform->directives($nginx))->start;

my ($server, $other) = map { $nginx->server(plan => 'pro', name => $_) }
    qw(Attic Cellar);
my %as = (token => $nginx->token($server));
my ($main, $voice, $free) = map { "30000000000000000$_" } 1 .. 3;
$platform->belong($server, $_) for $main, $voice;
$platform->belong($other, $free);

tool_for($nginx);
$ENV{GUILDLOG_ADMIN_TOKEN} = $as{token};


sub api { return $nginx->get("/servers/$server$_[0]", %as)->json }

# the only row of a part
sub row { return api("/config/$_[0]")->[0] }


subtest 'where logs go' => sub {
    does("log-channel set $server main=$main voice=off ban=$voice");
    is row('logging/channels')->{main_channel}, $main, 'the main channel';
    is row('logging/channels')->{category_voice}, '0', 'a category is off';
    is row('logging/settings/39')->{log_channel}, $voice, 'a type has its own';
    my $shown = does("log-channel show $server");
    like $shown, qr/^main +$main +(?:registering|active)/m, 'is shown';
    like $shown, qr/^voice +off .*^ban +$voice/ms, 'so are the others';

    wait_for { does("log-channel show $server") =~ /^main +$main +active/m } 60;
    is does("test-log $server"), "it arrived in channel $main\n", 'a test arrives';
    does("log-channel set $server voice=default ban=default");
    is row('logging/channels')->{category_voice}, undef, 'as before';
    is $nginx->get("/servers/$server/config/logging/settings/39", %as)->status,
        404, '... and nothing is left of the type';
    is +(guildlog("log-channel set $server main=here"))[2], 2, 'no channel';
    like +(guildlog("log-channel set $server mian=$main"))[1],
        qr/no type 'mian', did you mean|no type 'mian'$/, 'no such place';
};


subtest 'what is logged' => sub {
    does("type set $server message_delete,kick enabled=no color=#ff8000");
    is join(' ', @{ row("logging/settings/$_") }{qw(enabled color)}), '0 16744448',
        "type $_" for 5, 41;
    like does("type list $server"), qr/^5 +messageDelete +Text +no /m, 'is listed';
    does("type set $server 5,41 enabled=default color=default");

    does("option set $server spoilers=yes format=compact buttons=userID");
    is_deeply [@{ row('logging/settings') }{qw(spoilers format_type buttons)}],
        [1, 1, ['userID']], 'options';
    like does("option show $server"), qr/^format_type +compact$/m, 'are shown';

    does("ignore add $server executor-roles 71 72");
    does("ignore remove $server executor-roles 72");
    is does("ignore list $server"), "LIST            VALUE\nexecutor-roles  71\n",
        'what is ignored';

    does("filter set $server words enabled=yes words=rude,ruder types=ban,kick");
    like does("filter list $server"), qr/^words +yes +mask +rude,ruder +ban,kick$/m,
        'filters';
    does("language set $server ja");
    like does("language show $server"), qr/^language +ja$/, 'the language';
};


subtest 'tags and people' => sub {
    does("tag set $server rules 'content=Be kind'");
    does("tag set $server rules color=#010203 name=law");
    like does("tag list $server"), qr/^law +Be kind +#010203 +-$/m, 'a tag';
    does("tag delete $server law");
    is does("tag list $server"), '', 'is gone';

    does("access set $server 200000000000000005 view");
    like does("access list $server"), qr/^200000000000000005 +view$/m, 'access';
    does("access remove $server 200000000000000005 --revoke");
    is does("access list $server"), '', 'is taken away';
    like does("notification list $server"), qr/ access changed +add 2000.* view$/m,
        'and all is told';
};


subtest 'the directory, by names' => sub {
    does("member set $server 200000000000000031 --name Ida");
    does("channel set $server 300000000000000031 --name quiet --type 0");
    does("role set $server 400000000000000031 --name mods");
    like does("channel find $server qui"), qr/^300000000000000031 +quiet +0/m,
        'a channel';
    is $nginx->sql('select string_agg(name, \' \' order by name) from directory
        where guild_id = ?', $server), 'Ida mods quiet', 'all are there';

    $nginx->operator('POST', "/servers/$server/logs", [map { { event_id => $_,
        type => 5, content => "by $_", target => { id => $_, name => 'x' } } }
        '200000000000000031', '200000000000000032']);
    my $log = does("logs $server --member Ida --type messageDelete");
    like $log, qr/"by 200000000000000031"\n\z/, 'who is called so';
    unlike $log, qr/0032/, '... and nobody else';
    my (undef, $why, $status) = guildlog("logs $server --member Nobody");
    is $status, 2, 'a name that nobody has';
    like $why, qr/guildlog member find $server/, '... leads on';
    does("$_->[0] delete $server $_->[1]")
        for ['channel', '300000000000000031'], ['role', '400000000000000031'];
};


subtest 'types have names where entries are recorded' => sub {
    my $line = '{"event_id":"named-%s","type":"%s","content":"%1$s"}' . "\n";
    is does("record $server", join '', map { sprintf $line, @$_ }
        [1, 'messageDelete'], [2, 'message_delete'], [3, 'message-edit']),
        "recorded 3, duplicates 0\n", 'by key, however it is spelled';
    is_deeply [sort map { $_->{type} } grep { ($_->{content} // '') =~ /^[123]$/ }
        @{ api('/logs?limit=20')->{entries} }], [5, 5, 7], 'as the right types';
    like +(guildlog("record $server", sprintf $line, 4, 'messageDelet'))[1],
        qr/no type 'messageDelet', did you mean 'messageDelete'/, 'a slip';
};


subtest 'lanes' => sub {
    does("pause $server");
    like does("lane list $server"), qr/^the server is paused\nLANE .*OLDEST QUEUED/,
        'a server is paused';
    does("resume $server");
    my ($lane) = does("lane list $server") =~ /^(\d+) +main +$main /m;
    does("pause $server $lane");
    like does("lane list $server"), qr/^$lane .* paused/m, 'and a lane';
    does("resume $server $lane");
    my $said = does("troubleshoot $server");
    like $said, qr/^healthy\n/, 'nothing is wrong then';
};


subtest 'a whole configuration' => sub {
    does("type set $server ban color=#ff0000");
    does("tag set $server hello content=Hi");
    does("alert add $server --name Raid --type ban --type kick --count 5 --seconds 30"
        . ' --by executor');
    my $file = $nginx->prefix . '/config.json';
    does("config export $server -o '$file'");
    is does("config diff '$file' $server"), '', 'of a server is what it is';
    is_deeply json->decode(slurp($file))->{tags}, api('/config')->{tags},
        'as GET /config has it';

    # a file with the tokens of both servers
    delete local $ENV{GUILDLOG_ADMIN_TOKEN};
    local $ENV{GUILDLOG_TOKEN_FILE} = $nginx->file('tokens',
        join("\n", $nginx->token($other), $as{token}), 0600);

    does("tag set $other old content=Bye");

    # its log channel is of the other server
    my $wanted = json->decode(slurp($file));
    $wanted->{serverlogConfigChannels}[0]{main_channel} = $free;
    $nginx->file('config.json', json->encode($wanted));

    my ($would, undef, $status) = guildlog("config diff '$file' $other");
    is $status, 1, 'another one differs';
    like $would, qr/^$other\n(?:  .*\n)+\z/, 'which is told by server';
    like $would, qr/^  $_$/m for '- tag old', '\+ tag hello: content Hi',
        '\+ alert Raid: by executor, .*count 5, .*types ban,kick',
        'type ban: color #ff0000', '\+ ignore executor-roles 71',
        'options: .*spoilers no → yes', "log channels: main_channel default → $free",
        'filter words: enabled no → yes, .*', 'language: locale ja';

    my ($dry, $hint) = guildlog("config apply '$file' $other");
    is $dry, $would, 'apply says the same';
    like $hint, qr/--yes/, '... and does nothing by itself';
    my $tags = does("tag list $other");
    like $tags, qr/^old/m, 'indeed';

    is does("config apply '$file' $other --yes"), $would, 'then it does it';
    is does("config diff '$file' $other"), '', 'and nothing differs';
    is does("config apply '$file' $other --yes"), '', 'nor is anything done twice';
    is does("config diff - $other", slurp($file)), '', 'stdin is a file, too';
    my @both = map { my $of = decoded(does("config export $_"));
        delete $of->{guilds};
        delete $of->{serverlogConfigChannels};
        json->encode($of) =~ s/"(?:tag_|alert_)?id":"\d+"//gr } $server, $other;
    is $both[0], $both[1], 'both servers say the same of themselves';

    # several servers, and parts

    does("config export $server $other -o '$file'");
    does("ignore remove $server executor-roles 71");
    does("language set $other de");
    is +(guildlog("config diff '$file'"))[0], "$server\n  + ignore executor-roles"
        . " 71\n$other\n  language: locale de → ja\n", 'each as it was';
    does("config apply '$file' $other --yes");
    is +(guildlog("config diff '$file'"))[0], "$server\n  + ignore executor-roles"
        . " 71\n", 'only the one that was named';

    $nginx->file('config.json', '{"tags":null,"serverlogConfigOptions":null}');
    is does("config apply '$file' $server --yes"), "$server\n  - tag hello\n"
        . '  options: buttons userID → customise,supportServer,userID,'
        . " format_type compact → embed, spoilers yes → no\n",
        'null empties a part';
    is row('logging/channels')->{main_channel}, $main, 'others stay';

    # what is refused

    my $refused = sub {
        my ($config, $status, $said) = @_;
        $nginx->file('config.json', $config);
        my ($out, $why, $is) = guildlog("config apply '$file' $server --yes");
        is $is, $status, $config;
        like $why, $said, 'says why';
        return $out;
    };
    $refused->('{', 2, qr/no JSON/);
    $refused->('{"tags":[{"tag_name":"a","contents":"b"}]}', 2,
        qr/"tags" has no field "contents"/);
    $refused->('{"tags":{}}', 2, qr/"tags" is no list/);
    my $done = $refused->('{"settingsConfig":[{"locale":"xx"}],'
        . '"tags":[{"tag_name":"a","content":"b"}]}', 3,
        qr/ 400: changes\[1\]\.body\.locale: .*that is \S+: language: [^\n]* xx$/ms);
    is $done, '', 'one is refused, so none is done';
    is does("tag list $server"), '', '... indeed';

    # the third of five is refused

    my $five = sub {
        my ($image) = @_;
        my %tag = map { $_ => { tag_name => $_, content => $_ } } 'a' .. 'e';
        $tag{c}{image} = $image;
        $nginx->file('config.json', json->encode({ tags => [@tag{'a' .. 'e'}] }));
    };
    $five->('ftp://example');
    my ($out, $why, $is) = guildlog("config apply '$file' $server --yes");
    is $is, 3, 'the third of five is refused';
    is $out, '', 'none is done';
    like $why, qr/ 400: changes\[2\]\.body\.image: /, 'says why';
    like $why, qr/that is $server: \+ tag c: .*\n.* 0 of 5 changes were done/,
        '... and which it is';
    is join(' ', $why =~ /^guildlog:   $server: \+ tag (\w)/mg), 'a b c d e',
        '... and what is left';
    is does("tag list $server"), '', 'which was not done';
    $five->('https://example/c.png');
    is does("config apply '$file' $server --yes"), "$server\n  + tag a: content a\n"
        . "  + tag b: content b\n  + tag c: content c, image"
        . " https://example/c.png\n  + tag d: content d\n  + tag e: content e\n",
        'run again it does that';

    # of two servers the second one refuses

    $nginx->file('config.json', json->encode({ map { $_->[0] => {
        settingsConfig => [{ locale => $_->[1] }], tags => [{ tag_name => 'both',
        content => 'b', image => $_->[2] }] } } [$server, 'fr'],
        [$other, 'fr', 'ftp://example'] }));
    ($out, $why) = guildlog("config apply '$file' $server $other --yes");
    like $out, qr/^$server\n(?:  - tag \w: .*\n|  - tag \w\n){5}  \+ tag both: .*\n/,
        'the first one is done';
    unlike $out, qr/$other/, '... the second one is not';
    like $why, qr/that is $other: \+ tag both/, '... which says why';
    like does("language show $_->[0]"), qr/ $_->[1]$/, "... and $_->[2]"
        for [$server, 'fr', 'that one is'], [$other, 'ja', 'nothing of this one'];

    # more than a request may have

    $nginx->file('config.json', json->encode({ serverlogConfigIgnoreStandard => [
        map { { ignore_type => 2, ignore_value => 1000 + $_ } } 1 .. 450],
        tags => [map { { tag_name => "t$_", content => 'x' x 4000 } } 1 .. 20] }));
    my @lines = split /\n/, does("config apply '$file' $server --yes");
    is grep({ /^  \+ / } @lines), 470, 'many changes are several requests';
    is does("config diff '$file' $server"), '', '... which do all of them';
    is does("config apply '$file' $server --yes"), '', '... and it was all';

    # types

    $nginx->file('config.json', json->encode({ serverlogConfigCustomOptions => [
        (map { { log_type => $_, enabled => 0 } } 60, 61, 62),
        { log_type => 63, color => 255 }] }));
    my @bodies = map { $_->{body} } grep { $_->{path} =~ m{/types$} }
        @{ decoded((guildlog("config diff '$file' $server --json"))[0]) };
    is_deeply \@bodies, [{ types => [60, 61, 62], set => { enabled => JSON::PP::false } }],
        'the same of several types is one request';
    does("config apply '$file' $server --yes");
    is_deeply [map { row("logging/settings/$_")->{enabled} } 60, 61, 62],
        [0, 0, 0], '... which reaches them all';
    is does("config diff '$file' $server"), '', 'nothing is left';
};


subtest 'names that are odd' => sub {
    my $file = $nginx->prefix . '/odd.json';
    my @odd = ("\x{ffff}", "\x{10fffe}b", "\x{202e}c", "\e[31m", '"\\', "\n",
        "\x{1f600}" x 31);
    local $SIG{__WARN__} = sub { warn @_ if $_[0] !~ /non-character/ };
    my $post = sub { $nginx->post("/servers/$server$_[0]", %as, json => $_[1]) };
    $post->('/tags', { tag_name => $_, content => "$_." }) for @odd;
    $post->('/alerts', { name => 'twice', types => [$_], count => $_,
        seconds => 9, by => 'server' }) for 1 .. 3;

    my $text = does("config export $server --bot main");
    is_deeply [sort map { $_->{tag_name} } @{ decoded($text)->{tags} }],
        [sort map { $_->{tag_name} } @{ api('/config')->{tags} }],
        'an export is JSON, whatever the tags are called';
    is_deeply [map { $_->{count} } grep { $_->{name} eq 'twice' }
        @{ decoded($text)->{alerts} }], [1 .. 3], '... and has all alerts of a name';

    does("config export $server -o '$file'");
    is_deeply json->decode(slurp($file)), decoded($text), 'so is a file';
    is does("config diff '$file' $server"), '', '... and it is what is there';

    my $want = decoded($text);
    @{ $want->{alerts} } = grep { $_->{count} != 2 } @{ $want->{alerts} };
    $nginx->file('odd.json', json->encode($want));
    like +(guildlog("config diff '$file' $server --bot main"))[0],
        qr/^ +- alert twice\n +alert twice: count 2 → 3, .+\n\z/m,
        'of three alerts of a name one goes';
    does("config apply '$file' $server --yes");
    is_deeply [map { $_->{count} } grep { $_->{name} eq 'twice' }
        @{ api('/config')->{alerts} }], [1, 3], '... which leaves what the file has';
    is does("config diff '$file' $server"), '', '... and nothing to do';

    # what is the same for both is no change of several types

    $_->{count} = 7 for grep { $_->{name} eq 'twice' } @{ $want->{alerts} };
    $nginx->file('odd.json', json->encode($want));
    does("config apply '$file' $server --yes");
    @{ $want->{alerts} } = grep { $_->{name} ne 'twice' } @{ $want->{alerts} };
    push @{ $want->{alerts} }, map { {
        name => 'same', types => [1], count => 5, seconds => 9, by => 'server'
    } } 1 .. 2;
    $nginx->file('odd.json', json->encode($want));
    does("config apply '$file' $server --yes");
    $_->{count} = 6 for grep { $_->{name} eq 'same' } @{ $want->{alerts} };
    $nginx->file('odd.json', json->encode($want));
    does("config apply '$file' $server --yes");
    is_deeply [map { [@$_{qw(name count)}] } @{ api('/config')->{alerts} }],
        [map { [@$_{qw(name count)}] } @{ $want->{alerts} }],
        'two alerts that are equal are made, and changed';
};


subtest 'any configuration' => sub {
    my $seed = $ENV{GUILDLOG_SEED} // int rand 2**31;
    diag "GUILDLOG_SEED=$seed";
    srand $seed;
    delete local $ENV{GUILDLOG_ADMIN_TOKEN};
    local $ENV{GUILDLOG_TOKEN_FILE} = $nginx->prefix . '/tokens';
    my $file = $nginx->prefix . '/any.json';
    my $export = sub { does("config export $_[0]") =~ s/"32(0{15}\d")/"31$1/gr };

    $nginx->file('any.json', '{"serverlogConfigIgnoreStandard":null,"tags":null}');
    does("config apply '$file' $server --yes");

    for my $round (1 .. 5) {
        for (1 .. 25) {
            my $is = api('/config');
            my $change = meant(random_change(), $is, '31000000000000000');
            my ($method, $path, $body) = @$change{qw(method path body)};
            $nginx->request($method, "/servers/$server$path", %as,
                $body ? (json => $body) : ());
        }
        $nginx->file('any.json', does("config export $server")
            =~ s/"31(0{15}\d")/"32$1/gr);
        does("config apply '$file' $other --yes");
        is does("config diff '$file' $other"), '', "round $round: is applied";

        my @both = map { my $of = decoded($export->($_));
            delete @$of{qw(guilds serverlogConfigChannels serverlogConfigOptions)};
            @{ $of->{alerts} } = sort { json->encode($a) cmp json->encode($b) }
                map { delete $_->{alert_id}; $_ } @{ $of->{alerts} || [] };
            json->encode($of) =~ s/"(?:tag_|alert_)?id":"\d+"//gr } $server, $other;
        is $both[1], $both[0], '... and said of both';

        # a refusal anywhere

        my $want = json->decode(slurp($file));
        $want->{settingsConfig} = [{ locale => $round % 2 ? 'it' : 'tr' }];
        $want->{serverlogConfigIgnoreStandard} = undef;
        push @{ $want->{tags} }, { tag_name => 'n0', content => 'x' },
            { tag_name => "n$round-", image => 'ftp://example' };
        $nginx->file('any.json', json->encode($want));
        my $was = $export->($other);
        my (undef, $why, $status) = guildlog("config apply '$file' $other --yes");
        is $status, 3, '... one more is refused';
        like $why, qr/that is $other: \+ tag n$round-/, '... which is told';
        is $export->($other), $was, '... and nothing was changed';
    }
};


subtest 'slips of the hand' => sub {
    my %meant = ('server lst' => 'server list', 'srever list' => 'server list',
        serv => 'server', version => '--version', statsu => 'status', "logs $server --seach x" => 'search',
        "option set $server spoiler=yes" => 'spoilers',
        "ignore add $server contnt x" => 'content');
    for my $words (sort keys %meant) {
        my (undef, $why, $status) = guildlog($words);
        is $status, 2, $words;
        like $why, qr/did you mean '$meant{$words}'\?/, "means $meant{$words}";
    }
    unlike +(guildlog('nonsense'))[1], qr/did you mean/, 'but not anything';

    local $ENV{GUILDLOG_URL} = $nginx->url . '/nowhere';
    like +(guildlog("logs $server"))[1], qr/404: .*most often in \/api$/m,
        'an address without an API is told from a thing that is not there';
};


subtest 'the examples' => sub {
    require './util/guildlog';
    no warnings 'once';
    my @lines = map { my (undef, @of) = @$_; @of } @Guildlog::Command::examples;
    cmp_ok @lines, '>', 10, 'there are some';
    for (@lines) {
        next if !/^guildlog /;
        my $words = s/^guildlog //r =~ s/ > token$//r;
        $words =~ s/100000000000000001/$server/g;
        $words =~ s/100000000000000002/$other/g;
        $words =~ s/300000000000000001/$main/g;
        $words =~ s/300000000000000002/$voice/g;
        $words =~ s/config\.json/'$nginx->{prefix}\/example.json'/g;
        next if $words =~ / --follow$/;    # for ever: command.t has it
        delete local $ENV{GUILDLOG_ADMIN_TOKEN} if $words =~ /^config/;
        local $ENV{GUILDLOG_TOKEN_FILE} = "$nginx->{prefix}/tokens"
            if $words =~ /^config/;
        my (undef, $why, $status) = guildlog($words);
        cmp_ok $status, '<', $words =~ /^config|troubleshoot|test-log/ ? 4 : 1,
            $words or diag $why;
    }
    is_deeply [grep { $_->[0] eq 'More' } Guildlog::Command::grouped()], [],
        'each command is below a heading';
};

done_testing;
