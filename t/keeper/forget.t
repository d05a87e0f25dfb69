# "DELETE /servers/{id} forgets a server whole (202; lanes closed, webhooks
# deleted, then every row, within an hour), DELETE
# /servers/{id}/members/{user_id}/logs forgets a person."  A forgotten server's
# tokens are refused at once.  Whatever is killed meanwhile, the work ends.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;

my $person = '765432109876543210';

# a server's row goes when no transaction of the cluster is as old as the order
my $g = Guildlog->new(start => 0, openapi => 1, workers => 2,
    cluster => Guildlog::Cluster->new, keeper => 'on interval=20ms');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $channel = 300000000000000000;
my $event   = 0;


sub record {
    my ($guild, @entries) = @_;
    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7, %$_ } } @entries]);
    die $answer->text if $answer->status != 200;
    return @{ $answer->json->{ids} };
}


sub hers {
    my ($n) = @_;
    return map { { executor => { id => $person, name => 'Hildegard' },
        content => "quokka number $_" } } 1 .. $n;
}


sub page {
    my ($guild, $token, $query) = @_;
    return $g->get("/servers/$guild/logs?limit=200" . ($query // ''),
        token => $token)->json;
}


sub forgotten {
    my ($what) = @_;
    return wait_for { !$g->sql('select 1 from forgotten_person') } 60;
}


# the tables that have a text anywhere in a row
sub stands {
    my ($what) = @_;
    my @tables = map { $_->[0] } $g->sql(q(
        select c.relname from pg_class c
         where c.relnamespace = 'guildlog'::regnamespace
           and c.relkind in ('r', 'p') and not c.relispartition order by 1));
    return join ' ', grep {
        $g->sql("select 1 from $_ x where x::text like ? limit 1",
            "%$what%")
    } @tables;
}


subtest 'a person' => sub {
    my $guild = $g->server;
    my $token = $g->token($guild);
    $g->patch("/servers/$guild/config/logging/settings", token => $token,
        json => { buttons => [] });
    record($guild, hers(150), map { { content => "other $_" } } 1 .. 10);
    my $to = ++$channel . '';
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => $to });

    # an entry that waits for delivery

    wait_for { $platform->webhooks($to) } 30, 'a webhook';
    $g->operator('POST', "/servers/$guild/pause");
    my @waits = record($guild, hers(3));

    my $before = page($guild, $token);
    page($guild, $token) for 1 .. 3;
    my $answer = $g->operator('DELETE',
        "/servers/$guild/members/$person/logs");
    is $answer->status . $answer->text, '202{}',
        'the answer comes at once: 202';
    ok forgotten(), 'the person is forgotten';

    my $after = page($guild, $token);
    is_deeply [@$after{qw(total categoryCounts)}],
        [@$before{qw(total categoryCounts)}], 'the counts stay the same';
    unlike json->encode($after), qr/quokka|Hildegard|$person/,
        'a page that was kept before does not name her';
    is page($guild, $token, '&search=quokka')->{total}, 0,
        'search does not find her words';
    is page($guild, $token, '&search=hildegard')->{total}, 0,
        'search does not find her name';
    is page($guild, $token, "&member=$person")->{total}, 0,
        'no entry has her as a member';
    is stands($person) . stands('Hildegard') . stands('quokka'), '',
        'no table has anything of her';

    $g->operator('POST', "/servers/$guild/resume");
    my $sent;
    ok wait_for {
        ($sent) = grep { my $m = $_; grep { $_ eq $waits[2] }
            $platform->entries_in($m) } $platform->messages($to);
    } 60, 'the entry that waited is delivered';
    unlike json->encode([$platform->messages($to)]), qr/quokka|Hildegard/,
        '... without her';

    my ($later) = record($guild, hers(1));
    is page($guild, $token)->{entries}[0]{executor}{name}, 'Hildegard',
        'later entries name her again';
};


subtest 'without a keeper, then with kills' => sub {
    my $guild = $g->server;
    my $token = $g->token($guild);
    $g->configure(keeper => 'off')->reload;
    record($guild, hers(1000)) for 1 .. 8;
    is $g->operator('DELETE', "/servers/$guild/members/$person/logs")
        ->status, 202, '202 without a keeper';
    like stands('quokka'), qr/log_arrival/,
        'her entries stay while no keeper runs';

    # the keeper comes to the middle, and no further

    my $locker = $g->cluster->connect($g->dbname);
    $locker->begin_work;
    $locker->do('select from log_arrival where guild_id = ? and arrival > 4000
        for update', undef, $guild);
    $g->configure(keeper => 'on interval=20ms budget=512')->reload;
    my %ended;
    ok wait_for {
        $ended{ $_->[0] } = 1 for $g->sql(q(select l.pid
            from pg_locks l
           cross join lateral pg_terminate_backend(l.pid)
           where l.relation = 'guildlog.forgotten_person'::regclass
             and l.database = (select d.oid from pg_database d
                                where d.datname = current_database())
             and l.mode = 'RowShareLock' and l.pid <> pg_backend_pid()));
        keys %ended >= 2;
    } 60, "the keeper's connection is killed twice";
    cmp_ok $g->sql(q(select count(*) from entries
        where guild_id = ? and executor_id = ?), $guild, $person), '>=', 4000,
        '... before the work is done';
    $locker->rollback;
    ok forgotten(), 'the work goes on to its end';
    is stands('quokka number 999'), '', 'no entry names her';
    is page($guild, $token)->{total}, 8001, 'no entry is lost';
};


subtest 'a server' => sub {
    my $guild = $g->server;
    my $token = $g->token($guild);
    my $other = $g->server;
    my $theirs = $g->token($other);
    record($other, hers(2));
    my @to = map { ++$channel . '' } 1 .. 2;
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => $to[0], category_voice => $to[1] });
    record($guild, hers(100));
    wait_for { $platform->webhooks($to[0]) && $platform->webhooks($to[1]) }
        30, 'webhooks';

    my $answer = $g->operator('DELETE', "/servers/$guild");
    is $answer->status . $answer->text, '202{}',
        'the answer comes at once: 202';
    is $g->get("/servers/$guild", token => $token)->status, 401,
        "the server's token is refused at once";
    ok wait_for { !$platform->webhooks($to[0])
        && !$platform->webhooks($to[1]) } 60,
        'its webhooks are deleted at the platform';
    ok wait_for { $g->operator('DELETE', "/servers/$guild")->status == 404 }
        60, 'the server is forgotten';
    is stands($guild), '', 'no table has anything of it';
    is page($other, $theirs)->{total}, 3, 'another server keeps its entries';
    is $g->operator('POST', "/servers/$guild/logs",
        [{ event_id => 'y', type => 7 }])->status, 404, 'the server is unknown';
    is $g->operator('PUT', "/servers/$guild", { plan => 'pro' })->status, 201,
        'PUT creates it again';
    $token = $g->token($guild);
    record($guild, { content => 'anew' });
    is page($guild, $token)->{total}, 2, '... with no old entries';
};


subtest 'a server while no machine delivers' => sub {
    my $guild = $g->server;
    my $token = $g->token($guild);
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => ++$channel . '' });
    wait_for { $platform->webhooks($channel) } 30, 'a webhook';
    $g->configure(http => '')->reload;
    is $g->operator('DELETE', "/servers/$guild")->status, 202, 'answered at once with 202';
    my $bodies = [{ event_id => 'z', type => 7, server => $guild }];
    my $many = $g->operator('POST', '/logs', $bodies)->json;
    is_deeply $many->{errors}, [{ index => 0,
        error => 'server: is being forgotten',
        code => 'forgotten' }], 'its entries are refused';
    is $g->operator('PUT', "/servers/$guild", {})->status, 409,
        'PUT is refused';
    my $late = $g->operator('POST', "/servers/$guild/logs",
        [{ event_id => 'z', type => 7 }]);
    is $late->status . $late->text,
        '409{"error":"server: is being forgotten","code":"forgotten"}',
        'a batch for it alone is refused';
    $g->sql(q(update server set forgotten_at = now() - interval '31 minutes'
        where guild_id = ?), $guild);
    ok wait_for { $g->operator('DELETE', "/servers/$guild")->status == 404 }
        60, 'after half an hour its webhooks are not waited for';
    is stands($guild), '', 'no table has anything of it';
};


subtest "the export of a person's entries" => sub {
    my $guild = $g->server;
    my $export = "/servers/$guild/members/$person/logs";
    my $empty = $g->operator('GET', $export);
    is $empty->status . $empty->text, '200', 'no entries: an empty body';

    my $now = int time * 1000;
    my @days = map { $now - 86_400_000 * $_ } 0 .. 29;
    my @ids;
    push @ids, record($guild, map { {
        timestamp => $days[$_ % 30] - $_,
        executor => { id => $_ % 3 ? $person : '1', name => 'A' },
        target => { id => $_ % 3 == 1 ? '2' : $person, name => 'B' },
        content => "text \x{1F600} \n $_" } } 1 .. 400);
    my ($bulk) = record($guild, { type => 3, timestamp => $now, messages => [
        { id => '1', authorId => $person, content => 'mine' }] });
    record($guild, map { { executor => { id => '3', name => 'C' },
        content => "of others, like \@$person" } } 1 .. 50);
    my $pro = $g->operator('POST', "/servers/$guild/logs?bot=pro",
        [{ event_id => 'p', type => 1, timestamp => $now,
           executor => { id => $person, name => 'P' } }])->json->{ids};

    my $answer = $g->operator('GET', $export);
    is $answer->status, 200, 'exported';
    is $answer->header('Content-Type'), 'application/x-ndjson; charset=utf-8',
        'the type is NDJSON';
    like $answer->header('Content-Disposition'), qr/\.ndjson"$/,
        'the browser saves it as a file';
    my @lines = split /\n/, $answer->text, -1;
    is pop @lines, '', 'each line ends with a newline';
    my @entries = map { json->decode($_) } @lines;
    is_deeply [map { $_->{id} } @entries],
        [(sort { $b <=> $a } @ids, $bulk), @$pro],
        'all entries of the person, of both bots, newest first, and no others';
    my $token = $g->token($guild);
    my %page = map { $_->{id} => $_ }
        @{ page($guild, $token, '&type=7')->{entries} };
    my ($same) = grep { $page{$_->{id}} } @entries;
    is_deeply $same, $page{$same->{id}}, 'each entry is as the API shows it';

    $g->operator('PUT', "/servers/$guild", { plan => 'free' });
    is scalar(() = $g->operator('GET', $export)->text =~ /\n/g), 402,
        'also entries beyond the window of the plan';

    record($guild, map { { executor => { id => $person, name => 'A' },
        content => 'x' x 4000, contentAfter => 'y' x 4000 } } 1 .. 300);
    is scalar(() = $g->operator('GET', $export)->text =~ /\n/g), 702,
        'also large entries';
    for my $from (map { 2000 * $_ } 1 .. 6) {
        $g->sql(q(select record($1::bigint, 0::smallint, jsonb_agg(
            jsonb_build_object('event_id', 'old' || i, 'type', 7,
                'timestamp', $2::bigint - 1000 * i)))
            from generate_series($3::int, $3 + 1999) i), $guild, $now, $from);
    }
    is scalar(() = $g->operator('GET', $export)->text =~ /\n/g), 702,
        '... and entries before many of others';
    is $g->operator('GET', '/servers/123456789012345678/members/1/logs')
        ->status, 404, 'an unknown server';
};


is $g->operator('DELETE', '/servers/123456789012345678')->status, 404,
    'an unknown server';
is $g->operator('DELETE', "/servers/123456789012345678/members/1/logs")
    ->status, 404, '... has no members';
is $g->operator('DELETE', '/servers/1')->status, 400, 'a bad ID of a server';

done_testing;
