package Guildlog::Bench::Record;

# entries in batches of 100 through the operator location, for many
# servers (the largest has --entries), against the bare insert of
# such rows

use strict;
use warnings;
use utf8;

use Guildlog::Bench;
use Guildlog::Zipf;

# prepared for the largest server
use constant BATCHES => 200;


# each of so many clients, of both sides, has a connection to PostgreSQL: two
# wait for one another where the same server is theirs, more use the machine
my @clients = (2, 8);


# every rule and the routing are on; the ceiling has the same rows made already
sub run {
    my $nginx = start(
        workers => 1,
        database => { connections => $clients[-1] },
        locations => 'location /op/ { guildlog_operator open; }',
    );
    my @guilds = Guildlog::Zipf::fill($nginx, $nginx->server,
        option('entries'));

    route($nginx, $_) for @guilds;

    my $lua    = load($nginx, 0, @guilds);
    my $script = ceiling($nginx, @guilds);

    figures {
        map { recorded($nginx, $lua, $script, $_) } @clients;
    } map {
        my $n = $_;
        map { "$_, $n clients" } (
            'recorded in batches of 100 with all rules, entries/s; a bare '
                . 'insert of such rows',
            'PostgreSQL CPU for an entry, µs; bare',
            "nginx CPU for an entry, µs; PostgreSQL's",
        );
    } @clients;
}


sub recorded {
    my ($nginx, $lua, $script, $clients) = @_;

    my @before = (cpu($nginx), postgres_cpu($nginx));
    my $run    = wrk($nginx, '/', lua => $lua, connections => $clients);
    my @us     = map { $_ / $run->{requests} * 1e4 }
        cpu($nginx) - $before[0], postgres_cpu($nginx) - $before[1];

    my $before = postgres_cpu($nginx);
    my $bare   = pgbench($nginx, $script, $clients, 'guildlog_owner', 'owner');
    my $us     = (postgres_cpu($nginx) - $before)
        / $bare->{transactions} * 1e4;

    return [100 * $run->{rate}, 100 * $bare->{rate}], [$us[1], $us], [@us];
}


sub route {
    my ($nginx, $guild) = @_;

    my $token = $nginx->token($guild);
    my %change = (
        'channels' => [patch => { main_channel => '400000000000000001' }],
        'ignore/2' => [post  => { value => '900000000000000001' }],
    );
    for my $path (sort keys %change) {
        my ($method, $json) = @{ $change{$path} };
        my $answer = $nginx->$method("/servers/$guild/config/logging/$path",
            token => $token, json => $json);
        die $answer->text if $answer->status !~ /^2/;
    }
}


# batches for the servers, as often as they are large; "@" in an event's id
# becomes a number of the run. Without a rate, in batches a second, they follow
# each other at once
sub load {
    my ($nginx, $rate, @guilds) = @_;

    my @paths = map { ("/op/servers/$guilds[$_ - 1]/logs")
        x (BATCHES / $_ ** 2) } 1 .. @guilds;
    my $batches = join '', map {
        "$_\n[" . Guildlog::Zipf::entries(100, '@') . "]\n"
    } @paths;
    my $file = $nginx->file('batches', $batches);
    my $pace = $rate ? <<"LUA" : '';
local ffi = require("ffi")
ffi.cdef[[
    typedef struct { long s, ns; } timespec;
    int clock_gettime(int clock, timespec *now);
]]
local time, start = ffi.new("timespec")
delay = function()
    ffi.C.clock_gettime(1, time)
    local now = tonumber(time.s) * 1e3 + tonumber(time.ns) / 1e6
    start = start or now
    return math.max(0, start + n * 1e3 / $rate - now)
end
LUA

    return $nginx->file('record.lua', <<"LUA");
local paths, batches, n = {}, {}, 0
local run = tostring(os.time()) .. tostring({}):sub(8) .. "."
for line in io.lines("$file") do
    if line:sub(1, 1) == "/" then
        paths[#paths + 1] = line
    else
        local parts, from = {}, 1
        for at in line:gmatch("()@") do
            parts[#parts + 1] = line:sub(from, at - 1)
            from = at + 1
        end
        parts[#parts + 1] = line:sub(from)
        batches[#batches + 1] = parts
    end
end
local headers = { ["Content-Type"] = "application/json" }
request = function()
    n = n + 1
    local i = n * 7919 % #paths + 1
    return wrk.format("POST", paths[i], headers,
        table.concat(batches[i], run .. n))
end
$pace
LUA
}


# rows as long as ours
sub ceiling {
    my ($nginx, @guilds) = @_;

    my $length = $nginx->sql('select avg(length(doc))::int from entries '
        . 'where guild_id = ?', $guilds[0]);

    return script($nginx, <<"SQL");
\\set guild random_zipfian(1, 100, 2)
with e as materialized (
    select next_id(ms(clock_timestamp())) as id, n
      from generate_series(1, 100) n
)
insert into log_arrival (guild_id, arrival, recorded_at, id, dchannel_id, bot,
                         type, event_id, doc)
select :guild, e.id, now(), e.id, 400000000000000001, 0, 5 + e.n % 4,
       gen_random_uuid(), left(repeat('lorem ipsum ', 400), $length)
  from e;
SQL
}


1;
