#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs-test.py QEMU QEMU-PINNING

Everything that the documentation tells users to type is tried.  A comment
right before a code-block says how; without one the block is run as it is.

  machine          QEMU starts, and the machine is placed
  plan CAPTURE     the line is for a larger host: it is planned on that one,
                   and QEMU here objects to nothing but what its host lacks
  words            QEMU understands the pinning words
  socket PATH      run, with the QMP socket of a running machine for PATH
  metrics          its metrics are among those of "status --prometheus"
  needs REASON     cannot be run here; it is parsed

kvm stands for tcg where there is no /dev/kvm.  Pictures are made anew and
must be as they are; PINNING_UPDATE_GOLDEN=1 replaces them.  TAP.
"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.join(HERE, '..', '..')
sys.path.insert(0, HERE)
import docs                                             # noqa: E402

QEMU, TOOL = (os.path.abspath(p) for p in sys.argv[1:3])
PAGES = sorted(glob.glob(TOP + '/docs/system/pinning.rst') +
               glob.glob(TOP + '/docs/system/pinning/*.rst') +
               glob.glob(TOP + '/docs/tools/qemu-pinning.rst'))
CAPTURES = (glob.glob(TOP + '/tests/data/*/*.capture'))
MODES = 'balanced', 'numa', 'spread', 'one-to-one'
WORD = re.compile(r'(?<![\w-])(pinning(?:-[a-z-]+)?=[^\s\'"/<\\`]+)')
# What a host that is not the one of the documentation may lack
LACKS = re.compile(r'host CPU|host node|hostnodes|vfio|allocate memory')
# Option of the accelerator -> that of the tool, where it has one
TOOL_WORDS = {'pinning': '--mode', 'pinning-memory': '--memory-policy', **{
    'pinning-' + w: '--' + w for w in
    ('cpus', 'hostnodes', 'smt', 'cpu-kind', 'strategy', 'emulator-cpus',
     'io-cpus', 'vnuma', 'guest-topology', 'exclusive')}}
# QEMU in the place of the user's, which ends as soon as it has answered
WRAPPER = '''#!/bin/sh
printf '%%s\\n' '{"execute":"qmp_capabilities"}' \\
    '{"execute":"query-pinning"}' '{"execute":"quit"}' |
exec %(qemu)s "$@" -machine pinning-registry=%(registry)s -S -nodefaults \\
    -no-user-config -display none -qmp stdio
'''
TOOL_WRAPPER = '''#!/bin/sh
command=$1
shift
case $command in
run | list) exec %(tool)s $command --registry %(registry)s "$@" ;;
*) exec %(tool)s $command "$@" ;;
esac
'''


class Place:
    """A folder where blocks are run, with our programs in its PATH"""

    def __init__(self, folder):
        self.folder = folder
        self.bin = os.path.join(folder, 'bin')
        self.cwd = os.path.join(folder, 'cwd')
        registry = os.path.join(folder, 'registry')
        for path in (self.bin, self.cwd, registry):
            os.mkdir(path, 0o700)
        values = {'qemu': QEMU, 'tool': TOOL, 'registry': registry}
        self.program('qemu-system-x86_64', WRAPPER % values)
        self.program('qemu-pinning', TOOL_WRAPPER % values)
        for path in CAPTURES:
            shutil.copy(path, self.cwd)

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, 0o755)

    def run(self, text):
        return subprocess.run(
            ['sh', '-eu', '-c', text], cwd=self.cwd, capture_output=True,
            env={'PATH': self.bin + ':/usr/bin:/bin:/usr/sbin:/sbin'},
            text=True, timeout=120, stdin=subprocess.DEVNULL)


def without_kvm(text):
    return text if os.access('/dev/kvm', os.W_OK) else \
        re.sub(r'(-accel )kvm\b', r'\1tcg', text)


def run_block(place, text, _):
    done = place.run(text)
    assert done.returncode == 0, done.stdout + done.stderr


def start(place, text):
    """(whether the machine was there and placed, what QEMU said)"""
    done = place.run(without_kvm(text))
    return (done.returncode == 0 and '"enabled": true' in done.stdout,
            done.stderr)


def run_machine(place, text, _):
    placed, said = start(place, text)
    assert placed, said


def tool_line(text):
    """What qemu-pinning is to be told of a QEMU command line"""
    words = shlex.split(text)
    line = []
    for option, value in zip(words, words[1:]):
        if option in ('-accel', '-machine'):
            value = value.replace(',,', '\0')
            line += [w for part in value.split(',')
                     for key, _, v in [part.replace('\0', ',').partition('=')]
                     if key in TOOL_WORDS for w in (TOOL_WORDS[key], v)]
        elif option == '-smp':
            line += ['--smp', value]
        elif option == '-m':
            line += ['--memory', value.split(',')[0]]
        elif option == '-numa' and value.startswith('node'):
            line += ['--numa', re.sub(r',memdev=\w+', '', value)]
    return line


def run_plan(place, text, capture):
    line = tool_line(text)
    assert '--mode' in line, line
    done = place.run(shlex.join(['qemu-pinning', 'plan', '--json', '--root',
                                 capture + '.capture', *line]))
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan['vcpus'] and not plan['warnings'], done.stdout
    placed, said = start(place, text)
    assert placed or LACKS.search(said), said


def run_words(place, text, _):
    words = WORD.findall(text)
    assert words, 'there are none'
    for word in words:
        mode = '' if word.startswith('pinning=') else 'pinning=numa,'
        placed, said = start(place, 'qemu-system-x86_64 -machine q35 -accel '
                             'tcg -smp 1 -machine %s%s' % (mode, word))
        assert placed or LACKS.search(said), said


def run_socket(place, text, path):
    real = os.path.join(place.folder, 'vm.qmp')
    machine = subprocess.Popen(
        [QEMU, '-accel', 'tcg,pinning=numa,pinning-registry=off', '-smp', '1',
         '-nodefaults', '-display', 'none', '-S', '-qmp',
         'unix:%s,server=on,wait=off' % real], stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not os.path.exists(real) and time.monotonic() < end:
            time.sleep(0.05)
        assert path in text
        run_block(place, text.replace(path, real), '')
    finally:
        machine.terminate()
        machine.wait(60)
        if os.path.exists(real):
            os.unlink(real)


def metrics(text):
    return set(re.findall(r'\bqemu_pinning_\w+', text))


def run_metrics(place, text, _):
    path = os.path.join(place.cwd, 'vm1.prom')
    assert metrics(text) and metrics(text) <= metrics(open(path).read())


def parse_only(place, text, reason):
    assert reason, 'why?'
    done = place.run('sh -n <<\\END\n%sEND' % text)
    assert done.returncode == 0, done.stderr
    for command in re.findall(r'^qemu-pinning (\w+)', text, re.M):
        done = place.run('qemu-pinning %s --help' % command)
        assert done.returncode == 0, done.stderr


KINDS = {'': run_block, 'machine': run_machine, 'plan': run_plan,
         'words': run_words, 'socket': run_socket, 'metrics': run_metrics,
         'needs': parse_only}


def check_xml(place, text):
    """Whole domains are libvirt-test.py's; all are well-formed"""
    if 'xmlns:qemu' not in text:
        text = text.replace('<qemu:commandline>',
                            '<qemu:commandline xmlns:qemu="x">', 1)
    xml.etree.ElementTree.fromstring(text)
    run_words(place, text, '')


def try_block(place, language, marker, text):
    kind, _, arg = marker.partition(' ')
    if language == 'xml':
        check_xml(place, text)
    else:
        KINDS[kind](place, text, arg)


# --- what is not a block ---------------------------------------------------

def page(name):
    return open(os.path.join(TOP, 'docs', name)).read()


def check_pictures(place):
    """the pictures are what qemu-pinning draws today"""
    for mode in MODES:
        path = os.path.join(TOP, 'docs/system/pinning', mode + '.svg')
        run_block(place, 'qemu-pinning map --root epyc-7351p.capture --mode '
                  '%s --smp 4,sockets=2 --memory 8G --svg new.svg' % mode, '')
        new = os.path.join(place.cwd, 'new.svg')
        if os.environ.get('PINNING_UPDATE_GOLDEN'):
            shutil.copy(new, path)
        assert open(new).read() == open(path).read(), path


def check_options(place):
    """every option is in the reference and in -help, with its values"""
    done = subprocess.run([QEMU, '-help'], capture_output=True, text=True,
                          timeout=60)
    schema = open(os.path.join(TOP, 'qapi/pinning.json')).read()
    struct = re.search(r"'struct': 'PinningOptions',\s*'data': {(.*?)}",
                       schema, re.S).group(1)
    members = re.findall(r"'\*([\w-]+)': '(\w+)'", struct)
    assert len(members) > 10, struct
    for name, kind in members:
        option = 'pinning' if name == 'mode' else 'pinning-' + name
        enum = re.search(r"'enum': '%s',\s*'data': \[(.*?)\]" % kind, schema,
                         re.S)
        assert option + '=' in done.stdout, option + ' is not in -help'
        text = page('system/pinning.rst')
        assert '``%s=' % option in text, option + ' is not in the reference'
        for value in re.findall(r"'([\w-]+)'", enum.group(1)) if enum else ():
            assert re.search(r'``%s=[^`]*\b%s\b' % (option, value), text), \
                '%s=%s is not in the reference' % (option, value)


def check_commands(place):
    """every command and event is in the reference"""
    schema = open(os.path.join(TOP, 'qapi/pinning.json')).read()
    names = re.findall(r"'(?:command|event)': '([\w-]+)'", schema)
    assert len(names) > 5, names
    for name in names:
        assert '``%s``' % name in page('system/pinning.rst'), name


def check_manual(place):
    """every word of qemu-pinning is in its manual page"""
    manual = page('tools/qemu-pinning.rst')
    commands = re.findall(r'^  (\w+)  ', place.run('qemu-pinning --help')
                          .stdout, re.M)
    assert len(commands) >= 6, commands
    for command in commands:
        text = place.run('qemu-pinning %s --help' % command).stdout
        options = set(re.findall(r'(?<![\w-])--[a-z][\w-]*', text))
        assert options and re.search(r'^%s$' % command, manual, re.M), command
        for option in options - {'--help', '--pinning'}:
            assert option in manual, command + ' ' + option


def messages():
    """(file, longest part without conversions) of each error of ours"""
    call = re.compile(r'error_setg(?:_errno)?\(errp,\s*(?:-?\w+,\s*)?'
                      r'((?:"(?:[^"\\]|\\.)*"|PRI\w+|\s)+)')
    for path in sorted(sum((glob.glob(os.path.join(TOP, p)) for p in (
            'softmmu/pinning*.c', 'util/pinning-plan*.c', 'accel/pinning/*.c',
            'util/pinning-registry-dir.c')), [])):
        for found in call.findall(open(path).read()):
            text = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"|PRI\w+', found))
            parts = re.split(r'%[-+ #0-9.]*(?:[lhz]*[a-z])?', text)
            yield os.path.relpath(path, TOP), max(parts, key=len).strip()


def check_errors(place):
    """every error is explained where one looks for it"""
    text = ' '.join(page('system/pinning/troubleshooting.rst').split())
    found = list(messages())
    assert len(found) > 20, found
    missing = [m for m in found if m[1] not in text]
    assert not missing, '\n'.join('%s: %s' % m for m in missing)


def check_metrics(place):
    """the table of metrics is complete"""
    real = metrics(open(os.path.join(place.cwd, 'vm1.prom')).read())
    assert metrics(page('system/pinning/watching.rst')) == real, real


def markdown_commands():
    """(page, command) of what README.md and its kind tell one to type"""
    for path in ['README.md', 'CONTRIBUTING.md'] + sorted(
            os.path.relpath(p, TOP) for p in glob.glob(TOP + '/docs/*.md') +
            glob.glob(TOP + '/docs/devel/*.md')):
        text = open(os.path.join(TOP, path)).read().replace('\\\n', ' ')
        for line in re.findall(r'^    (\S.*)', text, re.M):
            # What explains it is two blanks away
            yield path, re.split(r'  +(?=[^ -])', line)[0].split(' #')[0]


def try_command(place, command):
    """Whether it is one that can be tried here, and was"""
    words = shlex.split(command)
    if words[0] == 'make' and words[1:]:
        rules = open(os.path.join(TOP, 'Makefile')).read()
        assert re.search(r'^%s:' % re.escape(words[1]), rules, re.M), command
    elif words[0].startswith(('scripts/', 'tests/')):
        assert os.access(os.path.join(TOP, words[0]), os.X_OK), words[0]
    elif words[0] == 'build/bin/qemu-system-x86_64':
        run_machine(place, shlex.join(
            ['qemu-system-x86_64'] + words[1:words.index('-kernel')]), '')
    elif words[0] == 'build/bin/qemu-pinning':
        run_block(place, 'qemu-pinning ' + shlex.join(
            [w.replace('tests/data/host-topology/NAME', 'epyc-7351p')
             for w in words[1:]]), '')
    else:
        return False
    return True


def check_markdown(place):
    """what README.md and its kind tell one to type is there"""
    tried = [page for page, command in markdown_commands()
             if try_command(place, command)]
    assert tried.count('README.md') >= 3 and len(tried) > 20, tried


CHECKS = (check_pictures, check_markdown, check_options, check_commands, check_manual,
          check_metrics, check_errors)


def cases():
    for path in PAGES:
        name = os.path.relpath(path, TOP)
        for line, language, marker, text in docs.marked_blocks(path):
            yield '%s:%d' % (name, line), try_block, (language, marker, text)
    for check in CHECKS:
        yield check.__doc__, check, ()


def main():
    failed = n = 0
    with tempfile.TemporaryDirectory(prefix='docs') as folder:
        place = Place(folder)
        for n, (name, function, args) in enumerate(cases(), 1):
            try:
                function(place, *args)
                good = True
            except Exception as e:      # any of them fails the test
                good = False
                print('# %s: %s' % (type(e).__name__,
                                    str(e).replace('\n', '\n# ')))
            failed += not good
            print('%sok %d - docs: %s' % ('' if good else 'not ', n, name),
                  flush=True)
    print('1..%d' % n)
    return 1 if failed else 0


sys.exit(main())
