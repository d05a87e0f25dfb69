package Guildlog::Bench::Record;

# entries in batches of 100 through the operator location, against
# the bare insert of such rows

use strict;
use warnings;
use utf8;

use Guildlog::Bench;


# every rule and the routing are on; the ceiling has the same rows made already
sub run {
    my $nginx = start(
        workers => 1,
        locations => 'location /op/ { guildlog_operator; }',
    );
    my $guild = $nginx->server;
    my $token = $nginx->token($guild);

    $nginx->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => '400000000000000001' });
    $nginx->post("/servers/$guild/config/logging/ignore/2", token => $token,
        json => { value => '900000000000000001' });

    my $lua = $nginx->file('record.lua', <<"LUA");
local n = 0
local batch = {}
local run = tostring(os.time()) .. tostring({}):sub(8)
request = function()
    for i = 1, 100 do
        n = n + 1
        batch[i] = string.format('{"event_id":"%s-%d","type":%d,'
            .. '"executor":{"id":"2000000000000%05d","name":"member %d"},'
            .. '"channel":{"id":"3000000000000000%02d","name":"general"},'
            .. '"content":"lorem ipsum dolor sit amet consetetur %d",'
            .. '"contentAfter":"lorem ipsum dolor sit amet sadipscing %d"}',
            run, n, 5 + n % 4, n % 997, n % 997, n % 20, n, n)
    end
    return wrk.format("POST", "/op/servers/$guild/logs",
        { ["Content-Type"] = "application/json" },
        "[" .. table.concat(batch, ",") .. "]")
end
LUA
    my $script = script($nginx, <<"SQL");
with e as materialized (
    select next_id(ms(clock_timestamp())) as id, n
      from generate_series(1, 100) n
), made as (
    insert into log_entry (guild_id, id, arrival, executor_id, channel_id,
                           bot, type, dchannel_id, doc)
    select 1, e.id, e.n, 200000000000000000 + e.n, 300000000000000000 + e.n % 20,
           0, 5 + e.n % 4, 400000000000000001, repeat('lorem ipsum ', 45)
      from e
)
insert into log_event (guild_id, arrival, entry_id, recorded_at, bot, event_id)
select 1, e.n, e.id, now(), 0, gen_random_uuid() from e;
SQL

    my (@ours, @theirs);
    for (1 .. option('rounds')) {
        push @ours, 100 * wrk($nginx, '/', undef, 2, $lua)->{rate};
        push @theirs, 100 * pgbench($nginx, $script, 2,
            'guildlog_owner', 'owner');
    }
    row('entries recorded / bare insert, 2 clients', \@ours, \@theirs);
    $nginx->stop;
}


1;
