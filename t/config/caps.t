# What a server may store is bounded for each bot (402): 1,000 tags with Pro,
# 200 rows of access, 1,000 requests of active ignore at a time.  Rows beyond a
# bound can still be read and deleted.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $base = "/servers/$server";


sub refused {
    my ($answer, $error, $why) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is $answer->status, 402, "$why: refused";
    like $answer->json->{error}, $error, 'the error names the bound';
}


# tags

sub tag {
    my ($name, $query) = @_;
    return $nginx->post("$base/tags" . ($query // ''), %as,
        json => { tag_name => $name, content => 'x' });
}

sub tags { scalar @{ $nginx->get("$base/config/tags", %as)->json } }

$nginx->sql('insert into tag select ?, 0, g::text, g::text, g::text'
    . ' from generate_series(1, 999) g', $server);
is tag('last')->status, 201, 'tag 1,000 is accepted';
refused(tag('more'), qr/1,000 tags/, 'tag 1,001');
is tag('more', '?bot=pro')->status, 201, 'the other bot has its own tags';
is tags(), 1000, 'all tags are read';

$nginx->sql('insert into tag select ?, 0, g::text, g::text, g::text'
    . ' from generate_series(1001, 1100) g', $server);
is tags(), 1100, 'rows beyond the bound are read, too';
is $nginx->patch("$base/tags/1100", %as, json => { content => 'y' })->status,
    200, 'they can be changed';
is $nginx->delete("$base/tags/1100", %as)->status, 200, 'and deleted';
refused(tag('more'), qr/1,000 tags/, 'still too many tags');
$nginx->sql("delete from tag where guild_id = ? and bot = 0
    and tag_id in (select tag_id from tag where guild_id = ? and bot = 0
                    limit 101)", $server, $server);
my @answers = sort { $a <=> $b } at_once(4, sub {
    tag("at once $_[0]")->status;
}, $nginx => 'tag');
is "@answers", '201 201 402 402', 'of four clients two get the last two places';

# access

sub access {
    my ($user, $level, $query) = @_;
    return $nginx->put("$base/config/access/$user" . ($query // ''), %as,
        json => { level => $level });
}

$nginx->sql(q(insert into access select ?, 0, g, 'view'
    from generate_series(1, 199) g), $server);
is access(200, 'view')->status, 202, 'row 200 is accepted';
refused(access(201, 'view'), qr/200 users/, 'row 201');
is access(200, 'manage')->status, 202, 'an existing row can be changed';
is access(201, 'view', '?bot=pro')->status, 202,
    'the other bot has its own rows';
$nginx->sql(q(insert into access select ?, 0, g, 'view'
    from generate_series(201, 250) g), $server);
is scalar @{ $nginx->get("$base/config/access", %as)->json }, 250,
    'rows beyond the bound are read';
is $nginx->delete("$base/config/access/250", %as)->status, 202,
    'they can be deleted';
$nginx->sql('delete from access where guild_id = ? and bot = 0
    and user_id > 198', $server);
@answers = sort { $a <=> $b } at_once(4, sub {
    access(300 + $_[0], 'view')->status;
}, $nginx => 'access');
is "@answers", '202 202 402 402', 'of four clients two get the last two places';

# active ignore

sub ignoring {
    my ($id, $query) = @_;
    return $nginx->post("$base/active/ignore/executors" . ($query // ''), %as,
        json => { id => "$id", time => 300 });
}

# stores that many requests, which began at that time and run for so many s
sub requests {
    my ($from, $to, $began, $time, $remaining) = @_;

    $nginx->sql(q(insert into active_ignore
        select ?, 0, g, 'executor', g::text, null, null, ?,
               now() - ? * interval '1 s', now() + ? * interval '1 s'
          from generate_series(?::int, ?::int) g),
        $server, $remaining // 1, $began, $time - $began, $from, $to);
}

requests(1, 999, 1, 300);
is ignoring(1000)->status, 200, 'request 1,000 is accepted';
refused(ignoring(1001), qr/1,000 requests/, 'request 1,001');
is ignoring(1001, '?bot=pro')->status, 200,
    'the other bot has its own requests';
is $nginx->sql('select count(*) from active_ignore where guild_id = ?
    and bot = 0', $server), 1000, 'a refused request is not stored';

$nginx->sql(q(update active_ignore set expires_at = now() - interval '1 ms'
    where guild_id = ? and request_id = 1), $server);
is ignoring(1001)->status, 200, 'an expired request makes room for one';
$nginx->sql('update active_ignore set remaining = 0
    where guild_id = ? and request_id = 2', $server);
is ignoring(1002)->status, 200, 'a used-up request makes room for one';
refused(ignoring(1003), qr/1,000 requests/, 'there is room for no more');

$nginx->sql(q(update active_ignore set expires_at = now() - interval '1 ms'
    where guild_id = ? and bot = 0), $server);
requests(2001, 2998, 1, 300);
is $nginx->sql('select count(*) from active_ignore where guild_id = ?
    and bot = 0', $server), 1998, 'expired requests are stored';
@answers = sort { $a <=> $b } at_once(4, sub {
    ignoring(3000 + $_[0])->status;
}, $nginx => 'active_ignore');
is "@answers", '200 200 402 402', 'of four clients two get the last two places';
is $nginx->sql('select count(*) from active_ignore where guild_id = ?
    and bot = 0', $server), 1000, '... expired requests are deleted';

done_testing;
