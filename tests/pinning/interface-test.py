#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""interface-test.py QEMU

What a user or a management layer can rely on is what is written down in
tests/data/pinning-interface: properties of accelerators, QMP, HMP, -help.  A
difference is either a mistake or news for CHANGELOG.md; in the latter case
PINNING_UPDATE_GOLDEN=1 writes it down.  TAP.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../scripts/pinning'))
from qmp import Qmp                                     # noqa: E402

GOLDEN = os.path.join(HERE, '../data/pinning-interface')
OURS = re.compile('pinning|host-topology', re.I)
QEMU = sys.argv[1]


class Schema:
    """query-qmp-schema as text; types have no names there, so they are
    spelled out where they are used"""

    def __init__(self, entities):
        self.by_name = {e['name']: e for e in entities}

    def type(self, name, indent):
        """(word, lines) for the type of this NAME"""
        e = self.by_name[name]
        if e['meta-type'] == 'builtin':
            return e['name'], []
        if e['meta-type'] == 'enum':
            return '|'.join(m['name'] for m in e['members']), []
        if e['meta-type'] == 'array':
            word, lines = self.type(e['element-type'], indent)
            return '[%s]' % word, lines
        return 'object', self.members(e, indent)

    def members(self, entity, indent):
        lines = []
        for m in sorted(entity.get('members', []), key=lambda m: m['name']):
            word, below = self.type(m['type'], indent + '  ')
            lines += ['%s%s%s: %s' % (indent, m['name'], '?' if 'default' in m
                                      else '', word), *below]
        return lines

    def show(self, name):
        e = self.by_name[name]
        lines = ['%s %s%s' % (e['meta-type'], name, ' (preconfig)' if
                              e.get('allow-preconfig') else '')]
        for key, title in ('arg-type', 'takes'), ('ret-type', 'returns'):
            if key in e:
                word, below = self.type(e[key], '    ')
                if below or word != 'object':
                    lines += ['  %s %s' % (title, word), *below]
        return lines

    def numa_node(self):
        """What -numa node and set-numa-node say about the host"""
        options = self.by_name[self.by_name['set-numa-node']['arg-type']]
        [node] = [v['type'] for v in options['variants']
                  if v['case'] == 'node']
        text = self.members(self.by_name[node], '  ')
        return [line for line in text if re.match(' +(hostnodes|policy)',
                                                  line)]


def qmp_text(qmp):
    schema = Schema(qmp('query-qmp-schema'))
    lines = []
    for name in sorted(n for n, e in schema.by_name.items()
                       if e['meta-type'] in ('command', 'event') and
                       OURS.search(n)):
        lines += schema.show(name)
    return lines + ['set-numa-node, type node'] + schema.numa_node()


def properties_text(qmp):
    lines = []
    for name in 'kvm-accel', 'tcg-accel':
        properties = qmp('qom-list-properties', typename=name)
        lines += ['%s %s: %s%s' % (
            name, p['name'], p['type'],
            ', ' + p['description'] if 'description' in p else '')
            for p in sorted(properties, key=lambda p: p['name'])
            if OURS.search(p['name'])]
    return lines


def monitor_text(qmp):
    def ask(line):
        return qmp('human-monitor-command', command_line=line).splitlines()
    return ask('help set_pinning') + [line for line in ask('help info')
                                      if OURS.search(line)]


def help_text(_):
    text = subprocess.run([QEMU, '-help'], capture_output=True, text=True,
                          timeout=60).stdout
    return [line for line in text.splitlines()
            if re.search('pinning|hostnodes', line) and
            not line.startswith('QEMU emulator version')]


PARTS = {'qmp': qmp_text, 'properties': properties_text,
         'monitor': monitor_text, 'help': help_text}


def check(part, lines):
    """The difference to what is written down, '' if there is none"""
    path = os.path.join(GOLDEN, part + '.txt')
    text = '\n'.join(lines) + '\n'
    if os.environ.get('PINNING_UPDATE_GOLDEN'):
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
    written = open(path).read()
    return ''.join(difflib.unified_diff(written.splitlines(True),
                                        text.splitlines(True), path, 'is'))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        path = tmp + '/qmp'
        machine = subprocess.Popen(
            [QEMU, '-machine', 'none', '-nodefaults', '-display', 'none',
             '-qmp', 'unix:%s,server=on,wait=off' % path],
            stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.05)
        qmp = Qmp(path)
        print('1..%d' % len(PARTS))
        for n, (part, text) in enumerate(PARTS.items(), 1):
            lines = text(qmp)
            diff = check(part, lines) if lines else 'nothing was found'
            failed += bool(diff)
            print('%sok %d - interface: %s is as written down'
                  % ('not ' if diff else '', n, part))
            print(''.join('# %s\n' % line for line in diff.splitlines()),
                  end='')
        qmp('quit')
        machine.wait(60)
    return 1 if failed else 0


sys.exit(main())
