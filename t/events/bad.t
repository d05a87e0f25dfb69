# What is bad sinks nothing else: bad packets among good ones, each with any value at
# any place, bodies that are none, batches that are too large, wrong clocks, servers
# that nobody knows. t/events/bad/cases.json has the cases.

use lib 't/lib';
use Guildlog;
use Guildlog::Client;
use Guildlog::File;
use Guildlog::PacketCases;
use Guildlog::Packets qw(id_at);

use List::Util qw(max sum);
use Storable qw(dclone);
use Time::HiRes qw(time);

$Storable::recursion_limit = $Storable::recursion_limit_hash = -1;

my $nginx = Guildlog->new(workers => 2);
my $bad   = json->decode(slurp('t/events/bad/cases.json'));
my ($create) = @{ json->decode(slurp('t/events/create.json')) };
my @values = (undef, 7, 'x', JSON::PP::true(), [], {}, [[]], [undef], [7], ['x'], [{}]);
my $n = 0;

for my $case (@{ $bad->{cases} }) {
    $case->{raw} ? body($case) : packets($case);
}


# sizes

my $server = $nginx->server;
my $good   = cleared(1);
my ($first, $second) = map { json->encode(cleared($_)) } 2, 3;

my $told = raw(join("\n", $first, $second, substr json->encode($good), 0, 40));
is $told->status, 200, 'a line that is cut off';
is_deeply [map { $_->{index} } @{ $told->json->{errors} }], [2], 'is an error by itself';
is $told->json->{recorded}, 2, 'the others are recorded';

is raw('[' . join(',', ($first) x 1000) . ']')->status, 200, '1,000 packets';
is raw('[' . join(',', ($first) x 1001) . ']')->status, 400, '1,001 packets';
is raw('[' . ' ' x (8 << 20) . $first . ']')->status, 413, 'more than 8 MiB';

my $large = 620_000_000_000_000_000;
my @members = map { { user => { id => id($_), username => "member $_" }, roles => [] } }
    1 .. 2000;
my $packet = { t => 'GUILD_CREATE', d => { id => "$large", name => 'Large',
    owner_id => id(1), members => [@members[0 .. 999]],
    channels => [map { { id => id(5000 + $_), name => "channel $_", type => 0 } } 1 .. 500],
    roles => [map { { id => id(7000 + $_), name => "role $_" } } 1 .. 250] } };
is_deeply post([$packet])->{errors}, [], 'a large server';
is_deeply [counted(0, 1, 2)], [1000, 500, 250], 'all of it is known';

my $chunks = post([map { { t => 'GUILD_MEMBERS_CHUNK', d => { guild_id => "$large",
    chunk_index => $_, chunk_count => 10,
    members => [@members[1000 + 100 * $_ .. 1099 + 100 * $_]] } } } 0 .. 9]);
is_deeply $chunks->{errors}, [], 'chunks of members';
is_deeply [counted(0)], [2000], 'are known';

# 100,000 people, ten chunks at a time; one who is told of twice is one
my $crowd = $nginx->server;
for my $batch (0 .. 9) {
    my @chunks = map { my $chunk = 10 * $batch + $_; { t => 'GUILD_MEMBERS_CHUNK',
        d => { guild_id => $crowd, chunk_index => $chunk, chunk_count => 100,
            members => [map { { user => { id => id(100_000 + 1000 * $chunk + $_),
                username => "member $_" }, roles => [] } } 0 .. 999] } } } 0 .. 9;
    post_until(\@chunks) for 0 .. $batch % 2;
}
is $nginx->sql('select count(*) from directory where guild_id = ? and kind = 0', $crowd),
    100_000, 'a server of 100,000 members, in chunks';


# bodies of 8 MiB

my $wide = cleared(4);
$wide->{d}{nobody_reads} = 'w' x ((8 << 20) - 4096);
$wide = json->encode($wide);
$told = raw("$wide\n" . json->encode(cleared(5)))->json;
is_deeply [@$told{qw(recorded errors)}], [2, []], 'a packet of 8 MiB, and one behind it';
$told = raw(json->encode(cleared(6)) . "\n" . substr $wide, 0, 7 << 20)->json;
is_deeply [$told->{recorded}, map { $_->{index} } @{ $told->{errors} }], [1, 1],
    'one that is cut off after 7 MiB is an error by itself';


# a hundred times the same

my $moment = int(time * 1000);
my @same = map { cleared(50 + $_, at => $moment) } 0 .. 4;
is_deeply [sum(map { post(\@same)->{recorded} } 1 .. 100), ends_of(@same)], [5, 5],
    'the same batch 100 times is recorded once';


# clocks

for my $wrong (90_000, -86_400_000) {
    my $from = int(time * 1000);
    my $sent = $from + $wrong;
    my $packet = cleared(10 + abs $wrong, at => $sent - 5000);
    is post([$packet], "?sent=$sent")->{recorded}, 1, 'a clock that is wrong';
    my $at = moment($packet);
    my $to = int(time * 1000);
    ok $at >= $from - 5000 && $at <= $to - 5000, 'is put right'
        or diag "$from $at $to";
}
my $ahead = cleared(20, at => int(time * 1000) + 90_000);
is post([$ahead])->{recorded}, 1, 'ahead by 90 s, and it does not say so';
cmp_ok moment($ahead), '<=', time * 1000, 'is no later than now';
my $behind = cleared(21, at => int(time * 1000) - 86_400_000);
is post([$behind])->{recorded}, 1, 'a day ago';
is moment($behind), $behind->{at}, 'was a day ago';


my $month = int(time * 1000) - 31 * 86_400_000;
$told = post([{ t => 'MESSAGE_DELETE', at => $month, d => { guild_id => $server,
    channel_id => id(5), id => id_at($month - 2000) } }]);
is $told->{waiting}, 0, 'a month ago: it waits for nobody';
like $told->{errors}[0]{error}, qr/^timestamp: must be within the last 30 days/,
    'is told at once';
is_deeply [@{ $told->{errors}[0] }{qw(code field)}], ['entry_too_old', 'timestamp'],
    '... by a word and a field';
is_deeply post([{ d => {} }])->{errors}, [{ index => 0, error => 't: required',
    code => 'required', field => 't' }], 'so is what lacks a field';


# a channel that leaves its category

my ($in, $out) = map { my $parent = $_; { t => 'CHANNEL_UPDATE', d => { guild_id => $server,
    id => id(6000), name => 'moves', type => 0, parent_id => $parent } } } id(6001), undef;
for my $packets ([[$in], [$out]], [[$in, $out]]) {
    post($_) for @$packets;
    is $nginx->sql('select parent from directory where guild_id = ? and kind = 1
        and id = ?', $server, id(6000)), undef, 'a channel that leaves its category';
}


# what is kept is counted

my $kept = counter('events_messages_total');
post([map { { t => 'MESSAGE_CREATE', d => { id => id_at(int(time * 1000)), guild_id => $server,
    channel_id => id(5), content => 'hello', author => { id => id(1), username => 'ann' } } } }
    1 .. 7]);
is counter('events_messages_total') - $kept, 7, 'messages that are kept are counted';


# what no column of the database holds: it is left out, and the packet is taken

my $who = id(9001);
for my $roles (['x'], 'x', [{}], ['9' x 20], [map { id($_) } 1 .. 300]) {
    $told = post([{ t => 'GUILD_MEMBER_ADD', d => { guild_id => $server,
        user => { id => $who, username => 'x' }, roles => $roles } }]);
    is_deeply $told->{errors}, [], 'roles: ' . substr json->encode($roles), 0, 30;
}
for my $count ('9223372036854775807', '99999999999', -5, {}) {
    $told = post([{ t => 'GUILD_AUDIT_LOG_ENTRY_CREATE', d => { guild_id => $server,
        id => id(int rand 1e9), user_id => $who, target_id => $who, action_type => 72,
        options => { channel_id => id(5), count => $count } } }]);
    is_deeply [@$told{qw(errors waiting)}], [[], 1], "a count of $count";
}


# servers

my $unknown = '699999999999999999';
$told = post([cleared(30), cleared(31, server => $unknown), cleared(32),
    cleared(33, server => $unknown)]);
is_deeply $told->{errors}, [map { { index => $_, error => 'server: unknown',
    code => 'unknown_server' } } 1, 3],
    'a server that nobody knows';
is $told->{recorded}, 2, 'the others are recorded';

# one whose row cannot be written
my $broken = $nginx->server;
refuse($broken, 'event_head');
my $third = $nginx->server;
$told = post([cleared(40), cleared(41, server => $broken), cleared(42, server => $third)]);
is_deeply [map { $_->{index} } @{ $told->{errors} }], [1], 'a server that is broken';
is $told->{recorded}, 2, 'the others are recorded';
is $nginx->operator('POST', '/events', [cleared(43, server => $broken)])->status, 503,
    'nothing but that one: to be sent again';


# what waits in one server of which nothing can be recorded lets others end
my ($stuck, $fine) = map { $nginx->server } 1 .. 2;
refuse($stuck, 'log_arrival');
is post([map { { t => 'MESSAGE_DELETE', d => { id => id_at(int(time * 1000)), channel_id => id(5),
    guild_id => [$stuck, $fine]->[$_] } } } 0, 1])->{waiting}, 2, 'two wait';
wait_for { ends($fine) } 30, 'the other one ends';
is ends($stuck), 0, 'a server that cannot be recorded is alone with that';
wait_for { $nginx->error_log =~ /pairs of events cannot be ended, server $stuck, .*refused/ }
    30, 'is told of';
$nginx->sql('alter table log_arrival drop constraint refused');
wait_for { ends($stuck) } 30, 'and ends when it can be';


# two workers at once

my @pids = map {
    my $who = $_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        my $wrong = 0;
        for my $batch (1 .. 25) {
            my $answer;

            # 503: all of the others were faster, it is to be sent again
            do {
                $answer = $nginx->operator('POST', '/events', [map {
                    cleared(100_000 * $who + 100 * $batch + $_) } 1 .. 4]);
            } while $answer->status == 503;
            $wrong++ if $answer->status != 200 || $answer->json->{recorded} != 4;
        }
        POSIX::_exit($wrong);
    }
    $pid;
} 1 .. 4;
for my $pid (@pids) {
    waitpid $pid, 0;
    is $?, 0, 'others at the same time change nothing';
}

done_testing;


# packets, as a batch of a server of its own
sub packets {
    my ($case) = @_;

    my $name = $case->{name};
    my $id   = 613_425_648_685_300_000 + $n++;
    $case->{packets} = [map { written($_) } @{ $case->{packets} }];
    my $by = int(time * 1000) - 20_000
        - max map { ref eq 'HASH' && $_->{good} ? $_->{at} : 0 } @{ $case->{packets} };
    my $text = json->encode($case);
    $text =~ s/613425648685547541/$id/g;
    my $its = json->decode(moved($text, $by));
    my @all = map {
        ($_ // '') eq '@mutations' ? mutations($its->{base}) : expand($_)
    } @{ $its->{packets} };
    @all = map { ref eq 'HASH' && $_->{good} ? all_gone($id, @$_{qw(good at)}) : $_ } @all;

    my @errors;
    my $at = 0;
    while (my @batch = splice @all, 0, 1000) {
        my $answer = $nginx->operator('POST', '/events', \@batch);
        is $answer->status, 200, $name or diag $answer->text;
        push @errors, map { $at + $_->{index} } @{ $answer->json->{errors} };
        $at += @batch;
    }
    my %error = map { $_ => 1 } @errors;
    is join(' ', grep { !$error{$_} } @{ $its->{errors} // [] }), '', "$name: bad ones";
    is join(' ', grep { $error{$_} } @{ $its->{tolerated} // [] }), '', "$name: others";
    is_deeply [map { @$_ } $nginx->sql(q(select count(*) from log_arrival, unnest(?::text[]) m
        where guild_id = ? and type is not null and strpos(doc, m) > 0),
        $its->{recorded}, $id)], [scalar @{ $its->{recorded} }], "$name: the good ones";
}


# what differs from a base, or is short for something
sub written {
    my ($packet) = @_;

    return $create->{packets}[0] if !ref $packet && defined $packet && $packet eq '@create';
    return $packet if ref $packet ne 'HASH' || !exists $packet->{'@'};
    my $it = dclone($bad->{bases}[$packet->{'@'}]);
    for (@{ $packet->{put} // [] }) {
        my ($path, $value) = @$_;
        my ($in, $key) = within($it, $path);
        $in->{$key} = $value;
    }
    for (@{ $packet->{less} // [] }) {
        my ($in, $key) = within($it, $_);
        delete $in->{$key};
    }
    return $it;
}


sub within {
    my ($in, $path) = @_;

    my @keys = split /[.]/, $path;
    my $key = pop @keys;
    $in = $in->{$_} for @keys;
    return ($in, $key);
}


# the base with each value at each place of its d
sub mutations {
    my ($base) = @_;

    my @all;
    for my $place (grep { "@$_" !~ /^(?:guild_id)?$/ } places($base->{d})) {
        for my $value (@values) {
            my $it = dclone($base);
            my @keys = @$place;
            my $key = pop @keys;
            my $in = $it->{d};
            $in = ref $in eq 'HASH' ? $in->{$_} : $in->[$_] for @keys;
            (ref $in eq 'HASH' ? $in->{$key} : $in->[$key]) = $value;
            push @all, $it;
        }
    }
    return @all;
}


sub places {
    my ($it, @path) = @_;

    my @below = ref $it eq 'HASH' ? map { places($it->{$_}, @path, $_) } sort keys %$it
        : ref $it eq 'ARRAY' && @$it ? places($it->[0], @path, 0) : ();
    return ([@path], @below);
}


sub all_gone {
    my ($id, $message, $at) = @_;
    return { t => 'MESSAGE_REACTION_REMOVE_ALL', at => $at,
        d => { channel_id => '613425648685547545', message_id => $message, guild_id => "$id" } };
}


sub body {
    my ($case) = @_;

    my $text = join '', map { ref ? expand([$_])->[0] : $_ } @{ $case->{raw} };
    $text =~ s/613425648685547541/$server/g if $server;
    my $status = raw($text)->status;
    ok scalar(grep { $_ == $status } @{ $case->{status} }), "$case->{name}: $status";
}


sub raw {
    my ($body) = @_;

    return Guildlog::Client->new(unix => $nginx->{operator})->request(
        'POST', '/events', body => $body, headers => ['Content-Type', 'application/json']);
}


sub post {
    my ($batch, $query) = @_;

    my $answer = $nginx->operator('POST', '/events' . ($query // ''), $batch);
    is $answer->status, 200, 'a batch' or diag $answer->text;
    return $answer->json;
}


# a bot sends again what was not taken for now
sub post_until {
    my ($batch) = @_;

    my $answer;
    wait_for {
        $answer = $nginx->operator('POST', '/events', $batch);
        $answer->status != 503;
    } 120, 'the batch is taken';
    is_deeply [$answer->status, $answer->json->{errors}], [200, []], 'a batch of chunks';
    return;
}


# a packet that makes an entry
sub cleared {
    my ($n, %more) = @_;

    return { t => 'MESSAGE_REACTION_REMOVE_ALL', defined $more{at} ? (at => $more{at}) : (),
        d => { guild_id => $more{server} // $server, channel_id => '613425648685547545',
            message_id => id(1_000_000 + $n) } };
}


sub ends_of {
    return sum(map { my $message = $_->{d}{message_id}; scalar $nginx->sql(
        'select count(*) from log_arrival where guild_id = ? and id is not null
            and strpos(doc, ?) > 0', $server, $message) } @_);
}


sub moment {
    my ($packet) = @_;
    my $doc = $nginx->sql('select doc from log_arrival where guild_id = ? and strpos(doc, ?) > 0',
        @{ $packet->{d} }{qw(guild_id message_id)});
    return json->decode("$doc}")->{timestamp};
}


sub counted {
    return map { scalar $nginx->sql('select count(*) from directory
        where guild_id = ? and kind = ?', $large, $_) } @_;
}


# nothing of that server can be written there
sub refuse {
    my ($server, $table) = @_;

    $nginx->sql("alter table $table add constraint refused"
        . " check (guild_id <> $server)");
    return;
}


sub ends {
    my ($server) = @_;
    return $nginx->sql('select count(*) from entries where guild_id = ?', $server);
}


sub counter {
    my ($name) = @_;
    return $nginx->get('/status', raw_path => 1)->json->{$name};
}


sub id {
    my ($n) = @_;
    return '' . (1_573_000_000_000_000_000 + $n);
}
