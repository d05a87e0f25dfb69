package Guildlog::Plan;

# Plans as nginx's connections make them, and what they look at.

use strict;
use warnings;

use Exporter 'import';

use Guildlog ();

our @EXPORT = qw(session blocks);


# a connection to its database that plans as one of nginx does
sub session {
    my ($nginx) = @_;

    my $session = $nginx->cluster->connect($nginx->dbname);
    $session->do('set plan_cache_mode = force_generic_plan');
    $session->do('set jit = off');
    return $session;
}


# how many blocks a query looks at
sub blocks {
    my ($session, $query) = @_;

    my ($plan) = $session->selectrow_array(
        "explain (analyze, buffers, format json) $query");
    $plan = Guildlog::json->decode($plan)->[0]{Plan};
    return $plan->{'Shared Hit Blocks'} + $plan->{'Shared Read Blocks'};
}


1;
