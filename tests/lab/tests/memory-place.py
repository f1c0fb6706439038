# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 300
# needs: pinning
"""All memory that a guest touches is on the host nodes of the plan.

Every mode and kind of memory, by numa_maps: at least 99.9 % of the pages of
each guest node.
"""

import lab

t = lab.Tap()
MIB = 1024 * 1024
SHARE = 0.999


class Forbid:
    """As a container does: mbind() is EPERM.  For Qemu(watch=...)."""

    def enter(self):
        code = [(0x20, 0, 0, 0), (0x15, 0, 1, lab.SYSCALLS['mbind']),
                (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
        text = b''.join(lab.struct.pack('=HBBI', *op) for op in code)
        buf = lab.ctypes.create_string_buffer(text)
        prog = lab.ctypes.create_string_buffer(lab.struct.pack(
            '=HxxxxxxQ', len(code), lab.ctypes.addressof(buf)))
        if lab._libc.syscall(lab._SECCOMP, lab._SET_FILTER, 0, prog) < 0:
            raise OSError(lab.ctypes.get_errno(), 'seccomp')

    def serve(self):
        pass


def split(q, block, offset, size):
    """KiB on each host node in a part of a RAM block, and the policies."""
    hva = q.ram_blocks()[block][0] + offset
    pages, policies = {}, set()
    for vma in q.block_vmas(block):
        if hva <= vma.start and vma.end <= hva + size:
            policies.add(vma.policy)
            for node, count in vma.pages.items():
                pages[node] = pages.get(node, 0) + count * vma.page_kib
    return pages, sorted(policies)


def check(name, q, wanted, touched=1):
    """@wanted: (block, offset, size, host nodes, policy) of each guest node.

    @touched: the share of the memory that must be there at all.
    """
    q.wait_guest()
    said = q.qmp('query-pinning')['memory']
    t.equal([(m['host-nodes'], m['policy']) for m in said],
            [(w[3], w[4]) for w in wanted], name + ': the plan')
    for number, (block, offset, size, nodes, policy) in enumerate(wanted):
        pages, policies = split(q, block, offset, size)
        total = sum(pages.values())
        here = sum(pages.get(n, 0) for n in lab.cpus(nodes))
        t.ok(total >= 0.95 * touched * size / 1024
             and here >= SHARE * total,
             '%s: guest node %d is on host nodes %s' % (name, number, nodes),
             pages)
        word = {'preferred': ('prefer', 'prefer (many)')}.get(
            policy, (policy,))
        t.ok(policies and all(p.rsplit(':', 1)[0] in word
                              and p.rsplit(':', 1)[1] == nodes
                              for p in policies),
             '%s: guest node %d has the policy' % (name, number), policies)
        actual = {m['host-node']: m['size'] // 1024
                  for m in said[number]['actual']}
        t.ok(abs(sum(actual.values()) - total) <= 0.02 * total
             and set(actual) <= set(pages),
             '%s: guest node %d: query-pinning says the same'
             % (name, number), actual, pages)
    return q


def flat(mib, nodes, policy='bind', block='pc.ram'):
    return [(block, 0, mib * MIB, nodes, policy)]


def guest_nodes(mib, hostnodes='', kind='ram', **more):
    """Arguments for two guest nodes of half of @mib each."""
    extra = ''.join(',%s=%s' % (key.replace('_', '-'), value)
                    for key, value in more.items())
    args = []
    for number, name in enumerate('ab'):
        args += ['-object', 'memory-backend-%s,id=%s,size=%dM%s'
                 % (kind, name, mib // 2, extra),
                 '-numa', 'node,nodeid=%d,memdev=%s,cpus=%d-%d%s'
                 % (number, name, 2 * number, 2 * number + 1,
                    ',hostnodes=%s' % hostnodes[number] if hostnodes
                    else '')]
    return args


def both(mib, first, second, policy='bind'):
    half = mib // 2 * MIB
    return [('a', 0, half, first, policy), ('b', 0, half, second, policy)]


def planned(q):
    """Host node of each guest node, which two vCPUs each must be on."""
    nodes = [m['host-nodes'] for m in q.qmp('query-pinning')['memory']]
    masks = q.vcpu_masks()
    for number, node in enumerate(nodes):
        for vcpu in (2 * number, 2 * number + 1):
            if {str(lab.node_of(cpu)) for cpu in masks[vcpu]} != {node}:
                return None
    return nodes


# --- modes, accelerators --------------------------------------------------

for accel in 'kvm', 'tcg,thread=multi', 'tcg,thread=single':
    short = accel.replace('tcg,thread=', 'tcg ')
    tcg = 'tcg' in accel
    for mode in ('numa',) if tcg else ('balanced', 'numa', 'spread'):
        with lab.Qemu(accel='%s,pinning=%s' % (accel, mode), smp=2,
                      mem='64M') as q:
            node = q.qmp('query-pinning')['memory'][0]['host-nodes']
            check('%s %s, -m alone' % (short, mode), q, flat(64, node))
    if 'single' in accel:
        continue
    for mode in ('numa', 'one-to-one') if tcg else (
            'balanced', 'numa', 'spread', 'one-to-one'):
        with lab.Qemu(*guest_nodes(64), smp=4, mem='64M',
                      accel='%s,pinning=%s' % (accel, mode)) as q:
            nodes = planned(q)
            t.ok(nodes, '%s %s: vCPUs are where the memory is'
                 % (short, mode), q.vcpu_masks())
            if nodes:
                check('%s %s, two guest nodes' % (short, mode), q,
                      both(64, *nodes))

# --- kinds of memory ------------------------------------------------------

for node in 0, 2, 3:
    lab.hugepages(node, 2048, 48)
lab.run('mkdir', '-p', '/dev/shm', '/tmp/huge')
lab.run('mount', '-t', 'hugetlbfs', 'none', '/tmp/huge')
lab.run('mount', '-t', 'tmpfs', 'none', '/dev/shm')

KINDS = {
    'ram': ('ram', {}),
    'memfd': ('memfd', {}),
    'memfd, hugepages': ('memfd', {'hugetlb': 'on'}),
    'file on hugetlbfs': ('file', {'mem_path': '/tmp/huge'}),
    'file on tmpfs, shared': ('file', {'mem_path': '/dev/shm',
                                       'share': 'on'}),
    'shm': ('shm', {}),
}
for name, (kind, more) in KINDS.items():
    for prealloc in 'off', 'on':
        with lab.Qemu(*guest_nodes(64, '32', kind, prealloc=prealloc,
                                   **more),
                      smp=4, mem='64M', accel='kvm,pinning=numa') as q:
            check('%s, prealloc=%s' % (name, prealloc), q,
                  both(64, '3', '2'))

for name, args, block in (
        ('-mem-prealloc', ['-mem-prealloc'], 'pc.ram'),
        ('-mem-path', ['-mem-path', '/tmp/huge'], 'pc.ram'),
        ('-mem-path, -mem-prealloc', ['-mem-path', '/tmp/huge',
                                      '-mem-prealloc'], 'pc.ram'),
        ('memory-backend=', ['-object', 'memory-backend-memfd,id=m,size=64M,'
                             'hugetlb=on', '-machine', 'memory-backend=m'],
         'm')):
    with lab.Qemu(*args, smp=2, mem='64M', accel='kvm,pinning=balanced,'
                  'pinning-hostnodes=3') as q:
        check(name, q, flat(64, '3', block=block))
for node in 0, 2, 3:
    lab.hugepages(node, 2048, 0)

# --- whoever preallocates is beside the memory ----------------------------

lab.SYSCALLS['madvise'] = 28
POPULATE_WRITE = 23
for name, args, smp in (
        ('two guest nodes', guest_nodes(64, '32', prealloc='on'), 4),
        ('one vCPU, -mem-prealloc', ['-mem-prealloc'], 1),
        ('-mem-prealloc', ['-mem-prealloc'], 2),
        ('pinning-vnuma', ['-mem-prealloc'], '2,sockets=2')):
    watch = lab.Watch(calls=['madvise'])
    with lab.Qemu(*args, smp=smp, mem='64M', watch=watch,
                  accel='kvm,pinning=numa,pinning-hostnodes=2-3'
                  + (',pinning-vnuma=on' if 'vnuma' in name else '')) as q:
        done, wrong = set(), []
        where = {}
        for vma in q.vmas():
            if vma.policy.startswith('bind:'):
                for page in range(vma.start, vma.end, 2 * MIB):
                    where[page] = int(vma.policy[5:])
        for call in watch.seen:
            begin, size, advice = call.args[:3]
            if advice != POPULATE_WRITE or size < MIB:
                continue
            for page in range(begin, begin + size, 2 * MIB):
                if page in where and page not in done:
                    done.add(page)
                    if {lab.node_of(c) for c in call.mask} != {where[page]}:
                        wrong.append(call)
        t.ok(len(done) * 2 * MIB >= 64 * MIB and not wrong,
             'preallocated from its node: ' + name, len(done), wrong[:3])
        t.equal([x.name for x in q.threads() if x.name.startswith('TC ')
                 or x.name == 'touch_pages'], [], 'which leaves no thread')

# --- the last node, several nodes -----------------------------------------

with lab.Qemu(smp=2, accel='kvm,pinning=numa,pinning-hostnodes=3') as q:
    check('the last node', q, flat(64, '3'))
with lab.Qemu(smp=6, accel='kvm,pinning=balanced') as q:
    nodes = q.qmp('query-pinning')['memory'][0]['host-nodes']
    check('flat balanced over %s' % nodes, q,
          flat(64, nodes, 'interleave'))
    pages = q.pages()
    t.equal(len(lab.cpus(nodes)), 3, 'six vCPUs take three nodes of 2 cores')
    # In transparent hugepages of 2 MiB
    t.ok(max(pages.values()) - min(pages.values()) <= 4096,
         'and the memory is dealt out evenly', pages)
with lab.Qemu(*guest_nodes(64, [',hostnodes='.join('01'), '2-3']), smp=4,
              mem='64M', accel='kvm,pinning=numa') as q:
    check('hostnodes=0,hostnodes=1 and 2-3', q, both(64, '0-1', '2-3'))
with lab.Qemu(*guest_nodes(64, ['0,policy=preferred',
                                '1-2,policy=interleave']), smp=4, mem='64M',
              accel='kvm,pinning=numa') as q:
    check('policy=', q, [('a', 0, 32 * MIB, '0', 'preferred'),
                         ('b', 0, 32 * MIB, '1-2', 'interleave')])
with lab.Qemu(*guest_nodes(64, '31'), smp=4, mem='64M') as q:
    check('hostnodes= without a mode', q, both(64, '3', '1'))
    t.equal({tuple(m) for m in q.vcpu_masks().values()},
            {tuple(lab.allowed())}, 'which leaves threads alone')

# --- what is the user's ---------------------------------------------------

with lab.Qemu(*guest_nodes(64, host_nodes=3, policy='bind'), smp=4,
              mem='64M', accel='kvm,pinning=numa') as q:
    q.wait_guest()
    said = q.qmp('query-pinning')['memory']
    t.equal([q.policies('a'), q.policies('b'), [m['foreign'] for m in said],
             [m['host-nodes'] for m in said]],
            [['bind:3'], ['bind:3'], [True, True], ['', '']],
            "a policy of the user's is left alone")
    t.equal([[m['host-node'] for m in one['actual']] for one in said],
            [[3], [3]], 'and counted')
    t.equal({lab.node_of(cpu) for m in q.vcpu_masks().values() for cpu in m},
            {3}, 'and the vCPUs are there')

# --- a container ----------------------------------------------------------

with lab.Qemu(smp=2, watch=Forbid(), accel='kvm,pinning=balanced') as q:
    q.wait_guest()
    t.ok('cannot be bound' in q.said() and 'Operation not permitted'
         in q.said(), 'mbind() forbidden: a warning', q.said())
    t.equal(q.policies(), ['default'], 'and no policy')
said = lab.qemu_error(*guest_nodes(64, '31'), smp=4, mem='64M',
                      watch=Forbid(), accel='kvm,pinning=numa')
t.ok(said and 'guest node 0' in said and 'not permitted' in said,
     'mbind() forbidden: an error for hostnodes=', said)
t.done()
