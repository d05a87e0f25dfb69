# A store of a million entries is migrated under load: no request takes a second.

BEGIN { $ENV{GUILDLOG_ENTRIES} ||= 1_000_000 }

require './t/install/migration.t';
