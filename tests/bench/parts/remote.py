# SPDX-License-Identifier: GPL-2.0-or-later
"""Accesses to guest RAM on another node than the CPU's, counted.

The lab's emulator runs with a plugin (remote.c) that counts loads and stores
by CPU and physical page; the same guest does the same work (remote-work.c)
in a machine that is started in each of the ways below.
"""

import bisect
import collections
import glob
import json
import os

from benchlib import labrun
from benchlib.labrun import OURS, STOCK
from benchlib.figures import median, table, with_extent

TITLE = 'Remote memory accesses'
WORK = (2048, 9)                    # KiB of an array, rounds
# Its threads stay on their vCPUs: there is nothing for the guest to balance
APPEND = 'work=%d,%d numa_balancing=disable' % WORK
AFFINITY = list(range(0, 16, 2))    # one CPU of each core, as in the RFC
MODES = ('balanced', 'numa', 'spread', 'one-to-one')
NO_PINNING = 'stock-none'
BY_HAND = 'stock-by-hand'
REACH = ['ours-%s-vnuma' % mode for mode in MODES[1:]]


def by_hand():
    args = []
    for node in range(4):
        args += ['-object', 'memory-backend-ram,id=m%d,size=128M,'
                 'host-nodes=%d,policy=bind' % (node, node),
                 '-numa', 'node,nodeid=%d,memdev=m%d,cpus=%d-%d'
                 % (node, node, 2 * node, 2 * node + 1)]
    return args


def _ours(option, *names):
    return dict(row='-'.join(filter(None, ('ours',) + names)),
                what='ours, ' + option, qemu=OURS, args=['kvm,' + option])


def rows():
    """Ways to start the machine, in the order of the table."""
    out = [
        dict(row=NO_PINNING, what='stock, no pinning'),
        dict(row='stock-taskset', what='stock, taskset of the process',
             affinity=AFFINITY),
        dict(row='stock-vcpupin', what='stock, a CPU for each vCPU after '
             'start', pins=AFFINITY),
        dict(row=BY_HAND, what='stock, guest nodes, bound memory and pins by '
             'hand', args=['kvm'] + by_hand(), pins=AFFINITY),
    ]
    for vnuma in ('', 'vnuma'):
        for mode in MODES:
            option = 'pinning=%s%s' % (mode, ',pinning-vnuma=on'
                                       if vnuma else '')
            out.append(_ours(option, mode, vnuma))
    for row in out:
        row.setdefault('qemu', STOCK)
        row.setdefault('args', ['kvm'])
        row.setdefault('affinity', None)
        row.setdefault('pins', None)
    return out


# --- running --------------------------------------------------------------

def measure(setup):
    plugin = setup.plugin('remote.c')

    def outer(folder, mib):
        # Twice its memory: there is a hole below 4 GiB
        return ['-plugin', '%s,out=%s/counts,pages=%d' % (
            plugin, folder, 2 * mib * 256)]

    out = collections.defaultdict(list)
    for folder in labrun.run(setup, 'remote', rows(), setup.runs(5, 1),
                             APPEND, outer):
        for facts in results(folder):
            out[facts['row']].append(facts)
    return labrun.by_row(setup, 'remote', rows(), out)


# --- from what was seen to a result ---------------------------------------

def results(folder):
    """Each row's facts, joined with the counts of the same time.

    The plugin numbers its files and knows nothing of rows: of the files
    written before a row's own, the last one is of that row.
    """
    found = []
    for path in glob.glob(folder + '/*/row-*.json'):
        found.append((os.stat(path).st_mtime_ns, path))
    counts = [(os.stat(path).st_mtime_ns, path)
              for path in glob.glob(folder + '/counts.*')]
    out = []
    since = 0
    for when, path in sorted(found):
        mine = [c for c in sorted(counts) if since < c[0] < when]
        since = when
        with open(path) as f:
            facts = json.load(f)
        if mine:
            out.append(summary(facts, mine[-1][1]))
    return out


class Pages:
    """Ranges of pages, each with a value."""

    def __init__(self, ranges):
        self._ranges = sorted(ranges)
        self._starts = [r[0] for r in self._ranges]

    def find(self, page):
        i = bisect.bisect_right(self._starts, page) - 1
        if i >= 0 and page <= self._ranges[i][1]:
            return self._ranges[i][2]
        return None


def access_matrix(facts, path):
    """Accesses to guest RAM by node of the CPU and node of the page."""
    guest = Pages([[a, b, True] for a, b in facts['guest_pages']])
    node_of_page = Pages([[a, b, int(node)] for node, ranges
                          in facts['node_pages'].items()
                          for a, b in ranges])
    node_of_cpu = {cpu: int(node) for node, cpus in facts['nodes'].items()
                   for cpu in cpus}
    n = len(facts['nodes'])
    out = [[0] * n for _ in range(n)]
    with open(path) as f:
        for line in f:
            cpu, page, loads, stores, work = map(int, line.split())
            # The work's memory may have been moved to other pages meanwhile
            if work or guest.find(page):
                out[node_of_cpu[cpu]][node_of_page.find(page)] += \
                    loads + stores
    return out


def summary(facts, path):
    matrix = access_matrix(facts, path)
    total = sum(map(sum, matrix))
    local = sum(matrix[n][n] for n in range(len(matrix)))
    node_of_cpu = {cpu: node for node, cpus in facts['nodes'].items()
                   for cpu in cpus}
    core = {int(cpu): min(cpus) for cpu, cpus in facts['siblings'].items()}
    stacked = paired = 0
    for states in facts['samples']:
        running = [cpu for cpu, state in states if state == 'R']
        cores = collections.defaultdict(set)
        for cpu in running:
            cores[core[cpu]].add(cpu)
        stacked += len(running) > len(set(running))
        paired += sum(len(cpus) > 1 for cpus in cores.values())
    n = max(len(facts['samples']), 1)
    return {
        'row': facts['row'], 'accesses': total, 'matrix': matrix,
        'remote_percent': 100 * (total - local) / max(total, 1),
        'cpu_moves': len(facts['moves']),
        'node_moves': sum(node_of_cpu[a] != node_of_cpu[b]
                          for a, b in facts['moves']),
        'samples': len(facts['samples']), 'stacked_samples': stacked,
        'smt_pairs_shared': paired / n,
        'balanced_pages': facts['balanced_pages'],
        'masks': facts['masks'], 'lab_kernel': facts['kernel'],
        'numa_balancing': facts['numa_balancing'], 'thp': facts['thp'],
    }


def tables(found):
    lines = []
    for row in rows():
        runs = found.get(row['row'])
        if not runs:
            continue
        lines.append([
            row['what'],
            with_extent([r['remote_percent'] for r in runs], 2),
            with_extent([r['cpu_moves'] for r in runs], 0),
            with_extent([r['node_moves'] for r in runs], 0),
            with_extent([r['smt_pairs_shared'] for r in runs], 2),
            with_extent([100 * r['stacked_samples'] / max(r['samples'], 1)
                         for r in runs], 1),
            '%.0f M' % (median([r['accesses'] for r in runs]) / 1e6),
            len(runs)])
    out = table(['the machine is started with', 'remote %',
                 'moves between CPUs', 'between nodes', 'SMT pairs shared',
                 'stacked samples %', 'counted', 'runs'], lines)
    lab = next(iter(found.values()))[0]
    return ['Lab host: Linux %s, numa_balancing=%s, huge pages: %s.' % (
        lab['lab_kernel'], lab['numa_balancing'], lab['thp']), ''] + \
        out + [''] + verdict(found)


def verdict(found):
    """Whether what was to be reached was."""
    share = {row: median([r['remote_percent'] for r in runs])
             for row, runs in found.items() if runs}
    out = []
    for row in REACH:
        if row in share and BY_HAND in share:
            good = share[row] <= min(1.0, share[BY_HAND] + 0.3)
            out.append('* %s: %.2f %%, by hand %.2f %%: %s' % (
                row, share[row], share[BY_HAND],
                'reached' if good else 'not reached'))
    for row in share:
        if row.startswith('ours') and NO_PINNING in share:
            least, most = ([min, max][i](
                r['remote_percent'] for r in found[name])
                for i, name in enumerate((row, NO_PINNING)))
            if share[row] > share[NO_PINNING]:
                out.append('* %s: %.2f %%, more than %.2f %% without pinning'
                           '%s' % (row, share[row], share[NO_PINNING],
                                   ', but their runs overlap'
                                   if least <= most else ''))
    return out
