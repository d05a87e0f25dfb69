# The titles in all languages, and the texts of the log viewer: a mistake in the
# data is reported with file and line, and nothing is made.  A build has the
# present titles and changes nothing in the source tree.

use strict;
use warnings;

use Cwd ();
use File::Temp qw(tempdir);
use Test::More;

my $top  = Cwd::abs_path('.');
my $dir  = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $tree = "$dir/tree";
my $data = 'ngx_guildlog_language_data.c';

system('mkdir', $tree) == 0 && system('cp', '-a', map({ "$top/$_" }
    qw(config src sql conf util)), $tree) == 0 or die 'cp failed';


sub slurp {
    my ($file) = @_;
    open my $in, '<:raw', $file or die "$file: $!";
    my $text = do { local $/; <$in> };
    return $text // '';
}


sub spill {
    my ($file, $text) = @_;
    open my $out, '>:raw', $file or die "$file: $!";
    print $out $text;
    close $out or die "$file: $!";
}


# runs code while the content of a file of the tree is changed by the code in $_
sub changed {
    my ($file, $change, $code) = @_;

    my $before = slurp("$tree/$file");
    local $_ = $before;
    $change->();
    die "$file is as it was" if $_ eq $before;
    spill("$tree/$file", $_);
    my @result = $code->();
    spill("$tree/$file", $before);
    return @result;
}


# the script's result, its errors, and whether it failed
sub make {
    my $awk = shift // 'awk';
    my $failed = system "cd $tree && LC_ALL=C $awk"
        . ' -f src/log/ngx_guildlog_language.awk sql/data.sql'
        . ' conf/viewer/log-types.tsv conf/viewer/languages/*.tsv > ../made 2> ../said';
    return (slurp("$dir/made"), slurp("$dir/said"), $failed);
}


# the number of the first line with that beginning
sub line_of {
    my ($file, $start) = @_;
    my $n = 0;
    for (split /\n/, slurp("$tree/$file")) {
        $n++;
        return $n if /^\Q$start\E/;
    }
    die "no line of $file begins with $start";
}


sub wrong {
    my ($why, $file, $start, $change) = @_;

    my $line = $start =~ /^\d+$/ ? $start : line_of($file, $start);
    my ($made, $said, $failed) = changed($file, $change, \&make);
    ok $failed, "$why: refused";
    is $made, '', 'nothing is made';
    like $said, qr/^\Q$file:$line: \E/m, 'the error names the line';
    unlike $said, qr/^(?!\Q$file\E:)/m, 'the error names no other file';
}


my ($made, $said, $failed) = make();
ok !$failed && $said eq '', 'the data have no mistake' or diag $said;

# awks differ in what a backslash in the text of gsub() means, and not all of
# them raise to powers
ok $made eq (make('busybox awk'))[0], "busybox's awk makes the same"
    or diag slurp("$dir/said");

($made) = changed('conf/viewer/languages/de.tsv',
    sub { s/^memberJoin\t[^\t\n]*/memberJoin\t"neu" \\ \\n/m }, \&make);
ok index($made, '        "\"neu\" \\\\ \\\\n",' . "\n") > 0,
    'a title is a C string, never code';
like $made, qr/"und %ui weitere"/, 'the count has its place';

my $de = 'conf/viewer/languages/de.tsv';
my $end = () = slurp("$tree/$de") =~ /\n/g;

wrong 'a type that there is not', $de, 'memberJoin',
    sub { s/^memberJoin/memberJoined/m };
wrong 'a type without a title', $de, $end - 1, sub { s/^memberJoin\t.*\n//m };
wrong 'a word that is missing', $de, $end - 1, sub { s/^reason\t.*\n//m };
wrong 'a type twice', $de, $end + 1, sub { $_ .= "memberJoin\tNochmal\n" };
wrong 'a title twice', $de, 'memberLeave',
    sub { s/^memberLeave\t[^\t\n]*/memberLeave\tMitglied beigetreten/m };
wrong 'an empty title', $de, 'memberJoin',
    sub { s/^memberJoin\t[^\t\n]*/memberJoin\t/m };
wrong 'a title without a tab', $de, 'memberJoin',
    sub { s/^memberJoin\t/memberJoin /m };
wrong 'two tabs', $de, 'memberJoin',
    sub { s/^(memberJoin\t.*)/$1\t/m };
wrong 'a space at the end', $de, 'memberJoin',
    sub { s/^(memberJoin\t.*)/$1 /m };
wrong 'a title that is too long', $de, 'memberJoin',
    sub { s/^memberJoin\t[^\t\n]*/"memberJoin\t" . "\xc3\xa4" x 101/me };

($made, $said, $failed) = changed($de,
    sub { s/^memberJoin\t[^\t\n]*/"memberJoin\t" . "\xc3\xa4" x 100/me }, \&make);
ok !$failed, 'characters are counted, not bytes';

wrong 'no place for the count', $de, 'more', sub { s/\{count\} // };
wrong 'two of them', $de, 'more', sub { s/\{count\}/{count} {count}/ };
wrong 'a place of another name', $de, 'more', sub { s/\{count\}/{number}/ };
wrong 'one where none is', $de, 'reason', sub { s/^reason\t/reason\t{count}/m };
wrong 'a format of C', $de, 'more', sub { s/\{count\}/{count} %s/ };

wrong 'no sentence', $de, $end, sub { s/^(memberJoin\t[^\t\n]*)\t.*/$1/m };
for (['a place that is missing', 'Der Bann'],
    ['a place that the type has not', '{target}, {value}'],
    ['a place of no field', '{target}, {nobody}'],
    ['a place twice', '{target}, {target}'],
    ['an optional place', '[{target}]'], ['an open bracket', '[{target}'],
    ['a full stop', '{target}.'], ['two spaces', '{target}  da'],
    ['one more alternative', '{target} da | {target} neu'])
{
    my ($why, $text) = @$_;
    wrong $why, $de, 'memberJoin',
        sub { s/^(memberJoin\t[^\t\n]*\t).*/$1$text/m };
}

for my $bytes ("\xc3(", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
    "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xff",
    "\xc2\xc3\xa4\xa4", "\x01", "\x7f", "\r", "\0")
{
    wrong 'the bytes ' . unpack('H*', $bytes), $de, 'memberJoin',
        sub { s/^(memberJoin\t.*)/$1$bytes/m };
}

for my $text ("\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
    "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf")
{
    ($made, $said, $failed) = changed($de,
        sub { s/^(memberJoin\t.*)/$1$text/m }, \&make);
    ok !$failed && index($made, $text) > 0,
        'the character ' . unpack 'H*', $text;
}

wrong 'an English title beside that of the list', 'conf/viewer/languages/en-US.tsv',
    'executor', sub { s/(\n\n)/$1memberJoin\tMember joined\n/ if !/^memberJoin/m };
wrong 'like a language that there is not', 'conf/viewer/languages/en-GB.tsv', 'like',
    sub { s/^like\ten-US/like\ten-AU/m };
wrong 'like two', 'conf/viewer/languages/en-GB.tsv', line_of('conf/viewer/languages/en-GB.tsv',
    'like') + 1, sub { s/^(like\ten-US\n)/$1like\tde\n/m };
wrong 'like itself', 'conf/viewer/languages/en-GB.tsv', 'like',
    sub { s/^like\ten-US/like\ten-GB/m };
wrong 'a language out of its number', 'sql/data.sql', "    (9, 'de')",
    sub { s/\(9, 'de'\)/(90, 'de')/ };
wrong 'a language without titles', 'sql/data.sql', "    (18, 'ja')",
    sub { s/\(18, 'ja'\)/(18, 'jp')/; rename "$tree/conf/viewer/languages/ja.tsv",
          "$dir/ja.tsv" };
rename "$dir/ja.tsv", "$tree/conf/viewer/languages/ja.tsv";
wrong 'a log type out of its number', 'conf/viewer/log-types.tsv', "1\t",
    sub { s/^1\t/2\t/m };

my $types = 'conf/viewer/log-types.tsv';
wrong 'a field without its meaning', $types, "39\t",
    sub { s/; reason: why(\t\{executor\} banned)/; reason$1/ };
wrong 'a source that is none', $types, "39\t",
    sub { s/audit MEMBER_BAN_ADD 22/audit MEMBER_BAN_ADD/ };
wrong 'a label that is no word', $types, "39\t",
    sub { s/target=member: who was banned/target=victim: who was banned/ };
($made, $said, $failed) = changed($types,
    sub { s/\{executor\} banned/{value} banned/ }, \&make);
ok $failed && $said =~ /^\Q$types\E:41: \{value} is no field/m,
    'a sentence has places of fields alone';
wrong 'a kind that there is not', $types, "39\t",
    sub { s/(\tMember banned\t)gone/$1away/ };
wrong 'a mark that there is not', $types, "39\t",
    sub { s/(\tMember banned\tgone)/$1 loud/ };

spill("$tree/conf/viewer/languages/xx.tsv", "memberJoin\tX\n");
($made, $said, $failed) = make();
ok $failed, 'a file of no language: refused';
like $said, qr{^conf/viewer/languages/xx\.tsv:1: }, 'the error names the line';
unlink "$tree/conf/viewer/languages/xx.tsv";


# the texts of the log viewer

sub texts {
    my $said = `cd $tree && util/texts 2>&1`;
    return ($said, $?);
}


# refused, in a line that begins with this
sub wrong_text {
    my ($why, $file, $where, $change) = @_;
    my ($said, $failed) = changed($file, $change, \&texts);
    ok $failed, "$why: refused";
    like $said, qr/^\Q$where\E: /m, 'the error names the place';
}


($said, $failed) = texts();
ok !$failed && $said eq '', 'the texts have no mistake' or diag $said;

my $us     = 'conf/viewer/languages/en-US.tsv';
my $skip   = "$de:" . line_of($de, 'viewer.page.skip');
my $one    = line_of($de, 'viewer.logs.entries.one');
my $module = 'conf/viewer/logs.js';

wrong_text 'a text that is missing', $de, $de,
    sub { s/^viewer[.]page[.]skip\t.*\n//m };
wrong_text 'one that there is not', $de, $skip,
    sub { s/^viewer[.]page[.]skip\t/viewer.page.skipped\t/m };
wrong_text 'one twice', $de, "$de:" . (line_of($de, 'viewer.page.skip') + 1),
    sub { s/^viewer[.]page[.]skip\t.*\n/$&$&/m };
wrong_text 'an empty one', $de, $skip,
    sub { s/^(viewer[.]page[.]skip\t).*/$1/m };
wrong_text 'a form that the language has not', $de, "$de:" . ($one + 1),
    sub { s/^(viewer[.]logs[.]entries[.])other/$1few/m };
wrong_text 'a form that is missing', $de, $de,
    sub { s/^viewer[.]logs[.]entries[.]one\t.*\n//m };
wrong_text 'a form without its number', $de, "$de:" . ($one + 1),
    sub { s/^(viewer[.]logs[.]entries[.]other\t).*/$1Einträge/m };
wrong_text 'a place that English has not', $de, $skip,
    sub { s/^(viewer[.]page[.]skip\t.*)/$1 {why}/m };
wrong_text 'a text that no module uses', $us,
    "$us:" . line_of($us, 'viewer.page.skip'),
    sub { s/^viewer[.]page[.]skip\t.*/viewer.page.skippy\tSkip\n$&/m };
wrong_text 'a module that wants one that there is not', $module,
    "$module:" . (1 + (() = slurp("$tree/$module") =~ /\G(?:(?!logs[.]unread).)*\n/g)),
    sub { s/'logs[.]unread'/'logs.unred'/ };

($said, $failed) = changed($de, sub { s/^(viewer[.]logs[.]entries[.]one\t).*/$1Einer/m },
    \&texts);
unlike $said, qr/^\Q$de\E/m, 'the form of one may say it without the number';


# nginx's own configure alone

sub configure {
    my ($how) = @_;
    return system 'bash', '-c', 'cd /usr/share/nginx/src && . ./conf_flags'
        . ' && bash ./configure "${NGX_CONF_FLAGS[@]}"'
        . " --$how=$tree --builddir=$dir/objs > $dir/said 2>&1";
}


sub listing {
    return scalar `cd $tree && find . -type f -exec cksum {} + | sort -k 3`;
}


my $join = line_of($de, 'memberJoin');
my $files = listing();

is changed($de, sub { s/^memberJoin\t.*\n/$&$&/m },
    sub { configure('add-dynamic-module') }) > 0, 1,
    'configure fails with bad data';
like slurp("$dir/said"), qr{^\Q$tree/$de\E:${\($join + 1)}: }m,
    'the error names the line';
ok !-e "$dir/objs/$data", 'nothing is made';

is configure('add-dynamic-module'), 0, 'configure succeeds with good data'
    or diag slurp("$dir/said");
is slurp("$dir/objs/$data"), (make())[0], "the result is the script's";
is listing(), $files, 'the source tree is unchanged';

changed($de, sub { s/^memberJoin\t[^\t\n]*/memberJoin\tMitglied da/m }, sub {
    is configure('add-dynamic-module'), 0, 'it is configured again';
    like slurp("$dir/objs/$data"), qr/^\s+"Mitglied da",$/m,
        'the new title is in it';
});

done_testing;
