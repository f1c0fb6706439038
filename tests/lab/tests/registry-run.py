# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 60
"""qemu-pinning run: masks and memory policy are real, and nobody's twice."""

import os
import signal

import lab

t = lab.Tap()
REGISTRY = '/run/registry-run'
RUN = ['qemu-pinning', 'run', '--registry', REGISTRY]
ONE_TO_ONE = ['--mode', 'one-to-one', '--smp', '2', '--exclusive', '--']


def start():
    """A holder of two CPUs; its pid once it is where it should be"""
    pid = os.fork()
    if pid == 0:
        args = RUN + ONE_TO_ONE + ['sleep', '600']
        os.execvp(args[0], args)
    lab.wait_for('the program', lambda: lab.read(
        '/proc/%d/comm' % pid) == 'sleep')
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def policies(said):
    """Memory policies in the text of a numa_maps"""
    return sorted({line.split()[1] for line in said.split('\n')
                   if len(line.split()) > 1 and ' ' in line
                   and line[:4].isalnum()})


holders = [start() for _ in range(8)]
masks = [lab.mask(pid) for pid in holders]
t.equal(sorted(sum(masks, [])), lab.online(), 'eight programs, each CPU once')
t.ok(all(len(mask) == 2 for mask in masks), 'two CPUs for each', masks)

status, said = lab.run(*RUN, *ONE_TO_ONE, 'echo', 'ran')
t.equal(status, 125, 'the ninth is refused')
t.ok('ran' not in said, 'and not run', said)
t.note(said)

end(holders[3])
holders[3] = start()
t.equal(lab.mask(holders[3]), masks[3], 'the next has what was set free')
for pid in holders:
    end(pid)

status, said = lab.run(*RUN, '--mode', 'balanced', '--smp', '2', '--memory',
                       '64M', '--', 'sh', '-c',
                       'echo $QEMU_PINNING_NODES; cat /proc/self/numa_maps')
node, maps = said.split('\n', 1)
t.ok(node in [str(n) for n in lab.nodes()], 'balanced chose a node', said)
t.equal(policies(maps), ['bind:' + node], 'memory is bound there')

status, said = lab.run(*RUN, '--mode', 'balanced', '--smp', '2', '--memory',
                       '64M', '--memory-policy', 'preferred', '--', 'sh',
                       '-c',
                       'echo $QEMU_PINNING_NODES; cat /proc/self/numa_maps')
node, maps = said.split('\n', 1)
t.equal(policies(maps), ['prefer:' + node], 'or preferred')

status, said = lab.run('qemu-pinning', 'list', '--gc', '--registry', REGISTRY)
t.equal(os.listdir(REGISTRY), ['lock'], 'nothing is left')
t.done()
