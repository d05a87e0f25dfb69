# A connection to PostgreSQL ends somewhere: as it is opened, in the
# authentication, in a statement, in its answer, in a long answer.  A request
# that reads is still answered.  A change is made once or not at all.

use lib 't/lib';
use Guildlog;
use Guildlog::Cutter;

my $cluster = Guildlog::Cluster->shared;
my $cutter  = Guildlog::Cutter->new(to => $cluster->port);
my $nginx   = Guildlog->new(
    http     => 'guildlog_limit off; guildlog_page_cache 0;',
    database => { host => '127.0.0.1', port => $cutter->port,
        connections => 1 });
my $server  = $nginx->server;
my %as      = (token => $nginx->token($server));
my $at      = "/servers/$server";
my $event   = 0;

# a page of several hundred KB
$nginx->operator('POST', "$at/logs", [map { { event_id => 'e' . ++$event,
    type => 7, content => $_ x 4000 } } 'a' .. 'z', 'A' .. 'Z']);

my @start  = (match => 'user\0guildlog\0');
my @first  = (match => 'SCRAM-SHA-256\0');
my @proof  = (match => 'c=biws,');
my @cuts = (
    ['as it is made',             at => 'connect'],
    ['in the first message',      @start, at => 'sent', bytes => 30],
    ['before an answer to it',    @start, at => 'answered', bytes => 0],
    ['in the answer to it',       @start, at => 'answered', bytes => 12],
    ['in the user\'s name',       @first, at => 'sent', bytes => 25],
    ['in the challenge',          @first, at => 'answered', bytes => 40],
    ['in the proof',              @proof, at => 'sent', bytes => 60],
    ['before it is authenticated', @proof, at => 'answered', bytes => 0],
    ['as it is authenticated',    @proof, at => 'answered', bytes => 50],
    ['in the parameters',         @proof, at => 'answered',
        past => 'server_version', bytes => 3],
    ['before it is ready',        @proof, at => 'answered',
        past => 'TimeZone', bytes => 0],
);


# cuts in the statement of a path
sub statement {
    my ($name) = @_;

    my @it = (match => "$name\\(");
    return (
        ["$name: in its text",         @it, at => 'sent', bytes => 20],
        ["$name: before it is sent",   @it, at => 'sent', bytes => 0],
        ["$name: before its answer",   @it, at => 'answered', bytes => 0],
        ["$name: as it is prepared",   @it, at => 'answered', bytes => 3],
        ["$name: in the columns",      @it, at => 'answered', bytes => 20],
        ["$name: in the answer",       @it, at => 'answered', bytes => 100],
        ["$name: reset in the answer", @it, at => 'answered', bytes => 100,
            reset => 1],
    );
}


sub ends {
    my ($cut) = @_;

    my ($name, @rule) = @$cut;
    $cutter->rules({ tag => $name, @rule });
    $cutter->cut;
}


sub reads {
    my ($path, $expected, $cut) = @_;

    ends($cut);
    my $answer = $nginx->get($path, %as);
    is $answer->status, 200, "$cut->[0]: it is answered";
    is $answer->text, $expected, '... completely';
    is_deeply [$cutter->hits], [$cut->[0]], '... by a second connection';
}


my $whole = $nginx->get("$at/config", %as)->text;
reads("$at/config", $whole, $_) for @cuts, statement('config_get');

my $page = $nginx->get("$at/logs", %as)->text;
cmp_ok length $page, '>', 200_000, 'a long answer';
reads("$at/logs", $page, $_) for map { ["at $_ bytes", match => 'logs_pieces',
    at => 'answered', bytes => $_] } 1000, 20_000, 100_000, 200_000;


# changes: a tag is added or not

for my $cut (statement('tag_create')) {
    my ($name, %rule) = @$cut;
    ends($cut);
    my $status = $nginx->post("$at/tags", %as,
        json => { tag_name => $name, content => 'x' })->status;
    my $tags = $nginx->get("$at/config/tags", %as);
    my $there = $tags->status == 404 ? 0
        : grep { $_->{tag_name} eq $name } @{ $tags->json };

    is $status, 503, "$name: its outcome is unknown";
    is_deeply [$cutter->hits], [$name], '... the connection was cut there';
    is $there, $rule{at} eq 'sent' ? 0 : 1,
        '... it was made, once, if the database got all of it';
}

done_testing;
