# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2 cpu-only memory-only cgroup 128cpus
# kernels: 6.12
# limit: 300
# needs: pinning
"""Room for memory is looked for before start, and odd host nodes are known.

Nodes without CPUs, without memory, forbidden ones, the last one; hugepages
that are not there: bound right, or refused with numbers.
"""

import lab

t = lab.Tap()
MIB = 1024 * 1024


def one(hostnodes, mib=64, kind='ram', more=''):
    return ['-object', 'memory-backend-%s,id=a,size=%dM%s'
            % (kind, mib, more), '-numa', 'node,memdev=a,hostnodes=%s'
            % hostnodes]


def refused(name, words, *args, mem='64M', accel='kvm,pinning=numa', **more):
    said = lab.qemu_error(*args, mem=mem, accel=accel, **more)
    t.ok(said is not None and all(word in said for word in words),
         name + ': refused', said)
    if said:
        lines = [line for line in said.split('\n') if line]
        t.ok(len(lines) <= 2, name + ': in one line and a hint', said)


def bound(name, node, *args, word='bind', accel='kvm,pinning=numa', mem='64M',
          block='a', **more):
    with lab.Qemu(*args, mem=mem, accel=accel, **more) as q:
        q.wait_guest()
        t.equal(q.policies(block), ['%s:%d' % (word, node)],
                name + ': policy')
        pages = q.pages(block)
        t.ok(pages.get(node, 0) >= 0.999 * sum(pages.values()) > 0,
             name + ': pages', pages)
        return q.said()


nodes = lab.nodes()
refused('no such node', ['hostnodes', '99', 'does not exist'], *one(99))
refused('nothing', ['hostnodes'], *one(''))
refused('no policy', ['policy', 'bogus'], *one('0,policy=bogus'))
refused('policy, but nowhere and no mode', ['policy=bind', 'hostnodes'],
        '-object', 'memory-backend-ram,id=a,size=64M', '-numa',
        'node,memdev=a,policy=bind', accel='kvm')
refused('two wishes', ['hostnodes=0', "'a'", 'host-nodes=1'],
        *one('0', more=',host-nodes=1,policy=bind'))
refused('two policies', ['policy=bind', "'a'", 'policy=preferred'],
        *one('0,policy=bind', more=',host-nodes=0,policy=preferred'))
refused('a 1 GiB page that is not there',
        ['Guest node 0', 'node 0: needs 1024 MiB of 1 GiB pages, 0 MiB free '
         '(of 0)'],
        *one('0', 1024, 'memfd', ',hugetlb=on,hugetlbsize=1G'), mem='1G')

if lab.topology == '4x2x2':
    lab.hugepages(1, 2048, 16)
    refused('too few hugepages',
            ['node 1: needs 64 MiB of 2 MiB pages, 32 MiB free (of 32)'],
            *one('1', 64, 'memfd', ',hugetlb=on'))
    lab.hugepages(2, 2048, 48)
    bound('hugepages decide the node', 2, '-object', 'memory-backend-memfd,'
          'id=a,size=64M,hugetlb=on', '-numa', 'node,memdev=a', smp=2)
    lab.hugepages(1, 2048, 0)
    lab.hugepages(2, 2048, 0)
    refused('more than a node has',
            ['Guest node 0', 'node 3: needs 2048 MiB of memory'],
            *one('3', 2048), mem='2G')
    with lab.Qemu(mem='1500M', accel='kvm,pinning=balanced', smp=2) as q:
        said = q.qmp('query-pinning')['memory'][0]
        t.equal((len(lab.cpus(said['host-nodes'])), said['policy']),
                (2, 'bind'),
                'what one node cannot hold is on two')
    with lab.Qemu(mem='1500M', accel='kvm,pinning=numa,pinning-hostnodes=1',
                  smp=2) as q:
        t.ok('node 1: needs 1500 MiB of memory' in q.said()
             and 'preferred' in q.said(),
             'what no node can hold is preferred there', q.said())
        t.ok(q.policies()[0].startswith('prefer')
             and q.policies()[0].endswith(':1'), 'really', q.policies())
    # A gap, as QEMU itself says
    refused('guest node numbers with a gap', ['Node ID missing'], '-object',
            'memory-backend-ram,id=a,size=64M', '-numa',
            'node,nodeid=1,memdev=a,hostnodes=1')
    # A guest node without vCPUs, one without memory
    with lab.Qemu('-object', 'memory-backend-ram,id=a,size=64M',
                  '-numa', 'node,nodeid=0,memdev=a,cpus=0-1,hostnodes=2',
                  '-numa', 'node,nodeid=1,cpus=2-3,hostnodes=0', mem='64M',
                  smp=4, accel='kvm,pinning=numa') as q:
        q.wait_guest()
        t.equal(q.policies('a'), ['bind:2'], 'guest node 1 has no memory')
        t.equal([{lab.node_of(c) for c in m}
                 for _, m in sorted(q.vcpu_masks().items())],
                [{2}, {2}, {0}, {0}], 'and vCPUs of its own')
    with lab.Qemu('-object', 'memory-backend-ram,id=a,size=32M',
                  '-object', 'memory-backend-ram,id=b,size=32M',
                  '-numa', 'node,nodeid=0,memdev=a,cpus=0-1',
                  '-numa', 'node,nodeid=1,memdev=b', mem='64M', smp=2,
                  accel='kvm,pinning=numa') as q:
        q.wait_guest()
        places = [m['host-nodes'] for m in q.qmp('query-pinning')['memory']]
        t.equal([q.policies('a'), q.policies('b')],
                [['bind:' + place] for place in places],
                'guest node 1 has no vCPUs')

if lab.topology == 'cpu-only':
    refused('a node without memory', ['hostnodes', '2', 'has no memory'],
            *one(2))
    said = bound('vCPUs beside a node without memory', 0, smp=2,
                 block='pc.ram', accel='kvm,pinning=numa,pinning-cpus=8-11')
    t.equal(said, '', 'the nearest one: without a word')
if lab.topology == 'memory-only':
    bound('hostnodes= without CPUs, pinning=none', 2, *one(2), accel='kvm')
    bound('hostnodes= without CPUs', 2, *one(2))
    bound('the same, preallocated', 2, *one(2, more=',prealloc=on'))
    with lab.Qemu(accel='kvm,pinning=balanced', smp=2) as q:
        t.ok(q.qmp('query-pinning')['memory'][0]['host-nodes'] in ('0', '1'),
             'no automatic choice')
if lab.topology == 'cgroup':
    refused('a forbidden node', ['hostnodes', '3', 'Mems_allowed', '0-1'],
            *one(3))
    bound('an allowed node', 1, *one(1))
    with lab.Qemu(accel='kvm,pinning=balanced', smp=2) as q:
        q.wait_guest()
        t.ok(set(q.pages()) <= {0, 1} and not q.said(),
             'no automatic choice of a forbidden one', q.said())
if lab.topology == '128cpus':
    bound('the last node', 7, *one(7))
    bound('a node whose CPUs are offline', 3, *one(3))
    with lab.Qemu(*one('0,hostnodes=4,hostnodes=7,policy=interleave'),
                  mem='64M', accel='kvm,pinning=numa', smp=3) as q:
        q.wait_guest()
        t.equal(q.policies('a'), ['interleave:0,4,7'], 'nodes with gaps')
        pages = q.pages('a')
        t.ok(set(pages) == {0, 4, 7} and max(pages.values())
             - min(pages.values()) <= 4096, 'evenly', pages)
t.done()
