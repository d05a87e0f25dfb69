package Guildlog::Change;

# What a change of the configuration must leave: one service entry with executor
# "0" and one notification.  Also: many clients at the same time.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Exporter 'import';
use POSIX ();
use Storable ();
use Test::More ();

use Guildlog ();

our @EXPORT = qw(changed one_change no_change at_once tables);

my $json = Cpanel::JSON::XS->new->canonical;

my @configuration = qw(server token settings logging_channels logging_options
    logging_type ignore_entry tag access filter alert notification active_ignore
    directory);


# changed(key => $old, $new): one of the changes that an entry tells
sub changed {
    my ($key, $old, $new) = @_;
    return { key => $key, old => $old, new => $new };
}


# one_change($nginx, $server, $type => "what", sub { … }, bot => 'pro'): the
# code must make exactly one change, of that log type.  Returns the log entry
# about it, with the notification as {notification}
sub one_change {
    my ($nginx, $server, $type, $what, $code, %option) = @_;

    my @before = _told($nginx, $server);
    $code->();
    my @after = _told($nginx, $server);

    my @entries = _new($before[0], $after[0]);
    my @notifications = _new($before[1], $after[1]);
    my $bot = ($option{bot} || 'main') eq 'pro' ? 1 : 0;
    my ($entry, $notification) = ($entries[0], $notifications[0]);

    my $ok = @entries == 1 && @notifications == 1
        && $entry->{type} == $type
        && $entry->{bot} == $bot
        && $entry->{executor_id} eq '0'
        && $entry->{doc}{executor}{id} eq '0'
        && $notification->{log_type} == $type
        && $notification->{bot} == $bot
        && $notification->{executor_id} eq '0'
        && $notification->{title} =~ /\w/
        && $notification->{description} =~ /\w/;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    Test::More::ok($ok, "$what: told once, as $type by 0")
        or Test::More::diag($json->pretty->encode(
            { entries => \@entries, notifications => \@notifications }));

    return { %{ $entry->{doc} || {} }, notification => $notification };
}


# the code must change nothing: no entry, no notification
sub no_change {
    my ($nginx, $server, $what, $code) = @_;

    my @before = map { scalar keys %$_ } _told($nginx, $server);
    $code->();
    my @after = map { scalar keys %$_ } _told($nginx, $server);

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    Test::More::is("@after", "@before", "$what: nobody is told");
}


# entries and notifications, by their ids
sub _told {
    my ($nginx, $server) = @_;

    return {
        map {
            my ($id, $bot, $type, $executor, $doc) = @$_;
            $id => { bot => $bot, type => $type, executor_id => $executor,
                doc => $json->decode("$doc}") };
        } $nginx->sql('select id, bot, type, executor_id, doc from entries'
            . ' where guild_id = ?', $server)
    }, {
        map {
            my %row;
            @row{qw(id bot log_type executor_id title description)} = @$_;
            $row{id} => \%row;
        } $nginx->sql('select notification_id, bot, log_type, executor_id,'
            . ' title, description from notification where guild_id = ?',
            $server)
    };
}


sub _new {
    my ($before, $after) = @_;
    return map { $after->{$_} } grep { !$before->{$_} }
        sort { $a <=> $b } keys %$after;
}


# at_once(4, sub { … }, $nginx => 'tag'): runs the code in that many processes
# at the same time, each with its number, and returns the results.  The table is
# locked until two of their requests wait to write to it, or until one does for
# some time, so that the requests do meet.  A change that waited for others of
# its server for a second is answered by 429, and sent again, as clients do.
sub at_once {
    my ($n, $code, $nginx, $table) = @_;

    my $holder = $nginx && $nginx->cluster->connect($nginx->dbname);
    if ($holder) {
        $holder->begin_work;
        $holder->do("lock table $table in share row exclusive mode");
    }

    pipe my $gate, my $opener or die "pipe: $!";
    my @children = map {
        my $number = $_;
        pipe my $out, my $in or die "pipe: $!";
        defined(my $pid = fork) or die "fork: $!";

        if (!$pid) {
            close $opener;
            sysread $gate, my $nothing, 1;
            my ($result, $tries);
            do {
                $result = eval { $code->($number) } // "died: $@";
            } while $result eq '429' && ++$tries < 20;
            Storable::store_fd([$result], $in);
            close $in;
            POSIX::_exit(0);
        }
        close $in;
        [$pid, $out];
    } 1 .. $n;

    close $opener;
    if ($holder) {
        # for less time than a statement may wait
        eval { Guildlog::wait_for { $nginx->waiting > 1 } 3 };
        $holder->commit;
    }

    return map {
        my ($pid, $out) = @$_;
        my $result = eval { Storable::fd_retrieve($out)->[0] };
        waitpid $pid, 0;
        $result;
    } @children;
}


# a checksum of the whole configuration
sub tables {
    my ($nginx) = @_;

    my $sum = join ' || ', map {
        "(select coalesce(md5(string_agg(t::text, ',' order by t::text)), '')"
        . " from $_ t)"
    } @configuration;
    return scalar $nginx->sql("select md5($sum)");
}


1;
