# The package for Python as people get it: its sdist, the wheel that pip makes of
# that, and an environment with nothing else in it. It has all modules, the readme and
# the licence, and a type checker knows it.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use File::Temp qw(tempdir);

my $python = '/usr/bin/python3';
my $source = "$Guildlog::TOP/util/kit/python";
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $pip = "$python -B -m pip --disable-pip-version-check --no-cache-dir";

delete @ENV{grep { /^(?:PIP|PYTHON|MYPY)/ } keys %ENV};
@ENV{qw(PIP_NO_INDEX PIP_ROOT_USER_ACTION)} = (1, 'ignore');


# what a command says
sub says {
    my ($what, $command) = @_;
    my $out = qx{exec 2>&1; cd $dir && $command};
    is $?, 0, $what or diag $out;
    return $out;
}


sub names {
    return [sort grep { $_ ne '__pycache__' } map { m{([^/]+)/?$} } @_];
}


sub write_file {
    my ($name, $text) = @_;
    open my $out, '>', "$dir/$name" or die $!;
    print {$out} $text;
    close $out or die $!;
}


my @all = ('README.md', 'LICENSE', 'pyproject.toml',
    map { "guildlog/$_" } @{ names(glob "$source/guildlog/*") });

says('a copy of what is here', "mkdir package && cd $source"
    . " && cp -r --parents .gitignore @all $dir/package");
my $before = names(glob "$dir/package/*");
says('an sdist', "cd package && $python -B -c 'from setuptools import build_meta
build_meta.build_sdist(\"../dist\")'");
my ($sdist) = glob "$dir/dist/*.tar.gz";
like $sdist, qr{/guildlog-[\d.]+[.]tar[.]gz$}, '... is there';
my $packed = says('... and can be read', "tar -tf $sdist");
is_deeply [grep { $packed !~ m{^[^/]+/\Q$_\E$}m } @all], [], '... and whole';

says('pip makes a wheel here, too',
    "$pip wheel --no-build-isolation --no-deps -w here ./package");
is_deeply names(glob "$dir/package/*"), names(@$before, map { glob "$dir/package$_" }
    split /\n/, slurp("$source/.gitignore")), '... and what it leaves is ignored';

says('pip makes a wheel of the sdist',
    "$pip wheel --no-build-isolation --no-deps -w wheels $sdist");
says('an empty environment', "$python -m venv --without-pip env");
says('... gets it', "$pip --python env/bin/python install --no-deps wheels/*.whl");

# what is in it

write_file('told.py', <<'PYTHON');
import json
from importlib.metadata import distribution

import guildlog.discord

it = distribution('guildlog')
files = {str(file): file.read_text() for file in it.files if 'pyc' not in str(file)}
print(json.dumps([guildlog.__file__, files, it.metadata.json]))
PYTHON

my ($file, $files, $told) = @{ json->decode(says('it can be imported',
    'env/bin/python -B told.py')) };
like $file, qr{^\Q$dir\E/env/}, '... from there';
is_deeply [sort map { m{^guildlog/(.*)} } keys %$files],
    names(glob "$source/guildlog/*"), '... with all modules';
is((map { $files->{$_} } grep { m{/LICENSE$} } keys %$files)[0],
    slurp("$Guildlog::TOP/LICENSE"), '... and the licence');
is $told->{name}, 'guildlog', '... by its name';
is $told->{license}, 'BSD-2-Clause', '... with the name of the licence';
is $told->{requires_python}, '>=3.11', '... for that Python';
is_deeply [$told->{provides_extra}, grep { !/extra ==/ } @{ $told->{requires_dist} }],
    [['discord']], '... needs nothing, but for a bot';
is $told->{description_content_type}, 'text/markdown', '... and has a readme';
is $told->{description} =~ s/\s+$//r, slurp("$source/README.md") =~ s/\s+$//r,
    '... which is the one that is here';

# what a type checker says of it

write_file('user.py', <<'PYTHON');
from guildlog import Operator

async def main(recorder_of: Operator) -> None:
    recorder = await recorder_of.recorder('/tmp/bot')
    await recorder.forward({'t': 'X', 'd': {}})
    await recorder.forward(5)  # type: ignore[arg-type]
PYTHON

says('a type checker knows what it takes',
    'mypy --strict --cache-dir cache --python-executable env/bin/python user.py');

done_testing;
