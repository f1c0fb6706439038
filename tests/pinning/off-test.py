#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""off-test.py OURS STOCK

Without a pinning option our binary does what the stock binary, built from
the same source with the same options, does: the same system calls on the
same files, the same threads, the same output.  TAP.

Left out of the comparison are calls whose number depends on timing or on the
size of the program: memory management, waiting, and I/O on descriptors that
wake a waiter up.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TIMING = re.compile(
    r'^(brk|mmap|munmap|mprotect|mremap|madvise|futex|ppoll|poll|select|'
    r'pselect6|epoll_\w+|read|write|restart_syscall|sched_yield|'
    r'clock_nanosleep|timerfd_settime|rt_sig\w+|set_robust_list|rseq|'
    r'pread64|readv|writev|membarrier|getrandom|exit|exit_group|gettid|tgkill|'
    r'sendmsg|recvmsg)$')
CASES = {
    'machine none': ['-machine', 'none'],
    'q35, 2 vCPUs': ['-machine', 'q35', '-smp', '2'],
    'q35, guest nodes and iothread': [
        '-machine', 'q35', '-smp', '4', '-m', '64M',
        '-object', 'memory-backend-ram,id=a,size=32M',
        '-object', 'memory-backend-ram,id=b,size=32M',
        '-numa', 'node,memdev=a,cpus=0-1', '-numa', 'node,memdev=b,cpus=2-3',
        '-object', 'iothread,id=io0'],
}
QUIT = ''.join(json.dumps({'execute': c}) + '\n'
               for c in ('qmp_capabilities', 'query-cpus-fast', 'quit'))


def trace(binary, args, log):
    """Run BINARY under strace, return (output, calls)."""
    run = subprocess.run(
        ['strace', '-f', '-qq', '-s', '256', '-o', log, binary,
         '-nodefaults', '-no-user-config', '-display', 'none', '-S',
         '-accel', 'tcg', '-qmp', 'stdio'] + args,
        input=QUIT, capture_output=True, text=True, timeout=120)
    calls = collections.Counter()
    for line in open(log, errors='replace'):
        m = re.match(r'\d+\s+(\w+)\((.*)', line)
        if not m or TIMING.match(m.group(1)):
            continue
        name, rest = m.groups()
        text = re.search(r'"([^"]*)"', rest)
        what = text.group(1) if text else ''
        what = re.sub(r'/proc/\d+|/proc/self/task/\d+', '/proc/N', what)
        what = what.replace(os.path.dirname(binary), 'BUILD')
        calls[name + ' ' + what] += 1
    out = re.sub(r'"(thread-id|seconds|microseconds)": \d+', r'"\1": N',
                 run.stdout)
    return (run.returncode, re.sub(r'"package": "[^"]*"', '', out),
            run.stderr), calls


def main():
    ours, stock = (os.path.realpath(p) for p in sys.argv[1:3])
    if not shutil.which('strace'):
        print('1..0 # SKIP strace is not installed')
        return 0
    failed = 0
    print('1..%d' % (2 * len(CASES)))
    n = 0
    with tempfile.TemporaryDirectory() as tmp:
        for case, args in CASES.items():
            a_out, a = trace(ours, args, tmp + '/ours')
            b_out, b = trace(stock, args, tmp + '/stock')
            for what, good in (('output', a_out == b_out),
                               ('system calls', a == b and len(a) > 20)):
                n += 1
                print('%sok %d - off: %s: same %s'
                      % ('' if good else 'not ', n, case, what))
                failed += not good
            if a_out != b_out:
                print('# ours: %s\n# stock: %s' % (a_out, b_out))
            for call in sorted((a - b) + (b - a)):
                print('# %s: ours %d, stock %d' % (call, a[call], b[call]))
    return 1 if failed else 0


sys.exit(main())
