# What becomes of the platform's events: a mistake in the table is reported with
# file and line, and nothing is made.

use strict;
use warnings;

use Cwd ();
use File::Temp qw(tempdir);
use Test::More;

my $top   = Cwd::abs_path('.');
my $dir   = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $table = 'events.tsv';
my $known = 'events-known.tsv';
my $types = 'log-types.tsv';

system('cp', map({ "$top/conf/$_" } $table, $known, "viewer/$types"), $dir) == 0
    or die 'cp failed';


sub slurp {
    my ($file) = @_;
    open my $in, '<:raw', "$dir/$file" or die "$file: $!";
    my $text = do { local $/; <$in> };
    return $text // '';
}


sub spill {
    my ($file, $text) = @_;
    open my $out, '>:raw', "$dir/$file" or die "$file: $!";
    print $out $text;
    close $out or die "$file: $!";
}


# what is made, what is said, and whether it failed
sub make {
    my $awk = shift // 'awk';
    my $failed = system "cd $dir && LC_ALL=C $awk"
        . " -f $top/src/events/ngx_guildlog_event_table.awk"
        . " $types $known $table > made 2> said";
    return (slurp('made'), slurp('said'), $failed);
}


# the same while a line of a file is changed by the code in $_: its line number,
# too.  The line is the first that holds the text
sub changed {
    my ($file, $text, $change) = @_;

    my $before = slurp($file);
    my @lines  = split /^/, $before;
    my ($n)    = grep { index($lines[$_], $text) >= 0 } 0 .. $#lines;
    die "no line of $file has $text" if !defined $n;
    my $line = $lines[$n];
    $change->() for $lines[$n];
    die "$file is as it was" if $lines[$n] eq $line;
    spill($file, join '', @lines);
    my @result = make();
    spill($file, $before);
    return (@result, $n + 1);
}


# the line of the mistake is that which is changed, or one behind it
sub wrong {
    my ($why, $said, $text, $change, %more) = @_;

    my $file = $more{file} // $table;
    my ($made, $error, $failed, $line) = changed($file, $text, $change);
    $line += $more{behind} // 0;
    ok $failed, "$why: refused";
    is $made, '', 'nothing is made';
    like $error, qr/^\Q$file:$line: \E.*\Q$said\E/m, 'the line and why';
    unlike $error, qr/^(?!\Q$file:$line: \E)/m, 'no other';
}


my ($made, $said, $failed) = make();
ok !$failed && $said eq '', 'the table has no mistake' or diag $said;
ok $made eq (make('busybox awk'))[0], "busybox's awk makes the same";

unlike $made, qr/VOICEBUNDLE|WHEN_BESIDES/, 'nothing of what is only a remark';
like $made, qr/"CHANNEL_UPDATE", 0, 0,\s+NULL/, 'what others tell has no rows';
like $made, qr/EVENT_MESSAGE, \{ "id", "channel_id", NULL \}/,
    'what is taught, and the ids for it';
like $made, qr/EVENT_BESIDES, 0, 1, \d/, 'one entry comes besides another';
like $made, qr/WHEN_SHRINKS, "attachments", "files"/,
    'what is known may have another name';
like $made, qr/ENTRY_ACTION,\s+NULL,\s+\{ "'onboarding" \}/, 'words';

# names and numbers are sought by halves
my %list = map { $_ => $made =~ /event_$_\[\] =\n\{\n(.*?)\n\};/s } 'gateway', 'audit';
my @names = $list{gateway} =~ /^    \{ "(\w+)"/mg;
my @codes = $list{audit} =~ /", (\d+),/g;
is "@names", join(' ', sort @names), 'events are in the order of their names';
is "@codes", join(' ', sort { $a <=> $b } @codes), 'actions of their numbers';
ok @names > 80 && @codes > 70, 'all of them';

# a row
wrong 'six columns', 'seven columns', "\tMEMBER_PRUNE\t", sub { s/\t\n/\n/ };
wrong 'no event', 'neither', "\tMEMBER_PRUNE\t", sub { s/^audit/log/ };
wrong 'a code of the gateway', 'neither', "\tTYPING_START\t",
    sub { s/\t\t/\t7\t/ };
wrong 'a type that there is not', 'no log type', "\tMEMBER_PRUNE\t",
    sub { s/membersPruned/memberPruned/ };
wrong 'a type of the service', 'no log type', "\tMEMBER_PRUNE\t",
    sub { s/membersPruned/tagCreate/ };
wrong 'a type and a reason', 'or a reason', "\tMEMBER_PRUNE\t",
    sub { s/\t\n/\twhy not\n/ };
wrong 'neither', 'or a reason', "\tTYPING_START\t", sub { s/is over.*// };
wrong 'not ASCII', 'ASCII', "\tTYPING_START\t", sub { s/is over/\xc3\xa4/ };
wrong 'an event in two places', 'already', "\tTYPING_START\t",
    sub { s/TYPING_START/READY/ };
wrong 'an action in two places', 'already', "\tMEMBER_PRUNE\t",
    sub { s/21/1/ };
wrong 'a name twice', 'already', "\tMEMBER_PRUNE\t",
    sub { s/MEMBER_PRUNE/MEMBER_KICK/ };
wrong 'another name', 'not the name', "\totherwise\tkick\t",
    sub { s/MEMBER_KICK/MEMBER_LEAVE/ };

# conditions
wrong 'a verb that there is not', 'no condition', "\tnick differs\t",
    sub { s/differs/changes/ };
wrong 'a word too many', 'no condition', "\tnick differs\t",
    sub { s/differs/differs much/ };
wrong 'a word too few', 'no condition', "\toptions.type is 1\t",
    sub { s/is 1/is/ };
wrong 'a path that is not declared', 'is not in', "\tbot target_id\t",
    sub { s/bot target_id/bot victim_id/ };
wrong 'a key that is not declared', 'is not in', "\tnick differs\t",
    sub { s/nick differs/nickname differs/ };
wrong 'a key that nobody knows before', 'is not in', "\tavatar differs\t",
    sub { s/avatar differs/user.id differs/ };
wrong 'who is no id', 'not a id', "\tbot target_id\t",
    sub { s/bot target_id/bot reason/ };
wrong 'a thread that is no id', 'not a id', "\tthread channel_id\t",
    sub { s/thread channel_id/thread was.said/ };
wrong 'fresh, and no time', 'not a time', 'premium_since fresh',
    sub { s/premium_since fresh/avatar fresh/ };
wrong 'a number that is none', 'is no number', "\taction.type is 1\t",
    sub { s/is 1/is block/ };
wrong 'has, and no list', 'not a list', "\tchange.scopes has bot\t",
    sub { s/change.scopes/change.name/ };
wrong 'shrinks, and no list', 'not a list', "\tpremium_tier differs\t",
    sub { s/differs/shrinks/ };
wrong 'unknown, where nothing is ever known', 'nothing is ever known',
    "\tbot target_id\t", sub { s/bot target_id/unknown/ };
wrong 'what was of what is unknown', 'never there', 'edited_timestamp fresh',
    sub { s/contentAfter=content/contentAfter=was.content/ };
wrong 'otherwise with another', 'stands alone', "\totherwise\tkick\t",
    sub { s/otherwise/otherwise and bot user_id/ };

# order
wrong 'comes behind differs', 'takes it', "\tdeaf comes\t",
    sub { s/comes/differs/ }, behind => 1;
wrong 'the same twice', 'takes it', "\tdeaf comes\t", sub { s/comes/goes/ },
    behind => 1;
wrong 'more conditions behind fewer', 'takes it',
    'edited_timestamp differs and thread',
    sub { s/ and thread channel_id// }, behind => 1;
wrong 'a row behind one that takes all', 'takes it', "\tbot target_id\t",
    sub { s/bot target_id// }, behind => 1;
wrong 'a row behind otherwise', 'takes it', "\taction.type is 4\t",
    sub { s/action.type is 4/otherwise/ }, behind => 1;
wrong 'otherwise first', 'stands first', "\tMEMBER_PRUNE\t",
    sub { s/\t\tmembersPruned/\totherwise\tmembersPruned/ };
wrong 'two entries of one event', 'otherwise', "\totherwise\tkick\t",
    sub { s/otherwise// };
wrong 'a last row that may not fit', 'the last row', "\totherwise\tkick\t",
    sub { s/otherwise/bot user_id/ };
wrong 'only besides', 'the last row', "\tMEMBER_PRUNE\t",
    sub { s/\t\tmembersPruned/\tbesides and bot user_id\tmembersPruned/ };
wrong 'besides, and no entry', 'no condition', "\taction.type is 3\t",
    sub { s/action.type/besides and action.type/ };

# fields
wrong 'no field', 'no field of an entry', "\tMEMBER_PRUNE\t",
    sub { s/count=/number=/ };
wrong 'a part that there is not', 'no field of an entry', "\tMEMBER_PRUNE\t",
    sub { s/count=/count.all=/ };
wrong 'a field that the type has not', 'no field of membersPruned',
    "\tMEMBER_PRUNE\t", sub { s/count=.*?\t/count=options.count; name=reason\t/ };
wrong 'twice', 'filled twice', "\tMEMBER_PRUNE\t",
    sub { s/(count=\S+)/$1; $1/ };
wrong 'no path', 'has no path', "\tMEMBER_PRUNE\t", sub { s/count=\S+/count/ };
wrong 'five paths', 'more than 4', "\tINVITE_CREATE\t",
    sub { s/changes=max_age/changes=uses, code, max_age/ };
wrong 'an entry of another kind', 'not a id', "\tMEMBER_PRUNE\t",
    sub { s/count=\S+/executor=reason/ };
wrong 'changes before others', 'not the last', "\tnick differs\t",
    sub { s/target=target_id; changes/changes; target=target_id/ };
wrong 'a change that nobody is told', 'told to nobody', "\tINVITE_CREATE\t",
    sub { s/role_ids/type/ };
wrong 'keys of the gateway', 'of the gateway', "\tincidents_data differs\t",
    sub { s/changes/changes=incidents_data/ };
wrong 'changes of a row that is for none', 'of the gateway', "\ttype is 38\t",
    sub { s/raid reported'/raid reported'; changes/ };
wrong 'an image without a place', 'no path with places', "\ticon_hash differs\t",
    sub { s/\{icon_hash\}/icon_hash/ };
wrong 'an image of what is no hash', 'not a hash', "\ticon_hash differs\t",
    sub { s/\{icon_hash\}/{name}/ };
wrong 'words without an end', 'is not in', "\ttype is 38\t",
    sub { s/reported'/reported/ };
wrong 'a number that is known', 'not known', "\ttype is 38\t",
    sub { s/'raid reported'/#number/ };
wrong 'a channel that is no id', 'not a id', "\tchannel_id differs\t",
    sub { s/#was.channel_id/#suppress/ };
wrong 'a thing that is no id', 'not a id', "\taction.type is 1\t",
    sub { s/\@rule_id/\@content/ };
wrong 'what nobody tells', 'no event of "gateway"', "\taction.type is 3\t",
    sub { s/\taudit\t/\tgateway\t/ };

# what is declared
for (['no kind', 's/\tid\t/\tnumeral\t/'], ['three columns', 's/\t$//'],
    ['a path with a space', 's/target_id/target id/'],
    ['of what', 's/^audit/log/'])
{
    my ($why, $change) = @$_;
    wrong $why, 'a path, a kind', "audit\ttarget_id\t", sub { eval $change },
        file => $known;
}
wrong 'a note', 'says nothing', "audit\ttarget_id\t", sub { s/$/the victim/ },
    file => $known;
wrong 'twice', 'already', "audit\ttarget_id\t", sub { $_ .= $_ }, file => $known,
    behind => 1;
wrong 'what nothing asks for', 'asks for it', "audit\ttarget_id\t",
    sub { $_ = "audit\tother_id\tid\t\n$_" }, file => $known;
wrong 'no such event', 'no event', "VOICE_STATE_UPDATE\tsuppress\t",
    sub { s/^/VOICE_STATE_CREATE / }, file => $known;
wrong 'ten columns', 'eleven columns', "\tban\t", sub { s/\t[^\t]*$/\n/ },
    file => $types;

done_testing;
