package Guildlog::Stream;

# A listener of GET /logs/stream.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Time::HiRes qw(time);

my $json = Cpanel::JSON::XS->new->utf8;


# Guildlog::Stream->new($nginx, $server, $token, $query, header…): status and
# header of the answer are known then
sub new {
    my ($class, $nginx, $server, $token, $query, @headers) = @_;

    my $connection = $nginx->connection;
    $connection->send(join "\r\n",
        "GET /api/servers/$server/logs/stream?$query HTTP/1.1", 'Host: x',
        "Authorization: Bearer $token", @headers, '', '');
    my $self = bless { connection => $connection, buffer => '', body => '',
        events => [] }, $class;
    ($self->{status}) = $connection->line(30) =~ / (\d+)/;
    while (length(my $line = $connection->line(30))) {
        my ($name, $value) = split /: /, $line, 2;
        $self->{header}{lc $name} = $value;
    }
    return $self;
}


# lines of the body, as far as they have come
sub lines {
    my ($self, $seconds) = @_;

    $self->{buffer} .= $self->{connection}->some($seconds) // '';
    my @lines;

    # chunks: size, bytes
    while ($self->{buffer} =~ /^([0-9a-f]+)\r\n/) {
        my ($head, $size) = (length $&, hex $1);
        last if length $self->{buffer} < $head + $size + 2;
        $self->{ended} = 1 if !$size;
        $self->{body} .= substr $self->{buffer}, $head, $size;
        substr $self->{buffer}, 0, $head + $size + 2, '';
    }
    push @lines, $1 while $self->{body} =~ s/^(.*)\n//;
    return @lines;
}


# so many events, or those that come within so many seconds: [id, data, type];
# entries have no type
sub events {
    my ($self, $n, $seconds) = @_;

    my $deadline = time + ($seconds || 60);
    while (@{ $self->{events} } < $n && time < $deadline) {
        for ($self->lines(0.1)) {
            $self->{type} = $1 if /^event: (.*)$/;
            $self->{id} = $1 if /^id: (\d+)$/;
            push @{ $self->{events} }, [$self->{id}, $json->decode($1),
                delete $self->{type}] if /^data: (.*)$/;
        }
        last if $self->{ended};
    }
    return splice @{ $self->{events} }, 0, $n;
}


sub contents {
    my $self = shift;
    return join ' ', map { $_->[1]{content} } $self->events(@_);
}


sub close { $_[0]{connection}->close }


1;
