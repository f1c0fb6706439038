#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt-test.py QEMU QEMU-PINNING

The system's libvirt runs domains with our emulator, as in the examples of
docs/system/pinning/libvirt.rst: it probes the emulator, starts, saves,
restores, plugs vCPUs and pins them itself.  TAP.

The daemon is one of its own, in a folder of its own, and an ordinary user's:
nothing of the machine is touched.  Masks are those in /proc.
"""

import functools
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import docs                                            # noqa: E402
import libvirtd                                        # noqa: E402
from libvirtd import Daemon, wait_for                  # noqa: E402

PAGE = os.path.join(HERE, '../../docs/system/pinning/libvirt.rst')
QEMU, TOOL = (os.path.abspath(p) for p in sys.argv[1:3])
NS = '{http://libvirt.org/schemas/domain/qemu/1.0}'
ET.register_namespace('qemu', NS[1:-1])
# What placement looks at or does, and nobody else at the time of a probe
OURS = re.compile(r'/sys/devices/system/|/sys/fs/cgroup|qemu-pinning/|'
                  r'(sched_setaffinity|mbind|move_pages)\(')


class Domain:
    """The domain of this NAME in the documentation's examples, defined"""

    def __init__(self, daemon, name):
        root = ET.fromstring(docs.block(PAGE, 'xml',
                                        '<name>%s</name>' % name))
        self.daemon = daemon
        self.name = name
        root.find('devices/emulator').text = QEMU
        for arg in root.iter(NS + 'arg'):
            if 'pinning=' in arg.get('value', ''):
                arg.set('value', arg.get('value') + ',pinning-registry=' +
                        daemon.path('registry'))
        with open(daemon.path('domain.xml'), 'wb') as f:
            f.write(ET.tostring(root))
        os.chmod(daemon.path('domain.xml'), 0o644)
        daemon.virsh('define', daemon.path('domain.xml'))

    def __call__(self, command, *args):
        return self.daemon.virsh(command, self.name, *args)

    def qmp(self, command, **arguments):
        reply = json.loads(self('qemu-monitor-command', json.dumps(
            {'execute': command, 'arguments': arguments})))
        return reply.get('return', reply.get('error', {}).get('desc'))

    def pid(self):
        return int(open(self.daemon.path(
            'runtime_dir/libvirt/qemu/run', self.name + '.pid')).read())

    def masks(self):
        """vCPU -> its host CPUs, as the kernel says"""
        return {v['cpu-index']: mask(self.pid(), v['thread-id'])
                for v in self.qmp('query-cpus-fast')}

    def threads(self):
        """vCPU -> (wanted, actual) of query-pinning"""
        return {t['vcpu']: (t['wanted-cpus'], t['actual-cpus'])
                for t in self.qmp('query-pinning')['threads']
                if t['role'] == 'vcpu'}


def status(pid, key, tid=None):
    path = '/proc/%d/task/%d/status' % (pid, tid or pid)
    for line in open(path):
        if line.startswith(key + ':'):
            return line.split()[1]
    raise AssertionError('no %s in %s' % (key, path))


def mask(pid, tid):
    return status(pid, 'Cpus_allowed_list', tid)


@functools.lru_cache
def latency(daemon):
    return Domain(daemon, 'latency')


def calls(log):
    """The calls in an strace LOG that placement might have made"""
    return {re.sub(r'^\d+ +', '', line.rstrip('\n'))
            for line in open(log, errors='replace') if OURS.search(line)}


# Taken for the emulator: has its calls written down, and becomes it.  The
# tracer must have none of libvirt's files, which waits for their end.
TRACED = '''#!/usr/bin/python3
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0)    # PR_SET_PTRACER, anybody
tracer = subprocess.Popen(
    ['strace', '-f', '-qq', '-s', '256', '-o', '%(log)s.%%d' %% os.getpid(),
     '-e', 'trace=%%file,write,sched_setaffinity,mbind,move_pages',
     '-p', str(os.getpid())], start_new_session=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL)
while 'TracerPid:\\t0' in open('/proc/self/status').read():
    if tracer.poll() is not None:
        sys.exit('strace may not trace')
os.execv('%(qemu)s', ['%(qemu)s'] + sys.argv[1:])
'''


def traced(daemon):
    path = daemon.path('traced')
    with open(path, 'w') as f:
        f.write(TRACED % {'log': daemon.path('calls'), 'qemu': QEMU})
    os.chmod(path, 0o755)
    return path


def logs(daemon):
    return [daemon.path(name) for name in os.listdir(daemon.folder)
            if name.startswith('calls.')]


# --- tests -----------------------------------------------------------------

tests = []


def test(function):
    tests.append(function)
    return function


@test
def test_probe(daemon):
    """a probe looks at nothing of the host and says nothing of placement"""
    program = traced(daemon)
    assert daemon.run(program, '--version').returncode == 0
    [version] = logs(daemon)
    loader = calls(version)             # libnuma looks around when loaded
    os.unlink(version)
    caps = daemon.virsh('domcapabilities', '--virttype', 'qemu',
                        '--emulatorbin', program, '--machine', 'q35')
    assert ET.fromstring(caps).findtext('path') == program, caps
    probes = [log for log in logs(daemon)
              if 'machine none' in open(log, errors='replace').read() or
              '"none,accel' in open(log, errors='replace').read()]
    assert probes, 'libvirt did not probe: %s' % logs(daemon)
    for log in probes:
        assert not calls(log) - loader, calls(log) - loader
        said = [line for line in open(log, errors='replace')
                if re.search(r'write\([12], .*pinning', line)]
        assert not said, said


@test
def test_start(daemon):
    """one-to-one: a host CPU for each vCPU when the guest runs"""
    domain = latency(daemon)
    domain('start')
    masks = domain.masks()
    assert sorted(masks) == [0], masks
    assert re.fullmatch(r'\d+', masks[0]), masks
    assert domain.threads() == {0: (masks[0], masks[0])}
    assert domain.qmp('query-pinning')['options']['mode'] == 'one-to-one'
    held = json.loads(daemon.run(TOOL, 'list', '--json', '--registry',
                                 daemon.path('registry')).stdout)
    assert [h['name'] for h in held] == ['latency'], held


@test
def test_sandbox(daemon):
    """libvirt's sandbox is up, and forbids to place it anew"""
    domain = latency(daemon)
    assert status(domain.pid(), 'Seccomp') == '2'
    said = domain.qmp('set-pinning')
    assert 'forbidden by -sandbox resourcecontrol=deny' in said, said


@test
def test_save(daemon):
    """managedsave and start: placed again"""
    domain = latency(daemon)
    first = domain.pid()
    domain('managedsave')
    assert domain('domstate').strip() == 'shut off'
    domain('start')
    assert domain.pid() != first
    assert domain.qmp('query-status')['running']
    masks = domain.masks()
    assert re.fullmatch(r'\d+', masks[0]), masks
    assert domain.threads() == {0: (masks[0], masks[0])}


@test
def test_plug(daemon):
    """a vCPU that libvirt was told the place of is plugged there"""
    domain = latency(daemon)
    plan = {v['vcpu']: v['host-cpus']
            for v in domain.qmp('plan-pinning')['vcpus']}
    assert sorted(plan) == [0, 1] and plan[0] != plan[1], plan
    domain('vcpupin', '1', plan[1])
    domain('setvcpus', '2')
    assert domain.masks() == plan, domain.masks()
    assert domain.threads() == {n: (p, p) for n, p in plan.items()}


@test
def test_foreign(daemon):
    """vcpupin wins, query-pinning shows it, and nobody takes it back"""
    domain = latency(daemon)
    before = domain.masks()
    domain('vcpupin', '0', before[1])
    assert domain.masks()[0] == before[1]
    assert domain.threads()[0] == (before[0], before[1])
    # The look for drift comes by itself, and must change nothing
    event = domain('qemu-monitor-event', '--event', 'PINNING_DRIFT',
                   '--timeout', str(libvirtd.PATIENCE))
    assert '"actual-cpus":"%s"' % before[1] in event.replace(' ', ''), event
    assert domain.masks()[0] == before[1]
    assert domain.threads()[0] == (before[0], before[1])


@test
def test_destroy(daemon):
    """nothing is held when the domain is gone"""
    domain = latency(daemon)
    domain('destroy')
    held = json.loads(daemon.run(TOOL, 'list', '--json', '--registry',
                                 daemon.path('registry')).stdout)
    assert [h for h in held if h['pid']] == [], held


@test
def test_plug_unsaid(daemon):
    """a vCPU plugged without a word: what libvirt made of it is shown"""
    domain = latency(daemon)
    domain('start')
    domain('setvcpus', '2')
    wanted, actual = domain.threads()[1]
    assert re.fullmatch(r'\d+', wanted), wanted
    assert actual == domain.masks()[1]
    domain('destroy')


@test
def test_paused(daemon):
    """a vcpupin of the definition is there when the guest runs, too"""
    domain = latency(daemon)
    everywhere = mask(os.getpid(), os.getpid())
    cpu = re.match(r'\d+', everywhere).group()
    domain('vcpupin', '0', cpu, '--config')
    domain('start', '--paused')
    assert domain.masks()[0] == cpu
    domain('resume')
    assert domain.masks()[0] == cpu
    domain('destroy')


@test
def test_numa(daemon):
    """guest nodes of libvirt: memory is placed, <numatune> is left alone"""
    domain = Domain(daemon, 'cells')
    domain('start')
    info = domain.qmp('query-pinning')
    assert info['enabled'] and info['options']['mode'] == 'numa', info
    assert [m['guest-node'] for m in info['memory']] == [0, 1], info
    assert [m['foreign'] for m in info['memory']] == [False, True], info
    domain('destroy')


def why_not():
    if len(os.sched_getaffinity(0)) < 2:
        return 'this process may use one CPU only'
    return libvirtd.why_not(QEMU, 'strace')


def main():
    reason = why_not()
    if reason:
        print('1..0 # SKIP libvirt: ' + reason)
        return 0
    failed = 0
    daemon = Daemon()
    try:
        daemon.wait()
        print('1..%d' % len(tests), flush=True)
        for n, function in enumerate(tests, 1):
            try:
                function(daemon)
                good = True
            except (AssertionError, OSError, KeyError,
                    subprocess.SubprocessError) as e:
                good = False
                print('# %s: %s' % (type(e).__name__,
                                    str(e).replace('\n', '\n# ')))
            failed += not good
            print('%sok %d - libvirt: %s' % ('' if good else 'not ', n,
                                             function.__doc__), flush=True)
        if failed:
            print('# ' + open(daemon.path('log')).read().replace('\n', '\n# '))
    finally:
        daemon.stop()
    return 1 if failed else 0


sys.exit(main())
