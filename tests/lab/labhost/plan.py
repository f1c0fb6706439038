# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests there are, where each runs, and what shares a boot."""

import glob
import os
import re

from . import HERE, LabError
from .kernel import SUITES

KERNELS = list(SUITES)
# One boot's tests may take this many seconds at worst
BOOT_LIMIT = 1300


class Test:
    """A script of tests/ and what its head comment says:

      # topologies: 4x2x2 offline     or "all"
      # kernels: 6.1 6.12             or "all"
      # limit: 30                     seconds, many times what it takes
      # append: kvm_amd.npt=0         for the lab's kernel
      # modules: vhost_net tun        loaded before it
      # needs: pinning linux-guest    what "run" must have or put in
      # alone: yes                    in a boot of its own
    """

    KEYS = {'topologies': '4x2x2', 'kernels': 'all', 'limit': '30',
            'append': '', 'modules': '', 'needs': '', 'alone': 'no'}

    def __init__(self, path, hosts):
        self.path = path
        self.name = os.path.basename(path).removesuffix('.py')
        with open(path) as f:
            text = f.read()
        head = dict(self.KEYS)
        for line in re.match(r'(#[^\n]*\n)*', text).group(0).split('\n'):
            found = re.match(r'# ([a-z]+): *(.*)', line)
            if found and found.group(1) in head:
                head[found.group(1)] = found.group(2)
            elif found:
                raise LabError('%s: "%s" is nothing a head can say'
                               % (path, found.group(1)))
        found = re.search(r'^"""(.*?)(\n\n|""")', text, re.M | re.S)
        self.purpose = ' '.join(found.group(1).split()) if found else ''
        self.topologies = _choice(path, head['topologies'], list(hosts))
        self.kernels = _choice(path, head['kernels'], KERNELS)
        self.limit = int(head['limit'])
        self.append = head['append']
        self.modules = head['modules'].split()
        self.needs = head['needs'].split()
        self.alone = head['alone'] == 'yes'


def _choice(path, text, known):
    if text == 'all':
        return known
    for word in text.split():
        if word not in known:
            raise LabError('%s: no "%s"; there is: %s'
                           % (path, word, ' '.join(known)))
    return text.split()


def tests(hosts):
    found = sorted(glob.glob(os.path.join(HERE, 'tests', '*.py')))
    return [Test(path, hosts) for path in found]


def select(names, hosts):
    """Tests by name or path; all when none is named."""
    known = {test.name: test for test in tests(hosts)}
    if not names:
        return list(known.values())
    out = []
    for name in names:
        if name in known:
            out.append(known[name])
        elif os.path.isfile(name):
            out.append(Test(name, hosts))
        else:
            raise LabError('no test "%s"; there is: %s'
                           % (name, ' '.join(known)))
    return out


class Job:
    """Tests that share a boot."""

    def __init__(self, topology, kernel, append, tests_, modules=()):
        self.topology = topology
        self.kernel = kernel
        self.append = append
        self.tests = tests_
        self._modules = list(modules)

    def needs(self, what):
        return any(what in test.needs for test in self.tests)

    def modules(self):
        out = ['kvm_amd'] + self._modules
        for test in self.tests:
            out += [name for name in test.modules if name not in out]
        return out


def jobs(chosen, topologies, kernels, explicit):
    """A job for each topology, kernel and kernel command line.

    @explicit: the tests were named, so a @topologies given runs them also
    where they do not say they belong.
    """
    groups = {}
    for test in chosen:
        where = test.topologies
        if topologies:
            where = (topologies if explicit else
                     [name for name in where if name in topologies])
        for topology in where:
            for kernel in test.kernels:
                if kernels and kernel not in kernels:
                    continue
                key = (topology, kernel, test.append,
                       test.name if test.alone else '')
                groups.setdefault(key, []).append(test)
    out = []
    for (topology, kernel, append, _), members in groups.items():
        while members:
            taken = [members.pop(0)]
            while members and sum(t.limit for t in taken) \
                    + members[0].limit <= BOOT_LIMIT:
                taken.append(members.pop(0))
            out.append(Job(topology, kernel, append, taken))
    return out
