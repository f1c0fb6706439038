# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
# kernels: all
# limit: 240
# needs: linux-guest
# append: nr_cpus=2
# alone: yes
"""A Linux guest comes up five times in a row (svm-irq has the reason).

With two kernels that is ten times.  Without our patch none of 14 did, with the
emulator's CPUs in one thread.
"""

import lab

# The machine and the guest kernel with the least to look for at every start
MACHINE = 'microvm,pit=on,pic=on,rtc=on,isa-serial=on'
APPEND = 'inner.off ipv6.disable=1 audit=0 lsm=capability'
t = lab.Tap()
for start in range(1, 6):
    with lab.Qemu(guest='linux', smp=2, mem='128M', machine=MACHINE,
                  append=APPEND) as q:
        try:
            said = q.wait_guest('INNER-UP')
        except TimeoutError as e:
            said = str(e)
        t.equal(said, 'INNER-UP cpus=0-1', 'start %d' % start)
        if t.failed:
            break                       # the others would hang as well
t.done()
