# SPDX-License-Identifier: GPL-2.0-or-later
"""What bandwidth the counted shares predict, against a published table.

The table is that of the Proxmox RFC "vCPU pinning" v2 (4 nodes at distance
16, 8 vCPUs, 8 GiB, no node with all of the memory): figures, no text of it.
The model has one number from it, the latency of remote memory, and none of
its bandwidths:

* "numa" has all memory local, so its latency is that of local memory, L.
* "balanced" had the memory on one node, as its author says.  Its vCPUs must
  have been on all four, for each has only two CPUs of the RFC's affinity.  So
  a quarter was local, and its latency is L/4 + 3R/4.  That gives R.
* Time for each access is (1 - r) L + r R, r the share that is remote, and
  bandwidth is inverse to it.  So the ratio of pinned to unpinned is known
  once both shares are: they are those that "remote" counted.

The distances in the table give R without any latency: R = L * 16 / 10.
"""

import json
import os

from benchlib import BenchError
from benchlib.figures import median, table

TITLE = 'Model: predicted and published bandwidth'
LOCAL = 113.21                  # ns, pinning_numa_auto
BALANCED = 168.22               # ns, pinning_balanced
DISTANCE = 1.6
PUBLISHED = {                   # no pinning -> pinning=numa, MB/s
    'membench read': (38295.46, 60821.28),
    'membench write': (19172.32, 30706.31),
    'STREAM triad': (40861.5, 52943.8),
    'STREAM copy': (55028.7, 67564.1),
}
PAIRS = (('stock-none', 'ours-numa-vnuma'),
         ('stock-none', 'ours-one-to-one-vnuma'),
         ('stock-taskset', 'ours-numa-vnuma'),
         ('stock-none', 'stock-by-hand'))


def remote_latency():
    return (BALANCED - LOCAL / 4) / 0.75


def gain(before, after, ratio):
    """Percent of bandwidth, from the shares that are remote."""
    return 100 * ((1 + before * (ratio - 1)) / (1 + after * (ratio - 1)) - 1)


def measure(setup):
    path = os.path.join(setup.out, 'remote.json')
    try:
        with open(path) as f:
            remote = json.load(f)['results']
    except OSError:
        raise BenchError('model: no remote.json: run the part "remote" '
                         'first') from None
    share = {row: median([run['remote_percent'] for run in runs]) / 100
             for row, runs in remote.items()}
    if not any(a in share and b in share for a, b in PAIRS):
        raise BenchError('model: remote.json lacks the rows it needs')
    ratios = {'latency': remote_latency() / LOCAL, 'distance': DISTANCE}
    return {
        'remote_ns': remote_latency(), 'ratios': ratios,
        'predicted': [
            {'from': a, 'to': b, 'shares': [share[a], share[b]],
             **{name: gain(share[a], share[b], ratio)
                for name, ratio in ratios.items()}}
            for a, b in PAIRS if a in share and b in share],
        'published': {name: 100 * (after / before - 1)
                      for name, (before, after) in PUBLISHED.items()}}


def tables(found):
    published = found['published']
    first = found['predicted'][0]
    lines = [['%(from)s -> %(to)s' % p,
              '%.1f %% -> %.1f %%' % tuple(100 * s for s in p['shares']),
              '%+.1f %%' % p['latency'], '%+.1f %%' % p['distance']]
             for p in found['predicted']]
    out = ['Remote memory takes %.1f ns, %.2f times local (distances say '
           '%.2f).' % (found['remote_ns'], found['ratios']['latency'],
                       found['ratios']['distance']), '']
    out += table(['from', 'remote', 'predicted by latency', 'by distance'],
                 lines) + ['']
    return out + table(
        ['published, no pinning -> numa', 'gain',
         'prediction is off by, latency', 'distance'],
        [[name, '%+.1f %%' % value,
          '%+.1f points' % (first['latency'] - value),
          '%+.1f points' % (first['distance'] - value)]
         for name, value in published.items()])
