#!/usr/bin/env python3
#
# scripts/pinning/capture-topology: what it keeps, and what it must not keep
#
# SPDX-License-Identifier: GPL-2.0-or-later

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
CAPTURE = os.path.join(HERE, '..', '..', 'scripts', 'pinning',
                       'capture-topology')

# Whatever is in a host's files that may say whose host it is
SECRET = 'hunter2'

FILES = {
    'proc/cpuinfo': 'processor\t: 0\nCPU implementer\t: 0x41\n'
                    'CPU part\t: 0xd46\n\nHardware\t: hunter2\n'
                    'Serial\t\t: hunter2\n',
    'proc/self/status': 'Name:\thunter2\nUid:\t1000\n'
                        'Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n',
    'proc/self/cgroup': '1:name=systemd:/hunter2\n0::/hunter2/vm\n',
    'etc/hostname': 'hunter2\n',
    'sys/class/net/hunter2/address': 'hunter2\n',
    'sys/class/dmi/id/product_serial': 'hunter2\n',
    'sys/devices/system/cpu/online': '0\n\0',
    'sys/devices/system/cpu/modalias': 'hunter2\n',
    'sys/devices/system/cpu/cpu0/topology/core_cpus_list': '0\n',
    'sys/devices/system/cpu/cpu0/topology/core_cpus': '1\n',
    'sys/devices/system/cpu/cpu0/topology/ppin': 'hunter2\n',
    'sys/devices/system/cpu/cpufreq/hunter2': '\n',
    'sys/devices/system/node/node0/cpulist': '0\n',
    'sys/devices/system/node/node0/meminfo':
        'Node 0 MemTotal:  8 kB\nNode 0 MemFree:  4 kB\n'
        'Node 0 MemUsed:  hunter2 kB\n',
    'sys/fs/cgroup/hunter2/cpuset.mems.effective': '0\n',
    'sys/fs/cgroup/hunter2/vm/cpuset.cpus.effective': '0\n',
}

KEPT = '''\
proc/cpuinfo	processor\\t: 0\\nCPU implementer\\t: 0x41\\n\
CPU part\\t: 0xd46\\n\\n
proc/self/cgroup	0::/\\n
proc/self/status	Cpus_allowed_list:\\t0\\nMems_allowed_list:\\t0\\n
sys/devices/system/cpu/cpu0/topology/core_cpus_list	0\\n
sys/devices/system/cpu/cpu1/	
sys/devices/system/cpu/isolated	\\!Too many levels of symbolic links
sys/devices/system/cpu/online	0\\n\\0
sys/devices/system/node/node0/cpulist	0\\n
sys/devices/system/node/node0/meminfo	Node 0 MemTotal:  8 kB\\n\
Node 0 MemFree:  4 kB\\n
sys/fs/cgroup/cpuset.cpus.effective	0\\n
sys/fs/cgroup/cpuset.mems.effective	0\\n
'''


def capture(*args):
    return subprocess.run([sys.executable, CAPTURE, *args], text=True,
                          capture_output=True, check=False)


def make_host(root):
    for path, content in FILES.items():
        name = os.path.join(root, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, 'w', encoding='utf-8') as f:
            f.write(content)
    cpus = os.path.join(root, 'sys/devices/system/cpu')
    os.mkdir(os.path.join(cpus, 'cpu1'))
    os.symlink('isolated', os.path.join(cpus, 'isolated'))


class CaptureTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = os.path.join(scratch.name, 'root')
        self.output = os.path.join(scratch.name, 'output')
        os.mkdir(self.root)

    def test_kept(self):
        """What is read is kept, the rest is not, failures are told"""
        make_host(self.root)
        done = capture('--root', self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        lines = done.stdout.splitlines(keepends=True)
        self.assertEqual(''.join(line for line in lines
                                 if not line.startswith('#')), KEPT)

    def test_secrets(self):
        """Nothing that may name the owner is in a capture"""
        make_host(self.root)
        text = capture('--root', self.root).stdout
        self.assertIn('MemTotal', text)
        self.assertNotIn(SECRET, text)

    def test_output(self):
        """-o FILE has what standard output would have"""
        make_host(self.root)
        done = capture('--root', self.root, '-o', self.output)
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        with open(self.output, encoding='ascii') as f:
            self.assertEqual(f.read(), capture('--root', self.root).stdout)

    def test_this_host(self):
        """This host can be captured"""
        done = capture()
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('sys/devices/system/cpu/', done.stdout)

    def test_errors(self):
        """Errors are one line and exit status 1"""
        for args in (['--root', self.root],
                     ['-o', os.path.join(self.output, 'none')]):
            done = capture(*args)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r'\Acapture-topology: .*\n\Z')


class TapResult(unittest.TestResult):
    """Prints a line for each test; the number of them is told first"""
    def stopTest(self, test):
        bad = [text for failed, text in self.failures + self.errors
               if failed is test]
        print('%s %d - capture: %s' % ('not ok' if bad else 'ok',
                                       self.testsRun,
                                       test.shortDescription()))
        for line in ''.join(bad).splitlines():
            print('# ' + line)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(CaptureTest)
    print('1..%d' % suite.countTestCases())
    result = TapResult()
    suite.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
