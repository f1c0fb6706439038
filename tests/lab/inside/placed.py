# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether guest memory is where the plan has it, for the tests of memory."""

import lab

MIB = 1024 * 1024
SHARE = 0.999               # of the pages that are there
# To several nodes, among which pages may follow who uses them
BIND_MANY = 'bind=balancing'


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


def check(t, name, q, wanted):
    """@wanted: (block, offset, size, host nodes, policy) of each guest node."""
    q.wait_guest()
    said = q.qmp('query-pinning')['memory']
    t.equal([(m['host-nodes'], m['policy']) for m in said],
            [(w[3], w[4]) for w in wanted], name + ': the plan')
    for number, (block, offset, size, nodes, policy) in enumerate(wanted):
        pages, policies = split(q, block, offset, size)
        total = sum(pages.values())
        here = sum(pages.get(n, 0) for n in lab.cpus(nodes))
        t.ok(total >= 0.95 * size / 1024
             and here >= SHARE * total,
             '%s: guest node %d is on host nodes %s' % (name, number, nodes),
             pages)
        word = {'preferred': ('prefer', 'prefer (many)'),
                'bind': (BIND_MANY if len(lab.cpus(nodes)) > 1 else 'bind',)
                }.get(policy, (policy,))
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
    """Arguments for two guest nodes of half of @mib each.

    @more: properties of their backends, a value or one for each
    """
    args = []
    for number, name in enumerate('ab'):
        extra = ''.join(',%s=%s' % (
            key.replace('_', '-'),
            value[number] if isinstance(value, tuple) else value)
            for key, value in more.items())
        args += ['-object', 'memory-backend-%s,id=%s,size=%dM%s'
                 % (kind, name, mib // 2, extra),
                 '-numa', 'node,nodeid=%d,memdev=%s,cpus=%d-%d%s'
                 % (number, name, 2 * number, 2 * number + 1,
                    ',hostnodes=%s' % hostnodes[number] if hostnodes
                    else '')]
    return args


def both(mib, first, second):
    half = mib // 2 * MIB
    return [('a', 0, half, first, 'bind'), ('b', 0, half, second, 'bind')]
