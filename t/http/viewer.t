# guildlog_viewer: what its location answers has the headers that keep other pages
# from framing the log viewer, and other scripts out of it.

use lib 't/lib';
use Guildlog;
use Guildlog::File;

my $nginx = Guildlog->new(start => 0);
my $files = $nginx->prefix . '/pages';

my $hash  = '0123456789ab';

mkdir $files or die $!;
symlink '.', "$files/v-$_" for $hash, 'x123456789ab';
$nginx->file('pages/index.html', '<!doctype html>');
$nginx->file('pages/a.js', '0;');
$nginx->file('pages/a.svg', '<svg/>');
$nginx->configure(locations => qq{
    types {
        text/html               html;
        application/javascript  js;
        image/svg+xml           svg;
    }
    location /viewer/ {
        guildlog_viewer;
        alias  $files/;

        location /viewer/of-partners/ {
            guildlog_viewer  frame-ancestors=https://a.example
                             frame-ancestors=https://b.example:8443;
            alias  $files/;
        }

        location /viewer/more/ {
            alias  $files/;
        }

        location /viewer/pictures/ {
            guildlog_viewer_images  on;
            alias  $files/;
        }
    }
    location /other/ {
        alias  $files/;
    }
});
$nginx->start;


sub at {
    my ($path, %more) = @_;
    return $nginx->get($path, raw_path => 1, %more);
}


sub is_guarded {
    my ($answer, $status, $ancestors, $what) = @_;

    is $answer->status, $status, $what;
    like $answer->header('Content-Security-Policy'),
        qr/^default-src 'none'; .*; frame-ancestors \Q$ancestors\E; /,
        '... only these may frame it';
    is $answer->header('X-Content-Type-Options'), 'nosniff', '... nosniff';
    is $answer->header('Referrer-Policy'), 'no-referrer', '... no referrer';
    is $answer->header('Cache-Control'), 'no-cache', '... asked for each time';
}


my $page = at('/viewer/');
is_guarded($page, 200, "'none'", 'the page');
is_guarded(at('/viewer/', headers => ['If-Modified-Since',
    $page->header('Last-Modified')]), 304, "'none'", 'a page that is known');
is_guarded(at('/viewer/none'), 404, "'none'", 'a page that is not there');
is_guarded(at('/viewer/more/'), 200, "'none'", 'a location inside of it');
is_guarded(at('/viewer/of-partners/'), 200,
    'https://a.example https://b.example:8443', 'one that may be framed');

is_guarded(at('/viewer/a.svg'), 200, "'none'", 'a picture, which may be opened');

# pictures

my $cdn = 'https://cdn.discordapp.com';
is_guarded(my $pictures = at('/viewer/pictures/'), 200, "'none'",
    'one with pictures');
like $pictures->header('Content-Security-Policy'),
    qr/; img-src 'self' \Q$cdn\E; connect-src 'self';/,
    '... which are of the platform alone';
is $pictures->header('Server-Timing'), qq{images;desc="$cdn"},
    '... and the page can tell';
like $page->header('Content-Security-Policy'), qr/; img-src 'self';/,
    'without them all are of this server';
is $page->header('Server-Timing'), undef, '... and no page is told otherwise';

my $script = at('/viewer/a.js');
is $script->status, 200, 'a script';
is $script->header('X-Content-Type-Options'), 'nosniff', '... is nothing else';
is $script->header('Content-Security-Policy'), undef,
    '... and follows the policy of its page';

# what util/viewer gave an address that changes with it

for (['a.js', 'a script'], ['a.svg', 'a picture']) {
    my ($file, $what) = @$_;
    is at("/viewer/v-$hash/$file")->header('Cache-Control'),
        'max-age=31536000, immutable', "$what of one version is kept";
}
is at("/viewer/v-$hash/b.js")->header('Cache-Control'), 'no-cache',
    '... one that is not there is not';
is at("/viewer/$_/a.js")->header('Cache-Control'), 'no-cache',
    "$_ is no version" for 'v-x123456789ab', "more/v-$hash/../";

my $other = at('/other/');
is $other->status, 200, 'a page elsewhere';
is $other->header($_), undef, "... has no $_" for 'Content-Security-Policy',
    'X-Content-Type-Options', 'Referrer-Policy', 'Cache-Control';

done_testing;
