# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Migration: the destination plans for itself, or refuses before any RAM.

The source then goes on, and both sides have a reason.
"""

import lab

t = lab.Tap()

pin = 'kvm,pinning=one-to-one,pinning-registry=off,pinning-cpus='
said = lab.qemu_error('-incoming', 'defer', smp=2, accel=pin + '12')
t.ok(said and '2 host CPUs' in said and '1 ' in said,
     'a destination without room refuses at its start', said)
with lab.Qemu(smp=2, guest='write', accel=pin + '0-3') as source, \
        lab.Qemu('-incoming', 'defer', smp=2, guest='write',
                 accel=pin + '8-11') as target:
    source.wait_guest()
    places = target.vcpu_masks()
    lab.cpu_online(places[1][0], False)
    target.qmp('migrate-incoming', uri='unix:/tmp/migrate', exit_on_error=False)
    source.qmp('migrate', uri='unix:/tmp/migrate')
    lab.wait_for('the refusal', lambda: target.qmp('query-migrate').get(
        'status') == 'failed')
    lab.wait_for('the source to know', lambda: source.qmp(
        'query-migrate')['status'] == 'failed')
    reason = target.qmp('query-migrate').get('error-desc', '') + target.said()
    t.ok('vCPU 1 has its place on host CPUs %d' % places[1][0] in reason,
         'a destination that lost a CPU says which', reason)
    t.ok(source.qmp('query-migrate').get('error-desc'),
         'the source has a reason, too', source.qmp('query-migrate'))
    t.equal(source.qmp('query-status')['status'], 'running',
            'and goes on')
    lab.cpu_online(places[1][0], True)

with lab.Qemu('-incoming', 'unix:/tmp/migrate2', smp=2, guest='write',
              accel='kvm,pinning=numa,pinning-registry=off,pinning-hostnodes=2'
              ) as target, \
        lab.Qemu(smp=2, guest='write', accel=pin + '0-3') as source:
    source.wait_guest()
    # A guest that never stops writing is stopped for as long as it takes
    source.qmp('migrate-set-parameters', downtime_limit=60000,
               max_bandwidth=1 << 40)
    source.qmp('migrate', uri='unix:/tmp/migrate2')
    lab.wait_for('the end', lambda: source.qmp('query-migrate')['status']
                 in ('completed', 'failed'))
    t.equal(source.qmp('query-migrate')['status'], 'completed',
            'another placement there is no hindrance')
    lab.wait_for('the target to run', lambda: target.qmp(
        'query-status')['status'] == 'running')
    t.equal(set(map(tuple, target.vcpu_masks().values())),
            {tuple(lab.nodes()[2].cpus)}, 'the destination has planned')
    t.equal(set(target.pages()) - {2}, set(), 'its memory is there')
    old = target.rounds(2)
    lab.wait_for('the guest to go on', lambda: all(
        b > a for a, b in zip(old, target.rounds(2))))
    t.ok('GUEST-BAD' not in target.serial(), 'with its memory as it was',
         target.serial())
t.done()
