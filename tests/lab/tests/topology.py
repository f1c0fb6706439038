# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: all
# kernels: all
# limit: 120
"""The lab host is what its topology promises: nodes, distances, caches."""

import lab

t = lab.Tap()
want = lab.config['expect']
nodes = lab.nodes()

for node, cpus in want['nodes'].items():
    t.equal(lab.show(nodes[int(node)].cpus), cpus, 'CPUs of node ' + node)
no_memory = want.get('no_memory', [])
t.equal([n for n in sorted(nodes) if nodes[n].kib == 0], no_memory,
        'nodes without memory')
if 'distances' in want:
    t.equal([nodes[n].distances for n in sorted(nodes)], want['distances'],
            'distances')
for name, get in (('siblings', lab.siblings), ('llc', lab.llc)):
    for text in want.get(name, []):
        cpus = lab.cpus(text)
        t.equal([lab.show(get(cpu)) for cpu in cpus], [text] * len(cpus),
                '%s of CPUs %s' % (name, text))
if 'packages' in want:
    t.equal(len({lab.package(cpu) for cpu in lab.online()}),
            want['packages'], 'packages')
t.equal(lab.show(lab.isolated()), want.get('isolated', ''), 'isolated CPUs')
if 'possible' in want:
    t.equal(lab.read(lab.CPU + 'possible'), want['possible'],
            'possible CPUs')
if 'allowed' in want:
    t.equal([lab.show(lab.allowed()), lab.show(lab.allowed_nodes())],
            want['allowed'], 'CPUs and nodes that a process may use')
t.equal(lab.read('/proc/version').split()[2].startswith(lab.kernel + '.'),
        True, 'Linux ' + lab.kernel)
t.ok(lab.os.path.exists('/dev/kvm'), 'KVM')
t.done()
