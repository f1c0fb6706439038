#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""read-bench.py QEMU-PINNING TREE...: how long it takes to read a host's
topology, against lstopo (hwloc) and lscpu on the same tree.

Each row is the median of ten runs of each program, in turn; process start
included for all.  Prints figures; asserts nothing.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

RUNS = 10


def commands(tool, tree):
    found = {'qemu-pinning': [tool, 'topology', '--root', tree, '--json']}
    if shutil.which('lstopo-no-graphics'):
        found['lstopo'] = ['env', 'HWLOC_FSROOT=' + tree,
                           'HWLOC_THISSYSTEM=0', 'HWLOC_COMPONENTS=linux,stop',
                           'lstopo-no-graphics', '--of', 'xml', '-']
    if shutil.which('lscpu'):
        found['lscpu'] = ['lscpu', '--sysroot', tree, '-J']
    return found


def measure(args):
    start = time.monotonic()
    run = subprocess.run(args, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000 if run.returncode == 0 else None


def main():
    tool = sys.argv[1]
    print('%-30s %14s %14s %14s' % ('tree', 'qemu-pinning', 'lstopo',
                                    'lscpu'))
    for tree in sys.argv[2:]:
        todo = commands(tool, tree)
        times = {name: [] for name in todo}
        for _ in range(RUNS):
            for name, args in todo.items():
                times[name].append(measure(args))
        row = []
        ours = statistics.median(times['qemu-pinning'])
        for name in ('qemu-pinning', 'lstopo', 'lscpu'):
            got = times.get(name)
            if not got or None in got:
                row.append('-')
            else:
                ms = statistics.median(got)
                row.append('%.1f ms x%.1f' % (ms, ms / ours))
        print('%-30s %14s %14s %14s' % ((os.path.basename(tree),)
                                        + tuple(row)), flush=True)


main()
