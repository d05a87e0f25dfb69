# Not only a sample of the allocations, as in t/malloc.t: each one fails.

$ENV{GUILDLOG_FAULTS} //= 'all';
do './t/malloc.t';
die $@ if $@;
