# As t/read/logs-export.t, but all entries are in blocks.

$ENV{GUILDLOG_STORED} = 'blocks';
do './t/read/logs-export.t';
die $@ if $@;
