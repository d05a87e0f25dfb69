# "guildlog/discord: attach(client, guildlog) and logs appear": discord.js, as npm has
# it, sees a stand-in of the platform. discord.js in this folder plays both and says what
# has to come. Connections end, guildlog is away: each marker is recorded once, those
# of a server in their order.

use lib 't/lib';
use Guildlog;
use Guildlog::Program;

my $nginx = Guildlog->new(api => 'guildlog_limit off;');

$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/spools';

my @lines = Guildlog::Program->obey('t/kit/discord.js',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },
);
my ($markers) = map { /^# markers: (\d+)/ } @lines;
my ($stored, $different, $wrong) = @{ ($nginx->sql(q{
    select count(*), count(distinct marker), count(*) filter (where ahead)
      from (select marker, marker < max(marker) over (partition by guild_id
                    order by arrival rows between unbounded preceding
                        and 1 preceding) as ahead
              from (select guild_id, arrival,
                           substring(doc from '"m(\d+)"')::int as marker
                      from log_entry) m
             where marker is not null) m
}))[0] };
is $stored, $markers, 'all markers are recorded';
is $different, $markers, '... none twice';
is $wrong, 0, '... those of a server in their order';

done_testing;
