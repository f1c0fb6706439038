# SPDX-License-Identifier: GPL-2.0-or-later
"""The hosts that the lab can be.

To add one: write a function below that returns a Host and has a docstring
(shown by "run --list"), and put it into HOSTS.  @expect is what
tests/topology.py then finds in the lab's /sys; leave nothing out of it that
the host is for.
"""


class Host:
    """
    @smp, @numa: options of the outer QEMU
    @mib: memory
    @cpu, @machine: more for -cpu and -machine; @accel: instead of ACCEL
    @append: words for the kernel's command line
    @offline, @online: CPUs switched off or on before the tests
    @cgroup: (CPUs, nodes) that the tests are confined to
    @boot: seconds that booting may take; many times what it takes
    @expect: nodes: {node: CPUs online}, no_memory: nodes, distances: rows,
        siblings and llc: sets of some CPUs, isolated, possible,
        allowed: (CPUs, nodes)
    """

    def __init__(self, smp, numa, mib, expect, append='', offline=(),
                 online=(), cgroup=None, boot=60, machine='', cpu='',
                 accel=None):
        self.args = ['-m', '%dM' % mib, '-smp', smp] + numa
        self.machine = machine
        self.cpu = cpu
        self.accel = accel
        self.expect = expect
        self.append = append
        self.offline = offline
        self.online = online
        self.cgroup = cgroup
        self.boot = boot


def _nodes(sizes, cpus, distances):
    """-numa for nodes of @sizes MiB (0: no memory) with @cpus ('': none)."""
    args = []
    for node, (mib, text) in enumerate(zip(sizes, cpus)):
        option = 'node,nodeid=%d' % node
        if mib:
            args += ['-object', 'memory-backend-ram,id=m%d,size=%dM'
                     % (node, mib)]
            option += ',memdev=m%d' % node
        for part in filter(None, text.split(',')):
            option += ',cpus=' + part
        args += ['-numa', option]
    for src, row in enumerate(distances):
        for dst, value in enumerate(row):
            if src < dst:
                args += ['-numa', 'dist,src=%d,dst=%d,val=%d'
                         % (src, dst, value)]
    return args


# Linux takes the L3 caches of the first EPYC from bits of the APIC id, those
# of later models from CPUID, where QEMU says what we want
LATER_EPYC = ',model=49'
LINE4 = [[10, 16, 24, 24], [16, 10, 16, 24],
         [24, 16, 10, 16], [24, 24, 16, 10]]
CPUS4 = ['0-3', '4-7', '8-11', '12-15']


def _four(expect, **kwargs):
    """4 sockets, each a node of 2 cores with 2 threads, in a line."""
    host = Host('16,sockets=4,cores=2,threads=2',
                _nodes([1024] * 4, CPUS4, LINE4), 4096,
                dict({'distances': LINE4}, **expect), **kwargs)
    return host


def four():
    """4 nodes, SMT: the ordinary server, and the default"""
    return _four({'nodes': dict(enumerate(CPUS4)),
                  'siblings': ['0-1', '14-15'], 'llc': CPUS4})


def epyc7351p():
    """the host of the RFC: 1 socket, 4 nodes x 4 cores x 2 threads, two
    L3 caches in each node, distance 16"""
    cpus = ['0-7', '8-15', '16-23', '24-31']
    rows = [[10 if a == b else 16 for b in range(4)] for a in range(4)]
    return Host('32,sockets=1,dies=4,modules=2,cores=2,threads=2',
                _nodes([768] * 4, cpus, rows), 3072,
                {'nodes': dict(enumerate(cpus)), 'distances': rows,
                 'siblings': ['0-1', '30-31'], 'llc': ['0-3', '28-31'],
                 'packages': 1},
                machine=',smp-cache.0.cache=l3,smp-cache.0.topology=module',
                cpu=LATER_EPYC, boot=90)


def single():
    """one node: modes that then restrict nothing must do nothing"""
    return Host('8,sockets=1,cores=8,threads=1',
                _nodes([2048], ['0-7'], []), 2048,
                {'nodes': {0: '0-7'}, 'siblings': ['0', '7'],
                 'llc': ['0-7']})


def memory_only():
    """a node that has memory and no CPU, as CXL memory has"""
    rows = [[10, 21, 20], [21, 10, 30], [20, 30, 10]]
    return Host('8,sockets=2,cores=2,threads=2',
                _nodes([1024, 1024, 1024], ['0-3', '4-7', ''], rows), 3072,
                {'nodes': {0: '0-3', 1: '4-7', 2: ''}, 'distances': rows})


def cpu_only():
    """a node that has CPUs and no memory"""
    rows = [[10, 21, 17], [21, 10, 28], [17, 28, 10]]
    return Host('12,sockets=3,cores=2,threads=2',
                _nodes([1024, 1024, 0], ['0-3', '4-7', '8-11'], rows), 2048,
                {'nodes': {0: '0-3', 1: '4-7', 2: '8-11'},
                 'no_memory': [2], 'distances': rows})


def offline():
    """4x2x2 with CPUs offline: half a core, a core, all of node 3"""
    return _four({'nodes': {0: '0,2-3', 1: '4-5', 2: '8-11', 3: ''},
                  'siblings': ['0', '2-3']},
                 offline=(1, 6, 7, 12, 13, 14, 15))


def isolcpus():
    """4x2x2 with CPUs kept out of load balancing: a core, all of node 3"""
    return _four({'nodes': dict(enumerate(CPUS4)),
                  'isolated': '2-3,12-15'}, append='isolcpus=2-3,12-15')


def many():
    """128 CPUs in 8 nodes, 6 of them online: masks longer than 64, nodes
    with all CPUs offline"""
    cpus = ['%d-%d' % (16 * n, 16 * n + 15) for n in range(8)]
    rows = [[10 if a == b else 16 if abs(a - b) == 1 else 24
             for b in range(8)] for a in range(8)]
    return Host('128,sockets=8,cores=8,threads=2',
                _nodes([512] * 8, cpus, rows), 4096,
                {'nodes': {0: '0-1', 4: '64-65', 7: '126-127', 3: ''},
                 'distances': rows, 'possible': '0-127'},
                append='maxcpus=1', online=(1, 64, 65, 126, 127), boot=150)


def cgroup():
    """4x2x2, the tests confined by a cpuset cgroup to CPUs 2-9 and nodes
    0-1, as in a container: node 2 has allowed CPUs and forbidden memory"""
    return _four({'nodes': dict(enumerate(CPUS4)),
                  'allowed': ('2-9', '0-1')}, cgroup=('2-9', '0-1'))


def multi_llc():
    """2 nodes with two last-level caches each"""
    cpus = ['0-7', '8-15']
    rows = [[10, 20], [20, 10]]
    return Host('16,sockets=2,dies=2,cores=2,threads=2',
                _nodes([1024] * 2, cpus, rows), 2048,
                {'nodes': dict(enumerate(cpus)), 'distances': rows,
                 'llc': ['0-3', '4-7', '8-11', '12-15'], 'packages': 2},
                cpu=LATER_EPYC)


def hotplug():
    """2 nodes, 8 CPUs, of which lab.host_qmp() can unplug and plug 4-7: they
    are devices cpu4 to cpu7"""
    rows = [[10, 20], [20, 10]]
    # All are there at boot: Linux 6.12 counts no others as possible unless
    # it knows the hypervisor that it runs under
    cpus = []
    for cpu in range(4, 8):
        cpus += ['-device', 'EPYC-v3-x86_64-cpu,id=cpu%d,socket-id=%d,'
                 'core-id=%d,thread-id=0' % (cpu, cpu // 2, cpu % 2)]
    # With one thread for all CPUs QEMU cannot unplug one: the thread would
    # wait for its own end.  With a thread for each it never gives what it
    # has for one back, so there are slots more, for being plugged 8 times.
    return Host('4,maxcpus=16,sockets=8,cores=2,threads=1',
                _nodes([1024] * 2, ['0-1,4-5,8-11', '2-3,6-7,12-15'], rows)
                + cpus, 2048,
                {'nodes': {0: '0-1,4-5', 1: '2-3,6-7'}, 'distances': rows},
                accel='tcg,thread=multi,tb-size=512', boot=90)


def sparse():
    """nodes 0 and 2, and no node 1; node 2 has a page of 1 GiB"""
    # What Linux makes of a node of the SRAT that has neither memory nor a CPU
    # that is there
    cpus = []
    for cpu in 4, 5:
        cpus += ['-device', 'EPYC-v3-x86_64-cpu,socket-id=%d,core-id=0,'
                 'thread-id=0' % cpu]
    return Host('2,maxcpus=6,sockets=6,cores=1,threads=1',
                _nodes([1024, 0, 3072], ['0-1', '2-3', '4-5'],
                       [[10, 21, 17], [21, 10, 21], [17, 21, 10]]) + cpus,
                4096,
                {'nodes': {0: '0-1', 2: '2-3'},
                 'distances': [[10, 17], [17, 10]]},
                append='hugepagesz=1G hugepages=2:1')


HOSTS = {
    '4x2x2': four,
    'epyc7351p': epyc7351p,
    '1n8c': single,
    'memory-only': memory_only,
    'cpu-only': cpu_only,
    'offline': offline,
    'isolcpus': isolcpus,
    '128cpus': many,
    'cgroup': cgroup,
    'multi-llc': multi_llc,
    'hotplug': hotplug,
    'sparse': sparse,
}
