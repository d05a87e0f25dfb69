package Guildlog::Storm;

# t/kit/storm.js, and what it orders: each of its markers is recorded once, those of a
# server in their order.

use strict;
use warnings;

use Exporter 'import';
use Guildlog;
use Guildlog::Markers;
use Guildlog::Program;

our @EXPORT = qw(storm);


sub storm {
    my (%of) = @_;

    my $cluster = Guildlog::Cluster->new;
    my $nginx   = Guildlog->new(cluster => $cluster, workers => 2);

    @ENV{qw(EVENTS RATE SERVERS)} = @of{qw(events rate servers)};
    $ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
    $ENV{URL}      = $nginx->url . '/api';
    $ENV{OPERATOR} = $nginx->{operator};
    $ENV{DIR}      = $nginx->prefix . '/storm';
    mkdir $ENV{DIR} or die $!;

    my @lines = Guildlog::Program->obey('t/kit/storm.js',
        kill     => sub { $nginx->kill_all },
        start    => sub { $nginx->start },
        database => sub { $cluster->stop('immediate'); $cluster->start },
        all      => sub {
            wait_for { (markers($nginx))[0] >= $of{events} } 1_200,
                'all of them';
        },
    );
    markers_are_right($nginx, $of{events});
    diag map { /^# (memory.*)/ } @lines;
}


1;
