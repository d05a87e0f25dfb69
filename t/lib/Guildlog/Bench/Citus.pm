package Guildlog::Bench::Citus;

# entries, pages and searches of 64 servers on Citus, a coordinator with two
# workers on this machine, against one PostgreSQL

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Zipf;

use constant SERVERS => 64;


sub run {
    my $dbh = Guildlog::Cluster->shared->connect('postgres', 'postgres');
    return skipped('citus', 'PostgreSQL has no extension citus')
        if !$dbh->selectrow_array('select 1 from pg_available_extensions
            where name = $$citus$$');
    $dbh->disconnect;

    my @sides = map { side($_) } 1, '';

    figures {
        map {
            my $path = $_;
            [map { wrk($_->{nginx}, '/', lua => $_->{$path}, connections => 8)
                ->{rate} * ($path eq 'record' ? 100 : 1) } @sides];
        } qw(record page search);
    } "recorded in batches of 100, entries/s: Citus; one PostgreSQL",
        'pages of 100 with counts, pages/s; the same',
        'pages of a search, searches/s; the same';
}


# a service on its own cluster, with entries and the loads for it
sub side {
    my ($citus) = @_;

    my $nginx = start(
        cluster => Guildlog::Cluster->new(env => { GUILDLOG_CITUS => $citus }),
        api => $no_limit, http => 'guildlog_page_cache 0;',
        keeper => 'on interval=20ms',
        locations => 'location /op/ { guildlog_operator open; }');
    my @guilds = map { $nginx->server(plan => 'pro') } 1 .. SERVERS;
    my %token  = map { ($_ => $nginx->token($_)) } @guilds;

    for my $round (1 .. 1 + option('entries') / 500 / SERVERS) {
        for my $guild (@guilds) {
            my $text = '[' . Guildlog::Zipf::entries(500, $round) . ']';
            utf8::encode($text) if utf8::is_utf8($text);
            my $answer = $nginx->operator('POST', "/servers/$guild/logs",
                Guildlog::json()->decode($text));
            die $answer->text if $answer->status != 200;
        }
    }
    indexed($nginx);

    my $word = Guildlog::Zipf::word(50);
    return {
        nginx  => $nginx,
        record => load($nginx, 'record', 'POST', map { [
            "/op/servers/$_/logs", '',
            '[' . Guildlog::Zipf::entries(100, '@') . ']' ] } @guilds),
        page   => load($nginx, 'page', 'GET', map { [
            "/api/servers/$_/logs?limit=100", $token{$_}, '' ] } @guilds),
        search => load($nginx, 'search', 'GET', map { [
            "/api/servers/$_/logs?limit=100&search=$word", $token{$_}, '' ] }
            @guilds),
    };
}


# what waits is less than is worth a segment
sub indexed {
    my ($nginx) = @_;

    Guildlog::wait_for {
        !$nginx->sql(q(select count(*) from log_head h
            left join search_head s on s.guild_id = h.guild_id
             and s.bot = h.bot
            where h.arrival > 1024
              and coalesce(h.arrival - s.arrival, h.arrival) >= 1024));
    } 300, 'all is indexed';
}


# the requests in turn; "@" in a body becomes a number of the run
sub load {
    my ($nginx, $name, $method, @requests) = @_;

    my $file = $nginx->file("$name.requests",
        join '', map { join("\n", @$_) . "\n" } @requests);
    return script($nginx, <<"LUA");
local requests, n = {}, 0
local file = io.open("$file")
local run = os.time() .. "-"
for path in file:lines() do
    local token, body = file:read("*l"), file:read("*l")
    requests[#requests + 1] = { path, token, body }
end
request = function()
    n = n + 1
    local it = requests[n % #requests + 1]
    local body = it[3]:gsub("\@", run .. n)
    return wrk.format("$method", it[1], { Host = "localhost",
        Authorization = it[2] ~= "" and "Bearer " .. it[2] or nil,
        ["Content-Type"] = body ~= "" and "application/json" or nil }, body)
end
LUA
}


1;
