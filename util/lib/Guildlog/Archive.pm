package Guildlog::Archive;

# Entries in files of a folder, a line each and a file a day (UTC), by who goes on
# where it was after any end.  ".last" has the id of the last entry.  A line is on
# disk before its id is there: so what the next one gets twice is at most the last
# line of a file, which it knows.

use strict;
use warnings;
use utf8;

use Fcntl qw(:DEFAULT :flock SEEK_SET);
use IO::Handle;
use JSON::PP ();
use POSIX qw(strftime);

use Guildlog::Show;

my $its_id = qr/^\{"id":"(\d+)"/;


sub new {
    my ($class, $folder) = @_;

    -d $folder or mkdir $folder, 0750 or fail(4, "$folder: $!");
    my $self = bless { folder => $folder, known => {} }, $class;

    sysopen my $lock, "$folder/.lock", O_RDWR | O_CREAT, 0640
        or fail(4, "$folder/.lock: $!");
    flock $lock, LOCK_EX | LOCK_NB
        or fail(4, "$folder: another guildlog writes there");
    $self->{lock} = $lock;

    if (open my $in, '<', "$folder/.last") {
        ($self->{last}) = (readline($in) // '') =~ /^(\d+)$/;
    }
    $self->_look($_) for glob "\Q$folder\E/*.ndjson";
    return $self;
}


# the id behind which it goes on; undef: nothing was written yet
sub last_id { return $_[0]{last} }


# a line that was cut off goes; of the others the last one is known
sub _look {
    my ($self, $file) = @_;

    open my $in, '+<', $file or fail(4, "$file: $!");
    my $size = -s $in;
    my ($whole, $line) = (0, '');
    seek $in, $size > 1 << 18 ? $size - (1 << 18) : 0, SEEK_SET;
    while (defined(my $next = readline $in)) {
        last if $next !~ /\n\z/;
        ($whole, $line) = (tell $in, $next);
    }
    truncate $in, $whole or fail(4, "$file: $!");
    $self->{known}{$1} = 1 if $line =~ $its_id;
}


# What was written of this time and later is known: it is going to be read again.

sub know_since {
    my ($self, $ms) = @_;

    my $first = name_of($ms);
    for my $file (glob "\Q$self->{folder}\E/*.ndjson") {
        next if $file !~ m{([^/]+)$} || $1 lt $first;
        open my $in, '<', $file or fail(4, "$file: $!");
        while (my $line = readline $in) {
            $self->{known}{$1} = 1 if $line =~ $its_id;
        }
    }
}


sub put {
    my ($self, $entry) = @_;

    my $name = name_of($entry->{timestamp});
    # the id comes first, where it is found again
    my %other = %$entry;
    my $line = "{\"id\":\"" . delete($other{id}) . '",'
        . substr JSON::PP->new->canonical->utf8->encode(\%other), 1;

    if (!$self->{known}{ $entry->{id} }) {
        if (($self->{name} // '') ne $name) {
            open $self->{out}, '>>:raw', "$self->{folder}/$name"
                or fail(4, "$self->{folder}/$name: $!");
            $self->{name} = $name;
        }
        syswrite($self->{out}, "$line\n") == 1 + length $line
            && $self->{out}->sync or fail(4, "$self->{folder}/$name: $!");
    }
    $self->go_on_behind($entry->{id});
}


sub name_of {
    my ($ms) = @_;
    return strftime('%Y-%m-%d.ndjson', gmtime $ms / 1000);
}


sub go_on_behind {
    my ($self, $id) = @_;

    my $file = "$self->{folder}/.last";
    open my $out, '>', "$file.new" or fail(4, "$file.new: $!");
    print {$out} "$id\n";
    $out->flush && $out->sync && close $out && rename "$file.new", $file
        or fail(4, "$file: $!");
    $self->{last} = $id;
}


1;
