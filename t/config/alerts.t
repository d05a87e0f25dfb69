# "/alerts below a server": what may stand in one, how many a plan has, and that
# each change is logged and notified.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my ($server, $path, %as);

my %bans = (name => 'Many bans', types => [39], count => 5, seconds => 30,
    by => 'executor');
my %none = (channel => undef, role => undef);


sub serve {
    $server = $nginx->server(plan => $_[0]);
    %as     = (token => $nginx->token($server));
    $path   = "/servers/$server/alerts";
}


sub create {
    my (%field) = @_;
    return $nginx->post($path, %as, json => { %bans, %field });
}


sub patch {
    my ($id, %field) = @_;
    return $nginx->patch("$path/$id", %as, json => \%field);
}


sub alert { return $nginx->get("$path/$_[0]", %as)->json }


# its life, as the log and the notifications tell it

serve('pro');
is_deeply $nginx->get($path, %as)->json, [], 'there is none';
is $nginx->get("/servers/$server/config", %as)->json->{alerts}, undef,
    '... in the configuration neither';

my $id;
my $entry = one_change($nginx, $server, 76, 'a new one', sub {
    my $answer = create();
    is $answer->status, 201, 'an alert is made';
    $id = $answer->json->{alert_id};
});
is $entry->{action}, 'add', 'it is told as added';
is $entry->{name}, 'Many bans', '... by its name';
is_deeply [grep { $_->{key} eq 'types' } @{ $entry->{changes} }],
    [changed(types => undef, ['39'])], '... with what it is';
my $whole = { alert_id => $id, %bans, %none, enabled => 1 };
is_deeply alert($id), $whole, 'it is read';
is_deeply $nginx->get($path, %as)->json, [$whole], '... listed';
is_deeply $nginx->get("/servers/$server/config", %as)->json->{alerts}, [$whole],
    '... and part of the configuration';

$entry = one_change($nginx, $server, 76, 'a change', sub {
    my $answer = patch($id, name => 'Raid', channel => '300000000000000001',
        role => '600000000000000001');
    is $answer->status, 202, 'it is changed';
    is $answer->text, '{}', '... with an empty object';
});
is $entry->{action}, 'update', 'it is told as changed';
is_deeply $entry->{changes}, [
    changed(channel => undef, '300000000000000001'),
    changed(name => 'Many bans', 'Raid'),
    changed(role => undef, '600000000000000001')], '... with what changed';
is_deeply alert($id), { %$whole, name => 'Raid',
    channel => '300000000000000001', role => '600000000000000001' },
    'what was not named stays';
no_change($nginx, $server, 'the same again', sub {
    is patch($id, name => 'Raid', enabled => $true)->status, 202, 'the same';
});
patch($id, channel => undef, role => undef, name => 'Many bans');
is_deeply alert($id), $whole, 'null is none';
is patch($id, enabled => $false)->status, 202, 'it is switched off';
is alert($id)->{enabled}, 0, '... and reads so';

is $nginx->get("$path?bot=pro", %as)->text, '[]', 'the Pro bot has its own';
is $nginx->get("$path/$id?bot=pro", %as)->status, 404, '... and not this one';

$entry = one_change($nginx, $server, 76, 'the end', sub {
    my $answer = $nginx->delete("$path/$id", %as);
    is $answer->status, 202, 'it is deleted';
    is $answer->text, '{}', '... with an empty object';
});
is $entry->{action}, 'remove', 'it is told as removed';
is $entry->{name}, 'Many bans', '... by its name';
is $nginx->get("$path/$id", %as)->status, 404, 'it is not there any more';
no_change($nginx, $server, 'what is not there', sub {
    is patch($id, enabled => $true)->status, 404, 'cannot be changed';
    is $nginx->delete("$path/$id", %as)->status, 404, '... nor deleted';
    is $nginx->get("$path/x", %as)->status, 404, 'nor has any text a meaning';
});

# each field, at its bounds and beyond

my @types = map { $_ } 0 .. 19;
my %good = (
    name    => ['x', 'x' x 64, "\x{1f600}" x 64],
    types   => [[0], [101], \@types],
    count   => [1, 100],
    seconds => [1, 3600],
    by      => [qw(server executor target channel)],
    channel => ['1', '9223372036854775807', undef],
    role    => ['1', '9223372036854775807', undef],
    enabled => [$true, $false],
);
my %bad = (
    name    => ['', 'x' x 65, 1, undef, ['x']],
    types   => [[], [@types, 20], [102], [-1], ['39'], [1.5], 39, undef],
    count   => [0, 101, -1, 1.5, '5', undef],
    seconds => [0, 3601, 1.5, '30', undef],
    by      => ['', 'role', 'Executor', 1, undef],
    channel => ['0', 'x', 5, '9223372036854775808', ''],
    role    => ['0', 'x', 5, '9223372036854775808', $server],
    enabled => [1, 'true', undef],
);
for my $field (sort keys %good) {
    for my $value (@{ $good{$field} }) {
        my $answer = create($field => $value);
        is $answer->status, 201, "$field " . json->allow_nonref->encode($value);
        $nginx->delete("$path/" . $answer->json->{alert_id}, %as);
    }
}
$id = create()->json->{alert_id};
no_change($nginx, $server, 'what is refused', sub {
    for my $field (sort keys %bad) {
        for my $value (@{ $bad{$field} }) {
            my $what = "$field " . json->allow_nonref->encode($value);
            for my $answer (create($field => $value),
                patch($id, $field => $value))
            {
                is $answer->status, 400, "$what is refused";
                like $answer->json->{error}, qr/^\Q$field\E/, '... by its name';
            }
        }
    }
    for my $field (qw(name types count seconds by)) {
        my %without = %bans;
        delete $without{$field};
        my $answer = $nginx->post($path, %as, json => \%without);
        is $answer->status, 400, "$field is required";
        like $answer->json->{error}, qr/^$field/, '... the error says';
    }
    is create(action => 'ban')->status, 400, 'no other field';
    is create(alert_id => '1')->status, 400, 'nor an id';
    is patch($id)->status, 400, 'a change of nothing';
});

# what belongs to others

my $other = $nginx->server;
$nginx->operator('PUT', "/servers/$other/channels/300000000000000007",
    { name => 'theirs' });
$nginx->operator('PUT', "/servers/$_->[0]/roles/$_->[1]", { name => 'x' })
    for [$other, '600000000000000007'], [$server, '600000000000000001'];
no_change($nginx, $server, 'what belongs to others', sub {
    for ([channel => '300000000000000007'], [role => '600000000000000007']) {
        my ($field, $its) = @$_;
        for my $answer (create($field => $its), patch($id, $field => $its)) {
            is $answer->status, 400, "a $field of another server";
            like $answer->json->{error}, qr/^$field: /, '... the error says';
        }
    }
});
is create(role => '600000000000000001')->status, 201, 'a role of its own';

# how many

for my $plan ([free => 1], [pro_lite => 5], [pro => 20]) {
    serve($plan->[0]);
    is join(' ', map { create()->status } 1 .. $plan->[1] + 1),
        join(' ', (201) x $plan->[1], 402), "$plan->[0] has $plan->[1]";
    like create()->json->{error}, qr/alert/, '... and says so';
    is $nginx->post("$path?bot=pro", %as, json => \%bans)->status, 201,
        '... for each bot';
}
$nginx->operator('PUT', "/servers/$server", { plan => 'pro_lite' });
is scalar @{ $nginx->get($path, %as)->json }, 20,
    'a plan that gets smaller takes none away';
is create()->status, 402, '... and has none that is new';

serve('pro_lite');
create() for 1 .. 3;
my @answers = sort { $a <=> $b } at_once(4, sub { create()->status },
    $nginx => 'alert');
is "@answers", '201 201 402 402', 'of four clients two get the last two places';

done_testing;
