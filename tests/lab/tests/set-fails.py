# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 240
# needs: pinning
"""A set-pinning that fails at any step leaves everything as it was.

One system call after the other is made to fail, and what a user can see is
compared: query-pinning, masks, memory policies, the reservation.
"""

import errno

import lab

t = lab.Tap()
ERRORS = errno.EPERM, errno.ENOMEM, errno.EINVAL
STEADY = ('role', 'thread-id', 'vcpu', 'device', 'queue', 'wanted-cpus',
          'actual-cpus', 'reason')
BLOCKS = 'a', 'b'
NODES = ['-object', 'memory-backend-ram,id=a,size=16M',
         '-object', 'memory-backend-memfd,id=b,size=16M',
         '-numa', 'node,nodeid=0,memdev=a,cpus=0-1',
         '-numa', 'node,nodeid=1,memdev=b,cpus=2-3',
         '-object', 'iothread,id=io0']

CALLS = ['sched_setaffinity', 'mbind', 'get_mempolicy', 'fsync', 'renameat']
STEPS = ['Placing vCPU', 'Placing a ', 'Binding memory', 'Planning']


class Failing(lab.Watch):
    """Makes one call fail, unseen by the kernel."""

    def __init__(self):
        super().__init__(calls=CALLS, answer=self.choose)
        self.rule = None

    def fail(self, name, after, error):
        """Of the calls @name to come, the one with @after before it."""
        self.rule = [name, after, error]

    def choose(self, call):
        if not self.rule or call.name != self.rule[0]:
            return None
        self.rule[1] -= 1
        if self.rule[1] >= 0:
            return None
        error = self.rule[2]
        self.rule = None
        return error


def state(q):
    """All but the counters."""
    said = q.qmp('query-pinning')
    said['threads'] = [{key: x[key] for key in STEADY if key in x}
                       for x in said['threads']]
    return {'query-pinning': said,
            'masks': [(x.tid, x.mask) for x in q.threads()],
            'policies': [(v.start, v.end, v.policy) for name in BLOCKS
                         for v in q.block_vmas(name)],
            'query-memdev': q.qmp('query-memdev'),
            'reservation': lab.reservation(q)}


def attempt(q, **arguments):
    """What set-pinning said, None if it did it."""
    try:
        q.qmp('set-pinning', **arguments)
        return None
    except lab.QmpError as e:
        return str(e)


def each_call(q, watch, back, steps, what, **arguments):
    """@back: what leads from success to where it began."""
    failures, wrong, seen = 0, [], set()
    before = state(q)
    for call in watch.calls:
        after = 0
        while after < 40:
            watch.fail(call, after, ERRORS[failures % 3])
            said = attempt(q, **arguments)
            if said is None:
                break
            failures += 1
            after += 1
            step = [word for word in steps if word in said]
            seen.update(step)
            now = state(q)
            if not step or now != before:
                wrong.append('%s number %d: %s' % (call, after, said))
                wrong += ['%s: %r, now %r' % (key, before[key], now[key])
                          for key in before if now[key] != before[key]]
        watch.rule = None
        q.qmp('set-pinning', **back)
        before = state(q)
    t.ok(not wrong, '%s: %d failures without a trace' % (what, failures),
         *wrong[:8])
    t.equal(sorted(seen), sorted(steps), what + ': every step can say so')



watch = Failing()
with lab.Qemu(*NODES, smp=4, mem='32M', watch=watch) as q:
    q.wait_guest()
    before = state(q)
    each_call(q, watch, {'options': {'mode': 'none'}}, STEPS,
              'pinning was off',
              options={'mode': 'numa', 'hostnodes': '2-3',
                       'exclusive': True})
    now = state(q)
    t.equal([now['masks'], now['policies'], now['reservation']],
            [before['masks'], before['policies'], before['reservation']],
            'mode none: as at start')

watch = Failing()
with lab.Qemu(*NODES, smp=4, mem='32M', watch=watch,
              accel='kvm,pinning=numa,pinning-hostnodes=0-1,'
              'pinning-exclusive=on') as q:
    q.wait_guest()
    back = {'options': {'mode': 'numa', 'hostnodes': '0-1',
                        'exclusive': True}}
    each_call(q, watch, back, STEPS, 'from node to node',
              options={'mode': 'one-to-one', 'hostnodes': '2-3',
                       'exclusive': True})
    each_call(q, watch, back, ['Placing a ', 'Binding memory'], 'to none',
              options={'mode': 'none'})
    before = state(q)
    for what, arguments in (
            ('a host CPU that is not there',
             {'options': {'mode': 'numa', 'cpus': '99'}}),
            ('too few host CPUs',
             {'options': {'mode': 'one-to-one', 'cpus': '0-1'}}),
            ('a vCPU that is not there',
             {'vcpus': [{'vcpu': 9, 'host-cpus': '0'}]}),
            ('guest nodes', {'options': {'mode': 'numa', 'vnuma': True}}),
            ('cookies', {'options': {'mode': 'numa', 'core-sched': 'vm'}}),
            ('a speed without a move', {'move_speed': 1})):
        said = attempt(q, **arguments)
        t.ok(said and state(q) == before, 'refused: ' + what, said)
t.done()
