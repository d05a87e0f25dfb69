# util/bench's table has a row for each figure with its ceiling, or with the
# cause where the figure failed; the other figures are measured all the same

use strict;
use warnings;
use utf8;

use File::Temp;
use Test::More;

use Guildlog::Bench;
use Guildlog::Bench::Delivery;
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

# a smoke asks whether something runs, and no clock
{
    Guildlog::Figures::set_options(rounds => 1, seconds => 0.01, smoke => 1);
    ($row) = table(sub { once { [0, 1], [2, 0], [-1, 3] } 'j', 'k', 'l' });
    unlike $row, qr/failed/, 'in a smoke no figure is too small';
    ($row) = table(sub { once { [undef, 1] } 'm' });
    like $row, qr/not measured/, 'but it has to be there';

    my $dir = File::Temp->newdir;
    local $ENV{PATH} = "$dir:$ENV{PATH}";
    open my $wrk, '>', "$dir/wrk" or die "$dir/wrk: $!\n";
    print {$wrk} <<"SH";
#!/bin/sh
mkdir $dir/began 2> /dev/null && exec sleep 60
echo '  99%    2.00ms'
echo '  50%    1.00ms'
echo '  7 requests in 1.00s, 1.00KB read'
echo 'Requests/sec:     7.00'
SH
    close $wrk;
    chmod 0755, "$dir/wrk";
    is wrk(undef, '/', port => 1)->{requests}, 7,
        'a load that ended before it began begins again';

    my @asked;
    my $late = bless {}, 'Late';
    sub Late::request { push @asked, $_[2]; return $late }
    sub Late::status { 200 }
    is Guildlog::Bench::Delivery::requests({ path => '/', token => '',
        connections => [($late) x 8] }, -1), 1,
        'who comes too late asks once all the same';
}

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
