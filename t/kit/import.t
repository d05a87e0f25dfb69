# "guildlog import discord reads a server's audit log back as far as the platform
# gives, idempotent, resumable, within the platform's limits; NDJSON and CSV exports of
# guildlog itself come back in the same way." import.js has the audit log.

use utf8;
use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Program;
use YAML::XS ();

my $nginx = Guildlog->new(api => 'guildlog_limit off;');

delete @ENV{grep { /^(?:GUILDLOG_(?!TEST|BUILD)|PG)/ } keys %ENV};
$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/import';
$ENV{COMMAND}  = "$Guildlog::TOP/util/guildlog";
$ENV{GUILDLOG_OPERATOR} = "unix:$nginx->{operator}:/";
mkdir $ENV{DIR} or die $!;

Guildlog::Program->obey('t/kit/import.js',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },
);

# one entry of each type, as the operator's OpenAPI document has them, and some that
# are hard to write

my $examples = YAML::XS::LoadFile("$Guildlog::TOP/conf/openapi-operator.yaml")
    ->{paths}{'/servers/{guild_id}/logs'}{post}{requestBody}{content}
    {'application/json'}{examples};
my @entries = (
    (map { $_->{value}[0] } @$examples{sort keys %$examples}),
    { event_id => 'a', type => 5, content => "=1+1, \"so\"\r\nsaid\n\nAnn",
      target => { id => '7', name => "\x{d6}zg\x{fc}r, \"the\"" } },
    { event_id => 'b', type => 5, content => q('tis), reason => '-5' },
);
my $time = time * 1000 - 3_600_000;
$_->{timestamp} = $time += 1000 for @entries;

my ($from, @to) = map { $nginx->server(plan => 'pro') } 1 .. 4;
is_deeply $nginx->operator('POST', "/servers/$from/logs", \@entries)
    ->json->{errors}, [], 'entries of all types';

my $dir = $ENV{DIR};
my ($ndjson, $csv) = map { export($from, $_) } qw(ndjson csv);


# what the API exports, in a file
sub export {
    my ($server, $format) = @_;

    my $text = $nginx->get("/servers/$server/logs/export?format=$format",
        token => $nginx->token($server))->text;
    open my $out, '>:raw', "$dir/$server.$format" or die $!;
    print {$out} $text;
    close $out or die $!;
    return "$dir/$server.$format";
}


# entries but for what is of the place where they are, and those of the service
sub kept {
    my ($file) = @_;
    my @kept;
    for (split /\n/, slurp($file)) {
        my $entry = json->decode($_);
        delete @$entry{qw(id delivery)};
        push @kept, $entry if $entry->{timestamp} <= $time;
    }
    return \@kept;
}


sub import_of {
    my ($words) = @_;
    my $out = qx{"$ENV{COMMAND}" import $words 2> "$dir/errors"};
    return ($out, slurp("$dir/errors"), $? >> 8);
}


my ($out, $why, $status) = import_of("$to[0] $ndjson");
is "$status $why", '0 ', 'NDJSON comes back';
like $out, qr/^recorded \d+, duplicates 0$/, '... as a whole';
is_deeply kept(export($to[0], 'ndjson')), kept($ndjson),
    '... as it was, in its order';
($out) = import_of("$to[0] $ndjson");
like $out, qr/^recorded 0, duplicates \d+$/, '... nothing twice';

($out, $why, $status) = import_of("$to[1] $csv");
is $status, 0, 'CSV comes back';
like $why, qr/^guildlog: \d+ entries have changes/, '... what it lacks is told';
my @lacks = qw(messages messagesTruncated emoji until role_id image changes value);
my ($before, $after) = map { kept($_) } $ndjson, export($to[1], 'ndjson');
my ($changed) = grep { $before->[$_]{changes} && !defined $before->[$_]{value} }
    0 .. $#$before;
like $after->[$changed]{value}, qr/→/, '... changes are words';
for (@$before, @$after) {
    delete @$_{@lacks};
    $_->{channel} = undef if $_->{channel} && !defined $_->{channel}{id};
}
is_deeply $after, $before, '... the rest is as it was, in its order';

open my $bad, '>', "$dir/bad" or die $!;
print {$bad} qq({"id":"1","type":5,"timestamp":$time}\n{"id":"2","type":500}\n)
    . qq(no JSON\n{"id":"4","type":5,"timestamp":1000000000000}\n);
close $bad or die $!;
($out, $why, $status) = import_of("$to[2] $dir/bad");
is $status, 1, 'bad lines';
like $out, qr/^recorded 1,/, '... do not hold up others';
like $why, qr/^line 4: timestamp.*^line 3: .*^line 2: type/ms,
    '... and are told by their lines';
is +(import_of("$to[2] $ENV{COMMAND}"))[2], 2, 'a file that is no export';
is +(import_of("$to[2] $dir/none"))[2], 2, 'no file';

done_testing;
