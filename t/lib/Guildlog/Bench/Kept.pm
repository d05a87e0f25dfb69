package Guildlog::Bench::Kept;

# messages of an hour, which come through POST /events of 500 servers in turns:
# the bytes that one takes while it is kept

use strict;
use warnings;
use utf8;

use Time::HiRes qw(time);

use Guildlog::Bench;
use Guildlog::Packets qw(id_at iso);

use constant { SERVERS => 500, BATCH => 1000 };


sub run {
    my $nginx = start(workers => 1);
    $nginx->sql('select operator_server_put(?, ?)', guild($_), '{"name": "g"}')
        for 1 .. SERVERS;

    once { [map { kept($nginx, $_) } 60, 200] }
        'bytes that a message of 60 characters takes; of 200';
}


# on disk, with its index
sub kept {
    my ($nginx, $length) = @_;

    my $n = option('smoke') ? 2 : 60;
    $nginx->sql('truncate said');
    for (1 .. $n) {
        my $answer = $nginx->operator('POST', '/events',
            [map { message($length) } 1 .. BATCH]);
        die $answer->text if $answer->status != 200 || @{ $answer->json->{errors} };
    }
    return $nginx->sql(q(select sum(pg_total_relation_size(p.name::regclass))
        from partitions('said') p
        where pg_relation_size(p.name::regclass) > 0)) / ($n * BATCH);
}


sub message {
    my ($length) = @_;

    my $at = int(time * 1000);
    return { at => $at, t => 'MESSAGE_CREATE', d => {
        id => id_at($at), guild_id => guild(1 + int rand SERVERS),
        channel_id => '300000000000000001', timestamp => iso($at),
        content => substr('lorem ipsum ' x ($length / 12 + 1), 0, $length),
        author => { id => '' . (200_000_000_000_000_000 + int rand 400),
            username => 'somebody' } } };
}


sub guild { return '' . (1_000_000_000_000_000_000 + $_[0]) }


1;
