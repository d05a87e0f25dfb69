# "Create a tag, delete a tag, list tags (array of rows, 404 when nothing
# stored)": names are lower-cased and unique, content or an image is needed, 25
# tags without the Pro plan.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $tags = "/servers/$server/tags";
my $list = "/servers/$server/config/tags";


sub create {
    my ($tag, %option) = @_;
    return $nginx->post($option{path} // $tags, %as, %option, json => $tag);
}


sub change {
    my ($id, $tag) = @_;
    return $nginx->patch("$tags/$id", %as, json => $tag);
}


sub names {
    my ($query) = @_;
    my $answer = $nginx->get($list . ($query // ''), %as);
    return $answer->status == 404 ? []
        : [map { $_->{tag_name} } @{ $answer->json }];
}


is $nginx->get($list, %as)->status, 404, 'there are no tags';

# create

my $id;
my $entry = one_change($nginx, $server, 74, 'creating', sub {
    my $answer = create({ tag_name => 'RULES Ä', content => 'Be kind.',
        color => 16777215, image => 'https://example.org/a.png' });
    is $answer->status, 201, 'a tag is created';
    $id = $answer->json->{tag_id};
});
is $entry->{name}, 'rules ä', 'the log entry names the tag';
is $entry->{contentAfter}, 'Be kind.', '... and has its content';
is_deeply $entry->{changes}, [changed(color => undef, 16777215),
    changed(image => undef, 'https://example.org/a.png')], '... and the rest';

is_deeply $nginx->get($list, %as)->json, [{
    id => $server, tag_id => $id, tag_name => 'rules ä',
    content => 'Be kind.', color => 16777215,
    image => 'https://example.org/a.png',
}], 'one row for a tag, its name in lower case';

my $bare = create({ tag_name => 'bare', content => 'x' })->json->{tag_id};
is_deeply [@{ $nginx->get($list, %as)->json->[0] }{qw(content color image)}],
    ['x', undef, undef], 'content alone is enough';
is create({ tag_name => 'image', image => 'http://example.org/' })->status,
    201, 'an image alone is enough';
is_deeply names(), ['bare', 'image', 'rules ä'], 'the list is sorted by name';

no_change($nginx, $server, 'bad tags', sub {
    my $answer = create({ tag_name => 'bAre', content => 'y' });
    is $answer->status, 409, 'a name that is in use';
    like $answer->json->{error}, qr/^tag_name: /, 'the error names the field';

    for my $empty ({}, { content => '' }, { content => undef, image => undef },
        { color => 1 })
    {
        $answer = create({ tag_name => 'empty', %$empty });
        is $answer->status, 400, 'content or an image is needed';
        like $answer->json->{error}, qr/^content: /,
            'the error names the field';
    }
    for my $url ('ftp://example.org/', 'https://', 'example.org', '//a/b',
        'javascript:alert(1)', 'http:///x', 'https://a b/', "https://a/\n",
        'https://a/' . 'b' x 246)
    {
        $answer = create({ tag_name => 'url', image => $url });
        is $answer->status, 400, "not a URL of an image: $url";
        like $answer->json->{error}, qr/^image: /, 'the error names the field';
    }
});
is create({ tag_name => 'long', image => 'https://a/' . 'b' x 245,
    content => "\x{1f600}" x 4095 })->status, 201,
        'values of the largest length';

# names that grow when they are lower-cased stay within the limit

no_change($nginx, $server, 'a name that grows', sub {
    is create({ tag_name => "\x{130}" x 31, content => 'x' })->status, 400,
        '31 letters that become 62';
});

# change

$entry = one_change($nginx, $server, 75, 'changing', sub {
    my $answer = change($id, { content => 'Be very kind.', color => undef });
    is $answer->status, 200, 'a tag is changed';
    is $answer->text, '{}', 'with an empty object';
});
is "$entry->{content} $entry->{contentAfter}", 'Be kind. Be very kind.',
    'the log entry has the text before and after';
is_deeply $entry->{changes}, [changed(color => 16777215, undef)],
    '... and what else changed';

my ($tag) = grep { $_->{tag_id} eq $id } @{ $nginx->get($list, %as)->json };
is_deeply $tag, { id => $server, tag_id => $id, tag_name => 'rules ä',
    content => 'Be very kind.', color => undef,
    image => 'https://example.org/a.png' }, 'absent fields keep their values';

no_change($nginx, $server, 'the same tag', sub {
    is change($id, { content => 'Be very kind.', tag_name => 'RULES Ä' })
        ->status, 200, 'the same again';
});
no_change($nginx, $server, 'bad changes', sub {
    is change($id, { tag_name => 'BARE' })->status, 409,
        'a name that is in use';
    is change($bare, { content => undef })->status, 400,
        'content or an image must remain';
    is change($bare, { content => '' })->status, 400,
        'empty content counts as none';
    is change($id, { content => 'x', color => -1 })->status, 400,
        'a good and a bad field';
    is change($id, {})->status, 400, 'a change of nothing';
    is change($id, { tag_id => '1' })->status, 400, 'another id';
    is change('12345', { content => 'x' })->status, 404, 'no such tag';
    is change('none', { content => 'x' })->status, 404, 'no such id';
});
($tag) = grep { $_->{tag_id} eq $id } @{ $nginx->get($list, %as)->json };
is $tag->{content}, 'Be very kind.', 'a refused request changes nothing';

one_change($nginx, $server, 75, 'renaming', sub {
    is change($bare, { tag_name => 'New Name' })->status, 200,
        'a tag gets a new name';
});
is create({ tag_name => 'bare', content => 'x' })->status, 201,
    'the old name is free';

# delete

my $other = $nginx->server;
my $others = $nginx->token($other);
is $nginx->delete("/servers/$other/tags/$id", token => $others)->status, 404,
    'a tag of another server is unknown';

$entry = one_change($nginx, $server, 73, 'deleting', sub {
    my $answer = $nginx->delete("$tags/$id", %as);
    is $answer->status, 200, 'a tag is deleted';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{name}, 'rules ä', 'the log entry names the tag';
is $entry->{content}, 'Be very kind.', '... and has its old content';
no_change($nginx, $server, 'deleting again', sub {
    is $nginx->delete("$tags/$id", %as)->status, 404,
        'a deleted tag is unknown';
});

# the other bot

is $nginx->get("$list?bot=pro", %as)->status, 404,
    'the Pro bot has its own tags';
my $pros;
one_change($nginx, $server, 74, 'the Pro bot', sub {
    $pros = create({ tag_name => 'bare', content => 'x' },
        path => "$tags?bot=pro")->json->{tag_id};
}, bot => 'pro');
ok $pros, 'it may use a name that the main bot uses';
is $nginx->delete("$tags/$pros", %as)->status, 404,
    'its tag is unknown to the main bot';
is $nginx->delete("$tags/$pros?bot=pro", %as)->status, 200,
    'it can delete its tag';

# 25 tags

for my $plan (qw(free pro_lite pro)) {
    my $it = $nginx->server(plan => $plan);
    my %its = (token => $nginx->token($it), path => "/servers/$it/tags");

    $nginx->sql('insert into tag select ?, 0, g::text, g::text, g::text'
        . ' from generate_series(1, 24) g', $it);
    is create({ tag_name => 'a', content => 'x' }, %its)->status, 201,
        "$plan: tag 25 is accepted";

    my $answer = create({ tag_name => 'b', content => 'x' }, %its);
    if ($plan eq 'pro') {
        is $answer->status, 201, 'Pro has room for more';
        next;
    }
    is $answer->status, 402, "$plan: tag 26";
    like $answer->json->{error}, qr/25 .*Pro/,
        'the error names the limit and the plan';
    is create({ tag_name => 'b', content => 'x' }, %its,
        path => "$its{path}?bot=pro")->status, 201,
        'the other bot has its own 25 tags';

    $nginx->sql("delete from tag where guild_id = ? and tag_name = 'a'", $it);
    my @answers = sort { $a <=> $b } at_once(4, sub {
        create({ tag_name => "at once $_[0]", content => 'x' }, %its)->status;
    }, $nginx => 'tag');
    is "@answers", '201 402 402 402', 'of four clients one gets the last place';
}

my @answers = sort { $a <=> $b } at_once(4, sub {
    create({ tag_name => 'the same', content => 'x' })->status;
}, $nginx => 'tag');
is "@answers", '201 409 409 409', 'of four clients one gets the name';

my ($same) = map { $_->{tag_id} } grep { $_->{tag_name} eq 'the same' }
    @{ $nginx->get($list, %as)->json };
@answers = sort { $a <=> $b } at_once(4, sub {
    $nginx->delete("$tags/$same", %as)->status;
}, $nginx => 'tag');
is "@answers", '200 404 404 404', 'of four clients one deletes the tag';

done_testing;
