#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""status-test.py QEMU QEMU-PINNING

qemu-pinning status and the example client against running machines: what
they say is what /proc says, also after somebody else has set a mask.  TAP.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.join(HERE, '..', '..')
CLIENT = os.path.join(TOP, 'contrib', 'pinning', 'watch-pinning.py')
QEMU, TOOL = sys.argv[1:3]
CPU = min(os.sched_getaffinity(0))
NAME = 'a "b" \\c'
SAMPLE = re.compile(r'(qemu_pinning_\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} '
                    r'(-?\d+)')
tests = []


class Skip(Exception):
    """Something is not there that a test needs"""


def test(function):
    tests.append(function)
    return function


class Machine:
    """A machine with QMP sockets named 0 and 1 in a folder of its own"""

    def __init__(self, *args):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [QEMU, '-nodefaults', '-display', 'none', '-m', '32', '-qmp',
             'unix:%s,server,wait=off' % self.socket(0), '-qmp',
             'unix:%s,server,wait=off' % self.socket(1), '-monitor',
             'unix:%s,server,wait=off' % self.socket('hmp'), *args],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while self.status().returncode:
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < end, self.status().stderr
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.folder.cleanup()

    def socket(self, name):
        return os.path.join(self.folder.name, str(name))

    def status(self, *args, socket=0):
        return subprocess.run([TOOL, 'status', *args, self.socket(socket)],
                              capture_output=True, text=True, timeout=60)

    def mask(self, tid):
        path = '/proc/%d/task/%s/status' % (self.process.pid, tid)
        return re.search(r'^Cpus_allowed_list:\s*(\S+)', open(path).read(),
                         re.M).group(1)

    def metrics(self):
        """(metric, labels) -> value; every metric has been introduced"""
        done = self.status('--prometheus')
        assert done.returncode == 0, done.stderr
        known, values = set(), {}
        for line in done.stdout.splitlines():
            introduced = re.match(r'# TYPE (\w+) (gauge|counter)$', line)
            if introduced:
                known.add(introduced.group(1))
            elif not line.startswith('# HELP '):
                sample = SAMPLE.fullmatch(line)
                assert sample, line
                assert sample.group(1) in known, line
                key = sample.group(1, 2)
                assert key not in values, line
                values[key] = int(sample.group(3))
        return values


def placed(*args):
    return Machine('-accel', 'tcg,pinning=one-to-one,pinning-registry=off,'
                   'pinning-cpus=%d' % CPU, '-name', NAME, *args)


def value(metrics, metric, label=''):
    [found] = [v for (name, labels), v in metrics.items()
               if name == 'qemu_pinning_' + metric and label in labels]
    return found


@test
def test_text():
    """text: each thread with the mask that /proc has"""
    with placed('-object', 'iothread,id=io0') as m:
        lines = m.status().stdout.splitlines()
        assert lines[0] == NAME + ': one-to-one', lines
        rows = [re.match(r'(vcpu 0|main|helper|iothread io0) +(\d+)  (\S+) +'
                         r'(\S+)', line) for line in lines]
        rows = [row.groups() for row in rows if row]
        assert {row[0] for row in rows} == {'vcpu 0', 'main', 'helper',
                                            'iothread io0'}, lines
        for _, tid, wanted, actual in rows:
            assert m.mask(tid) == actual == wanted == str(CPU), lines
        assert 'not in place' not in '\n'.join(lines), lines


@test
def test_json():
    """--json: what query-pinning returns"""
    with placed() as m:
        info = json.loads(m.status('--json').stdout)
        assert info['enabled'] and info['options']['mode'] == 'one-to-one'
        [vcpu] = [t for t in info['threads'] if t['role'] == 'vcpu']
        assert m.mask(vcpu['thread-id']) == vcpu['actual-cpus'] == str(CPU)


@test
def test_metrics():
    """--prometheus: names, labels and values"""
    with placed('-object', 'iothread,id=io0') as m:
        metrics = m.metrics()
        vm = r'vm="a \"b\" \\c"'
        assert all(labels.startswith(vm) for _, labels in metrics), metrics
        assert value(metrics, 'enabled', 'mode="one-to-one"') == 1
        assert value(metrics, 'vcpu_in_place', 'vcpu="0"') == 1
        assert value(metrics, 'vcpu_host_cpu', 'vcpu="0"') == CPU
        assert value(metrics, 'vcpu_preempted_total', 'vcpu="0"') >= 0
        assert value(metrics, 'io_in_place', 'device="io0"') == 1
        assert value(metrics, 'memory_bytes', 'guest_node="0"') > 0
        assert value(metrics, 'warnings') > 0       # it has one CPU for all


@test
def test_foreign():
    """a mask that somebody else sets is shown, and counted as not in place"""
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) < 2:
        raise Skip('one host CPU only')
    with placed() as m:
        info = json.loads(m.status('--json').stdout)
        [vcpu] = [t for t in info['threads'] if t['role'] == 'vcpu']
        os.sched_setaffinity(vcpu['thread-id'], everywhere)
        text = m.status().stdout
        assert re.search(r'^vcpu 0 .* not in place$', text, re.M), text
        assert value(m.metrics(), 'vcpu_in_place') == 0


@test
def test_off():
    """a machine that is not placed: masks, and nothing wanted"""
    with Machine('-accel', 'tcg') as m:
        text = m.status().stdout
        assert text.splitlines()[0] == m.socket(0) + ': not placed', text
        assert value(m.metrics(), 'enabled', 'mode="none"') == 0
        assert not [k for k in m.metrics() if 'in_place' in k[0]]


@test
def test_busy():
    """a socket where somebody else is, and one that is no QMP server"""
    with placed() as m:
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(m.socket(0))
            done = m.status()
            assert done.returncode == 1 and done.stdout == '', done
            assert 'does not answer' in done.stderr, done.stderr
            assert 'one client at a time' in done.stderr, done.stderr
            assert m.status(socket=1).returncode == 0
        done = m.status(socket='hmp')
        assert done.returncode == 1 and done.stdout == '', done
        assert len(done.stderr.splitlines()) <= 3, done.stderr


@test
def test_words():
    """words on the command line"""
    for words, text in (([], 'the QMP socket of one machine'),
                        (['a', 'b'], 'the QMP socket of one machine'),
                        (['--json', '--prometheus', 'a'], 'exclude'),
                        (['/does/not/exist'], "'/does/not/exist'")):
        done = subprocess.run([TOOL, 'status', *words], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 1 and done.stdout == '', done
        assert text in done.stderr, done.stderr
    done = subprocess.run([TOOL, 'status', '--help'], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and '--prometheus' in done.stdout, done


@test
def test_client():
    """the example client shows the masks, follows, and ends with it"""
    with placed() as m:
        client = subprocess.Popen([sys.executable, CLIENT, m.socket(0)],
                                  stdout=subprocess.PIPE, text=True)
        line = client.stdout.readline()
        assert line.startswith('vCPU 0: wanted %d, actual %d,' % (CPU, CPU))
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(m.socket(1))
            qmp = other.makefile('rw')
            for command in 'qmp_capabilities', 'set-pinning', 'quit':
                qmp.readline()
                if command == 'quit':   # not before it has asked once more
                    line = client.stdout.readline()
                    assert line.startswith('vCPU 0: wanted %d, ' % CPU), line
                qmp.write(json.dumps({'execute': command}) + '\n')
                qmp.flush()
            client.communicate(timeout=60)
        assert client.returncode == 0


failed = 0
print('1..%d' % len(tests))
for n, function in enumerate(tests, 1):
    try:
        why = ''
        function()
        good = True
    except Skip as e:
        good = True
        why = ' # SKIP %s' % e
    except Exception as e:              # any of them fails the test
        good = False
        print('# %s: %s' % (type(e).__name__, str(e).replace('\n', '\n# ')))
    failed += not good
    print('%sok %d - status: %s%s' % ('' if good else 'not ', n,
                                      function.__doc__, why), flush=True)
sys.exit(1 if failed else 0)
