#!/usr/bin/env python3
#
# Many holders at once in one registry of reservations, killed at any moment.
#
# registry-race.py [--rounds N] [--capture FILE] [--qemu QEMU] [QEMU-PINNING]
#
# Starts 64 "qemu-pinning run --root" on a captured host of 64 CPUs, kills and
# replaces some at random, and looks into the registry all the while: no CPU
# may have two holders that live, no host node may have promised more memory
# than it had free.  Then one "run" is killed at each of its system calls, and
# more QEMUs than this machine has CPUs are started at once, and killed.
# The looking is done here, with this script's own idea of the files and
# locks, so that the tool is not its own judge.  TAP.
#
# SPDX-License-Identifier: GPL-2.0-or-later

import argparse
import fcntl
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from cpulist import members

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.join(REPO, 'build', 'bin', 'qemu-pinning')
QEMU = os.path.join(REPO, 'build', 'bin', 'qemu-system-x86_64')
CAPTURE = os.path.join(REPO, 'tests', 'data', 'host-topology',
                       'hwloc-opteron-6276-cmt.capture')

HOLDERS = 64
TIMEOUT = 120       # seconds; what takes as long has hung
STRACE_STEPS = 400  # runs under strace at most
QEMU_ROUNDS = 3

# <fcntl.h>, which Python's module knows in later versions only
F_OFD_GETLK = 36
F_OFD_SETLK = 37
FLOCK = '@hhqqi4x'

KINDS = {
    'exclusive CPUs': ['--mode', 'one-to-one', '--exclusive'],
    'one-to-one': ['--mode', 'one-to-one'],
    'memory': ['--mode', 'balanced', '--memory'],
}


def flock(kind):
    return struct.pack(FLOCK, kind, os.SEEK_SET, 0, 0, 0)


def is_held(fd):
    """Whether somebody has the file locked for writing"""
    answer = fcntl.fcntl(fd, F_OFD_GETLK, flock(fcntl.F_RDLCK))
    return struct.unpack(FLOCK, answer)[0] != fcntl.F_UNLCK


class Lock:
    """The registry's lock: while it is held, nobody can begin to hold"""

    def __init__(self, registry):
        self.path = os.path.join(registry, 'lock')

    def __enter__(self):
        self.fd = os.open(self.path, os.O_RDWR)
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                fcntl.fcntl(self.fd, F_OFD_SETLK, flock(fcntl.F_WRLCK))
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(random.uniform(0.0001, 0.002))

    def __exit__(self, *unused):
        os.close(self.fd)


def live_entries(registry):
    entries = []
    for path in glob.glob(os.path.join(registry, '*.json')):
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with os.fdopen(fd) as file:
            if is_held(fd):
                entries.append(json.load(file))
    return entries


def free_memory(capture):
    """Bytes free on each node of the captured host"""
    free = {}
    pattern = re.compile(r'node/node(\d+)/meminfo.*MemFree:\s+(\d+) kB')
    with open(capture) as file:
        for line in file:
            match = pattern.search(line)
            if match:
                free[int(match[1])] = int(match[2]) * 1024
    return free


def tight_size(free):
    """MiB for each holder, so that all together just fit on the nodes"""
    size = sum(free.values()) // HOLDERS
    while sum(node // size for node in free.values()) < HOLDERS:
        size -= 1 << 20
    return size >> 20


def contradictions(entries, free):
    """What cannot be true of a set of holders that all live"""
    owner = {}
    promised = {}
    found = []
    for entry in entries:
        if entry['mode'] == 'one-to-one':
            for cpu in members(entry['host-cpus']):
                if cpu in owner:
                    found.append('CPU %d is held by pids %d and %d' % (
                        cpu, owner[cpu], entry['pid']))
                owner[cpu] = entry['pid']
        if entry['mode'] == 'balanced' and not entry['memory']:
            found.append('pid %d promised itself no memory' % entry['pid'])
        for memory in entry['memory']:
            node = memory['host-node']
            promised[node] = promised.get(node, 0) + memory['size']
    for node, size in promised.items():
        if size > free[node]:
            found.append('node %d promises %d bytes of %d' % (
                node, size, free[node]))
    return found


class Race:
    def __init__(self, args, kind):
        self.kind = kind
        self.free = free_memory(args.capture)
        self.registry = tempfile.mkdtemp(prefix='registry-race-')
        self.log = tempfile.TemporaryFile('w+')
        self.command = [args.tool, 'run', '--registry', self.registry,
                        '--root', args.capture, '--smp', '1'] + KINDS[kind]
        if kind == 'memory':
            self.command.append('%dM' % tight_size(self.free))
        self.holders = []

    def start(self, program=('sleep', '600')):
        return subprocess.Popen(self.command + ['--'] + list(program),
                                stderr=self.log)

    def complain(self, text):
        self.log.seek(0)
        raise AssertionError(text + '\n' + self.log.read())

    def kill(self, holder):
        holder.kill()
        # Whoever ended by himself could not get what surely was free
        if holder.wait(TIMEOUT) != -signal.SIGKILL:
            self.complain('a holder ended with status %d' %
                          holder.returncode)

    def look(self):
        with Lock(self.registry):
            entries = live_entries(self.registry)
        found = contradictions(entries, self.free)
        if found:
            self.complain('; '.join(found))
        return entries

    def round(self):
        self.holders = [self.start() for _ in range(HOLDERS)]
        for step in range(HOLDERS):
            time.sleep(random.uniform(0, 0.02))
            victim = random.randrange(HOLDERS)
            self.kill(self.holders[victim])
            self.holders[victim] = self.start()
            if step % 8 == 0 and os.path.exists(self.registry + '/lock'):
                self.look()
        end = time.monotonic() + TIMEOUT
        while len(self.look()) < HOLDERS:
            if time.monotonic() > end:
                self.complain('not all holders got what they asked for')
            time.sleep(0.02)
        for holder in self.holders:
            self.kill(holder)
        self.holders = []
        if live_entries(self.registry):
            self.complain('all are dead, and something is held')

    def check_empty(self, tool):
        """Nothing stays but the lock file, once somebody has tidied up"""
        subprocess.run([tool, 'list', '--gc', '--registry', self.registry],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        left = os.listdir(self.registry)
        if left != ['lock']:
            self.complain('what is left: %s' % ' '.join(left))

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
        shutil.rmtree(self.registry)


def run_rounds(args, kind, rounds):
    race = Race(args, kind)
    try:
        for _ in range(rounds):
            race.round()
        race.check_empty(args.tool)
    finally:
        race.close()


class Machines:
    """QEMUs that each want a CPU of this machine for themselves"""

    def __init__(self, args):
        self.tool = args.tool
        self.registry = tempfile.mkdtemp(prefix='registry-race-')
        self.cpus = os.sched_getaffinity(0)
        self.command = [
            args.qemu, '-nodefaults', '-display', 'none', '-machine', 'pc',
            '-m', '4M', '-name', 'race,debug-threads=on', '-S', '-accel',
            'tcg,thread=multi,pinning=one-to-one,pinning-exclusive=on,'
            'pinning-registry=' + self.registry]
        self.started = []

    def start(self):
        log = tempfile.TemporaryFile('w+')
        qemu = subprocess.Popen(self.command, stderr=log)
        qemu.log = log
        self.started.append(qemu)

    def masks(self):
        """CPUs of the vCPU of each QEMU that has come so far"""
        masks = {}
        for qemu in self.started:
            for task in glob.glob('/proc/%d/task/*' % qemu.pid):
                try:
                    with open(task + '/comm') as comm:
                        if not comm.read().startswith('CPU '):
                            continue
                    with open(task + '/status') as status:
                        found = re.search(r'Cpus_allowed_list:\t(\S+)',
                                          status.read())
                except (FileNotFoundError, ProcessLookupError):
                    continue
                masks[qemu.pid] = members(found[1])
        return masks

    def look(self):
        """No CPU has two of them, whatever the registry says"""
        masks = self.masks()
        used = [cpu for mask in masks.values() for cpu in mask]
        if len(used) != len(set(used)) or any(
                len(mask) != 1 for mask in masks.values()):
            raise AssertionError('these share CPUs: %s' % masks)
        return masks

    def reap(self):
        """Forget those that were refused; the reason must be the right one"""
        for qemu in list(self.started):
            if qemu.poll() is None:
                continue
            self.started.remove(qemu)
            qemu.log.seek(0)
            said = qemu.log.read()
            qemu.log.close()
            if qemu.returncode != -signal.SIGKILL and (
                    "held by 'race'" not in said):
                raise AssertionError('a QEMU ended with status %d: %s' % (
                    qemu.returncode, said))

    def settle(self):
        """Till as many as there are CPUs have one"""
        end = time.monotonic() + TIMEOUT
        while len(self.look()) < len(self.cpus) or len(
                self.started) > len(self.cpus):
            self.reap()
            if len(self.started) < len(self.cpus):
                self.start()
            if time.monotonic() > end:
                raise AssertionError('not all CPUs are used')
            time.sleep(0.02)

    def round(self):
        for _ in range(3 * len(self.cpus)):
            self.start()
        for _ in range(2 * len(self.cpus)):
            time.sleep(random.uniform(0, 0.2))
            victim = random.choice(self.started)
            victim.kill()
            victim.wait(TIMEOUT)
            self.reap()
            self.look()
            self.start()
        self.settle()
        self.close()
        if live_entries(self.registry):
            raise AssertionError('all are dead, and something is held')

    def close(self):
        for qemu in self.started:
            qemu.kill()
            qemu.wait(TIMEOUT)
            qemu.log.close()
        self.started = []


def run_machines(args):
    machines = Machines(args)
    try:
        for _ in range(QEMU_ROUNDS):
            machines.round()
    finally:
        machines.close()
        shutil.rmtree(machines.registry)


def system_calls(race):
    """The calls of a run, each with how often it was made before"""
    with tempfile.NamedTemporaryFile('r') as log:
        subprocess.run(['strace', '-qq', '-f', '-o', log.name] +
                       race.command + ['--', 'true'], check=True,
                       timeout=TIMEOUT)
        lines = [line.split(None, 1) for line in log]
    main = lines[0][0]
    calls = []
    for pid, text in lines:
        match = re.match(r'(\w+)\(', text)
        if pid == main and match and match[1] != 'exit_group':
            calls.append(match[1])
    return [(name, calls[:i + 1].count(name)) for i, name in enumerate(calls)]


def killed_at(race, name, count):
    """Whether a run was killed as it made that call for the COUNT-th time"""
    strace = ['strace', '-qq', '-f', '-o', '/dev/null', '-e',
              'inject=%s:signal=KILL:when=%d' % (name, count)]
    run = subprocess.run(strace + race.command + ['--', 'true'],
                         stderr=subprocess.DEVNULL, timeout=TIMEOUT)
    return run.returncode == -signal.SIGKILL


def run_strace(args):
    """One run after the other, each killed a little later"""
    race = Race(args, 'exclusive CPUs')
    try:
        calls = system_calls(race)
        step = -(-len(calls) // STRACE_STEPS)
        chosen = calls[random.randrange(step)::step]
        died = 0
        for name, count in chosen:
            died += killed_at(race, name, count)
            if race.look():
                race.complain('killed at %s %d, something is held' %
                              (name, count))
        if died < len(chosen) * 9 // 10:
            race.complain('only %d of %d runs were killed' %
                          (died, len(chosen)))
        print('# %d system calls, killed at %d of them' % (len(calls), died))
        race.check_empty(args.tool)
    finally:
        race.close()


def strace_works():
    return shutil.which('strace') and subprocess.run(
        ['strace', '-qq', '-o', '/dev/null', 'true'],
        stderr=subprocess.DEVNULL).returncode == 0


def report(number, name, function, *args):
    begin = time.monotonic()
    try:
        function(*args)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        for line in str(error).splitlines():
            print('# ' + line)
        print('not ok %d %s' % (number, name))
        return False
    print('ok %d %s # %.1f s' % (number, name, time.monotonic() - begin))
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--capture', default=CAPTURE)
    parser.add_argument('--qemu', default=QEMU)
    parser.add_argument('--seed', type=int,
                        default=int.from_bytes(os.urandom(4), 'big'))
    parser.add_argument('tool', nargs='?', default=TOOL)
    args = parser.parse_args()
    args.tool = os.path.abspath(args.tool)
    args.qemu = os.path.abspath(args.qemu)

    random.seed(args.seed)
    print('1..%d' % (len(KINDS) + 2), flush=True)
    print('# seed %d, %d rounds' % (args.seed, args.rounds), flush=True)
    ok = True
    for i, kind in enumerate(KINDS):
        rounds = (args.rounds + len(KINDS) - 1 - i) // len(KINDS)
        ok &= report(i + 1, '%d at once: %s' % (HOLDERS, kind), run_rounds,
                     args, kind, rounds)
        sys.stdout.flush()
    if strace_works():
        ok &= report(len(KINDS) + 1, 'killed at system calls', run_strace,
                     args)
    else:
        print('ok %d killed at system calls # SKIP no strace here' %
              (len(KINDS) + 1))
    ok &= report(len(KINDS) + 2, 'QEMUs at once', run_machines, args)
    return 0 if ok else 1


if __name__ == '__main__':
    sys.exit(main())
