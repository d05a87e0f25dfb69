# As t/http/malloc.t, but each allocation fails, not only a sample.

$ENV{GUILDLOG_FAULTS} //= 'all';
do './t/http/malloc.t';
die $@ if $@;
