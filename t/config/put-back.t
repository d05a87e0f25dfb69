# "A service entry of a changed setting carries old and new of each field in
# changes, so that it can be put back by one request": each kind of setting is
# changed, its entry is read, and what that says was there is put back.

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my %as     = (token => $nginx->token($server));
my $at     = "/servers/$server";
my ($true, $false) = (JSON::PP::true, JSON::PP::false);


sub change {
    my ($method, $path, $body) = @_;

    my $answer = $nginx->request($method, "$at$path", %as,
        $body ? (json => $body) : ());
    like $answer->status, qr/^20[012]$/, "$method $path"
        or diag $answer->text;
    return $answer->json;
}


sub configuration {
    return { map { $_ => $nginx->get("$at/$_", %as)->json } qw(config filters) };
}


sub entry {
    return $nginx->get("$at/logs?category=categoryService&limit=1", %as)
        ->json->{entries}[0];
}


# the fields of the entry's changes, as they were
sub old {
    my ($entry) = @_;
    return { map { $_->{key} => $_->{old} } @{ $entry->{changes} } };
}


sub is_put_back {
    my ($what, $change, $back) = @_;

    my $was = configuration();
    $change->();
    my $entry = entry();
    ok json->encode(configuration()) ne json->encode($was),
        "$what: the configuration is another one";
    $back->($entry, old($entry));
    is_deeply configuration(), $was, "$what: ... and is what it was again";
}


sub patched {
    my ($path, @bodies) = @_;

    is_put_back("$path: " . join(' ', sort keys %$_), sub {
        change('PATCH', $path, $_);
    }, sub {
        my ($entry, $old) = @_;
        $old->{log_types} = [map { $_ + 0 } @{ $old->{log_types} }]
            if $old->{log_types};
        change('PATCH', $path, $old);
    }) for @bodies;
}


# as it is first

change('PATCH', '/config/logging/channels', { main_channel => '31',
    category_text => '32', category_voice => '0' });
change('PATCH', '/config/logging/settings', { spoilers => $true,
    format_type => 2, buttons => ['userID'] });
change('PATCH', '/config/logging/settings/5', { color => 7, enabled => $false,
    log_channel => '33' });
change('PATCH', '/config/logging/settings/6', { color => 8 });
change('PATCH', '/filters/emails', { enabled => $true, action => 'drop',
    log_types => [0 .. 101] });
change('POST', '/config/logging/ignore/2', { value => '51' });
change('PUT', '/config/access/61', { level => 'view' });
my $text = "\x{e9}" x 4094 . '!';
my $tag = change('POST', '/tags', { tag_name => 'rules', content => $text,
    color => 5, image => 'https://x.example/y' })->{tag_id};

# the language, also where nothing was said of it

is_put_back_locale($_) for qw(de ja);
sub is_put_back_locale {
    my ($key) = @_;

    my $was = $nginx->get($at, %as)->json->{locale};
    change('PATCH', '/config/settings', { locale => $key });
    my $entry = entry();
    isnt $nginx->get($at, %as)->json->{locale}, $was, 'another language';
    change('PATCH', '/config/settings', old($entry));
    is $nginx->get($at, %as)->json->{locale}, $was, '... and what it was again';
}

patched('/config/logging/channels', { main_channel => '41' },
    { category_text => undef, category_voice => '42', category_files => '43' },
    { main_channel => undef, category_roles => '0' });
patched('/config/logging/settings', { spoilers => $false, format_type => 0 },
    { buttons => [], proxy_integration => $true, active_ignore => $true },
    { ignore_bot_targets => $false, ignore_bot_executors => $false });
patched('/config/logging/settings/5', { color => undef, enabled => undef,
    log_channel => undef }, { log_channel => '0', format_type => 3 },
    { ignore_bot_executors => $true, ignore_bot_targets => $false,
      active_ignore => $true, enabled => $true });
patched('/config/logging/settings/9', { color => 0, log_channel => '44' });
patched('/filters/emails', { enabled => $false, action => 'mask' },
    { log_types => [] });
patched('/filters/cards', { enabled => $true, log_types => [7, 5] });
patched("/tags/$tag", { tag_name => 'other', color => undef },
    { image => undef });

# texts of tags stand beside the changes

is_put_back('the text of a tag', sub {
    change('PATCH', "/tags/$tag", { content => 'short' });
}, sub {
    change('PATCH', "/tags/$tag", { content => $_[0]{content} });
});
{
    my $was = configuration();
    change('DELETE', "/tags/$tag");
    my $entry = entry();
    change('POST', '/tags', { tag_name => $entry->{name},
        content => $entry->{content}, %{ old($entry) } });
    my $is = configuration();
    delete $_->{config}{tags}[0]{tag_id} for $was, $is;
    is_deeply $is, $was, 'a tag that was deleted is made anew';
}

# several types at once: those that were alike in one request

for my $set ({ format_type => 1, active_ignore => $true }, { color => 9 }) {
    my @types = $set->{color} ? (5, 6, 20) : (0 .. 101);
    is_put_back(@types . ' types', sub {
        change('PATCH', '/config/logging/settings/types',
            { types => \@types, set => $set });
    }, sub {
        my ($entry, $old) = @_;
        delete $old->{log_types};
        my ($types) = map { $_->{new} } grep { $_->{key} eq 'log_types' }
            @{ $entry->{changes} };
        is $entry->{count}, @$types, '... says how many they are';

        if (!ref $old->{color}) {
            change('PATCH', '/config/logging/settings/types',
                { types => [map { $_ + 0 } @$types], set => $old });
            return;
        }
        for my $n (0 .. $#$types) {
            my $color = $old->{color}[$n];
            change('PATCH', "/config/logging/settings/$types->[$n]",
                { color => $color eq 'null' ? undef : $color + 0 });
        }
    });
}

# lists, and who may use the dashboard

is_put_back('what is ignored no more', sub {
    change('DELETE', '/config/logging/ignore/2', { value => '51' });
}, sub {
    change('POST', '/config/logging/ignore/2',
        { value => $_[1]{ignored_executors} });
});
is_put_back('what is ignored', sub {
    change('POST', '/config/logging/ignore/4', { value => 'a "text"' });
}, sub {
    change('DELETE', '/config/logging/ignore/4',
        { value => $_[0]{changes}[0]{new} });
});
is_put_back('another level', sub {
    change('PUT', '/config/access/61', { level => 'manage' });
}, sub {
    change('PUT', "/config/access/$_[0]{target}{id}", $_[1]);
});
is_put_back('access that ended', sub {
    change('DELETE', '/config/access/61');
}, sub {
    change('PUT', "/config/access/$_[0]{target}{id}", $_[1]);
});
is_put_back('access that is new', sub {
    change('PUT', '/config/access/62', { level => 'manage' });
}, sub {
    is $_[1]{level}, undef, '... was none';
    change('DELETE', "/config/access/$_[0]{target}{id}");
});

done_testing;
