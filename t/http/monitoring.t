# Every metric that conf/alerts.yaml and conf/grafana.json ask for exists.  Each
# alert fires when it should, and only then (t/http/alerts.yaml).
# conf/OPERATIONS.md explains each alert and each metric.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, keeper => 'on interval=20ms',
    status => 'set $args format=prometheus;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

# uses each part of the service once, so that every metric has a sample
my $guild = $g->server;
my $token = $g->token($guild);
$g->patch("/servers/$guild/config/logging/channels", token => $token,
    json => { main_channel => '300000000000000001' });
$g->get("/servers/$guild/config", token => $token);
wait_for { status() =~ /^guildlog_delivery_entries_total\{outcome="delivered"\} [1-9]/m };
wait_for { status() =~ /^guildlog_keeper_lag\{/m };

# {name: {label: 1}} of all metrics on the page
my %labels;
{
    my $page = status();
    while ($page =~ /^# TYPE (\S+) (\S+)$/mg) {
        $labels{$_} = undef for $2 eq 'histogram'
            ? map { "$1_$_" } qw(bucket sum count) : $1;
    }
    while ($page =~ /^(\w+)(?:\{(.*)\})? \S+$/mg) {
        my ($name, $pairs) = ($1, $2 // '');
        $labels{$name}{$_} = 1 for 'instance', $pairs =~ /(\w+)="/g;
    }
}


# through the location that is shown in conf/OPERATIONS.md
sub status { return $g->get('/status', raw_path => 1)->text }


# the metrics and labels of an expression that do not exist
sub missing {
    my ($expr) = @_;
    my @missing;

    while ($expr =~ /\b(guildlog_\w+)(?:\{([^}]*)\})?/g) {
        my ($name, $selector) = ($1, $2 // '');
        if (!exists $labels{$name}) {
            push @missing, $name;
        }
        elsif ($labels{$name}) {
            push @missing, map { "$name\{$_}" }
                grep { !$labels{$name}{$_} } $selector =~ /(\w+)\s*[=!]/g;
        }
    }
    return @missing;
}


sub promtool {
    my (@args) = @_;
    my $said = qx{promtool @args 2>&1};
    is $?, 0, "promtool @args[0, 1]" or diag $said;
}


subtest 'alerts' => sub {
    promtool('check', 'rules', "$Guildlog::TOP/conf/alerts.yaml");
    promtool('test', 'rules', "$Guildlog::TOP/t/http/alerts.yaml");

    my $rules = slurp('conf/alerts.yaml');
    is join(' ', missing($rules)), '', 'every metric of the alerts exists';

    my @names = $rules =~ /^      - alert: (\w+)$/mg;
    cmp_ok scalar @names, '>', 10, 'there are alerts';
    my ($tests, $told) = (slurp('t/http/alerts.yaml'), slurp('conf/OPERATIONS.md'));
    for my $name (@names) {
        is scalar(() = $tests =~ /^      - alertname: $name$/mg), 2,
            "$name is tested, firing and not firing";
        ok index($told, "\n| `$name` |") >= 0, '... and explained';
        my ($rule) = $rules =~ /^      - alert: $name\n(.*?)(?=^      - |\z)/ms;
        like $rule, qr{^ +runbook_url: "https://\S+/operations#:~:text=$name"$}m,
            '... where it leads to';
    }
};


subtest 'what each metric means' => sub {
    my ($text) = slurp('conf/OPERATIONS.md') =~ /^## Metrics\n(.*)/ms;
    my %told = map { $_ => 1 } $text =~ /`([a-z_]+)`/g;
    my @families = status() =~ /^# TYPE guildlog_(\S+) /mg;

    cmp_ok scalar @families, '>', 30, 'there are metrics';
    is join(' ', grep { !$told{$_} } @families), '',
        'conf/OPERATIONS.md has each metric';
    is_deeply [grep { /_(?:total|seconds)$/ } sort keys %told],
        [grep { my $name = $_; grep { $_ eq $name } @families }
            grep { /_(?:total|seconds)$/ } sort keys %told],
        'conf/OPERATIONS.md has no other metrics';
};


subtest 'the dashboard' => sub {
    my $board = json->decode(slurp('conf/grafana.json'));
    my @panels = grep { $_->{type} ne 'row' } @{ $board->{panels} };
    cmp_ok scalar @panels, '>', 15, 'there are panels';

    my (%id, %taken, @rules);
    for my $panel (@{ $board->{panels} }) {
        ok !$id{ $panel->{id} }++, "$panel->{title}: an id of its own";
        my $at = $panel->{gridPos};
        my @cells = map { my $x = $_; map { "$x,$_" }
            $at->{y} .. $at->{y} + $at->{h} - 1 }
            $at->{x} .. $at->{x} + $at->{w} - 1;
        is scalar(grep { $taken{$_}++ } @cells), 0, '... no two panels overlap';
        cmp_ok $at->{x} + $at->{w}, '<=', 24, '... inside';
    }
    for my $panel (@panels) {
        my @exprs = map { $_->{expr} } @{ $panel->{targets} };
        is join(' ', map { missing($_) } @exprs), '',
            "$panel->{title}: its metrics exist";
        push @rules, map { { record => 'a:b', expr => $_
            =~ s/\$__rate_interval/5m/gr =~ s/\$instance/.*/gr } } @exprs;
    }
    my $n = 0;
    $_->{record} = 'a:b' . $n++ for @rules;
    promtool('check', 'rules', $g->file('rules.json', json->encode(
        { groups => [{ name => 'a', rules => \@rules }] })));
};

done_testing;
