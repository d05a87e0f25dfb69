package Guildlog::Index;

# The index of searches, made by nginx as far as a test wants it and no further.
# The keeper has to be on, with a short interval.  Its tasks do not run: the test
# does what they would do, so nothing happens that it does not know of.

use strict;
use warnings;

use Exporter 'import';

use Guildlog ();

our @EXPORT = qw(index_hold index_begin index_some index_all);


# nothing is indexed any more, unless a test asks for it
sub index_hold {
    my ($nginx) = @_;

    # no task is ever due
    $nginx->sql('create or replace function keeper_next() returns text
        language sql as $$ select null::text $$');

    # so much of each server may be put
    $nginx->sql(
        'create table index_left (guild bigint primary key, n int not null)');
    $nginx->distribute(index_left => 'guild');
    $nginx->sql(<<~'SQL');
        create function index_held() returns trigger language plpgsql as $$
        begin
            update index_left l set n = l.n - 1
             where l.guild = new.guild_id and old.taken_to is not null
               and old.taken_to < 'infinity' and new.taken_to is null;
            if new.taken_to is null
               and not exists (select from index_left l
                                where l.guild = new.guild_id and l.n > 0)
            then
                new.taken_to := 'infinity';
            end if;
            return new;
        end $$
        SQL
    $nginx->sql('create trigger index_held before insert or update
        on search_head for each row execute function index_held()');
}


# an index of both bots, of which nothing is made as yet
sub index_begin {
    my ($nginx, $guild) = @_;

    for my $bot (0, 1) {
        $nginx->sql('insert into search_head (guild_id, bot) values (?, ?)
            on conflict do nothing', $guild, $bot);
        $nginx->sql('select search_begin(?, ?::smallint)', $guild, $bot);
    }
}


# lets so many pieces of the index be put; all that can be said of now is put in
# it at last, also if it is little, and days that are over are made whole
sub index_some {
    my ($nginx, $guild, $n) = @_;

    $nginx->sql('insert into index_left values (?, ?)
        on conflict (guild) do update set n = excluded.n', $guild, $n);
    $nginx->sql('update search_head set taken_to = null, closed = 0,
        due_at = now() where guild_id = ?', $guild);
    Guildlog::wait_for(sub {
        !$nginx->sql("select count(*) from search_head where guild_id = ?
            and (taken_to is null and due_at <= now() + interval '1 s'
                or taken_to < 'infinity')", $guild);
    }, 600, 'the index is made');
    $nginx->sql('delete from index_left where guild = ?', $guild);
    $nginx->sql("update search_head set taken_to = 'infinity'
        where guild_id = ?", $guild);
}


sub index_all {
    my ($nginx, $guild) = @_;
    return index_some($nginx, $guild, 1_000_000);
}


1;
