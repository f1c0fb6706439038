# SPDX-License-Identifier: GPL-2.0-or-later
"""Iothreads, and what the reservations say of them, for the tests of I/O."""

import collections
import json
import os

import lab

REGISTRY = '/run/qemu-pinning'
# A guest node for each host node and vCPU
nodes = []
for number in range(4):
    nodes += ['-object', 'memory-backend-ram,id=m%d,size=4M' % number,
              '-numa', 'node,nodeid=%d,cpus=%d,memdev=m%d'
              % (number, number, number)]


def iothreads(q):
    return {thread['id']: lab.mask(thread['thread-id'])
            for thread in q.qmp('query-iothreads')}


def recorded():
    """I/O threads that the reservations name, by CPU."""
    load = collections.Counter()
    for name in os.listdir(REGISTRY):
        if name.endswith('.json'):
            entry = json.loads(lab.read(os.path.join(REGISTRY, name)))
            for part in entry.get('io-load', []):
                for cpu in lab.cpus(part['host-cpus']):
                    load[cpu] += part['load']
    return load
