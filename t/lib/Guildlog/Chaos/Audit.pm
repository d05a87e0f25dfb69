package Guildlog::Chaos::Audit;

# Compares what the database, the API and the platform's ledger say about the
# same entries: the guarantees of delivery, one test each.

use strict;
use warnings;
use utf8;

use Cpanel::JSON::XS;
use Test::More ();

use Guildlog ();
use Guildlog::Chaos::Clients;
use Guildlog::File;

my $json = Cpanel::JSON::XS->new->utf8;


# audit(world, frozen => 1 if a lease ran out while its worker stood still; such
# a worker may repeat what it had begun)
sub audit {
    my ($class, $world, %option) = @_;

    my ($self, $was, $is);
    for (1 .. 10) {
        $was = $world->decided;
        $self = bless { world => $world, %option,
            platform => $world->{platform} }, $class;
        $self->read_ledger;
        $self->read_database;
        $self->read_clients;
        $self->read_api;
        last if ($is = $world->decided) eq $was;
    }
    Test::More::is($is, $was, 'nothing changed while it was read');
    $self->none('no answer that is not documented, no page or export short',
        @{ $self->{problems} || [] });
    $self->none('every total is that of the entries',
        @{ $self->{miscounted} || [] });
    $self->told;

    $self->stored;
    $self->delivered;
    $self->repeated;
    $self->unknown;
    $self->ordered;
    $self->paced;
    $self->registered;
    $self->changed;
    $self->silent;
    return $self;
}


sub none {
    my ($self, $why, @bad) = @_;

    Test::More::is(scalar @bad, 0, $why)
        or Test::More::diag(join ' ', @bad[0 .. ($#bad > 4 ? 4 : $#bad)]);
}


# reads the ledger: what was asked for and what was applied

sub read_ledger {
    my ($self) = @_;

    open my $in, '<:raw', $self->{platform}->path or die $!;
    my (%request, %open, %refused);

    while (my $line = <$in>) {
        my ($at) = $line =~ /^\{"at":(\d+)/;
        my $it = $line =~ /,"call":"(\w+)","channel":"?\w+"?,"event":"request",
            "number":(\d+),"path":"([^"]*)"\}\n\z/x
            ? { event => 'request', call => $1, number => $2, path => $3,
                at => $at }
            : $json->decode($line);
        my $event = $it->{event};

        if ($event eq 'webhook') {
            $self->{made}{ $it->{webhook}{id} } = $it->{webhook};
            $self->{webhook}{ $it->{webhook}{id} } = $it->{webhook};
        } elsif ($event eq 'delete') {
            delete $self->{webhook}{ $it->{id} };
        } elsif ($event eq 'message') {
            my $message = $it->{message};
            $self->{message}{ $message->{id} } = $message;
            push @{ $self->{applied}{$_} }, $message->{id}
                for $self->{platform}->entries_in($message);
        } elsif ($event eq 'start') {
            %open = ();
        } elsif ($event eq 'request' && $it->{call} eq 'execute') {
            my ($webhook) = $it->{path} =~ m{/webhooks/(\d+)};
            $self->{posts}++;
            push @{ $self->{overlaps} }, "$webhook at $it->{at}"
                if %{ $open{$webhook} || {} };
            push @{ $self->{early} }, "$webhook at $it->{at}"
                if ($self->{wait_to}{$webhook} // 0) > $it->{at};
            push @{ $self->{again} }, $webhook
                if defined $refused{$webhook} && $refused{$webhook}++;
            $open{$webhook}{ $it->{number} } = 1;
            $request{ $it->{number} } = $webhook;
        } elsif ($event eq 'gone') {
            delete $_->{ $it->{number} } for values %open;
        } elsif ($event eq 'answer') {
            my $status = $it->{status};
            my $webhook = $it->{call} eq 'execute'
                ? $request{ $it->{number} } : undef;
            my $scope = $it->{scope} // '';
            push @{ $self->{invalid} }, $it->{at}
                if $status =~ /^(?:401|403|429)$/ && $scope ne 'shared';
            push @{ $self->{limited}{$scope}{ $webhook // $it->{call} } },
                $it->{at} if $status eq '429';
            next if !defined $webhook;
            delete $open{$webhook}{ $it->{number} } if $status ne 'hang';
            $self->{wait_to}{$webhook} = $it->{at}
                + $it->{body}{retry_after} * 1000 - 1 if $status eq '429';
            $refused{$webhook} //= 0 if $status =~ /^40[14]$/;
        }
    }
}


# the outcome of each entry that has a place in a lane: what was proved not to
# have arrived gets another one

sub read_database {
    my ($self) = @_;

    my @columns = qw(id guild lane seq status reason message channel);
    for my $row ($self->{world}->sql(q{
        select e.id, e.guild_id, p.lane, p.seq, d.status, d.reason,
               d.message_id, l.channel_id
          from entries e
         cross join lateral lane_delivery(e.guild_id, e.lane, e.seq,
                   to_timestamp(id_time(e.id) / 1000.0)) f
          left join replay r
            on r.guild_id = e.guild_id and r.bot = e.bot and r.id = e.id
           and not r.first and f.status < 2
         cross join lateral (
               select coalesce(r.lane, e.lane), coalesce(r.seq, e.seq),
                      coalesce(r.at, to_timestamp(id_time(e.id) / 1000.0)))
               p (lane, seq, at)
          join lane l on l.guild_id = e.guild_id and l.lane = p.lane
         cross join lateral lane_delivery(e.guild_id, p.lane, p.seq, p.at) d}))
    {
        my %entry;
        @entry{@columns} = @$row;
        $self->{entry}{ $entry{id} } = \%entry;
    }
}


sub read_clients {
    my ($self) = @_;

    for my $it (Guildlog::Chaos::Clients->told(@{ $self->{world}{told} })) {
        if ($it->{acked}) {
            push @{ $self->{acked} }, grep { defined } @{ $it->{acked} };
            $self->{resent}++ if $it->{tries} > 1;
            push @{ $self->{problems} }, "not all of a batch: $it->{at}"
                if $it->{errors} || grep { !defined } @{ $it->{acked} };
        } elsif ($it->{status}) {
            $self->{answers}{ $it->{status} }++;
        }
        $self->{$_} += defined $it->{$_} for qw(read exported none);
        push @{ $self->{problems} }, join ' ',
            $it->{problem} // $it->{died} // 'no answer in 30 s',
            $it->{text} // ''
            if $it->{problem} || $it->{died} || $it->{hung};
        push @{ $self->{changes}{"$it->{guild} " . ($it->{did}
            // $it->{tries})} }, $it if $it->{did} || $it->{tries}
            && $it->{tries} =~ /\D/;
    }
}


# every entry as the API shows it to an administrator

sub read_api {
    my ($self) = @_;

    my $g = $self->{world}{nginx}[0];
    while (my ($guild, $it) = each %{ $self->{world}{guilds} }) {
        $self->read_all($g, $guild, $it->{token}, $_) for '', '&bot=pro';
    }
}


sub read_all {
    my ($self, $g, $guild, $token, $bot) = @_;

    my ($cursor, $total, $n) = (undef, undef, 0);
    do {
        my $page = $g->get("/servers/$guild/logs?limit=200$bot"
            . (defined $cursor ? "&cursor=$cursor" : ''),
            token => $token)->json;
        $total //= $page->{total};
        for my $entry (@{ $page->{entries} }) {
            $n++;
            $self->{seen}{ $entry->{id} } = $entry;
        }
        $cursor = $page->{cursor};
    } while (defined $cursor);
    push @{ $self->{miscounted} }, "$guild$bot: $n of $total" if $n != $total;
}


sub told {
    my ($self) = @_;

    my $world = $self->{world};
    my @seen = values %{ $self->{seen} };
    my $say = sub { join ', ', map { "$_[0]{$_} $_" } sort keys %{ $_[0] } };
    my $took = sub {
        my ($what, @times) = @_;
        @times = sort { $a <=> $b } @times or return;
        return sprintf '%s after %.2f s (median), %.2f s (longest of %d)',
            $what, $times[@times / 2], $times[-1], scalar @times;
    };

    Test::More::note($_) for
        'kills: ' . $world->kills . ' (' . $say->($world->{kills}) . ')',
        'besides: ' . $say->($world->{others}),
        @seen . ' entries, ' . @{ $self->{acked} || [] } . ' acknowledged, '
            . ($self->{resent} || 0) . ' batches sent again, '
            . ($self->{posts} || 0) . ' posts, '
            . keys(%{ $self->{message} }) . ' messages, '
            . keys(%{ $self->{made} }) . ' webhooks',
        'answers: ' . $say->($self->{answers} || {}) . ', none '
            . ($self->{none} || 0) . "; $self->{read} lists and "
            . "$self->{exported} exports whole",
        $took->('leases of another worker', @{ $world->{leased} }),
        $took->('the next message', @{ $world->{resumed} });
}


# describes an entry, for a failure
sub said {
    my ($self, $id) = @_;

    my $entry = $self->{entry}{$id} || {};
    return '(' . join(' ', $id, (map { $_ // '-' }
        @{ $self->{seen}{$id}{delivery} || {} }{qw(status reason messageId)},
        @$entry{qw(guild lane seq status reason message)}),
        'applied', @{ $self->{applied}{$id} || [] }) . ')';
}


# G1

sub stored {
    my ($self) = @_;

    $self->none('G1: every acknowledged entry is stored',
        grep { !$self->{seen}{$_} } @{ $self->{acked} || [] });
    $self->none('G1: each has one outcome', map { $self->said($_) } grep {
        my $it = $self->{seen}{$_}{delivery};
        !$it || ($it->{reason} // '') =~ /^(?:queued|held|retrying|in_flight)$/
    } sort keys %{ $self->{seen} });
    $self->none('G1: outcomes leave no gap and do not overlap',
        map { $_->[0] } $self->{world}->sql(q{
        select lane from (
            select guild_id, lane, seq_from, lag(seq_to, 1, 0::bigint) over w
                   as before, seq_to, lead(seq_from) over w as next
              from lane_batch
            window w as (partition by guild_id, lane order by seq_from)) b
          join lane_head h using (guild_id, lane)
         where seq_from <> before + 1
            or next is null and seq_to <> h.head}));

    $self->none('no event is stored twice', map { "@$_" }
        $self->{world}->sql(q{select guild_id, event_id from log_arrival
            group by 1, 2, bot having count(*) > 1}),
        $self->{world}->sql(q{select e.guild_id, t.text
            from entries e
           cross join lateral substring(e.doc
                 from 'event recorder\d+-\d+|old entry \d+') t (text)
           where t.text is not null
           group by 1, 2 having count(*) > 1}));
}


# G2, G3: the API against the platform

sub delivered {
    my ($self) = @_;

    my (@not_there, @there, @other);
    for my $id (sort keys %{ $self->{seen} }) {
        my $said = $self->{seen}{$id}{delivery};
        my $applied = $self->{applied}{$id} || [];

        if ($said->{status} eq 'delivered') {
            my $message = $self->{message}{ $said->{messageId} // 0 };
            push @not_there, $id
                if !$message || $message->{channel_id} ne $said->{channelId}
                || !grep { $_ eq $said->{messageId} } @$applied;
        } elsif ($said->{status} eq 'not_delivered') {
            push @there, $id if @$applied;
        }
        push @other, $id if $self->differs($id);
    }

    $self->none('G2: what is delivered the platform has, as that message',
        map { $self->said($_) } @not_there);
    $self->none('G3: what is not delivered it has not',
        map { $self->said($_) } @there);
    $self->none('the API says what the database has',
        map { $self->said($_) } @other);
}


sub differs {
    my ($self, $id) = @_;

    my $entry = $self->{entry}{$id} or return 0;
    return (qw(not_delivered unknown delivered))[$entry->{status}]
        ne $self->{seen}{$id}{delivery}{status};
}


# G4

sub repeated {
    my ($self) = @_;

    my @twice = grep { @{ $self->{applied}{$_} } > 1 }
        sort keys %{ $self->{applied} };
    Test::More::note(@twice . ' entries twice, '
        . @{ $self->{overlaps} || [] } . ' overlaps');
    return if $self->{frozen};
    $self->none('G4: nothing is there twice', map { $self->said($_) } @twice);
    $self->none('G6: never two messages of a lane under way',
        @{ $self->{overlaps} || [] });
}


# G5: only a first message, without one before it as a proof, may stay unknown

sub unknown {
    my ($self) = @_;

    my @unknown = grep { $_->{status} == 1 } values %{ $self->{entry} };
    my %first;
    for my $it (values %{ $self->{entry} }) {
        next if $it->{status} != 2;
        my $lane = "$it->{guild} $it->{lane}";
        $first{$lane} = $it->{seq} if $it->{seq} < ($first{$lane} // 1e18);
    }
    Test::More::note(@unknown . ' entries unknown');
    $self->none('G5: unknown are first messages only',
        map { $self->said($_->{id}) } grep {
        $_->{seq} > ($first{"$_->{guild} $_->{lane}"} // 1e18)
    } @unknown);
}


# G6

sub ordered {
    my ($self) = @_;

    my (@order, %last);
    for my $it (sort { $a->{lane} <=> $b->{lane} || $a->{seq} <=> $b->{seq} }
        grep { $_->{status} == 2 } values %{ $self->{entry} })
    {
        push @order, $it->{id} if $it->{message} < ($last{ $it->{lane} } // 0);
        $last{ $it->{lane} } = $it->{message};
    }
    $self->none('G6: messages follow the order of entries', @order);

    my @within = grep {
        my @seqs = map { $self->{entry}{$_} ? $self->{entry}{$_}{seq} : () }
            $self->{platform}->entries_in($_);
        "@seqs" ne join ' ', sort { $a <=> $b } @seqs;
    } values %{ $self->{message} };
    $self->none('G6: and within a message', map { $_->{id} } @within);
}


# G9.  After a crash a deleted webhook is used once more, if its loss was not
# stored

sub paced {
    my ($self) = @_;

    $self->none('G9: nothing before the wait that was asked for',
        @{ $self->{early} || [] });
    $self->none('G9: a webhook that is gone is used once more at most',
        @{ $self->{again} || [] });

    my @invalid = @{ $self->{invalid} || [] };
    my $most = 0;
    for my $i (0 .. $#invalid) {
        my $n = grep { $_ <= $invalid[$i] && $_ > $invalid[$i] - 600_000 }
            @invalid;
        $most = $n if $n > $most;
    }
    Test::More::cmp_ok($most, '<', 1000, 'G9: few bad requests in 10 min');
}


# G10

sub registered {
    my ($self) = @_;

    my (%webhooks, %used);
    $webhooks{"$_->{channel_id} $_->{application_id}"}++
        for values %{ $self->{webhook} };
    $self->none('G10: one webhook a lane', grep { $webhooks{$_} > 1 }
        sort keys %webhooks);

    $used{ $_->[0] } = 1 for $self->{world}->sql(
        'select webhook_id from lane where webhook_id is not null');
    $self->none('G10: none is left behind', map { "$_->{id} $_->{channel_id}" }
        grep { !$used{ $_->{id} } } values %{ $self->{webhook} });
}


# acknowledged changes of administrators are stored

sub changed {
    my ($self) = @_;

    my (@lost, %has);
    my $g = $self->{world}{nginx}[0];
    while (my ($guild, $it) = each %{ $self->{world}{guilds} }) {
        my $config = $g->get("/servers/$guild/config",
            token => $it->{token})->json;
        $has{"$guild ignore $_->{ignore_value}"} = 1
            for @{ $config->{serverlogConfigIgnoreStandard} || [] };
        $has{"$guild tag $_->{tag_id}"} = $_->{tag_name}
            for @{ $config->{tags} || [] };
        my $channels = ($config->{serverlogConfigChannels} || [])->[0];
        $has{"$guild $_"} = $channels->{$_}
            for qw(category_text category_modlog);
        my ($type) = grep { $_->{log_type} == 7 }
            @{ $config->{serverlogConfigCustomOptions} || [] };
        $has{"$guild color"} = $type->{color} if $type;
    }

    my $n = 0;
    for my $key (sort keys %{ $self->{changes} || {} }) {
        my ($sure, @maybe);
        for my $it (@{ $self->{changes}{$key} }) {
            if ($it->{did}) {
                $sure = $it;
                $n++;
                # an earlier try without an answer may take effect after this
                # one
                @maybe = grep { $_->{at} > $it->{at} - 60_000 } @maybe;
                pop @maybe;
            } else {
                push @maybe, $it;
            }
        }
        next if !$sure;
        my $is = $has{$key} // '';
        push @lost, "$key is '$is', not '" . ($sure->{value} // '') . q(')
            if !grep { $is eq ($_->{value} // '') } $sure, @maybe;
    }
    Test::More::note("$n changes acknowledged");
    $self->none('every acknowledged change is there', @lost);
}


# G11

sub silent {
    my ($self) = @_;

    my $world = $self->{world};
    my @secrets = ((map { $_->{token} } values %{ $self->{made} }),
        map { $self->{platform}->token($_) } 0, 1);
    my %text = map { $_ => slurp($_) } @{ $world->{told} };
    for my $g (@{ $world->{nginx} }) {
        $text{"$g->{name} error log"}  = $g->error_log;
        $text{"$g->{name} access log"} = $g->access_log;
        $text{"$g->{name} status"} = $g->request('GET', '/status',
            raw_path => 1)->text;
    }
    $text{'log of the database'} = $world->{cluster}->log;
    $text{'dump of the database'} = $world->{cluster}->dump($world->{dbname});
    $text{'API'} = $json->encode($self->{seen});

    $self->none('G11: no secret is told by ' . join(', ', map { s{.*/}{}r }
        sort keys %text), map {
        my ($name, $secret) = ($_, undef);
        ($secret) = grep { index($text{$name}, $_) >= 0 } @secrets;
        defined $secret ? $name : ();
    } sort keys %text);
}


1;
