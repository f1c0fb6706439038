#!/usr/bin/env python3
#
# Compares what "qemu-pinning topology" reads from captured real machines with
# what is known about them.
#
# The truth files come from a program that has no code in common with ours.
# Most of the machines may not be part of this repository, so their directory
# is found beside it, or not at all; then the test is skipped.
#
# SPDX-License-Identifier: GPL-2.0-or-later

import argparse
import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile

from cpulist import members

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
TRUTH = os.path.join(REPO, '..', 'shared', 'topologies')
CAPTURE = os.path.join(REPO, 'scripts', 'pinning', 'capture-topology')


def parse_list(text):
    return set(members(text))


def partition(sets):
    return sorted(sorted(one) for one in sets if one)


def group(cpus, key):
    """The sets of CPUs that @key says are one; None stands for unknown"""
    sets = {}
    for cpu in cpus:
        if key(cpu) is not None:
            sets.setdefault(key(cpu), set()).add(cpu['cpu'])
    return partition(sets.values())


def usable(matrix):
    """Whether a matrix of distances is one to build upon"""
    for i, row in enumerate(matrix):
        for j, there in enumerate(row):
            back = matrix[j][i]
            if (there != 10) if i == j else (there <= 10):
                return False
            if (there == 255) != (back == 255):
                return False
    return True


def cpu_kinds(truth, online):
    """Capacity alone makes no kind; a uniform host has one"""
    if truth['core_types']:
        return partition(map(parse_list, truth['core_types']))
    return [sorted(online)]


def last_level(truth, online):
    """For each CPU the CPUs that share its last cache, as a partition"""
    best = {}
    for cache in truth['caches']:
        if cache['level'] < 2 or cache['type'] == 'Instruction':
            continue
        sharers = parse_list(cache['cpus']) & online
        for cpu in sharers:
            if cpu not in best or cache['level'] > best[cpu][0]:
                best[cpu] = (cache['level'], sorted(sharers))
    return sorted({tuple(sharers) for _, sharers in best.values()})


def check_cpus(truth, info):
    online = parse_list(truth['cpus']['online'])
    cpus = [cpu for cpu in info['cpus'] if cpu['online']]

    yield 'online CPUs', sorted(online), [cpu['cpu'] for cpu in cpus]
    if not truth['cores_ambiguous']:
        yield ('cores',
               partition(parse_list(c['cpus']) for c in truth['cores']),
               group(cpus, lambda cpu: cpu.get('core')))
    if not truth['packages_ambiguous']:
        yield ('packages',
               partition(parse_list(p['cpus']) for p in truth['packages']),
               group(cpus, lambda cpu: cpu.get('package')))
    yield ('dies',
           partition(parse_list(d['cpus']) for d in truth['dies']),
           group(cpus, lambda cpu: (cpu['package'], cpu['die'])
                 if 'die' in cpu else None))
    yield ('last-level caches',
           [list(sharers) for sharers in last_level(truth, online)],
           group(cpus, lambda cpu: cpu.get('llc')))
    yield ('CPU kinds', cpu_kinds(truth, online),
           group(cpus, lambda cpu: cpu['type']))
    sizes = [sum(cpu['type'] == kind for cpu in cpus)
             for kind in range(len(cpu_kinds(truth, online)))]
    yield 'CPU kinds, the largest first', sorted(sizes, reverse=True), sizes
    yield ('isolated CPUs',
           sorted(parse_list(truth['cpus']['isolated']) & online),
           [cpu['cpu'] for cpu in cpus if cpu['isolated']])


def check_nodes(truth, info):
    nodes = info['nodes']
    expected = truth['nodes']
    matrix = truth['distance_matrix']

    yield ('nodes', [node['id'] for node in expected],
           [node['node'] for node in nodes])
    yield ('CPUs of nodes',
           [sorted(parse_list(node['cpus'])) for node in expected],
           [sorted(parse_list(node['cpus'])) for node in nodes])
    yield ('memory of nodes',
           [None if node['mem_total_kb'] is None else
            node['mem_total_kb'] * 1024 for node in expected],
           [node.get('memory') for node in nodes])
    if matrix is None or not usable(matrix):
        matrix = [[] for _ in nodes]
    yield 'distances', matrix, [node['distances'] for node in nodes]
    if truth['distance_matrix'] is not None and not all(matrix):
        yield ('warning about distances', True,
               any('distance' in text for text in info['warnings']))


def run(command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def read_topology(binary, root):
    return json.loads(run([binary, 'topology', '--root', root, '--json']))


def without_warnings(info):
    """Warnings name files, which are elsewhere in a capture"""
    return {key: info[key] for key in info if key != 'warnings'}


def check_machine(binary, truth_file, scratch):
    """Yields (what, expected, found)"""
    with open(truth_file, encoding='utf-8') as f:
        truth = json.load(f)
    with tarfile.open(truth_file[:-len('.json')] + '.tar.xz') as archive:
        archive.extractall(scratch)
    root = os.path.join(scratch, truth['id'])
    info = read_topology(binary, root)
    yield from check_cpus(truth, info)
    yield from check_nodes(truth, info)

    capture = os.path.join(scratch, 'capture')
    run([sys.executable, CAPTURE, '--root', root, '-o', capture])
    yield ('topology of the capture', without_warnings(info),
           without_warnings(read_topology(binary, capture)))


def report(number, name, results):
    failed = [result for result in results if result[1] != result[2]]
    print('%s %d - %s' % ('not ok' if failed else 'ok', number, name),
          flush=True)
    for what, expected, found in failed:
        print('# %s: %s expected' % (what, json.dumps(expected)))
        print('# %s: %s found' % (what, json.dumps(found)))
    return not failed


def main():
    parser = argparse.ArgumentParser(
        description='Compare topologies of real machines with the truth.')
    parser.add_argument('binary', help='qemu-pinning')
    parser.add_argument('directory', nargs='?', default=TRUTH,
                        help='where ID.json and ID.tar.xz are')
    args = parser.parse_args()

    truths = sorted(glob.glob(os.path.join(args.directory, '*.json')))
    if not truths:
        print('1..0 # SKIP no machines in %s' % args.directory)
        return 0
    print('1..%d' % len(truths))
    good = True
    for number, truth_file in enumerate(truths, 1):
        name = os.path.basename(truth_file)[:-len('.json')]
        with tempfile.TemporaryDirectory() as scratch:
            try:
                results = list(check_machine(args.binary, truth_file,
                                             scratch))
            except subprocess.CalledProcessError as e:
                results = [(' '.join(e.cmd), 'success', e.stderr)]
        good &= report(number, name, results)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
