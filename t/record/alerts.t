# "It is exact, survives every crash, and is decided in the transaction that
# records": what alerts say is what a model makes of the entries in the order in
# which they arrived, with late ones, several recorders at once, many servers a
# batch, and while workers and sessions of the database are killed.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

use constant ROUNDS => 60;

my $seed = $ENV{GUILDLOG_SEED} || int rand 1e6;
srand $seed;
diag "GUILDLOG_SEED=$seed";

my $nginx = Guildlog->new(workers => 2, allow => [qr/exited on signal 9/]);
my @guilds = map { $nginx->server } 1 .. 3;
my %token  = map { $_ => $nginx->token($_) } @guilds;
my @kinds  = qw(server executor target channel);
my $event  = 0;
my $clock  = int(time * 1000) - 3_600_000;    # of what happens


sub pick    { return $_[rand @_] }
sub between { return $_[0] + int rand($_[1] - $_[0] + 1) }


# one that somebody held for active ignore counts when it is released
use constant HELD => 5;

my %alerts;     # by server: what alerts it has, by name
for my $guild (@guilds) {
    for my $n (1 .. 12) {
        my @types = $n == 1 ? HELD
            : map { pick(39, 41, 28, 79, 101) } 1 .. between(1, 3);
        my %it = (name => "alert $n", types => \@types,
            count => pick(1, 2, 3, 5, 8), seconds => pick(1, 2, 5, 30),
            by => $kinds[$n % 4]);
        my $answer = $nginx->post("/servers/$guild/alerts",
            token => $token{$guild}, json => \%it);
        die $answer->text if $answer->status != 201;
        $alerts{$guild}{ $it{name} } = \%it;
    }
    $nginx->patch("/servers/$guild/config/logging/settings/" . HELD,
        token => $token{$guild}, json => { active_ignore => \1 });
    $nginx->post("/servers/$guild/config/logging/ignore/2",
        token => $token{$guild}, json => { value => '66' });
}


# what may happen next; some of it late, some of it without whom it is about
sub entry {
    $clock += pick(0, 0, 50, 200, 1000, 7000);
    my %entry = (event_id => 'e' . ++$event,
        type => pick(HELD, 39, 39, 39, 41, 28, 79, 101, 7),
        timestamp => $clock - (rand() < .3 ? int rand 8000 : 0));
    $entry{executor} = { id => pick(7, 7, 8, 66) . '', name => 'Ann' }
        if rand() < .9;
    $entry{target} = { id => pick(17, 17, 18) . '', name => 'Bob' }
        if rand() < .9;
    $entry{channel} = { id => pick(27, 27, 28) . '', name => 'room' }
        if rand() < .9;
    return \%entry;
}


# for one server, or for all of them
sub send_batch {
    my ($batch) = @_;
    my $some = $batch->[0]{server} ? '/logs'
        : "/servers/" . pick(@guilds) . '/logs';
    return $nginx->operator('POST', $some, $batch);
}


sub batch {
    my @entries = map { entry() } 1 .. between(1, 25);
    if (rand() < .5) {
        $_->{server} = pick(@guilds) for @entries;
    }
    return \@entries;
}


# what is told by an alert of these entries: [name, subject, time]
sub model {
    my ($alert, @entries) = @_;

    my ($count, $by) = @$alert{qw(count by)};
    my $span = $alert->{seconds} * 1000;
    my (%times, %fired, @told);
    for my $entry (@entries) {
        next if !grep { $_ == $entry->{type} } @{ $alert->{types} };
        my $whose = $by eq 'server' ? '' : ($entry->{$by} // next)->{id};
        my $at    = $entry->{timestamp};
        my $since = $fired{$whose} // 0;
        my @with  = grep { $_ >= $since }
            sort { $a <=> $b } $at, @{ $times{$whose} || [] };
        splice @with, 0, -10 * $count if @with > 10 * $count;
        push @{ $times{$whose} }, $at;

        next if $since && $at < $since + $span;
        next if $at < $with[0];
        next if !grep {
            $with[$_] <= $at && $at <= $with[$_ + $count - 1]
                && $with[$_ + $count - 1] - $with[$_] <= $span
        } 0 .. @with - $count;
        $fired{$whose} = $at;
        push @told, [$alert->{name}, $whose, $at];
    }
    return @told;
}


# an entry of an alert, as the model tells it
sub own { return ($_[0]{action} // '') eq 'alert' }

sub telling {
    my ($entry, $alert) = @_;
    my $by  = $alert->{by};
    my $its = $by eq 'channel' ? $entry->{channel} : $entry->{target};
    return [$alert->{name}, $by eq 'server' ? '' : $its->{id},
        $entry->{timestamp}];
}


sub holds {
    my ($what) = @_;

    wait_for {
        $nginx->sql('select held_release()');
        !$nginx->sql('select count(*) from log_arrival
                       where held_to is not null');
    } 60, 'all is released';

    for my $guild (@guilds) {
        my @entries = map { json->decode("$_->[0]}") } $nginx->sql(
            'select doc from log_arrival where guild_id = ? and id is not null
              order by arrival', $guild);
        my $alerts = $alerts{$guild};
        my (@got, @expected);
        for my $name (sort keys %$alerts) {
            push @expected, model($alerts->{$name}, grep { !own($_) } @entries);
            push @got, map { telling($_, $alerts->{$name}) }
                grep { own($_) && $_->{name} eq $name } @entries;
        }
        cmp_ok scalar @expected, '>', 10, "$what: " . @expected . ' times';
        is_deeply \@got, \@expected, "$what: each of them, and no other";

        my %alert = map { $_->{name} => $_ } values %$alerts;
        is_deeply [grep {
            my $its = $alert{ $_->{name} };
            $_->{count} != $its->{count} || $_->{executor}{id} ne '0'
                || $_->{value} ne "$its->{count} in $its->{seconds} s"
        } grep { own($_) } @entries], [], "$what: as the contract has it";
        is $nginx->sql('select count(*) from guildlog.check(?)', $guild), 0,
            "$what: nothing differs";
    }
}


for (1 .. ROUNDS) {
    is send_batch(batch())->status, 200, 'a batch' or last;
}
holds('in order and late');


# several at once: each has batches of its own, which two servers share

for (1 .. 3) {
    my @batches = map { [map { batch() } 1 .. 5] } 1 .. 4;
    my @answers = at_once(4, sub {
        join ' ', map { send_batch($_)->status } @{ $batches[$_[0] - 1] };
    });
    is join(' ', @answers), join(' ', (200) x 20), 'four recorders at once';
}
holds('at once');


# kills of a worker, or of what it has at the database

my $hurt = 0;
for (1 .. ROUNDS / 2) {
    my $batch = batch();
    $_->{server} ||= $guilds[0] for @$batch;
    my $fault = rand() < .5 ? $nginx->kill_soon : undef;
    wait_for {
        my $answer = eval { send_batch($batch) };
        waitpid $fault, 0 if $fault;
        undef $fault;
        my $done = $answer && $answer->status == 200
            && !grep { $_->{retry} } @{ $answer->json->{errors} };
        $hurt++ if !$done;
        $done;
    } 60, 'the batch is taken';
}
diag "killed in the middle: $hurt";
holds('kills');


# alerts go while they fire: what is recorded is whole, and nothing stays behind

wait_for { $nginx->workers == 2 } 60, 'two workers';
my ($guild) = @guilds;
my $path = "/servers/$guild/alerts";
my @ids  = map { $_->{alert_id} }
    @{ $nginx->get($path, token => $token{$guild})->json };
my @answers = at_once(2, sub {
    return join ' ', map { send_batch(batch())->status } 1 .. 20
        if $_[0] == 1;
    return join ' ', map {
        my ($id, $status) = $_;
        wait_for {
            $status = $nginx->delete("$path/$id", token => $token{$guild})
                ->status;
            $status != 429;
        } 30, 'it is deleted';
        $status;
    } @ids;
});
is $answers[0], join(' ', (200) x 20), 'entries are recorded';
is $answers[1], join(' ', (202) x @ids), '... while the alerts go';
is $nginx->sql('select count(*) from alert_count where guild_id = ?', $guild),
    0, 'nothing is left of them';
is $nginx->sql('select count(*) from guildlog.check(?)', $guild), 0,
    'nothing differs';

done_testing;
