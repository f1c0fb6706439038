# SPDX-License-Identifier: GPL-2.0-or-later
"""How long it takes to read a host's topology, against lstopo (hwloc) and
lscpu on the same captured machine, in turn.

Once with the start of a process for each, as users see it, and once as a
library (read-bench.c), where hwloc is loaded if it is there.
"""

import os
import shutil
import subprocess
import time

from benchlib import BenchError, ROOT
from benchlib.figures import median, table, with_spread

TITLE = 'Reading a host'
PROGRAMS = ('qemu-pinning', 'lstopo', 'lscpu')


def trees(setup):
    """Captured machines, unpacked."""
    run = subprocess.run(
        [os.path.join(ROOT, 'scripts/pinning/bench-trees'), setup.build,
         os.path.join(ROOT, '../shared/topologies')],
        capture_output=True, text=True)
    found = run.stdout.split()
    if not found:
        raise BenchError('reader: no captured machines beside this clone, '
                         'in shared/topologies')
    return found


def commands(setup, tree):
    found = {'qemu-pinning': [setup.tool, 'topology', '--root', tree,
                              '--json']}
    if shutil.which('lstopo-no-graphics'):
        found['lstopo'] = ['env', 'HWLOC_FSROOT=' + tree,
                           'HWLOC_THISSYSTEM=0', 'HWLOC_COMPONENTS=linux,stop',
                           'lstopo-no-graphics', '--of', 'xml', '-']
    if shutil.which('lscpu'):
        found['lscpu'] = ['lscpu', '--sysroot', tree, '-J']
    return found


def once(args):
    """Milliseconds; None when the program fails on that machine."""
    start = time.monotonic()
    run = subprocess.run(args, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000 if run.returncode == 0 else None


def as_library(setup, found):
    """{machine: [our ms, hwloc's ms or None]}"""
    run = subprocess.run([setup.built('read-bench')] + found,
                         capture_output=True, text=True)
    if run.returncode:
        raise BenchError('reader: ' + run.stderr)
    out = {}
    for line in run.stdout.split('\n')[1:]:
        words = line.split()
        if words:
            out[words[0]] = [float(words[1]),
                             float(words[3]) if len(words) > 3 else None]
    return out


def measure(setup):
    out = {}
    found = trees(setup)
    for tree in found:
        todo = commands(setup, tree)
        times = {name: [] for name in todo}
        for _ in range(setup.runs(10, 3)):
            for name, args in todo.items():
                times[name].append(once(args))
        out[os.path.basename(tree)] = times
    return {'programs': out, 'library': as_library(setup, found)}


def cell(times, name):
    ours, theirs = times['qemu-pinning'], times.get(name)
    if not theirs or None in theirs:
        return '-'
    text = with_spread(theirs, 1)
    if name != 'qemu-pinning' and None not in ours:
        text += ' (x %.1f)' % (median(theirs) / median(ours))
    return text


def library_cell(pair):
    ours, theirs = pair
    return '%.2f, %s' % (ours, '-' if theirs is None else '%.2f (x %.1f)'
                         % (theirs, theirs / ours))


def tables(found):
    return table(['machine'] + [name + ', ms' for name in PROGRAMS] +
                 ['as a library: ours, hwloc, ms'],
                 [[tree] + [cell(times, name) for name in PROGRAMS] +
                  [library_cell(found['library'][tree])]
                  for tree, times in found['programs'].items()])
