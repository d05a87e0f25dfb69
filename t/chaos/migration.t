# A store of a million entries is migrated under load: no request waits as long
# as it takes to make an index of them.

BEGIN { $ENV{GUILDLOG_ENTRIES} ||= 1_000_000 }

require './t/install/migration.t';
