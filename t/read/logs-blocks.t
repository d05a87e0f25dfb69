# As t/read/logs.t, but all entries are in blocks.

$ENV{GUILDLOG_STORED} = 'blocks';
do './t/read/logs.t';
die $@ if $@;
