# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 240
# needs: pinning
"""Host CPUs and cpusets that come and go under a running machine.

Changes are shown; with pinning-heal=on, what a host CPU took away by going
comes back with it; what a person changed is left alone.
"""

import os

import lab

t = lab.Tap()
CGROUP = '/sys/fs/cgroup/'
CYCLES = 20


def shown(q, vcpu):
    """(wanted, actual) of a vCPU, as query-pinning has it."""
    return next((x['wanted-cpus'], x['actual-cpus'])
                for x in q.qmp('query-pinning')['threads']
                if x.get('vcpu') == vcpu)


def drift(q, vcpu):
    """The next PINNING_DRIFT of that vCPU."""
    while True:
        data = q.wait_event('PINNING_DRIFT')['data']
        if data.get('vcpu') == vcpu:
            return data


def one_to_one(cpus, heal):
    return ('kvm,pinning=one-to-one,pinning-cpus=%s,pinning-heal=%s'
            % (cpus.replace(',', ',,'), heal))


with lab.Qemu(smp=2, mem='16M', guest='spin',
              accel=one_to_one('2-7', 'off')) as plain, \
        lab.Qemu(smp=2, mem='16M', guest='spin',
                 accel=one_to_one('2-7', 'on')) as healing:
    plain.wait_guest()
    healing.wait_guest()
    home = {q: {vcpu: cpus[0] for vcpu, cpus in q.vcpu_masks().items()}
            for q in (plain, healing)}

    # --- one that matters: shown, and put back when asked for -------------

    cpu = home[plain][1]
    lab.cpu_online(cpu, False)
    t.ok(cpu not in lab.cpus(shown(plain, 1)[1]),
         'offline: query-pinning shows it at once', shown(plain, 1))
    data = drift(plain, 1)
    t.ok(data['offline'] and data['role'] == 'vcpu'
         and lab.cpus(data['wanted-cpus']) == [cpu]
         and cpu not in lab.cpus(data['actual-cpus']),
         'and PINNING_DRIFT tells it', data)
    try:
        plain.qmp('set-pinning')
        said = None
    except lab.QmpError as e:
        said = str(e)
    t.ok(said and 'vCPU 1' in said, 'what cannot be restored is an error',
         said)
    rest = lab.show(c for c in range(2, 8) if c != cpu)
    plain.qmp('set-pinning', options={'mode': 'one-to-one', 'cpus': rest})
    t.ok(not lab.misplaced(plain)
         and [cpu] not in plain.vcpu_masks().values(),
         'with options there is another place', plain.vcpu_masks())
    plain.qmp('set-pinning', vcpus=[
        {'vcpu': 0, 'host-cpus': str(home[plain][0])}])
    lab.cpu_online(cpu, True)
    plain.qmp('set-pinning', options={'mode': 'one-to-one', 'cpus': '2-7'},
              vcpus=[{'vcpu': vcpu, 'host-cpus': str(c)}
                     for vcpu, c in home[plain].items()])
    t.equal(lab.misplaced(plain), [], 'online: back at home')

    # --- one that does not matter -----------------------------------------

    for q in plain, healing:
        q.qmp('query-pinning')
        q.events.clear()
    lab.cpu_online(15, False)
    t.equal([lab.misplaced(q) for q in (plain, healing)], [[], []],
            'an unrelated host CPU offline: nothing changes')
    with lab.Qemu(smp=2, accel='kvm,pinning=one-to-one,'
                  'pinning-hostnodes=2-3') as q:
        q.wait_guest()
        masks = q.vcpu_masks()
        t.ok([len(m) for m in masks.values()] == [1, 1]
             and [15] not in masks.values(), 'and a machine starts', masks)
    lab.cpu_online(15, True)

    # --- many times -------------------------------------------------------

    late = []
    for cycle in range(CYCLES):
        q = (plain, healing)[cycle % 2]
        cpu = home[q][cycle // 2 % 2]
        lab.cpu_online(cpu, False)
        lost = lab.misplaced(q)
        lab.cpu_online(cpu, True)
        if not lost:
            late.append('cycle %d: nothing was lost' % cycle)
        if q is plain:
            q.qmp('set-pinning')
    lab.wait_for('all masks to heal', lambda: not lab.misplaced(healing))
    t.equal(late, [], 'each time the vCPU lost its host CPU')
    t.equal([lab.misplaced(q) for q in (plain, healing)], [[], []],
            '%d cycles: no thread is on a wrong mask' % CYCLES)
    t.equal([{vcpu: cpus[0] for vcpu, cpus in q.vcpu_masks().items()}
             for q in (plain, healing)], [home[plain], home[healing]],
            'and every vCPU is at home')
    plain.qmp('query-pinning')
    t.ok(not [e for e in plain.events if e['event'] == 'PINNING_DRIFT'
              and e['data']['role'] == 'vcpu' and e['data']['actual-cpus']
              == e['data']['wanted-cpus']], 'nobody heals unasked')
    with lab.Qemu(smp=2, accel=one_to_one('0-15', 'off')) as q:
        q.wait_guest()
        t.equal([len(m) for m in q.vcpu_masks().values()], [1, 1],
                'and a machine starts')

    # --- a cpuset: shown, not fought --------------------------------------

    if 'cpuset' not in lab.read(CGROUP + 'cgroup.subtree_control'):
        lab.write(CGROUP + 'cgroup.subtree_control', '+cpuset')
    os.makedirs(CGROUP + 'vm', exist_ok=True)
    lab.write(CGROUP + 'vm/cpuset.cpus', '0-15')
    lab.write(CGROUP + 'vm/cgroup.procs', healing.pid)
    healing.qmp('set-pinning')
    t.equal(lab.misplaced(healing), [], 'in a cgroup: masks are right')
    cpu = home[healing][0]
    healing.qmp('query-pinning')
    healing.events.clear()
    lab.write(CGROUP + 'vm/cpuset.cpus',
              lab.show([c for c in range(16) if c != cpu]))
    data = drift(healing, 0)
    t.ok(cpu not in lab.cpus(data['actual-cpus']) and not data['offline'],
         'the cpuset has shrunk: PINNING_DRIFT tells it', data)
    # QEMU looks again when a host CPU of its main thread goes and comes
    other = next(lab.cpus(x['wanted-cpus'])[-1]
                 for x in healing.qmp('query-pinning')['threads']
                 if x['role'] == 'main')
    for on in False, True:
        healing.qmp('query-pinning')
        healing.events.clear()
        lab.cpu_online(other, on)
        while drift(healing, None)['role'] != 'main':
            pass
    t.ok(cpu not in lab.mask(healing.vcpus()[0])
         and 'Cannot' not in healing.said(),
         'and the mask is what the kernel made it', healing.said())
    lab.write(CGROUP + 'vm/cpuset.cpus', '0-15')
    healing.qmp('set-pinning')
    t.equal(lab.misplaced(healing), [], 'it has grown: set-pinning restores')
    t.equal({vcpu: cpus[0] for vcpu, cpus in healing.vcpu_masks().items()},
            home[healing], 'everything')
    lab.write(CGROUP + 'cgroup.procs', healing.pid)

# --- the same of memory nodes ---------------------------------------------

with lab.Qemu(smp=2, mem='16M', accel='kvm,pinning=balanced,'
              'pinning-hostnodes=1,pinning-heal=on') as q:
    q.wait_guest()
    lab.write(CGROUP + 'vm/cpuset.mems', '0-3')
    lab.write(CGROUP + 'vm/cgroup.procs', q.pid)
    lab.write(CGROUP + 'vm/cpuset.mems', '0,2-3')
    data = q.wait_event('PINNING_MEMORY_DRIFT')['data']
    t.ok(data['guest-node'] == 0 and data['wanted-nodes'] == '1'
         and q.policies() == ['bind:' + data['actual-nodes']] != ['bind:1'],
         'memory nodes have shrunk: PINNING_MEMORY_DRIFT tells it', data,
         q.policies())
    lab.write(CGROUP + 'vm/cpuset.mems', '0-3')
    q.qmp('set-pinning', move_memory=True)
    q.wait_event('PINNING_MEMORY_MOVED')
    pages = q.pages()
    t.ok(q.policies() == ['bind:1'] and
         pages.get(1, 0) >= 0.999 * sum(pages.values()),
         'they have grown: set-pinning restores policy and pages',
         q.policies(), pages)
    lab.write(CGROUP + 'cgroup.procs', q.pid)
t.done()
