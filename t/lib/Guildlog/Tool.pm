package Guildlog::Tool;

# util/guildlog, as somebody types it, against an nginx of the test.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use Test::More;

use Guildlog;
use Guildlog::File;

our @EXPORT = qw($tool tool_for guildlog does decoded);
our $tool = "$Guildlog::TOP/util/guildlog";

my ($nginx, $errors);


# the command speaks to this nginx, and to nothing else
sub tool_for {
    ($nginx) = @_;

    my $cluster = $nginx->cluster;
    delete @ENV{grep { /^(?:GUILDLOG_(?!TEST|BUILD)|PG)/ } keys %ENV};
    $ENV{GUILDLOG_OPERATOR} = "unix:$nginx->{operator}:/";
    $ENV{GUILDLOG_URL} = $nginx->url . '/api';
    $ENV{GUILDLOG_DB} = 'host=' . $cluster->socket_dir . ' port='
        . $cluster->port . ' user=guildlog_owner password=owner dbname='
        . $nginx->dbname;
    $ENV{TZ} = 'UTC';
    $errors = $nginx->file('errors', '');
}


# what the command prints; what it complains of; its status
sub guildlog {
    my ($words, $stdin) = @_;

    my $in = $nginx->file('stdin', $stdin // '');
    my $out = qx{"$tool" $words < "$in" 2> "$errors"};
    my $status = $? >> 8;
    utf8::decode($out);
    return ($out, slurp($errors), $status);
}


# it does what it should: what it prints
sub does {
    my ($words, $stdin) = @_;

    my ($out, $complaints, $status) = guildlog($words, $stdin);
    is "$status $complaints", '0 ', "guildlog $words" or diag $out;
    return $out;
}


sub decoded {
    my ($text) = @_;
    utf8::encode($text);
    return json->decode($text);
}


1;
