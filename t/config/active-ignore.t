# "Accepts a Basic or an Admin token. A Basic token cannot ask for moderation
# logs or service-event logs to be left out."  This file tests which requests
# are accepted; t/record/record-held.t tests what they do to entries,
# and t/http/kinds.t that a Basic token is good for nothing else.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %token = map { $_ => $nginx->new_token($server, kind => $_) }
    qw(admin basic);
my $path = "/servers/$server/active/ignore";


sub ask {
    my ($kind, $side, $body, $query) = @_;
    return $nginx->post("$path/$side" . ($query // ''), json => $body,
        token => $token{$kind}{token});
}


# the row of the last request: side, subject, type, log type, count, seconds,
# bot
sub stored {
    my ($row) = $nginx->sql('select side, subject_id, subject_type, log_type,'
        . ' remaining, extract(epoch from expires_at - requested_at)::int, bot'
        . ' from active_ignore where guild_id = ?'
        . ' order by request_id desc limit 1', $server);
    return $row;
}


sub told {
    return map { json->decode("$_->[0]}") } $nginx->sql(
        'select doc from entries where guild_id = ? and type = 69'
        . ' order by id', $server);
}


ask('admin', 'executors', { id => '00200000000000000001' });
is stored()->[1], '200000000000000001', 'leading zeros of an ID are dropped';

for my $kind (qw(basic admin)) {
    my $answer = ask($kind, 'targets', { id => 'x', type => 5 });
    is $answer->status, 200, "$kind: a target";
    is $answer->text, '{}', 'with an empty object';
    is_deeply stored(), ['target', 'x', 5, undef, 1, 10, 0],
        'the defaults: once, within 10 seconds, any type';

    $answer = ask($kind, 'executors', { id => '200000000000000001' });
    is $answer->status, 200, "$kind: an executor";
    is $answer->text, '{}', 'with an empty object';
    is_deeply stored(), ['executor', '200000000000000001', undef, undef, 1,
        10, 0], 'the same defaults';
}

ask('basic', 'targets', { id => '1', type => 13, logType => 25, count => 100,
    time => 300 }, '?bot=pro');
is_deeply stored(), ['target', '1', 13, 25, 100, 300, 1],
    'every field is stored, for the Pro bot';

# limits

for (['time', 300, 301], ['time', 300, 9223372036854775807], ['time', 1, 1]) {
    my ($field, $stored, $given) = @$_;
    is ask('basic', 'executors', { id => '1', $field => $given })->status,
        200, "$field $given";
    is stored()->[5], $stored, "the value is stored as $stored";
}
for ([time => 0], [time => -1], [count => 0], [count => 101],
    [logType => 102], [logType => -1])
{
    my ($field, $value) = @$_;
    for my $side (qw(targets executors)) {
        my $answer = ask('admin', $side, { id => '1',
            $side eq 'targets' ? (type => 0) : (), $field => $value });
        is $answer->status, 400, "$side: $field $value";
        like $answer->json->{error}, qr/^$field: /, 'the error names the field';
    }
}
is ask('admin', 'executors', { id => '1', type => 0 })->status, 400,
    'an executor has no subject type';
is ask('admin', 'targets', { id => '1' })->status, 400,
    'a target needs its subject type';
is ask('admin', 'executors', { id => 'x' })->status, 400,
    'the ID of an executor is a number';

# protected types

my %protected = map { $_ => 1 } 2, 39 .. 43, 58, 68 .. 78, 99, 101;
my (@open, @closed);

for my $side (qw(targets executors)) {
    for my $type (0 .. 101) {
        my $answer = ask('basic', $side, { id => '1', logType => $type,
            $side eq 'targets' ? (type => 0) : () });

        push @open, "$side $type" if $protected{$type}
            && !($answer->status == 403
                && $answer->json->{error} =~ /^logType: .*Admin/);
        push @closed, "$side $type" if !$protected{$type}
            && $answer->status != 200;
    }
}
is "@open", '', 'a Basic token may not name a protected type';
is "@closed", '', 'it may name every other type';

my $before = stored();
ask('basic', 'targets', { id => 'no', type => 0, logType => 39 });
is_deeply stored(), $before, 'a refused request is not stored';

is ask('admin', 'targets', { id => '1', type => 0, logType => $_ })->status,
    200, "an Admin token may name $_" for sort { $a <=> $b } keys %protected;

# the log

$nginx->no_entries($server);
$nginx->sql('update token set ignore_logged_at = null');
ask('basic', 'targets', { id => "$_", type => 0, logType => 25, count => 3 })
    for 1 .. 3;
my @told = told();
is @told, 1, 'the requests of an hour are logged once for each token';
is $told[0]{value}, $token{basic}{unique_id}, 'with the id of the token';
is $told[0]{executor}{id}, '0', 'by executor "0"';
is $told[0]{name}, 'nicknameUpdate', 'and the log type';

ask('admin', 'executors', { id => '1' });
is told(), 2, 'another token has an entry of its own';

ask('admin', 'executors', { id => '1', logType => 39 }) for 1 .. 2;
is told(), 4, 'requests for protected types are always logged';

ask('basic', 'executors', { id => '1' });
is told(), 4, 'within the hour nothing more is logged';
$nginx->sql(q(update token set ignore_logged_at
    = now() - interval '61 minutes'));
ask('basic', 'executors', { id => '1' });
is told(), 5, 'after the hour one more entry is logged';
is $nginx->sql('select count(*) from notification where guild_id = ?'
    . ' and log_type = 69', $server), 0,
        'it makes no notification: it changes no configuration';

$nginx->sql('update token set ignore_logged_at = null');
my @answers = at_once(4, sub {
    ask('basic', 'targets', { id => "$_[0]", type => 0 })->status;
}, $nginx => 'token');
is "@answers", '200 200 200 200', 'four requests at once';
is told(), 6, 'are logged once';
is $nginx->sql(q(select count(*) from active_ignore where guild_id = ?
    and subject_id in ('1', '2', '3', '4')
    and requested_at > now() - interval '60 s' and log_type is null
    and side = 'target'), $server), 4, 'and each is taken';

# which requests are refused

for my $side (qw(targets executors)) {
    my %body = (json => { id => '1',
        $side eq 'targets' ? (type => 0) : () });
    is $nginx->post("$path/$side", %body)->status, 401, "$side: no token";
    is $nginx->post("$path/$side", %body,
        token => $nginx->token($nginx->server, kind => 'basic'))->status, 403,
        "$side: another server's token";
    is $nginx->get("$path/$side", token => $token{admin}{token})->status, 405,
        "$side: the requests cannot be read";
}

done_testing;
