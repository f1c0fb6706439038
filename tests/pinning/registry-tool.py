#!/usr/bin/env python3
#
# What "qemu-pinning run" and "qemu-pinning list" promise, one by one.
#
# registry-tool.py [QEMU-PINNING]
#
# Hosts of any size will do: nothing here needs more than one CPU.  TAP.
#
# SPDX-License-Identifier: GPL-2.0-or-later

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from cpulist import members

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                       os.path.join(REPO, 'build', 'bin', 'qemu-pinning'))
CAPTURE = os.path.join(REPO, 'tests', 'data', 'host-topology',
                       'hwloc-opteron-6276-cmt.capture')
TIMEOUT = 60
holders = []    # those that a failed test may have left
SHOW = 'grep -h Cpus_allowed_list /proc/self/status; echo $QEMU_PINNING_CPUS'


def tool(*args, status=0):
    """Run the tool; returns its output and what it complained about"""
    run = subprocess.run([TOOL] + list(args), capture_output=True, text=True,
                         timeout=TIMEOUT)
    assert run.returncode == status, '%s: status %d\n%s' % (
        args, run.returncode, run.stderr)
    return run.stdout, run.stderr


def entries(registry):
    return json.loads(tool('list', '--json', '--registry', registry)[0])


def files(registry):
    return [name for name in os.listdir(registry) if name != 'lock']


def start(registry, *args):
    """A holder that has recorded its entry and says so"""
    holder = subprocess.Popen(
        [TOOL, 'run', '--registry', registry] + list(args) +
        ['--', 'sh', '-c', 'echo; exec sleep 600'],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    holders.append(holder)
    assert holder.stdout.readline() == '\n', 'the program did not start'
    return holder


def end(holder):
    holder.kill()
    holder.wait(TIMEOUT)
    holder.stdout.close()
    holders.remove(holder)


def test_mask(registry):
    """the program runs on the host CPU that was chosen, and is told"""
    output, _ = tool('run', '--registry', registry, '--smp', '1', '--', 'sh',
                     '-c', SHOW)
    allowed, told = output.split('\n')[:2]
    assert allowed.split()[-1] == told, output
    assert told.isdigit() and int(told) in os.sched_getaffinity(0), told


def test_captured(registry):
    """with --root it runs where it would, and the plan is recorded"""
    output, _ = tool('run', '--registry', registry, '--root', CAPTURE,
                     '--smp', '2', '--cpus', '40-47', '--', 'sh', '-c', SHOW)
    allowed, told = output.split('\n')[:2]
    assert told and allowed.split()[-1] != told, output
    entry, = entries(registry)
    assert entry['host-cpus'] == told, entry


def test_plan_options(registry):
    """it goes where "plan" says, whatever the options"""
    machine = ('--root', CAPTURE, '--smp', '4,sockets=2,cores=1,threads=2',
               '--numa', 'node,cpus=0-1,hostnodes=6', '--numa',
               'node,cpus=2-3,hostnodes=3', '--memory', '1G',
               '--smt', 'require')
    plan = json.loads(tool('plan', '--json', '--mode', 'one-to-one',
                           *machine)[0])
    output, _ = tool('run', '--registry', registry, *machine, '--', 'sh',
                     '-c', SHOW + '; echo "$QEMU_PINNING_NODES"')
    told = output.split('\n')
    entry, = entries(registry)
    assert told[1] == entry['host-cpus'], (told, entry)
    assert told[2] == '3,6', told
    want = sorted(int(vcpu['host-cpus']) for vcpu in plan['vcpus'])
    assert len(set(want)) == 4, plan
    assert members(told[1]) == want, (told, plan)
    assert sorted((m['host-node'], m['size']) for m in entry['memory']) == [
        (3, 512 << 20), (6, 512 << 20)], entry
    # What follows the command is the command's
    output, _ = tool('run', '--registry', registry, 'echo', '--smp', 'x')
    assert output == '--smp x\n', output


def test_entry(registry):
    """the entry names the program, its pid and what it holds"""
    holder = start(registry, '--smp', '1', '--name', 'spdk', '--exclusive')
    entry, = entries(registry)
    with open('/proc/%d/stat' % holder.pid) as stat:
        start_time = int(stat.read().rsplit(')')[1].split()[19])
    end(holder)
    assert entry['name'] == 'spdk', entry
    assert entry['pid'] == holder.pid, entry
    assert entry['start-time'] == start_time, entry
    assert entry['exclusive'] and entry['mode'] == 'one-to-one', entry
    assert entry['vcpus'] == 1, entry


def test_end(registry):
    """the entry is dead when the program has ended, and can be removed"""
    end(start(registry))
    entry, = entries(registry)
    assert entry['pid'] == 0, entry
    text, _ = tool('list', '--registry', registry)
    assert text.startswith('sh: dead'), text
    _, complaint = tool('list', '--gc', '--registry', registry)
    assert complaint == '1 removed\n', complaint
    assert not files(registry)


def test_left_running(registry):
    """what the program leaves running still holds the entry"""
    output, _ = tool('run', '--registry', registry, '--', 'sh', '-c',
                     'sleep 600 >/dev/null 2>&1 & echo $!')
    entry, = entries(registry)
    os.kill(int(output), 9)
    assert entry['pid'] != 0, entry
    limit = time.monotonic() + TIMEOUT
    while entries(registry)[0]['pid']:
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_status(registry):
    """the status is the program's, or says why it was not run"""
    run = ('run', '--registry', registry, '--')
    tool(*run, 'sh', '-c', 'exit 42', status=42)
    _, complaint = tool(*run, '/nonexistent', status=127)
    assert 'No such file' in complaint, complaint
    _, complaint = tool(*run, '/', status=126)
    assert 'Permission denied' in complaint, complaint
    tool('list', '--gc', '--registry', registry)
    assert not files(registry), 'what did not run left an entry'


def test_exclusive(registry):
    """an explicit overlap with exclusive host CPUs names their owner"""
    root = ('--root', CAPTURE)
    holder = start(registry, '--exclusive', '--name', 'owner', '--cpus', '5',
                   *root)
    _, complaint = tool('run', '--registry', registry, '--cpus', '5', *root,
                        '--', 'true', status=125)
    assert 'owner' in complaint, complaint
    output, _ = tool('run', '--registry', registry, '--smp', '4',
                     '--mode', 'balanced', '--hostnodes', '0', *root, '--',
                     'sh', '-c', 'echo $QEMU_PINNING_CPUS')
    end(holder)
    assert output == '0-4,6-7\n', output


def test_spread(registry):
    """the same command line twice gives different CPUs"""
    args = ('--root', CAPTURE, '--smp', '4')
    holders = [start(registry, *args) for _ in range(8)]
    cpus = [entry['host-cpus'] for entry in entries(registry)]
    for holder in holders:
        end(holder)
    assert len(set(cpus)) == 8, cpus


def test_no_registry(registry):
    """without a usable registry only exclusive host CPUs are refused"""
    file = os.path.join(registry, 'file')
    open(file, 'w').close()
    for where in (file, os.path.join(registry, 'no', 'parent')):
        output, complaint = tool('run', '--registry', where, '--', 'echo',
                                 'ran')
        assert output == 'ran\n' and complaint.count('\n') == 1, complaint
        assert 'Others do not know what this one uses' in complaint, complaint
        output, complaint = tool('run', '--registry', where, '--exclusive',
                                 '--', 'echo', 'ran', status=125)
        assert output == '' and where in complaint, complaint
    output, complaint = tool('run', '--registry', 'off', '--', 'echo', 'ran')
    assert (output, complaint) == ('ran\n', ''), complaint
    tool('run', '--registry', 'off', '--exclusive', '--', 'true', status=125)


def test_lost_lock(registry):
    """a registry that cannot be locked is still heeded"""
    holder = start(registry, '--root', CAPTURE, '--cpus', '5', '--exclusive')
    os.unlink(os.path.join(registry, 'lock'))
    os.mkdir(os.path.join(registry, 'lock'))
    output, complaint = tool('run', '--registry', registry, '--root', CAPTURE,
                             '--smp', '4', '--mode', 'balanced',
                             '--hostnodes', '0', '--', 'sh', '-c',
                             'echo $QEMU_PINNING_CPUS')
    end(holder)
    assert output == '0-4,6-7\n', output
    assert 'Cannot open the lock' in complaint, complaint


def test_wrong_words(registry):
    """mistakes on the command line are named"""
    for args, text in (
            (('run', '--smp', '0', '--', 'true'), 'cpus=0 is not between'),
            (('run', '--smp', 'x', '--', 'true'), 'expects integer'),
            (('run', '--smp', '4,cores=3', '--', 'true'), 'cores 3'),
            (('run', '--memory', '4Q', '--', 'true'), "not '4Q'"),
            (('run', '--colour', 'red', '--', 'true'), "'--colour'"),
            (('run', '--taken', 'file', '--', 'true'), "'--taken'"),
            (('run', '--mode', 'fast', '--', 'true'), "'fast'"),
            (('run', '--registry', registry), 'no command'),
            (('run', '--smp'), "'--smp' needs a value")):
        _, complaint = tool(*args, status=125)
        assert text in complaint, (args, complaint)
    _, complaint = tool('list', 'all', status=1)
    assert "'all'" in complaint, complaint
    _, complaint = tool('list', '--registry', registry + '/none', status=1)
    assert 'does not exist' in complaint, complaint
    assert not os.path.exists(registry + '/none'), 'looking made it'


def test_broken(registry):
    """a broken entry is named by those who look, and hinders nobody"""
    with open(os.path.join(registry, 'broken.json'), 'w') as file:
        file.write('{ "version": 1, ')
    os.chmod(file.name, 0o644)
    output, complaint = tool('list', '--json', '--registry', registry)
    assert json.loads(output) == [], output
    assert complaint.count("Entry 'broken.json'") == 1, complaint
    output, complaint = tool('run', '--registry', registry, '--', 'echo',
                             'ran')
    assert output == 'ran\n', output
    assert complaint.count("Entry 'broken.json'") == 1, complaint


def main():
    tests = [value for name, value in globals().items()
             if name.startswith('test_')]
    print('1..%d' % len(tests))
    failed = 0
    for number, test in enumerate(tests, 1):
        registry = tempfile.mkdtemp(prefix='registry-tool-')
        try:
            test(registry)
            print('ok %d %s' % (number, test.__doc__))
        except (AssertionError, OSError, ValueError, IndexError,
                subprocess.SubprocessError) as error:
            failed += 1
            for line in (repr(error) + '\n' + str(error)).splitlines():
                print('# ' + line)
            print('not ok %d %s' % (number, test.__doc__))
        finally:
            for holder in list(holders):
                end(holder)
            shutil.rmtree(registry)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
