# GET /log-types: what the log types are, for whoever has a valid token. The files
# that know of them say what conf/viewer/log-types.tsv says.

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my $admin  = $nginx->token($server);

my $answer = $nginx->get('/log-types', token => $admin);
is $answer->status, 200, 'any token gets the log types';
my $types = $answer->json;

open my $table, '<', "$Guildlog::TOP/conf/viewer/log-types.tsv" or die $!;
my (undef, @rows) = map { chomp; [split /\t/] } <$table>;
is_deeply [map { [@$_{qw(id key category title)}] } @$types],
    [map { [@$_[0 .. 2, 6]] } @rows], 'all of them, as the table has them';

my @lost;
for my $type (@$types) {
    my %field = map { $_->{name} => 1 } @{ $type->{fields} };
    push @lost, "$type->{key} $_"
        for grep { !$field{$_} } $type->{sentence} =~ /\{(\w+)\}/g;
}
is "@lost", '', 'each place of a sentence is a field';
is $types->[25]{sentence}, '{executor} changed the nickname of {target}',
    'a sentence has all places that it may have';
is $types->[5]{pattern}, '{executor} deleted a message[ by {target}]'
    . '[ in {channel}] | A message[ by {target}] was deleted[ in {channel}]',
    'and the pattern says what to say without them';
is $types->[5]{sentence}, '{executor} deleted a message by {target} in {channel}',
    'the sentence has no brackets';
is_deeply $types->[25]{source}, [
    { from => 'gateway', name => 'GUILD_MEMBER_UPDATE', when => 'nick' },
    { from => 'audit', name => 'MEMBER_UPDATE', code => 24, when => 'nick' }],
    'a source';

my $etag = $answer->header('ETag');
like $etag, qr/^"[0-9a-f]{8}"$/, 'it has an ETag';
like $answer->header('Cache-Control'), qr/no-cache/, 'and may be kept';
for my $known ($etag, "W/$etag", "\"x\", $etag", '*') {
    my $again = $nginx->get('/log-types', token => $admin,
        headers => ['If-None-Match' => $known]);
    is $again->status, 304, "$known is known";
    is $again->text, '', 'so nothing is sent';
    is $again->header('ETag'), $etag, 'but the ETag';
}
is $nginx->get('/log-types', token => $admin,
    headers => ['If-None-Match' => '"x"'])->status, 200, 'another is not';

is $nginx->get('/log-types', token => $nginx->token($server, kind => 'basic'))
    ->status, 200, 'a Basic token will do';
is $nginx->get('/log-types')->status, 401, 'no token will not';
my $gone = $nginx->new_token($server);
$nginx->delete("/servers/$server/auth?tokenId=$gone->{unique_id}",
    token => $admin);
is $nginx->get('/log-types', token => $gone->{token},
    headers => ['If-None-Match' => $etag])->status, 401,
    'nor one that was revoked';
my $post = $nginx->post('/log-types', token => $admin, body => '{}');
is $post->status, 405, 'it is read';
is $post->header('Allow'), 'GET, HEAD', 'and nothing else';

is system("$Guildlog::TOP/util/types --check") >> 8, 0,
    'no file says anything else of the log types';

done_testing;
