# "Recipes: ten lines for discord.js, run by a test": those of util/kit/README.md.

use lib 't/lib';
use Guildlog;
use Guildlog::Program;

my $nginx = Guildlog->new;

$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/recipe';
mkdir $ENV{DIR} or die $!;

Guildlog::Program->obey('t/kit/recipe.js', stop => sub { $nginx->stop });

done_testing;
