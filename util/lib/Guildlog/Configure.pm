package Guildlog::Configure;

# What util/guildlog does to the configuration of a server: where logs go, what is
# logged, who may look at it; and a whole configuration as a file.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use JSON::PP ();

use Guildlog::Service;
use Guildlog::Show;

our @EXPORT = qw(@configure language_of);

my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
my $json = JSON::PP->new->canonical->allow_nonref;

# The fields of each part of a configuration as the API has them, and the kind of
# their values.  In this order they are told and changed.

my @parts = (
    [option => [
        spoilers => 'bool', proxy_integration => 'bool',
        ignore_bot_targets => 'bool', ignore_bot_executors => 'bool',
        format_type => 'format', buttons => 'list', active_ignore => 'bool']],
    [channel => [map { $_ => 'channel' } 'main_channel', map { "category_$_" }
        qw(members text files voice modlog actions server roles channels
        service)]],
    [type => [
        enabled => 'bool', log_channel => 'channel', format_type => 'format',
        color => 'color', ignore_bot_executors => 'bool',
        ignore_bot_targets => 'bool', active_ignore => 'bool']],
    [filter => [
        enabled => 'bool', action => 'text', words => 'list',
        log_types => 'types']],
    [tag => [content => 'text', color => 'color', image => 'text']],
    [alert => [
        types => 'types', count => 'number', seconds => 'number', by => 'text',
        channel => 'text', role => 'text', enabled => 'bool']],
    [access => [level => 'text']],
    [language => [locale => 'locale']],
);
my %fields = map { $_->[0] => { @{ $_->[1] } } } @parts;

# what is shorter to type
my %short = (
    channel => 'log_channel', format => 'format_type', types => 'log_types',
    main => 'main_channel', name => 'tag_name',
    map { s/^category_//r => $_ } grep { /^category_/ }
        keys %{ $fields{channel} },
);

my @lists = qw(channels categories executors targets content executor-roles
    target-roles);
my @formats = qw(embed compact plain compact-plain);
my @locales = qw(en-US en-GB tr vi en-PR pl nl es-ES it de fr ru el zh_Hant ko sl
    ar hu ja);

my %locale_number = map { $locales[$_] => $_ } 0 .. $#locales;

# what an option is as long as nobody has changed it
my %default = (spoilers => 0, proxy_integration => 0, ignore_bot_targets => 1,
    ignore_bot_executors => 1, format_type => 0, active_ignore => 0,
    buttons => [qw(customise supportServer userID)]);

my @bot = ['bot=s', 'main|pro', 'of which bot (main)'];
my @do = ['yes', undef, 'do it; without this it is only told'];

# as the table in util/guildlog
our @configure = (
    ['log-channel show', 'SERVER', [@bot],
        'Shows which channel the logs go to, by category and by type, and how'
        . ' that does.', \&channels_show],
    ['log-channel set', 'SERVER WHAT=CHANNEL...', [@bot],
        'Chooses the channels that logs go to. WHAT is main, a category, as'
        . ' voice, or a type, as ban. CHANNEL is an id, off, or default: a'
        . ' type follows its category, and a category the main channel.',
        \&channels_set],
    ['test-log', 'SERVER [CATEGORY]', [@bot],
        'Sends a test message to the log channel, at most one a minute.',
        \&test_log],
    ['troubleshoot', 'SERVER', [
            ['offline', undef, 'without asking the platform'],
            ['fix', undef, 'and mend what can be mended'], @bot,
        ], 'Tells why logs do not arrive.', \&troubleshoot],

    ['type list', 'SERVER', [@bot],
        'Lists the types of entries, and whether and where they are logged.',
        \&type_list],
    ['type set', 'SERVER TYPE NAME=VALUE...', [@bot],
        'Changes how a type is logged, or several as ban,kick: '
        . names('type') . '. VALUE may be default.', \&type_set],
    ['option show', 'SERVER', [@bot], 'Shows the options of all types.', sub {
        my $row = row(config($_[0]), 'serverlogConfigOptions');
        show_fields('option', $row ? $row : { %default });
    }],
    ['option set', 'SERVER NAME=VALUE...', [@bot],
        'Changes options of all types: ' . names('option') . '.', sub {
            my ($server, @words) = @_;
            send_to('PATCH', $server, ['config', 'logging', 'settings'],
                fields_of('option', @words));
        }],
    ['ignore list', 'SERVER', [@bot], 'Lists what is not logged.', sub {
        my $rows = config($_[0])->{serverlogConfigIgnoreStandard} || [];
        $_->{list} = $lists[ $_->{ignore_type} ] for @$rows;
        show([map { { list => $_->{list}, value => $_->{ignore_value} } } @$rows],
            qw(list value));
    }],
    map({ my ($verb, $method, $what) = @$_;
        ["ignore $verb", 'SERVER LIST VALUE...', [@bot],
            "$what LIST is one of " . join(', ', @lists) . '.', sub {
                my ($server, $list, @values) = @_;
                send_to($method, $server,
                    ['config', 'logging', 'ignore', list_number($list)],
                    { value => $_ }) for @values;
            }];
    } ['add', 'POST', 'Adds what is not to be logged.'],
      ['remove', 'DELETE', 'Logs it again.']),
    ['filter list', 'SERVER', [@bot],
        'Lists what is masked before an entry is stored.', sub {
            my $rows = get($_[0], 'filters');
            return show($rows) if chosen('json');
            show([map { my $row = $_; { filter => $row->{filter_id},
                map { $_ => told($fields{filter}{$_}, $row->{$_}) }
                    keys %{ $fields{filter} } } } @$rows],
                qw(filter enabled action words log_types));
        }],
    ['filter set', 'SERVER FILTER NAME=VALUE...', [@bot],
        'Changes a filter, as invites, secrets or words: ' . names('filter')
        . '.', sub {
            my ($server, $filter, @words) = @_;
            send_to('PATCH', $server, ['filters', $filter],
                fields_of('filter', @words));
        }],
    ['language show', 'SERVER', [@bot], 'Shows the language of the messages.',
        sub {
            my $row = row(config($_[0]), 'settingsConfig');
            my $locale = $row ? $row->{locale} : get($_[0])->{locale};
            show({ language => language_of($locale) });
        }],
    ['language set', 'SERVER KEY', [@bot],
        'Sets the language of the messages: ' . join(', ', @locales) . '.', sub {
            send_to('PATCH', $_[0], ['config', 'settings'],
                { locale => $_[1] });
        }],

    ['tag list', 'SERVER', [@bot], 'Lists the tags.', sub {
        my $tags = config($_[0])->{tags} || [];
        return show($tags) if chosen('json');
        show([map { { tag => $_->{tag_name}, content => $_->{content},
            image => $_->{image}, color => told('color', $_->{color}) } } @$tags],
            qw(tag content color image));
    }],
    ['tag set', 'SERVER TAG NAME=VALUE...', [@bot],
        'Makes a tag, or changes it: name, ' . names('tag') . '.', \&tag_set],
    ['tag delete', 'SERVER TAG', [@bot], 'Deletes a tag.', sub {
        my ($server, $name) = @_;
        my $tag = tag_of($server, $name) // usage("there is no tag '$name'");
        send_to('DELETE', $server, ['tags', $tag->{tag_id}]);
    }],

    ['access list', 'SERVER', [@bot],
        'Lists who may use the dashboard besides those who manage the server.',
        sub { show(config($_[0])->{access} || [], qw(user_id level)) }],
    ['access set', 'SERVER USER manage|view', [@bot],
        'Lets somebody use the dashboard, or only look at it.', sub {
            my ($server, $user, $level) = @_;
            send_to('PUT', $server, ['config', 'access', $user],
                { level => $level });
        }],
    ['access remove', 'SERVER USER', [
            ['revoke', undef, 'and revoke the tokens that they made'], @bot,
        ], 'Takes that away.', sub {
            my ($server, $user) = @_;
            api('DELETE', place($server, 'config', 'access', $user),
                [bot(), chosen('revoke') ? (revoke => 1) : ()]);
        }],
    ['notification list', 'SERVER', [@bot],
        'Lists who changed what of the configuration, the newest first.', sub {
            my $rows = get($_[0], 'notifications');
            return show($rows) if chosen('json');
            show([map { { %{ $_->{notificationData} },
                time => $_->{created} =~ s/T/ /r =~ s/\.\d+Z$/Z/r } } @$rows],
                qw(time title description));
        }],

    ['config export', 'SERVER...', [
            ['output|o=s', 'FILE', 'where to, instead of stdout'], @bot,
        ], 'Prints the configuration of a server as JSON, as GET /config has it,'
            . ' and its filters; of several by their ids.', \&config_export],
    ['config diff', 'FILE [SERVER...]', [@bot],
        'Tells in what a server differs from such a file, or from stdin if it is'
        . ' -: what apply would do. A file of one configuration is for each'
        . ' SERVER that is named. Parts that are not in the file are left alone;'
        . ' null empties them.',
        sub { config_apply(undef, @_) }],
    ['config apply', 'FILE [SERVER...]', [@do, @bot],
        'Makes the configuration what the file says, or stdin if it is -: of a'
        . ' server wholly or not at all, but for more than 200 changes or 60,000'
        . ' bytes, which are several requests. It stops at the first server that'
        . ' refuses, and tells which change that is and what is left; run again'
        . ' it goes on with that.',
        sub { config_apply(chosen('yes') // 0, @_) }],

    map({ my ($of, $plural, $options) = @$_;
        ["$of set", "SERVER ID", $options, "Puts a $of into the directory, or"
            . ' changes it.', sub {
                my ($server, $it) = @_;
                operator('PUT', place($server, $plural, id($it)), undef, {
                    said(map { $_->[0] =~ /^(\w+)/ } grep { $_->[1] ne 'N' }
                        @$options),
                    defined chosen('type') ? (type => chosen('type') + 0) : (),
                });
            }],
        ["$of delete", "SERVER ID", [], "Takes a $of out of the directory.", sub {
            operator('DELETE', place($_[0], $plural, id($_[1])));
        }];
    } ['channel', 'channels', [
            ['name=s', 'TEXT', 'what it is called'],
            ['parent=s', 'ID', 'the category or channel that it is in'],
            ['type=i', 'N', "the platform's number of its type"],
        ]],
      ['role', 'roles', [['name=s', 'TEXT', 'what it is called']]]),
    ['channel find', 'SERVER TEXT', [],
        'Finds channels by part of a name, or by the beginning of an id.', sub {
            show(decode(api('GET', place($_[0], 'search', 'channels'),
                [query => $_[1]])), qw(id name type parent));
        }],

    ['lane list', 'SERVER', [],
        'Lists what waits in front of the log channels.', sub {
            my $it = decode(operator('GET', place($_[0], 'lanes')));
            return show($it) if chosen('json');
            print "the server is paused\n" if $it->{paused};
            $_->{state} = 'paused' for grep { $_->{paused} } @{ $it->{lanes} };
            show($it->{lanes},
                qw(lane bot channelId state reason queued oldestQueuedMs));
        }],
    map({ my ($verb, $what) = @$_;
        [$verb, 'SERVER [LANE]', [], $what, sub {
            my ($server, $lane) = @_;
            operator('POST', place($server,
                defined $lane ? ('lanes', $lane) : (), $verb));
        }];
    } ['pause', 'Stops delivery of a server, or of one of its lanes.'],
      ['resume', 'Lets it go on.']),
);


# what is there

sub get {
    my ($server, @pieces) = @_;
    return decode(api('GET', place($server, @pieces), [bot()]));
}


sub config { return get($_[0], 'config') }


# the row of a part that has one, undef if nothing is stored
sub row {
    my ($config, $part) = @_;
    return $config->{$part} && $config->{$part}[0];
}


sub show_fields {
    my ($part, $row) = @_;

    return show($row) if chosen('json');
    show({ map { $_ => told($fields{$part}{$_}, $row->{$_}) }
        grep { exists $row->{$_} } keys %{ $fields{$part} } });
}


sub channels_show {
    my ($server) = @_;

    my $config = config($server);
    my $row = row($config, 'serverlogConfigChannels') || {};
    my %state = map { $_->{channelId} => $_ }
        @{ get($server, 'config', 'logging', 'pacing')->{channels} };
    my @rows;
    my $add = sub {
        my ($what, $channel) = @_;
        my $is = $state{ $channel // '' } || {};
        push @rows, { what => $what, channel => told('channel', $channel),
            state => $is->{state}, queued => $is->{queued},
            why => $is->{stateReason} };
    };

    my %name = reverse %short;
    $add->($name{$_}, $row->{$_}) for in_order('channel');
    for (@{ $config->{serverlogConfigCustomOptions} || [] }) {
        $add->(type_of($_->{log_type})->{key}, $_->{log_channel})
            if defined $_->{log_channel};
    }
    show(\@rows, qw(what channel state queued why));
}


sub type_list {
    my ($server) = @_;

    my $config = config($server);
    my %row = map { $_->{log_type} => $_ }
        @{ $config->{serverlogConfigCustomOptions} || [] };
    show([map {
        my $own = $row{ $_->{id} } || {};
        { id => $_->{id}, key => $_->{key}, title => $_->{title},
          category => $_->{category} =~ s/^category//r,
          logged => ($own->{enabled} // 1) ? 'yes' : 'no',
          channel => told('channel', $own->{log_channel}) }
    } types()], qw(id key category logged channel title));
}


sub tag_of {
    my ($server, $name) = @_;
    my ($tag) = grep { $_->{tag_name} eq lc $name }
        @{ config($server)->{tags} || [] };
    return $tag;
}


# changes

sub send_to {
    my ($method, $server, $pieces, $body) = @_;
    api($method, place($server, @$pieces), [bot()], 0, body => $body);
}


sub channels_set {
    my ($server, @words) = @_;
    my (%of, @types);

    for (@words) {
        my ($what, $to) = /^([^=]+)=(.*)$/s
            or usage("'$_' is not WHAT=CHANNEL");
        my $field = field('channel', $what);
        if ($field) {
            $of{$field} = given('channel', $to, $what);
        } else {
            push @types, [type_of($what), given('channel', $to, $what)];
        }
    }
    send_to('PATCH', $server, ['config', 'logging', 'channels'], \%of) if %of;
    send_to('PATCH', $server, ['config', 'logging', 'settings', $_->[0]{id}],
        { log_channel => $_->[1] }) for @types;
}


sub type_set {
    my ($server, $types, @words) = @_;

    my $body = fields_of('type', @words);
    my @types = map { type_of($_) } split /,/, $types;
    send_to('PATCH', $server, ['config', 'logging', 'settings', $_->{id}], $body)
        for @types;
}


sub tag_set {
    my ($server, $name, @words) = @_;

    my @other = grep { !/^name=/ } @words;
    my %body = @other ? %{ fields_of('tag', @other) } : ();
    for (grep { /^name=/ } @words) {
        $body{tag_name} = s/^name=//r;
    }
    my $tag = tag_of($server, $name);
    return send_to('PATCH', $server, ['tags', $tag->{tag_id}], \%body) if $tag;
    send_to('POST', $server, ['tags'], { tag_name => $name, %body });
}


sub test_log {
    my ($server, $category) = @_;

    my $it = decode(api('POST', place($server, 'troubleshoot', 'test-log'),
        [bot()], 0, body => defined $category
            ? { category => field('channel', $category) // $category } : {}));
    partly() if !$it->{ok};
    return show($it) if chosen('json');
    print plain($it->{ok} ? "it arrived in channel $it->{channelId}"
        : "it did not arrive: $it->{stage}" . (length($it->{detail} // '')
            ? ": $it->{detail}" : '')), "\n";
}


sub troubleshoot {
    my ($server) = @_;

    my $report = decode(api('GET', place($server, 'troubleshoot'),
        [bot(), chosen('offline') ? (live => 0) : ()]));
    my $left = $report->{status} ne 'healthy';
    partly() if $left && (chosen('json') || !chosen('fix'));
    return show($report) if chosen('json');

    print plain($report->{status}), "\n";
    $left = 0;
    for (@{ $report->{findings} }) {
        $left++ if $_->{severity} ne 'info';
        print plain("$_->{severity}: $_->{title}. $_->{detail}"), "\n";
        next if !chosen('fix') || !$_->{fix} || $_->{severity} eq 'info';
        my $done = api('POST', place($server, 'troubleshoot', 'fix'), [bot()],
            400, body => $_->{fix});
        $left-- if $done->{status} != 400;
        print $done->{status} == 400 ? "  this you have to mend\n"
            : "  mended\n";
        body($done);
    }
    partly() if $left && chosen('fix');
}


# values as people type and read them

sub names {
    my ($part) = @_;
    my %name = reverse %short;
    return join ', ', map { $name{$_} // s/_/-/gr } in_order($part);
}


# the fields of a part, in the order of the table
sub in_order {
    my ($part) = @_;
    my ($of) = map { $_->[1] } grep { $_->[0] eq $part } @parts;
    return map { $of->[2 * $_] } 0 .. $#$of / 2;
}


# the API's name of a field
sub field {
    my ($part, $word) = @_;
    my ($field) = grep { $fields{$part}{$_} } $word =~ s/-/_/gr,
        $short{$word} // ();
    return $field;
}


# NAME=VALUE... as a body
sub fields_of {
    my ($part, @words) = @_;
    my %body;

    for (@words) {
        my ($name, $value) = /^([^=]+)=(.*)$/s
            or usage("'$_' is not NAME=VALUE");
        my $field = field($part, $name) // usage("there is no '$name'"
            . nearest($name, split /, /, names($part)) . ': it is one of '
            . names($part));
        $body{$field} = given($fields{$part}{$field}, $value, $name);
    }
    return \%body;
}


sub given {
    my ($kind, $text, $name) = @_;

    return if $text =~ /^(?:default|null)$/ && $kind !~ /list|types/;
    if ($kind eq 'bool') {
        return $text =~ /^(?:yes|on|true|1)$/ ? $yes
             : $text =~ /^(?:no|off|false|0)$/ ? $no
             : usage("$name: yes or no");
    }
    if ($kind eq 'channel') {
        return $text eq 'off' ? '0' : $text =~ /^\d{1,20}$/ ? $text
            : usage("$name: the id of a channel, off, or default");
    }
    if ($kind eq 'color') {
        return $text =~ /^#?([0-9a-f]{6})$/i ? hex $1
            : usage("$name: a color, as #3366cc");
    }
    if ($kind eq 'format') {
        my ($n) = grep { $formats[$_] eq $text || $_ eq $text } 0 .. $#formats;
        return $n // usage("$name: one of " . join ', ', @formats);
    }
    return [split /,/, $text] if $kind eq 'list';
    return [map { $_->{id} + 0 } map { type_of($_) } split /,/, $text]
        if $kind eq 'types';
    return $text;
}


sub told {
    my ($kind, $value) = @_;

    return 'default' if !defined $value;
    return $value ? 'yes' : 'no' if $kind eq 'bool';
    return $value eq '0' ? 'off' : $value if $kind eq 'channel';
    return language_of($value) if $kind eq 'locale';
    return sprintf '#%06x', $value if $kind eq 'color';
    return $formats[$value] // $value if $kind eq 'format';
    return @$value ? join ',', @$value : '-' if $kind eq 'list';
    return @$value ? join ',', map { type_of($_)->{key} } @$value : 'all'
        if $kind eq 'types';
    return $value;
}


# the key of a language that is written as a number
sub language_of {
    my ($locale) = @_;
    return $locale =~ /^\d+$/ ? $locales[$locale] // $locale : $locale;
}


sub list_number {
    my ($list) = @_;
    my ($n) = grep { $lists[$_] eq $list } 0 .. $#lists;
    return $n // usage("there is no list '$list'" . nearest($list, @lists)
        . ': it is one of ' . join ', ', @lists);
}


# a whole configuration

sub config_export {
    my @servers = @_;

    my %of = map { id($_) => whole($_) } @servers;
    my $text = JSON::PP->new->canonical->pretty->encode(
        @servers == 1 ? $of{ $servers[0] } : \%of);
    my $file = chosen('output');
    return print safe_json($text) if !defined $file;

    open my $out, '>:raw', $file or fail(4, "$file: $!");
    utf8::encode($text);
    print {$out} $text;
    close $out or fail(4, "$file: $!");
}


sub whole {
    my ($server) = @_;
    return { %{ config($server) }, filters => get($server, 'filters') };
}


sub config_apply {
    my ($really, $file, @servers) = @_;

    my $in = \*STDIN;
    $file eq '-' or open $in, '<:raw', $file or fail(2, "$file: $!");
    my $wanted = eval { parsed(do { local $/; readline $in }) }
        // usage("$file: it is no JSON");
    usage("$file: it is no configuration") if ref $wanted ne 'HASH';

    my $many = %$wanted && !grep { !/^\d{1,20}$/ } keys %$wanted;
    my @of = @servers ? @servers : $many ? sort keys %$wanted
        : usage("$file has one configuration: say for which SERVER");
    my %want;
    for my $server (@of) {
        my $one = $many ? $wanted->{$server} : $wanted;
        usage("$file has nothing of the server $server") if !defined $one;
        $want{ id($server) } = taken_apart($one, $file);
    }

    # all that is there is read before anything is changed
    my %changes = map { my $is = taken_apart(whole($_), 'the service');
        $_ => [steps($is, $want{$_})] } @of;
    my @todo = map { my $server = $_; map { [$server, @$_] }
        requests(@{ $changes{$server} }) } @of;
    my @told;

    if_it_fails(sub {
        my ($why) = @_;
        my @left = map { my ($server, @some) = @$_;
            map { "$server: $_->{change}" } @some } @todo;
        show(\@told) if chosen('json');
        warning("that is $left[$1]") if $why =~ /\bchanges\[(\d+)\]/;
        warning(@told . ' of ' . (@told + @left) . ' changes were done. When this is'
            . ' mended run it again: it goes on with what is left, which is');
        warning("  $_") for @left;
    }) if $really;

    while (@todo) {
        my ($server, @some) = @{ $todo[0] };
        send_to('PATCH', $server, ['config'], { changes => [map { sent($_) }
            @some] }) if $really;
        shift @todo;
        if (!chosen('json')) {
            print "$server\n" if !@told || $told[-1]{server} ne $server;
            print '  ', plain($_->{change}), "\n" for @some;
        }
        push @told, map { { server => $server, %$_ } } @some;
    }
    show(\@told) if chosen('json');
    return if !@told || $really;
    partly();
    warning('nothing was changed: add --yes to do it') if defined $really
        && !chosen('json');
}


# The changes of a server as the requests that they are sent in, each of which is
# done wholly or not at all: one, unless they are more than it may have.

sub requests {
    my (@requests, $bytes);

    for my $change (@_) {
        my $size = length JSON::PP->new->utf8->encode(sent($change));
        if (!@requests || @{ $requests[-1] } == 200 || $bytes + $size > 60_000) {
            push @requests, [];
            $bytes = 0;
        }
        push @{ $requests[-1] }, $change;
        $bytes += $size + 1;
    }
    return @requests;
}


# a change as the service takes it
sub sent {
    my ($change) = @_;
    return { map { $_ => $change->{$_} }
        grep { defined $change->{$_} } qw(method path body) };
}


# A configuration by part, thing and field.  A part that is not there is absent;
# one that is null is empty.

my %part_of = (
    serverlogConfigChannels => 'channel', serverlogConfigOptions => 'option',
    serverlogConfigCustomOptions => 'type', tags => 'tag', access => 'access',
    filters => 'filter', settingsConfig => 'language',
    serverlogConfigIgnoreStandard => 'ignore', alerts => 'alert',
);
my %thing_of = (type => 'log_type', tag => 'tag_name', access => 'user_id',
    filter => 'filter_id', alert => 'name');

sub taken_apart {
    my ($config, $where) = @_;
    my %of;

    usage("$where: a configuration is an object") if ref $config ne 'HASH';
    for my $name (sort keys %$config) {
        next if $name eq 'guilds';    # what the server is, not how it is set
        my $part = $part_of{$name};
        if (!$part) {
            warning("$where: \"$name\" is no part that this command changes")
                if defined $config->{$name} && $where ne 'the service';
            next;
        }
        $of{$part} = {};
        usage("$where: \"$name\" is no list")
            if ref($config->{$name} // []) ne 'ARRAY';
        for my $row (@{ $config->{$name} || [] }) {
            usage("$where: \"$name\" has what is no object")
                if ref $row ne 'HASH';
            my $thing = $part eq 'ignore' ? "$row->{ignore_type} "
                . ($row->{ignore_value} // '') : $row->{ $thing_of{$part} // '' };
            usage("$where: a row of \"$name\" has no $thing_of{$part}")
                if $thing_of{$part} && !defined $thing;
            my %known = (%{ $fields{$part} || {} }, map { $_ => 1 } qw(id
                ignore_type ignore_value tag_id alert_id), $thing_of{$part} // ());
            my ($strange) = grep { !$known{$_} } sort keys %$row;
            usage("$where: \"$name\" has no field \"$strange\"")
                if defined $strange;
            # several may have one name: each is told by its place among them
            $thing .= "\0" while $part eq 'alert' && $of{$part}{$thing};
            $of{$part}{ $thing // '' } = { '' => $row->{tag_id} // $row->{alert_id},
                map { $_ => same($fields{$part}{$_}, $row->{$_}) }
                    grep { exists $row->{$_} } keys %{ $fields{$part} || {} } };
        }
        $of{$part}{''} ||= { map { $_ => $default{$_} }
            keys %{ $fields{$part} } } if $part =~ /^(?:option|channel)$/;
    }
    return \%of;
}


# a value in the one form that can be compared
sub same {
    my ($kind, $value) = @_;

    return $value if !defined $value;
    return $value ? 1 : 0 if $kind eq 'bool';
    return $locale_number{$value} // $value if $kind eq 'locale';
    return [sort @$value] if $kind eq 'list' && ref $value eq 'ARRAY';
    return [sort { $a <=> $b } @$value]
        if $kind eq 'types' && ref $value eq 'ARRAY';
    return $kind =~ /^(?:color|format)$/ && $value =~ /^\d+$/ ? $value + 0
        : $value;
}


my %path = (
    option => ['config', 'logging', 'settings'],
    channel => ['config', 'logging', 'channels'],
    type => ['config', 'logging', 'settings'], tag => ['tags'],
    filter => ['filters'], alert => ['alerts'], access => ['config', 'access'],
    language => ['config', 'settings'], ignore => ['config', 'logging', 'ignore'],
);

# What makes %$is what %$want says, a hash for each change: how it is told, method,
# path and body.  What goes comes first: there is room for what comes then.

sub steps {
    my ($is, $want) = @_;
    my (@goes, @comes);

    for my $part (grep { $want->{$_} } (map { $_->[0] } @parts), 'ignore') {
        my ($old, $new) = ($is->{$part} || {}, $want->{$part});

        for my $thing (sort keys %{ { %$old, %$new } }) {
            my ($was, $will) = ($old->{$thing}, $new->{$thing});
            my @path = @{ $path{$part} };
            my $named = named($part, $thing);

            if ($part eq 'ignore') {
                next if $was && $will;
                my ($list, $value) = split / /, $thing, 2;
                push @{ $will ? \@comes : \@goes }, [($will ? '+ ' : '- ') . $named,
                    $will ? 'POST' : 'DELETE', [@path, $list],
                    { value => $value }];
            } elsif (!$will && $part =~ /^(?:tag|alert)$/) {
                push @goes, ["- $named", 'DELETE', [@path, $was->{''}]];
            } elsif (!$will && $part eq 'access') {
                push @goes, ["- $named", 'DELETE', [@path, $thing]];
            } elsif (!$will && $part =~ /^(?:filter|language)$/) {
                next;    # there is no such state: they are what they were
            } else {
                # of a type nothing stays as it was that is not said
                my %new = $part eq 'type'
                    ? map { $_ => ($will || {})->{$_} } keys %{ $fields{type} }
                    : %$will;
                my @differ = grep { $json->encode([($was || {})->{$_}])
                        ne $json->encode([$new{$_}]) }
                    grep { $fields{$part}{$_} } sort keys %new;
                next if !@differ && ($was || $part !~ /^(?:tag|alert)$/);
                push @comes, step($part, $thing, $was, \%new, @differ);
            }
        }
    }
    return map { my ($words, $method, $pieces, $body) = @$_;
        { change => $words, method => $method, path => place(@$pieces),
          body => $body } } @goes, several_types(@comes);
}


# what is the same for several types is one change
sub several_types {
    my (%same, @order);

    for my $step (@_) {
        my ($words, undef, undef, $body) = @$step;
        my ($type, $change) = $words =~ /^type (\S+): (.*)/s;
        my $key = $type ? $change . $json->encode($body) : "$step";
        push @order, $key if !$same{$key};
        push @{ $same{$key} }, [$step, $type];
    }
    return map {
        my @same = @{ $same{$_} };
        my ($words, $method, undef, $body) = @{ $same[0][0] };
        my $types = join ', ', map { $_->[1] // () } @same;
        @same == 1 ? $same[0][0] : [$words =~ s/^type \S+:/types $types:/r, $method,
            [@{ $path{type} }, 'types'],
            { types => [map { $_->[0][2][-1] + 0 } @same], set => $body }];
    } @order;
}


# one change, [words, method, path, body]
sub step {
    my ($part, $thing, $was, $new, @differ) = @_;

    my %kind = %{ $fields{$part} };
    my $words = ($was || $part !~ /^(?:tag|alert|access)$/ ? '' : '+ ')
        . named($part, $thing) . ': ' . join ', ', map {
            ($part eq 'channel' ? "$_ " =~ s/^category_//r : "$_ ")
            . ($was ? told($kind{$_}, $was->{$_}) . ' → ' : '')
            . told($kind{$_}, $new->{$_})
        } @differ;
    my %body = map { $_ => $kind{$_} eq 'bool' && defined $new->{$_}
        ? $new->{$_} ? $yes : $no : $new->{$_} } @differ;
    my @path = @{ $path{$part} };

    return [$words, 'POST', \@path, { $thing_of{$part} => $thing =~ tr/\0//dr, %body }]
        if $part =~ /^(?:tag|alert)$/ && !$was;
    return [$words, 'PATCH', [@path, $was->{''}], \%body]
        if $part =~ /^(?:tag|alert)$/;
    return [$words, 'PUT', [@path, $thing], \%body] if $part eq 'access';
    $body{locale} = language_of($body{locale}) if $part eq 'language';
    return [$words, 'PATCH', [@path, $thing ne '' ? $thing : ()], \%body];
}


sub named {
    my ($part, $thing) = @_;

    return 'log channels' if $part eq 'channel';
    return 'options' if $part eq 'option';
    return 'language' if $part eq 'language';
    return 'type ' . type_of($thing)->{key} if $part eq 'type';
    if ($part eq 'ignore') {
        my ($list, $value) = split / /, $thing, 2;
        return 'ignore ' . ($lists[$list] // $list) . " $value";
    }
    return "$part " . $thing =~ tr/\0//dr;
}


1;
