# SPDX-License-Identifier: GPL-2.0-or-later
"""Where vhost workers do their work, and who wakes whom across nodes.

One network card with a queue for each of 8 vCPUs; each vCPU sends packets
through its own queue and gets the answers.  The kernel's scheduler events
say on which host CPU each worker ran for how long, and from which CPU on
which a worker or a vCPU was woken.
"""

import collections
import glob
import json

from benchlib import labrun
from benchlib.figures import median, table, with_extent

TITLE = 'vhost workers'
PACKETS = 60                        # of each vCPU


def rows():
    out = [
        dict(row='stock', what='stock', qemu=labrun.STOCK, args=['kvm']),
        dict(row='ours-none', what='ours, no pinning', qemu=labrun.OURS,
             args=['kvm']),
    ] + [
        dict(row='ours-' + mode, qemu=labrun.OURS,
             what='ours, pinning=%s,pinning-vnuma=on' % mode,
             args=['kvm,pinning=%s,pinning-vnuma=on' % mode])
        for mode in ('numa', 'one-to-one')]
    return [dict(row, modules='vhost_net tun') for row in out]


def measure(setup):
    out = collections.defaultdict(list)
    for folder in labrun.run(setup, 'vhost', rows(), setup.runs(5, 1),
                             'net=%d' % PACKETS):
        for path in glob.glob(folder + '/*/row-*.json'):
            with open(path) as f:
                facts = json.load(f)
            out[facts['row']].append(summary(facts))
    return labrun.by_row(setup, 'vhost', rows(), out)


def summary(facts):
    node = {cpu: n for n, cpus in facts['nodes'].items() for cpu in cpus}
    by_cpu = collections.Counter()
    for key, ns in facts['runtime'].items():
        by_cpu[int(key.split()[1])] += ns
    total = sum(by_cpu.values())
    out = {
        'row': facts['row'], 'lab_kernel': facts['kernel'],
        'guest': facts['guest'], 'workers': facts['workers'],
        'vcpus': facts['vcpus'],
        'percent_by_cpu': {cpu: round(100 * ns / max(total, 1), 1)
                           for cpu, ns in sorted(by_cpu.items())},
        'cpus_used': len(by_cpu),
        'busiest_percent': 100 * max(by_cpu.values(), default=0)
        / max(total, 1),
        'worker_moves': len(facts['moves']),
        'worker_node_moves': sum(node[a] != node[b]
                                 for a, b in facts['moves'])}
    for who, whom in (('vcpu', 'worker'), ('worker', 'vcpu')):
        pairs = [(a, b) for x, y, a, b in facts['wakeups']
                 if (x, y) == (who, whom)]
        across = sum(node[a] != node[b] for a, b in pairs)
        out['%s_wakes_%s' % (who, whom)] = len(pairs)
        out['%s_wakes_%s_across' % (who, whom)] = across
    return out


def share(runs, name):
    return with_extent([100 * run[name + '_across'] / max(run[name], 1)
                        for run in runs], 1)


def tables(found):
    lines = []
    todo = [row for row in rows() if row['row'] in found]
    for row in todo:
        runs = found[row['row']]
        lines.append([
            row['what'], share(runs, 'vcpu_wakes_worker'),
            share(runs, 'worker_wakes_vcpu'),
            '%.0f, %.0f' % (median([r['vcpu_wakes_worker'] for r in runs]),
                            median([r['worker_wakes_vcpu'] for r in runs])),
            with_extent([r['worker_moves'] for r in runs], 0),
            with_extent([r['worker_node_moves'] for r in runs], 0),
            with_extent([r['cpus_used'] for r in runs], 0),
            with_extent([r['busiest_percent'] for r in runs], 1), len(runs)])
    out = table(['the machine is started with',
                 'vCPU wakes worker across nodes %',
                 'worker wakes vCPU across nodes %', 'wake-ups',
                 'workers\' moves', 'between nodes', 'CPUs that work',
                 'share of the busiest %', 'runs'], lines)
    out = ['Lab host: Linux %s.' % found[todo[0]['row']][0]['lab_kernel'],
           ''] + out
    out += ['', 'Work by host CPU in the first run, in percent:', '']
    cpus = range(16)
    return out + table(
        ['CPU'] + list(cpus),
        [[row['what']] + [found[row['row']][0]['percent_by_cpu'].get(cpu, '')
                          for cpu in cpus] for row in todo])
