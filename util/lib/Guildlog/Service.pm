package Guildlog::Service;

# What util/guildlog asks: the operator location and the API by curl, the database
# by psql.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use Errno ();
use FindBin;
use JSON::PP ();
use MIME::Base64 qw(decode_base64url);
use POSIX ();

use Guildlog::Show;

our @EXPORT = qw(@settings use_options chosen said bot id place operator api ask
    no_log_channels sum_of send_all curl complaint body decode parsed database
    setting escaped types type_of);

# how the service is found: an option, a variable of the environment, a default
our @settings = (
    ['operator=s',   'ADDRESS', 'GUILDLOG_OPERATOR',
        'unix:/run/guildlog/operator.sock:/',
        'the operator location, unix:/path/of.sock:/path or a URL'],
    ['url=s',        'URL', 'GUILDLOG_URL', undef, 'the base URL of the API'],
    ['token-file=s', 'FILE', 'GUILDLOG_TOKEN_FILE', undef,
        'a file with an Admin token, or with those of several servers, a line'
            . ' each; $GUILDLOG_ADMIN_TOKEN may have the token'],
    ['status=s',     'URL', 'GUILDLOG_STATUS', undef,
        'the status location; /status beside the API if it is not said'],
    ['db=s',         'CONNINFO', 'GUILDLOG_DB', 'dbname=guildlog',
        "the database, as the schema's owner"],
    ['ca=s',         'FILE', 'GUILDLOG_CA', undef,
        'who vouches for the certificate of the service'],
    ['cert=s',       'FILE', 'GUILDLOG_CERT', undef,
        'a certificate of one\'s own, for an operator location that asks for it'],
    ['cert-key=s',   'FILE', 'GUILDLOG_CERT_KEY', undef, 'its key'],
);

my $option;    # those of the command line


sub use_options { ($option) = @_ }
sub chosen { return $option->{ $_[0] } }
sub said { return map { defined chosen($_) ? ($_ => chosen($_)) : () } @_ }
sub bot { return (chosen('bot') // '') eq 'main' ? () : said('bot') }


# an id that may stand in a path or a statement
sub id {
    my ($id) = @_;
    return $id =~ /^\d{1,20}$/ ? $id : usage("'$id' is no id");
}


# a path of the service: /servers/ID/..., or of all servers if no id begins it
sub place {
    my @pieces = @_;
    unshift @pieces, 'servers' if $pieces[0] =~ /^\d/;
    return join '', map { '/' . escaped($_) } @pieces;
}


# types of entries

my @types;

sub types {
    @types = @{ decode(api('GET', '/log-types')) } if !@types;
    return @types;
}


my @listed;

# What conf/viewer/log-types.tsv beside the command says of them: that needs no
# token.  Nothing if the command lies alone.

sub listed_types {
    if (!@listed && open my $in, '<:encoding(UTF-8)',
        "$FindBin::RealBin/../conf/viewer/log-types.tsv")
    {
        chomp(my @names = split /\t/, readline $in);
        while (my $line = readline $in) {
            chomp $line;
            my %row;
            @row{@names} = split /\t/, $line;
            push @listed, \%row;
        }
    }
    return @listed;
}


# by number, or by key in any spelling: messageDelete, message_delete

sub type_of {
    my ($word) = @_;

    my $is = lc $word =~ s/[-_]//gr;
    my @all = listed_types();
    @all = types() if !@all;
    my ($type) = grep { $_->{id} eq $word || lc $_->{key} eq $is } @all;
    return $type // usage("there is no type '$word'"
        . nearest($word, map { $_->{key} } @all));
}


# HTTP

# at the operator location: method, path, [query], body, how
sub operator {
    my ($method, $path, $query, $body, %how) = @_;
    return ask($method, base('operator') . $path, $query, 0, body => $body,
        certificate => 1, %how);
}


# at the API: method, path, [query], status that is no error
sub api {
    my ($method, $path, $query, $fine, %how) = @_;
    return ask($method, base('url') . $path, $query, $fine, %how,
        token => token($path =~ m{^/servers/(\d+)}));
}


sub base {
    my $base = setting($_[0]);
    usage("'$base' is not http://…, https://… or unix:…")
        if $base !~ m{^(?:https?://|unix:/)};
    return $base =~ s{/*$}{}r;
}


my %tokens;

# The token of a server.  A file may have those of several, a line each: each says
# in its middle part whose it is.

sub token {
    my ($server) = @_;

    if (!%tokens) {
        my $file = setting('token-file', 1);
        my @lines = $ENV{GUILDLOG_ADMIN_TOKEN}
            // of_run('GUILDLOG_ADMIN_TOKEN') // '';
        if (defined $file) {
            open my $in, '<', $file or fail(2, "$file: $!");
            @lines = readline $in;
        }
        for (map { s/\s+//gr } @lines) {
            next if !/^[\w.-]+$/;
            $tokens{''} //= $_;
            my $its = eval { parsed(decode_base64url((split /\./)[1])) };
            $tokens{ $its->{sub} } = $_ if ref $its && defined $its->{sub};
        }
    }
    return $tokens{ $server // '' } // $tokens{''} // usage('an Admin token is'
        . ' needed: say --token-file, or set GUILDLOG_ADMIN_TOKEN; guildlog'
        . ' token create makes one');
}


# what a status means whose answer does not say
my %meaning = (
    401 => 'the token is wrong, has expired or was revoked',
    403 => 'this token may not do that',
    404 => 'there is no such thing',
    405 => 'the service is older than this command',
);

# {status, headers, in}: the body can be read.  An answer that the service was
# too busy for is asked for again, after 503 if the request may be made twice
# ("again"); any other error ends the command.  undef: the service failed, and
# who asks is patient.  What gives the query is called for each try.

sub ask {
    my ($method, $url, $query, $fine, %how) = @_;

    my $base = $url;

    for my $tries (1 .. 5) {
        $url = $base . query(ref $query eq 'CODE' ? $query->()
            : @{ $query || [] });
        my $answer = curl($method, $url, %how);
        if (!$answer) {
            return if $how{patient};
            fail(4, "$url: " . (cannot_enter($url) || complaint()
                || 'no answer'));
        }
        my $status = $answer->{status};
        return $answer if $status =~ /^2/ || $status == ($fine || 0);

        my $wait = $answer->{headers}{'retry-after'};
        if ($tries < 5 && defined $wait && $wait <= 60
            && ($status == 429 || $status == 503
                && ($how{again} || $method =~ /^(?:GET|PUT)$/)))
        {
            warning("the service asks to wait for $wait s");
            sleep $wait || 1;
            next;
        }
        return if $how{patient} && $status >= 500;
        my $why = why($answer, $url);
        fail($status >= 500 ? 4 : 3, "$method $url: $status"
            . (defined $why ? ": $why" : ''));
    }
}


# What an answer says is wrong.  What answers in HTML is nginx, or no guildlog.

sub why {
    my ($answer, $url) = @_;

    my $status = $answer->{status};
    my $text = body($answer);
    my $said = eval { parsed($text) };
    if (ref $said ne 'HASH') {
        my ($title) = $text =~ m{<title>(?:\d+ )?([^<]*)</title>};
        return ($title // 'no JSON') . ": is this guildlog? The address of an API"
            . ' ends as nginx.conf says, most often in /api'
            if $status == 404 || $status =~ /^3/;
        return $title // $meaning{$status};
    }
    # the path's name of what the command line calls SERVER
    return ($said->{error} // $meaning{$status} // return)
        =~ s/^guild_id: /SERVER: /r;
}


sub query {
    my @pairs = @_;
    my @query;
    while (my ($name, $value) = splice @pairs, 0, 2) {
        push @query, "$name=" . escaped($value);
    }
    return @query ? '?' . join '&', @query : '';
}


# An import into a server that delivers would flood it.

sub no_log_channels {
    my ($server) = @_;
    usage('this server has log channels, and all that is imported would be'
            . ' written there. Say --deliver if you want that; else import'
            . ' first, and set the channels then')
        if @{ decode(operator('GET', "/servers/$server/lanes"))->{lanes} };
}


# what the answers to batches are added up in, each by its name

sub sum_of {
    return { recorded => 0, duplicates => 0, errors => [],
        map { $_ => $_ eq 'waiting' ? 0 : {} } @_ };
}


# Sends what $next gives, [its number, line]..., in batches of at most 1,000
# lines or 4 MiB, one after another; where it gives '', what is there.

sub send_all {
    my ($next, @how) = @_;
    my (@batch, $bytes);

    while (defined(my $one = $next->())) {
        my $size = $one ? length $one->[1] : 0;
        if (@batch && (!$one || @batch == 1000 || $bytes + $size > 4 << 20)) {
            send_batch(@how, splice @batch);
            $bytes = 0;
        }
        push @batch, $one || next;
        $bytes += $size;
    }
    send_batch(@how, @batch);
}


# To [path, what gives the query].  Adds the answer up in what %$sum has, errors
# by the numbers of their lines.  What could not be recorded now is sent again
# before anything else is: of a server all that was behind it, so that its order
# stays.  After the last try it is an error, with "retry".

sub send_batch {
    my ($where, $sum, @batch) = @_;

    for (my $tries = 1; @batch; $tries++) {
        my $answer = decode(operator('POST', $where->[0], $where->[1],
            join('', map { "$_->[1]\n" } @batch), again => 1));
        my @again;

        for my $name (grep { $_ ne 'errors' } keys %$sum) {
            my $is = $answer->{$name};
            $sum->{$name} += $is if !ref $is;
            $sum->{$name}{$_} += $is->{$_} for ref $is ? keys %$is : ();
        }
        for my $error (@{ $answer->{errors} }) {
            my $one = $batch[$error->{index}];
            if ($error->{retry} && $tries < 5) {
                push @again, $one;
            } else {
                push @{ $sum->{errors} }, { line => $one->[0],
                    map { $_ => $error->{$_} } grep { defined $error->{$_} }
                        qw(error retry) };
            }
        }
        @batch = @again;
        sleep $tries if @batch;
    }
}


# curl does not tell what is wrong with a socket
sub cannot_enter {
    my ($path) = $_[0] =~ /^unix:([^:]+):/ or return;

    return if -w $path;
    return $!{EACCES} ? 'this user may not use it; its group may'
         : $!{ENOENT} ? 'nobody listens there: does nginx run?' : undef;
}


# Runs curl, which gets its arguments by a pipe: everybody may read command
# lines.  other: it is not this service that is asked.

sub curl {
    my ($method, $url, %how) = @_;

    my %config = (
        request => $method, 'connect-timeout' => 10,
        header => ["Expect:", @{ $how{header} || [] }],
    );
    if ($url =~ /^unix:([^:]+):(.*)/) {
        $config{'unix-socket'} = $1;
        $config{noproxy} = '*';
        $url = "http://localhost$2";
    }
    $config{url} = $url;
    $config{'max-time'} = $how{other} ? 30 : 120 if !$how{stream};
    my ($ca, $cert, $key) = map { setting($_, 1) } qw(ca cert cert-key);
    $config{cacert} = $ca if defined $ca && !$how{other};
    if ($how{certificate} && defined $cert) {
        $config{cert} = $cert;
        $config{key} = $key // $cert;
    }
    push @{ $config{header} }, "Authorization: Bearer $how{token}"
        if defined $how{token};

    my $body = $how{body};
    if (defined $body) {
        push @{ $config{header} }, 'Content-Type: application/'
            . (ref $body ? 'json' : 'x-ndjson');
        $body = JSON::PP->new->utf8->encode($body) if ref $body;
        $config{'data-binary'} = '@-';
    }

    my $text = join '', map { "$_\n" } qw(silent show-error include globoff
        path-as-is no-buffer suppress-connect-headers);
    for my $name (sort keys %config) {
        $text .= "$name = \"" . s/([\\"])/\\$1/gr . "\"\n"
            for ref $config{$name} ? @{ $config{$name} } : $config{$name};
    }
    utf8::encode($text);
    my $in = run_with($text, $body // '',
        sub { ('curl', '-q', '--config', $_[0]) });

    return answer_of($in);
}


# The answer's head; undef: there is none.  An interim one (1xx) comes before it.

sub answer_of {
    my ($in) = @_;

    while (defined(my $line = readline $in)) {
        my ($status) = $line =~ m{^HTTP/\S+ (\d+)} or last;
        my %headers;

        while (defined($line = readline $in)) {
            last if $line =~ /^\r?$/;
            $headers{ lc $1 } = $2 if $line =~ /^([\w-]+):\s*(.*?)\s*$/;
        }
        return { status => $status, headers => \%headers, in => $in }
            if $status !~ /^1/;
    }
    return;
}


my $complaints;    # what the command that runs says on stderr

# Starts a command that reads $secret from the path that it is given, and $stdin;
# returns what it prints.

sub run_with {
    my ($secret, $stdin, $command) = @_;

    local $^F = 255;
    pipe my $secret_out, my $secret_in or fail(4, "pipe: $!");
    pipe my $stdin_out, my $stdin_in or fail(4, "pipe: $!");

    open $complaints, '+>', undef or fail(4, "a temporary file: $!");

    my $pid = open(my $in, '-|') // fail(4, "fork: $!");
    if (!$pid) {
        close $_ for $secret_in, $stdin_in;
        open STDIN, '<&', $stdin_out;
        open STDERR, '>&', $complaints;
        my @command = $command->('/dev/fd/' . fileno $secret_out);
        no warnings 'exec';
        exec @command;
        print STDERR "$command[0]: $!\n";
        POSIX::_exit(127);
    }
    close $_ for $secret_out, $stdin_out;

    # the command may end before it has read all
    local $SIG{PIPE} = 'IGNORE';
    print {$secret_in} $secret;
    close $secret_in;
    print {$stdin_in} $stdin;
    close $stdin_in;
    return $in;
}


sub complaint {
    seek $complaints, 0, 0;
    return (readline($complaints) // '') =~ s/\s+$//r;
}


sub body {
    my ($answer) = @_;

    my $text = do { local $/; readline $answer->{in} } // '';
    close $answer->{in} or fail(4, 'the answer was cut off');
    return $text;
}


# the JSON of an answer; undef if it is an error that is fine
sub decode {
    my ($answer) = @_;

    my $text = body($answer);
    return if $answer->{status} !~ /^2/;
    return eval { parsed($text) } // fail(4, 'the answer is no JSON');
}


sub parsed { return JSON::PP->new->utf8->allow_nonref->decode($_[0]) }


sub escaped {
    my ($text) = @_;
    utf8::encode($text);
    return $text =~ s/([^\w.~-])/sprintf '%%%02X', ord $1/gear;
}


# what a select of the database gives, which is JSON
sub database {
    my ($select) = @_;

    # a password is for nobody to see
    my $db = setting('db');
    if ($db =~ s{^(postgres(?:ql)?://[^:@/]*):([^@]*)@}{$1@}) {
        $ENV{PGPASSWORD} = $2 =~ s/%([0-9a-f]{2})/chr hex $1/gier;
    } elsif ($db =~ s/\bpassword\s*=\s*('?)(\S*)\1//) {
        $ENV{PGPASSWORD} = $2;
    }

    open my $in, '-|', qw(psql -X -At -v ON_ERROR_STOP=1 -d), $db,
        '-c', "select $select" or fail(4, "psql: $!");
    my $text = do { local $/; readline $in } // '';
    close $in or fail(4, "the database did not do it: it is asked as the owner"
        . " of the schema, whom --db names");
    return $text =~ /\S/ ? parsed($text) : undef;
}


# an option, a variable of the environment, that of util/run, a default
sub setting {
    my ($name, $may_lack) = @_;

    my ($row) = grep { $_->[0] eq "$name=s" } @settings;
    my $value = $option->{$name} // $ENV{ $row->[2] }
        // of_run($row->[2]) // $row->[3];
    usage("please say --$name, or set $row->[2]")
        if !defined $value && !$may_lack;
    return $value;
}


my %run;

# of the service that util/run runs here, if no other one is named
sub of_run {
    my ($name) = @_;

    if (!%run) {
        return if grep { defined $option->{ s/=s$//r } }
            map { $_->[0] } @settings;
        return if grep { defined $ENV{ $_->[2] } } @settings;
        %run = ('' => 1, -x "$FindBin::RealBin/run"
            ? map { /^(\w+)=(.*)/ } qx{"$FindBin::RealBin/run" --env 2>/dev/null}
            : ());
    }
    return $run{$name};
}


1;
