# As t/read/logs.t, but some entries are in blocks and some are not.

$ENV{GUILDLOG_STORED} = 'mixed';
do './t/read/logs.t';
die $@ if $@;
