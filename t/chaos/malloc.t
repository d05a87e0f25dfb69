# Not only a sample of the allocations, as in t/http/malloc.t: each one fails.

$ENV{GUILDLOG_FAULTS} //= 'all';
do './t/http/malloc.t';
die $@ if $@;
