# util/bench's table has a row for each figure with its ceiling, or with the
# cause where the figure failed; the other figures are measured all the same

use strict;
use warnings;
use utf8;

use Test::More;

use Guildlog::Command;
use Guildlog::Figures;

Guildlog::Figures::set_options(rounds => 3, seconds => 1, entries => 1000);


# runs code; returns what it prints; STDERR has the complete errors
sub table {
    my ($code) = @_;

    my ($out, $err) = ('', '');
    open my $to, '>:encoding(UTF-8)', \$out or die $!;
    local *STDERR;
    open STDERR, '>', \$err or die $!;
    my $before = select $to;
    my $done = eval { $code->(); 1 };
    my $why = $@;
    select $before;
    close $to;
    die $why if !$done;
    utf8::decode($out);
    return ($out, $err);
}


my @rounds = ([2000, 4000], [1_234_567, 1_000_000], [30, 40]);
my ($row) = table(sub {
    figures { shift @rounds } 'pages/s; the bare select';
});
is $row, "| pages/s; the bare select | 2,000 | 4,000 | 0.75 | 0.50 - 1.23 |\n",
    'medians over rounds, the median of ratios and how far they spread';

($row) = table(sub { once { [0.0412, 0.5], [12.34, 1] } 'one', 'other' });
is $row, "| one | 0.041 | 0.50 | 0.082 | once |\n"
    . "| other | 12.3 | 1.00 | 12.34 | once |\n", 'two rows of one round';

is Guildlog::Figures::failures(), 0, 'none of these figures failed';

($row, my $whole) = table(sub {
    figures { die "ERROR: canceled | timeout\nCONTEXT: here\n" } 'a', 'b';
    once { [1, 2] } 'c';
});
is $row, "| a | failed: ERROR: canceled \\| timeout | | | |\n"
    . "| b | failed: ERROR: canceled \\| timeout | | | |\n"
    . "| c | 1.00 | 2.00 | 0.50 | once |\n",
    'a failed figure has the cause in its rows, and the next one is measured';
like $whole, qr/CONTEXT: here/, 'STDERR has the complete error';

($row) = table(sub {
    once { attempt { die "nothing came\n" }, attempt { [3, 1] } } 'd', 'e';
});
is $row, "| d | failed: nothing came | | | |\n"
    . "| e | 3.00 | 1.00 | 3.00 | once |\n",
        'one figure of a round may fail alone';

($row) = table(sub { once { [0, 1], undef } 'f', 'g' });
is $row, "| f | failed: not measured | | | |\n"
    . "| g | failed: not measured | | | |\n",
        'a round without a value is a failed figure';

is Guildlog::Figures::failures(), 5, 'the number of failed figures';

my $next;
ok !eval {
    table(sub {
        once { eval { Guildlog::Figures::interrupt() }; [1, 1] } 'h';
        once { $next = 1; [1, 1] } 'i';
    });
}, 'an interruption ends the measuring';
is $@, "interrupted\n", '... also inside another handler';
ok !$next, '... nothing more is measured';

{
    local $SIG{INT} = \&Guildlog::Figures::interrupt;
    ok !eval { command('sh', '-c', 'trap "" INT; kill -INT $PPID') || 1 },
        'an interruption during a command ends the measuring';
    is $@, "interrupted\n", '... whatever the command does';
}
is command('sh', '-c', 'exit 3') >> 8, 3, 'the status of a command';

done_testing;
