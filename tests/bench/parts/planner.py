# SPDX-License-Identifier: GPL-2.0-or-later
"""How long choosing takes, how that grows, and what the registry adds."""

import re
import subprocess

from benchlib import BenchError
from benchlib.curve import svg
from benchlib.figures import table, with_spread

TITLE = 'Planner and registry'
BOUND = 10                          # ms, 256 vCPUs on 4096 CPUs
GROWTH = re.compile(r' +(\d+) CPUs (?: *\d+ nodes)? *([\d.]+) ms')
EXACT = re.compile(r' +(\d+) guest nodes(.*?) +([\d.]+) ms')


def said(*args):
    run = subprocess.run(args, capture_output=True, text=True)
    if run.returncode:
        raise BenchError('%s: %s' % (args[0], run.stderr))
    return run.stdout


def plan_once(setup):
    """What pinning-plan-bench prints, as numbers."""
    out = {'modes': {}, 'growth': {}, 'exact': {}}
    name = None
    for line in said(setup.built('pinning-plan-bench')).split('\n'):
        growth, exact = GROWTH.match(line), EXACT.match(line)
        if line and not line.startswith(' '):
            name = line.split(',')[0]
        elif growth:
            out['growth'].setdefault(name, {})[growth.group(1)] = float(
                growth.group(2))
        elif exact:
            out['exact'][exact.group(1) + exact.group(2)] = float(
                exact.group(3))
        elif line.endswith(' ms'):
            mode, *numbers = line.replace(' ms', '').split()
            out['modes'][mode] = [float(n) for n in numbers]
    return out


def registry_once(setup):
    """The ratio of the 100th start to the first, and what it is made of."""
    text = said(setup.built('registry-bench'), setup.ours, '-machine',
                'none', '-nodefaults', '-display', 'none', '-dump-vmstate',
                '/dev/null')
    first, last = re.findall(r'record.*?: +(\d+) us', text)
    return {'first_us': int(first), 'hundredth_us': int(last),
            'start_ratio': float(re.findall(r'ratio ([\d.]+)', text)[-1])}


def measure(setup):
    runs = setup.runs(5, 2)
    return {'plans': [plan_once(setup) for _ in range(runs)],
            'registry': [registry_once(setup) for _ in range(runs)]}


def growth(found):
    """{mode: [(CPUs, median ms)]}"""
    plans = found['plans']
    out = {}
    for name, values in plans[0]['growth'].items():
        out[name] = [(int(cpus), sorted(plan['growth'][name][cpus]
                                        for plan in plans)[len(plans) // 2])
                     for cpus in values]
    return out


def files(found):
    """Pictures, by name."""
    series = {name: [(a, max(b, 0.001)) for a, b in values]
              for name, values in growth(found).items()}
    return {'planner-growth.svg': svg(
        'Choosing for 1 vCPU per 16 host CPUs', 'host CPUs', 'ms', series)}


def tables(found):
    plans = found['plans']
    out = ['256 vCPUs on 4096 host CPUs, 64 nodes; to reach: %d ms.' % BOUND,
           '']
    out += table(
        ['mode', 'flat, ms', '8 guest nodes, ms', '64 guest nodes, ms'],
        [[mode] + [with_spread([plan['modes'][mode][i] for plan in plans], 3)
                   for i in range(3)] for mode in plans[0]['modes']])
    curves = growth(found)
    sizes = [cpus for cpus, _ in next(iter(curves.values()))]
    out += [''] + table(
        ['growing host, ms'] + ['%d CPUs' % n for n in sizes],
        [[name] + ['%.3f' % ms for _, ms in values]
         for name, values in curves.items()])
    out += [''] + table(
        ['exact search, 16 host nodes', 'ms'],
        [[name + ' guest nodes' if name.isdigit() else
          name.replace(' ', ' guest nodes ', 1),
          with_spread([plan['exact'][name] for plan in plans], 3)]
         for name in plans[0]['exact']])
    registry = found['registry']
    return out + [''] + table(
        ['registry', 'first, us', '100th, us', 'start of the 100th / first'],
        [['choose and record'] + [
            with_spread([run[key] for run in registry], digits)
            for key, digits in (('first_us', 0), ('hundredth_us', 0),
                                ('start_ratio', 2))]])
