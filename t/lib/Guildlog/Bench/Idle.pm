package Guildlog::Bench::Idle;

# what 100,000 servers cost to which nothing happens: the CPU that the keeper,
# the index of searches and delivery take, of a minute

use strict;
use warnings;
use utf8;

use Time::HiRes qw(sleep time);

use Guildlog::Bench;


sub run {
    my $n     = option('smoke') ? 1000 : 100_000;
    my $nginx = start(start => 0, keeper => 'on');
    my $text  = Guildlog::Figures::number($n);

    servers($nginx, $n);
    admin($nginx, 'vacuum analyze');
    $nginx->start;
    sleep option('seconds');    # each task has had its first turn
    figures { share($nginx) }
        "the keeper with $text idle servers, PostgreSQL's CPU, % of a core; "
            . "nginx's";
    return;
}


# each with an index of searches and a lane
sub servers {
    my ($nginx, $n) = @_;

    my $all = "generate_series(500000000000000001, 500000000000000000 + $n) g";
    $nginx->sql("insert into server (guild_id, plan) select g, 'pro' from $all");
    $nginx->sql("insert into log_head (guild_id, bot, arrival, blocked)
        select g, 0, 1100, 1100 from $all");
    $nginx->sql("insert into search_head (guild_id, bot, format, arrival, oldest,
            closed, due_at)
        select g, 0, search_format(), 1100, search_oldest(), search_closed(),
               now() + interval '20 hours' from $all");
    $nginx->sql("insert into lane (guild_id, lane, bot, channel_id, shard,
        state) select g, 1, 0, 10, 0, 'active' from $all");
    $nginx->sql("insert into lane_tail select g, 1, 0 from $all");
    $nginx->sql("insert into lane_head (guild_id, lane) select g, 1 from $all");
    return;
}


# a round is a minute: then each task but the daily ones had its turns
sub share {
    my ($nginx) = @_;

    my @before = (postgres_cpu($nginx), cpu($nginx), time);
    sleep(option('smoke') ? option('seconds') : 60);
    my @after = (postgres_cpu($nginx), cpu($nginx), time);
    my ($postgres, $its, $took) = map { $after[$_] - $before[$_] } 0 .. 2;
    return [$postgres / $took * 100, $its / $took * 100];
}


1;
