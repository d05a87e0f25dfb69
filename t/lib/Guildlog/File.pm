package Guildlog::File;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(slurp);


# the bytes of a file, none where it cannot be read
sub slurp {
    my ($path) = @_;

    open my $in, '<:raw', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}


1;
