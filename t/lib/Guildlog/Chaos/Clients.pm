package Guildlog::Chaos::Clients;

# Clients that use the service while it is harmed: some record; administrators
# read, page, export and change the configuration.  Each is a process that
# writes the answers to a file, one line of JSON each, and checks every answer
# against conf/openapi.yaml.

use strict;
use warnings;
use utf8;

use Cpanel::JSON::XS;
use POSIX ();
use Time::HiRes qw(sleep time);

use Guildlog ();
use Guildlog::Client;
use Guildlog::OpenAPI;

my $json = Cpanel::JSON::XS->new->utf8->canonical;
my @children;


# start(file, seed, code): calls the code with ($self) until it is told to stop,
# and then once more
sub start {
    my ($class, %option) = @_;

    pipe my $gate, my $opener or die "pipe: $!\n";
    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $_ for $opener, map { $_->{opener} } @children;
        srand $option{seed};
        open my $out, '>>', $option{file} or die "$option{file}: $!\n";
        my $self = bless { %option, out => $out, gate => $gate }, $class;
        my $ok = eval { $self->_run; 1 };
        $self->tell(died => "$@") if !$ok;
        POSIX::_exit(0);
    }
    close $gate;
    my $self = bless { %option, pid => $pid, opener => $opener }, $class;
    push @children, $self;
    return $self;
}


sub _run {
    my ($self) = @_;

    while (!$self->ends) {
        $self->{code}->($self, 0);
        sleep $self->{pause};
    }
    $self->{code}->($self, 1);
}


sub ends {
    my ($self) = @_;

    my $ready = '';
    vec($ready, fileno $self->{gate}, 1) = 1;
    return select $ready, undef, undef, 0;
}


# tells all clients to end; they do when every request of theirs is answered
sub stop_all {
    my ($class, $seconds) = @_;

    my $deadline = time + $seconds;
    close $_->{opener} for @children;
    for my $child (@children) {
        my $gone;
        until ($gone = waitpid $child->{pid}, POSIX::WNOHANG) {
            last if time > $deadline;
            sleep 0.05;
        }
        kill 'KILL', $child->{pid} if !$gone;
        waitpid $child->{pid}, 0 if !$gone;
        $child->{late} = !$gone;
    }
    my @late = map { $_->{file} } grep { $_->{late} } @children;
    @children = ();
    return @late;
}


END {
    if (@children && $$ == $children[0]{owner}) {
        my $status = $?;
        kill 'KILL', map { $_->{pid} } @children;
        waitpid $_->{pid}, 0 for @children;
        $? = $status;
    }
}


# what the clients wrote: a hash for each line
sub told {
    my ($class, @files) = @_;

    return map {
        open my $in, '<:raw', $_ or die "$_: $!\n";
        map { eval { $json->decode($_) } // () } <$in>;
    } @files;
}


sub tell {
    my ($self, %what) = @_;

    my $line = $json->encode({ at => int(time * 1000), %what }) . "\n";
    syswrite $self->{out}, $line;
}


sub one_of { return $_[rand @_] }


# an answer of the API, or nothing if the connection ended without one
sub ask {
    my ($self, $method, $path, %option) = @_;

    my $machine = one_of(@{ $self->{machines} });
    my $answer = eval {
        Guildlog::Client->new(port => $machine->{port}, timeout => 30)
            ->request($method, "/api$path", %option);
    };
    if (!$answer) {
        $self->tell(none => $method, hung => 1)
            if $@ && $@ =~ /nothing came/;
        return;
    }
    return if $answer->truncated;

    my @problems = Guildlog::OpenAPI->shared->problems($method, $path, $answer);
    $self->tell(problem => "$method $path: @problems", text => $answer->text)
        if @problems;
    $self->tell(status => $answer->status, call => $method,
        $self->{keeps} ? (text => $answer->text) : ());
    return $answer;
}


# recording: a batch without an answer is sent again unchanged until it has one

sub recorder {
    my ($class, %option) = @_;

    my ($n, @open) = (0);
    return $class->start(%option, code => sub {
        my ($self, $last) = @_;

        push @open, $self->batch(\$n) if !$last && @open < 20;
        do {
            @open = grep { !$self->send_batch($_) } @open;
            sleep 0.2 if $last && @open;
        } while ($last && @open);
    });
}


sub batch {
    my ($self, $n) = @_;

    my $guild = one_of(sort keys %{ $self->{guilds} });
    my $bot = one_of(@{ $self->{guilds}{$guild}{bots} });
    return { guild => $guild, bot => $bot, entries => [map {
        my $text = "event $self->{name}-" . ++$$n . ' '
            . ('word äöü 漢字 ' x (rand() < 0.03 ? rand 150 : rand 5));
        { event_id => "$self->{name}-$$n", type => one_of(7, 7, 40, 5),
          content => $text, executor => { id => '5', name => 'Ann' } }
    } 1 .. 1 + rand 8] };
}


sub send_batch {
    my ($self, $batch) = @_;

    my $answer = eval {
        Guildlog::Client->new(timeout => 30,
            unix => one_of(@{ $self->{machines} })->{operator})
            ->request('POST', "/servers/$batch->{guild}/logs$batch->{bot}",
                json => $batch->{entries});
    };
    $batch->{tries}++;
    return 0 if !$answer || $answer->truncated;
    $self->tell(status => $answer->status, call => 'record');
    $self->tell(problem => 'record: ' . $answer->status, text => $answer->text)
        if $answer->status !~ /^(?:200|500|503)$/;
    return 0 if $answer->status != 200;

    my $it = $answer->json;
    $self->tell(acked => $it->{ids}, guild => $batch->{guild},
        tries => $batch->{tries}, errors => scalar @{ $it->{errors} });
    return 1;
}


# administration: what is known of each thing that only this client changes.  An
# answer makes a value certain; without an answer the change may have happened

sub administrator {
    my ($class, %option) = @_;

    my @calls = map { ($_->[1]) x $_->[0] } ([5, \&change_channel],
        [6, \&change_ignore], [4, \&change_tag], [3, \&change_color],
        [3, \&read_page], [2, \&read_rest],
        # when the clock is set back, entries get into closed days
        $option{clock_jumps} ? () : ([1, \&read_pages], [1, \&export]));
    return $class->start(%option, code => sub {
        my ($self, $last) = @_;

        my $guild = one_of(sort keys %{ $self->{guilds} });
        one_of(@calls)->($self, $guild, $self->{guilds}{$guild}) if !$last;
    });
}


# sends a change, which is done once the answer has that status.  key: what it
# changes; value: the new value, or undef if it is deleted
sub change {
    my ($self, $guild, $key, $value, $done, @request) = @_;

    $self->tell(tries => $key, guild => $guild, value => $value);
    my $answer = $self->ask(@request,
        token => $self->{guilds}{$guild}{token}) or return;
    $self->tell(did => $key, guild => $guild, value => $value)
        if $answer->status =~ $done;
    return $answer;
}


sub change_channel {
    my ($self, $guild, $it) = @_;

    my $name = one_of(qw(category_text category_modlog));
    my $to   = one_of(@{ $it->{channels} }, @{ $it->{channels} }, undef, '0');
    $self->change($guild, $name, $to, qr/^202$/, 'PATCH',
        "/servers/$guild/config/logging/channels", json => { $name => $to });
}


sub change_ignore {
    my ($self, $guild) = @_;

    my $value = "never said $self->{name} " . int rand 20;
    my $adds  = rand() < 0.6;
    $self->change($guild, "ignore $value", $adds ? 1 : undef, qr/^202$/,
        $adds ? 'POST' : 'DELETE',
        "/servers/$guild/config/logging/ignore/4", json => { value => $value });
}


sub change_color {
    my ($self, $guild) = @_;

    my $color = int rand 0xffffff;
    $self->change($guild, 'color', $color, qr/^202$/, 'PATCH',
        "/servers/$guild/config/logging/settings/7", json => { color => $color });
}


sub change_tag {
    my ($self, $guild) = @_;

    # a name that a request without an answer may have taken is not used again
    my $name = "t$self->{name}-" . ++$self->{tags}{count};
    my $ids  = $self->{tags}{$guild} ||= [];
    if (@$ids > 5) {
        my $id = shift @$ids;
        $self->change($guild, "tag $id", undef, qr/^(?:200|404)$/, 'DELETE',
            "/servers/$guild/tags/$id");
        return;
    }
    my $answer = $self->ask('POST', "/servers/$guild/tags",
        token => $self->{guilds}{$guild}{token},
        json => { tag_name => $name, content => 'it' }) or return;
    return if $answer->status != 201;
    my $id = $answer->json->{tag_id};
    push @$ids, $id;
    $self->tell(did => "tag $id", guild => $guild, value => $name);
}


sub read_page {
    my ($self, $guild, $it) = @_;

    my $answer = $self->ask('GET', "/servers/$guild/logs?limit="
        . (1 + int rand 200), token => $it->{token}) or return;
    return if $answer->status != 200;
    my @ids = map { $_->{id} } @{ $answer->json->{entries} };
    $self->tell(problem => 'a page out of order')
        if "@ids" ne join ' ', sort { $b <=> $a } @ids;
}


# reads all entries that were there at the beginning, page by page
sub read_pages {
    my ($self, $guild, $it) = @_;

    my (%seen, $cursor);
    do {
        my $answer = $self->ask('GET', "/servers/$guild/logs?limit=100"
            . "&before=$it->{before}" . (defined $cursor ? "&cursor=$cursor"
            : ''), token => $it->{token}) or return;
        return if $answer->status != 200;
        my $page = $answer->json;
        $self->tell(problem => 'the total of a page', text => $page->{total})
            if $page->{total} != $it->{count} - keys %seen;
        $seen{ $_->{id} }++ for @{ $page->{entries} };
        $cursor = $page->{cursor};
    } while (defined $cursor);

    $self->tell(read => scalar keys %seen);
    $self->tell(problem => 'pages', text => "$guild " . keys %seen)
        if keys %seen != $it->{count} || grep { $_ > 1 } values %seen;
}


# a transfer that ends without an error must be complete
sub export {
    my ($self, $guild, $it) = @_;

    my $answer = $self->ask('GET',
        "/servers/$guild/logs/export?before=$it->{before}",
        token => $it->{token}) or return;
    return if $answer->status != 200;
    my $rows = () = $answer->text =~ /^\d{4}-\d\d-\d\dT/mg;
    $self->tell(exported => $rows);
    $self->tell(problem => 'an export', text => "$rows of $it->{count}")
        if $rows != $it->{count};
}


sub read_rest {
    my ($self, $guild, $it) = @_;

    $self->ask('GET', "/servers/$guild" . one_of('', '/config',
        '/notifications', '/config/logging/pacing', '/troubleshoot?live=0',
        '/config/logging/channels', '/auth', '/filters'), token => $it->{token});
}


1;
