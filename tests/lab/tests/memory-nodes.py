# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Memory on several host nodes, on the last one, on those that a user chose.

And in a container, which forbids to bind it.
"""

import lab
from placed import MIB, both, check, flat, guest_nodes

t = lab.Tap()


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


# --- the last node, several nodes -----------------------------------------

with lab.Qemu(smp=2, accel='kvm,pinning=numa,pinning-hostnodes=3') as q:
    check(t, 'the last node', q, flat(64, '3'))
for mode in 'balanced', 'numa', 'spread':
    with lab.Qemu(smp=6, accel='kvm,pinning=' + mode) as q:
        nodes = q.qmp('query-pinning')['memory'][0]['host-nodes']
        check(t, 'flat %s over %s' % (mode, nodes), q, flat(64, nodes))
        t.equal(len(lab.cpus(nodes)), 3,
                'six vCPUs take three nodes of 2 cores')
        if mode == 'spread':
            # Each vCPU touches a sixth; in other modes it may be anywhere
            pages = q.pages()
            t.ok(len(pages) == 3
                 and max(pages.values()) - min(pages.values()) <= 8192,
                 'spread: memory comes from where each vCPU is', pages)
with lab.Qemu('-mem-prealloc', smp=6, accel='kvm,pinning=balanced') as q:
    nodes = q.qmp('query-pinning')['memory'][0]['host-nodes']
    check(t, 'flat, preallocated over %s' % nodes, q,
          flat(64, nodes, 'interleave'))
    pages = q.pages()
    # In transparent hugepages of 2 MiB
    t.ok(len(pages) == 3
         and max(pages.values()) - min(pages.values()) <= 4096,
         'memory that no vCPU touches first is dealt out evenly', pages)
with lab.Qemu(smp=16, accel='kvm,pinning=balanced') as q:
    t.equal((q.qmp('query-pinning')['memory'][0]['policy'], q.policies()),
            ('default', ['default']), 'flat on all nodes: nothing to bind to')
with lab.Qemu(*guest_nodes(64, [',hostnodes='.join('01'), '2-3']), smp=4,
              mem='64M', accel='kvm,pinning=numa') as q:
    check(t, 'hostnodes=0,hostnodes=1 and 2-3', q, both(64, '0-1', '2-3'))
with lab.Qemu(*guest_nodes(64, ['0,policy=preferred',
                                '1-2,policy=interleave']), smp=4, mem='64M',
              accel='kvm,pinning=numa') as q:
    check(t, 'policy=', q, [('a', 0, 32 * MIB, '0', 'preferred'),
                            ('b', 0, 32 * MIB, '1-2', 'interleave')])
with lab.Qemu(*guest_nodes(64, '31'), smp=4, mem='64M') as q:
    check(t, 'hostnodes= without a mode', q, both(64, '3', '1'))
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
