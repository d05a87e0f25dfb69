package Guildlog::PairClock;

# The time of pairs, in the hands of a test: what waits for its partner waits until
# pass() says that this time has come, whatever the clock says. So packets of
# minutes ago are decided as if each had come when it happened.
#
# new($nginx)      from here on
# pass($ms)        it is that late: waits until all that was due has ended, but for
#                  what an audit entry has come for that decides later
# pass()           all time is over

use strict;
use warnings;

use Guildlog ();

my $FAR = 1_000_000_000_000;    # ms: the clock is that far behind
my $END = 8_000_000_000_000;


sub new {
    my ($class, $nginx) = @_;

    $nginx->sql(<<"SQL");
create function pair_clock_waits() returns trigger language plpgsql as \$\$
begin
    if new.state = 0 then
        new.due := greatest(
            case when new.kind = 0 then 0 else new.at + $FAR + case
                when new.audit then 500 when new.kind = 5 then 5000
                else 1500 end end,
            (select max(p.due) from guildlog.pair p
              where p.guild_id = new.guild_id and p.state = 0
                and p.person_id = new.person_id));
    end if;
    return new;
end \$\$;

create trigger pair_clock_waits before insert on pair
   for each row execute function pair_clock_waits();
SQL
    return bless { nginx => $nginx }, $class;
}


sub pass {
    my ($self, $ms) = @_;

    my $nginx = $self->{nginx};
    $ms //= $END;
    $nginx->sql('update pair set due = 1 where state = 0 and due <= ?',
        $ms == $END ? $FAR + $END : $ms + $FAR);
    Guildlog::wait_for(sub {
        !$nginx->sql('select count(*) from pair p where p.state = 0 and p.due = 1
            and not exists (select from pair a
                             where a.guild_id = p.guild_id and a.kind = p.kind
                               and a.audit and a.state = 0 and a.due > 1)')
    }, 300, 'what is due has ended');
    return;
}


1;
