# Where there is an "error" there is a "code", which does not change: people's
# words in all languages are made of it.  One table has all of them; each
# sentence that C or SQL refuses with is in it, and no word has left it.

use lib 't/lib';
use Guildlog;
use Guildlog::File;

my %row;          # sentences as patterns, by code
my $table = slurp('src/api/ngx_guildlog_refusal.c');
while ($table =~ /^    \{ "(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}/mg) {
    my ($code, $text) = ($1, $2);
    my $says = join '', $text =~ /"((?:[^"\\]|\\.)*)"/g;
    $says = quotemeta($says =~ s/\\(.)/$1/gr) =~ s/\\[<>#]/-?\\d+/gr
        =~ s/\\\*/[^:]*/gr;
    push @{ $row{$says} }, $code;
}

# released: a client may know them
my @released = qw(
    required unknown_field nothing_set given_twice one_value wrong_type
    out_of_range too_large wrong_media_type
    wrong_length wrong_count not_an_id not_a_url not_a_hash not_a_time
    not_a_cursor unknown_value has_nul not_utf8 not_decoded malformed not_json
    too_deep entry_too_large entry_too_old cannot_be_off taken text_or_image
    unknown_channel unknown_role role_of_everybody needs_plan needs_admin
    tags_need_plan too_many_tags alerts_need_plan too_many_alerts
    too_many_ignored too_many_people too_many_tokens too_many_active_ignores
    too_many_channels not_automatic not_replayed may_duplicate unknown_server
    unknown_lane forgotten too_many_streams too_many_exports too_soon busy
    send_again interrupted database_away platform_away no_partition
    no_signing_key failed refused
);
is_deeply [grep { $table !~ /\{ "$_",/ } @released], [], 'no code has gone';
is_deeply [grep { @{ $row{$_} } > 1 } sort keys %row], [],
    'one sentence has one code';


# what a refusal says, from the source; what is put together there is a word

my @said;
for my $file (glob 'sql/functions/*/*.sql') {
    my $text = slurp($file);
    while ($text =~ /refuse\(\d+,\s*((?:[^()']|'(?:[^']|'')*')+)\)/g) {
        my $whole = $1 =~ s/'\s*\n\s*'//gr;
        $whole =~ s/(?<=')\s*\|\|\s*\w+\s*\|\|\s*(?=')//;
        my @parts = $whole =~ /'((?:[^']|'')+)'/g;
        $whole =~ /^case/ ? push @said, map { [$file, $_] } @parts
            : push @said, [$file, join '', @parts] if @parts;
    }
}
for my $file (glob 'src/*/*.c') {
    my $text = slurp($file) =~ s/ngx_value\(\w+\)/"7"/gr;
    while ($text =~ /
            (?: value_refuse\(\&?\w+, | ngx_str_set\(\&?(?:\w+->)?error, )
            \s*((?:[^";]|"(?:[^"\\]|\\.)*")*?)\)\s*[;:]/xg)
    {
        my $says = $1 =~ s/"\s*"//gr;
        push @said, map { [$file, $_] } $says =~ /"((?:[^"\\]|\\.){3,})"/g;
    }
}
cmp_ok scalar @said, '>', 60, 'sentences are found';
# what one value alone may be has a row for all that is left
ok delete $row{'must\ be\ [^:]*'}, 'there is one for that';

# what deliverers tell each other is answered to no client
my $among = qr/^(?:another one |this lane went on)/;
is_deeply [grep {
        my $says = $_->[1] =~ s/\\(.)/$1/gr =~ s/%(?:L|d|ui)/7/gr
            =~ s/%shttps/http or https/r =~ s/%\w/a/gr;
        my @tails = ($says, $says =~ /: (.*)/ ? $1 : ());
        !grep { my $it = $_; grep { $it =~ /\A$_\z/ } keys %row } @tails;
    } grep { $_->[1] !~ $among && $_->[1] !~ /^(?:one of |http or |must be %s|%s)/ } @said], [], '... and each has its row';


# what a client gets

my $nginx = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my $token = $nginx->token($server);
my $at = "/servers/$server";

for (
    ['the bounds', { tag_name => 'a', content => 'a', color => -1 },
     { code => 'out_of_range', field => 'color', min => 0, max => 16777215 }],
    ['the length', { tag_name => 'a', content => 'a' x 4096 },
     { code => 'wrong_length', field => 'content', max => 4095 }],
    ['no bounds', { tag_name => 'a' }, { code => 'text_or_image', field => 'content' }],
    ['a name that reads as a refusal', { 'tag_name: is taken' => 1 },
     { code => 'unknown_field', field => 'tag_name: is taken' }],
    ['a name with a colon at its end', { 'must be a: ' => 1 },
     { code => 'unknown_field', field => 'must be a: ' }],
) {
    my ($what, $body, $expected) = @$_;
    my $got = $nginx->post("$at/tags", token => $token, json => $body)->json;
    delete $got->{error};
    is_deeply $got, $expected, $what;
}

done_testing;
