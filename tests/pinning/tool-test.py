#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tool-test.py QEMU-PINNING

The command line of qemu-pinning topology, plan and map: good and bad words,
what is printed where, the exit status.  TAP.  Machines that may not be
committed are taken from the folder PINNING_TOPOLOGIES, if it is there.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree

from cpulist import members

HERE = os.path.dirname(os.path.realpath(__file__))
DATA = os.path.join(HERE, '..', 'data')
EPYC = os.path.join(DATA, 'pinning-plan', 'epyc-7351p.capture')
TR = os.path.join(DATA, 'host-topology', 'text-tr3960x-memoryless.capture')
ALTIX = os.path.join(DATA, 'host-topology', 'hwloc-altix-64-nodes.capture')
RFC = ['--smp', '8,sockets=4', '--memory', '8G',
       '--cpus', '0,1,4,5,8,9,12,13']
TOOL = sys.argv[1]
tests = []


class Skip(Exception):
    """Something is not there that a test needs"""


def test(function):
    tests.append(function)
    return function


def run(*args):
    return subprocess.run([TOOL, *args], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL)


def good(*args):
    done = run(*args)
    assert done.returncode == 0, done.stderr
    assert done.stderr == '', done.stderr
    return done.stdout


def bad(*args):
    """The message, without the name of the program and without hint"""
    done = run(*args)
    assert done.returncode == 1, 'status %d' % done.returncode
    assert done.stdout == '', done.stdout
    lines = done.stderr.splitlines()
    assert 1 <= len(lines) <= 2, done.stderr
    assert not lines[0].endswith('.'), lines[0]
    return lines[0].split(': ', 1)[1]


def plan(*args, root=EPYC):
    return json.loads(good('plan', '--root', root, '--json', *args))


def masks(reply):
    return [v['host-cpus'] for v in reply['vcpus']]


@test
def test_help():
    text = good('--help')
    for command in ('topology', 'plan', 'map', 'list', 'run'):
        assert re.search(r'^  %s +\w' % command, text, re.M), text
    options = {
        'topology': 'root json',
        'plan': 'root json mode smp memory numa cpus hostnodes smt cpu-kind '
                'strategy memory-policy emulator-cpus io-cpus vnuma taken '
                'guest-topology exclusive device-nodes page-size',
        'map': 'root mode smp svg width',
    }
    for command, names in options.items():
        text = good(command, '--help')
        for name in names.split():
            assert '  --%s ' % name in text, (command, name)
    assert good('--version').startswith('qemu-pinning version ')


@test
def test_bad_words():
    assert bad() == 'a command is missing'
    assert bad('plam') == "there is no command 'plam'"
    assert "'--jsn'" in bad('plan', '--jsn')
    assert "'--mode' needs a value" in bad('plan', '--mode')
    assert "'here' is not an option" in bad('topology', 'here')
    assert "'--mode'" in bad('topology', '--mode', 'numa')
    assert 'bogus' in bad('plan', '--mode', 'bogus')
    assert 'on' in bad('plan', '--vnuma', 'perhaps')
    assert bad('topology', '--root', '/nonexistent')


@test
def test_bad_machines():
    for words, message in (
            (['--smp', '0'], 'cpus=0 is not between'),
            (['--smp', '8,sockets=3'], 'are not 8 vCPUs'),
            (['--smp', '8,maxcpus=4'], 'is less than cpus=8'),
            (['--smp', '5000'], 'cpus=5000 is not between'),
            (['--smp', '4096,sockets=4096,cores=4096'], 'are not 4096'),
            (['--smp', 'x'], 'cpus'),
            (['--smp', '8,bogus=1'], 'bogus'),
            (['--memory', 'much'], "expects a size, not 'much'"),
            (['--page-size', '2X'], "expects a size, not '2X'"),
            (['--numa', 'node,cpus=9'], 'beyond the 1 vCPUs'),
            (['--numa', 'node,nodeid=1'], 'guest node 0 is missing'),
            (['--numa', 'node,nodeid=200'], 'beyond 127'),
            (['--numa', 'node,nodeid=0', '--numa', 'node,nodeid=0'],
             'given twice'),
            (['--numa', 'node', '--numa', 'cpu,node-id=3,socket-id=0'],
             'there is no guest node 3'),
            (['--numa', 'node,policy=bogus'], 'bogus'),
            (['--cpus', '99'], 'names host CPU 99, which this host'),
            (['--cpus', '3-1'], "Parameter 'pinning-cpus'"),
            (['--cpus', ''], "Parameter 'pinning-cpus'"),
            (['--hostnodes', '7'], 'names host node 7'),
            (['--device-nodes', 'x'], "Parameter 'device-nodes'"),
            (['--affinity', '-1'], "Parameter 'affinity'"),
            (['--mode', 'one-to-one', '--smp', '64'],
             'needs 64 host CPUs, 32 are usable')):
        got = bad('plan', '--root', EPYC, '--mode', 'numa', *words)
        assert message in got, (words, got)
    long_list = ','.join(str(2 * n) for n in range(16000))
    assert len(bad('plan', '--root', EPYC, '--cpus', long_list)) < 200


@test
def test_topology_json():
    host = json.loads(good('topology', '--root', EPYC, '--json'))
    assert len(host['cpus']) == 32 and len(host['nodes']) == 4
    assert [n['cpus'] for n in host['nodes']] == [
        '0-3,16-19', '4-7,20-23', '8-11,24-27', '12-15,28-31']
    assert host['nodes'][0]['distances'] == [10, 16, 16, 16]
    assert host['cpus'][17]['core'] == 1 and host['cpus'][17]['llc'] == 0
    assert host['allowed-cpus'] == '0-31'


@test
def test_topology_text():
    text = good('topology', '--root', EPYC)
    assert text.startswith('32 host CPUs online (0-31), 16 cores, 4 nodes\n')
    assert 'distances:' in text
    assert len(good('topology', '--root', ALTIX).splitlines()) < 400
    text = good('topology', '--root', EPYC, '--affinity', '0-3')
    assert 'this process may use host CPUs: 0-3' in text


@test
def test_this_host():
    host = json.loads(good('topology', '--json'))
    online = [c['cpu'] for c in host['cpus'] if c['online']]
    assert len(online) == os.cpu_count()
    allowed = members(host['allowed-cpus'])
    assert set(allowed) == os.sched_getaffinity(0)
    reply = json.loads(good('plan', '--mode', 'one-to-one', '--smp', '1',
                            '--json'))
    assert int(masks(reply)[0]) in allowed


@test
def test_rfc_numa():
    reply = plan('--mode', 'numa', *RFC)
    assert masks(reply) == ['0-1'] * 2 + ['4-5'] * 2 + ['8-9'] * 2 + [
        '12-13'] * 2
    assert [(n['host-nodes'], n['policy']) for n in reply['nodes']] == [
        (str(i), 'bind') for i in range(4)]
    assert [v['guest-node'] for v in reply['vcpus']] == [
        0, 0, 1, 1, 2, 2, 3, 3]


@test
def test_rfc_one_to_one():
    reply = plan('--mode', 'one-to-one', *RFC)
    assert masks(reply) == ['0', '1', '4', '5', '8', '9', '12', '13']
    for node in range(4):
        where = {int(v['host-cpus']) // 4 for v in reply['vcpus']
                 if v['guest-node'] == node}
        assert len(where) == 1


@test
def test_rfc_balanced():
    one = plan('--mode', 'balanced', '--smp', '4', '--memory', '8G')
    assert one['nodes'][0]['host-nodes'] == '1'
    assert one['nodes'][0]['policy'] == 'bind'
    two = plan('--mode', 'balanced', '--smp', '8', '--memory', '8G')
    assert len(members(two['nodes'][0]['host-nodes'])) == 2
    assert two['nodes'][0]['policy'] == 'bind'
    early = plan('--mode', 'balanced', '--smp', '8', '--memory', '8G',
                 '--prealloc')
    assert early['nodes'][0]['policy'] == 'interleave'
    large = plan('--mode', 'balanced', '--smp', '4', '--memory', '20G')
    assert len(members(large['nodes'][0]['host-nodes'])) == 2


@test
def test_members():
    reply = plan('--mode', 'spread', '--smp', '2')
    assert sorted(reply) == ['emulator-cpus', 'guest-topology', 'io-cpus',
                             'mode', 'nodes', 'parked-cpus', 'vcpus',
                             'warnings']
    assert sorted(reply['nodes'][0]) == ['guest-node', 'host-nodes',
                                         'policy', 'reason', 'size']
    assert sorted(reply['vcpus'][0]) == ['host-cpus', 'reason', 'vcpu']


@test
def test_qemus_words():
    """Options as QEMU spells them, and what the text says to type there"""
    one = plan('--mode', 'one-to-one', '--cpus', '8-15', '--smp', '2')
    assert one == plan('--pinning-mode', 'one-to-one',
                       '--pinning-cpus', '8-11,,12-15', '--smp', 'cpus=2')
    assert one == plan('--mode', 'one-to-one', '--cpus', '8-11', '--cpus',
                       '12-15', '--smp', '2')
    text = good('plan', '--root', EPYC, '--mode', 'numa', *RFC)
    assert text.splitlines()[0] == (
        '-accel kvm,pinning=numa,pinning-cpus=0,,1,,4,,5,,8,,9,,12,,13,'
        'pinning-vnuma=on -smp 8,sockets=4 -m 8G')
    assert plan('--mode', 'numa', '--memory-policy', 'preferred')[
        'nodes'][0]['policy'] == 'preferred'


@test
def test_smp():
    for words, expected in (
            ('6', (1, 1, 6, 1)), ('cpus=6', (1, 1, 6, 1)),
            ('8,sockets=2', (2, 1, 4, 1)), ('8,cores=2', (4, 1, 2, 1)),
            ('8,threads=2', (1, 1, 4, 2)),
            ('8,sockets=2,cores=2', (2, 1, 2, 2)),
            ('2,maxcpus=8', (1, 1, 8, 1)),
            ('sockets=2,dies=2,cores=2', (2, 2, 2, 1)),
            ('8,dies=2,clusters=2', (1, 2, 4, 1)),
            ('8,dies=2,modules=2', (1, 2, 4, 1))):
        guest = plan('--mode', 'balanced', '--smp', words)['guest-topology']
        got = tuple(guest[k] for k in ('sockets', 'dies', 'cores', 'threads'))
        assert got == expected, (words, got)


@test
def test_numa():
    reply = plan('--mode', 'numa', '--smp', '4,sockets=2', '--memory', '3G',
                 '--numa', 'node,cpus=0-2,hostnodes=2,policy=preferred',
                 '--numa', 'node,cpus=3,memdev=m1')
    assert [n['size'] >> 20 for n in reply['nodes']] == [2304, 768]
    assert reply['nodes'][0]['host-nodes'] == '2'
    assert reply['nodes'][0]['policy'] == 'preferred'
    assert masks(reply)[0] == '8-11,24-27'
    by_socket = plan('--mode', 'numa', '--smp', '4,sockets=2',
                     '--numa', 'node,mem=1G', '--numa', 'node,mem=512M',
                     '--numa', 'cpu,node-id=1,socket-id=0',
                     '--numa', 'cpu,node-id=0,socket-id=1',
                     '--numa', 'dist,src=0,dst=1,val=20')
    assert [v['guest-node'] for v in by_socket['vcpus']] == [1, 1, 0, 0]
    assert [n['size'] >> 20 for n in by_socket['nodes']] == [1024, 512]


@test
def test_vnuma():
    flat = plan('--mode', 'numa', '--smp', '4,sockets=2', '--vnuma', 'off')
    assert len(flat['nodes']) == 1
    assert 'guest-node' not in flat['vcpus'][0]
    assert len(plan('--mode', 'numa', '--smp', '4')['nodes']) == 1
    assert len(plan('--mode', 'numa', '--smp', '4,sockets=2')['nodes']) == 2


def with_file(content, function):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as f:
        f.write(content)
        f.flush()
        return function(f.name)


@test
def test_taken():
    taken = {'cpus': [{'host-cpus': '4-7,20-23', 'load': 1000}],
             'exclusive-cpus': '12-15,28-31',
             'exclusive-owners': ['db'],
             'nodes': [{'host-node': 2, 'promised': 14 << 30}]}
    reply = with_file(json.dumps(taken), lambda f: plan(
        '--mode', 'balanced', '--smp', '4', '--memory', '4G', '--taken', f))
    assert reply['nodes'][0]['host-nodes'] == '0'
    message = with_file(json.dumps(taken), lambda f: bad(
        'plan', '--root', EPYC, '--mode', 'one-to-one', '--cpus', '12-16',
        '--smp', '2', '--taken', f))
    assert "held by 'db' alone" in message, message


@test
def test_bad_taken():
    for content in ('', '{', '[]', '17', '{"cpus": 1}', '{"bogus": 1}',
                    '{"cpus": [{"host-cpus": "0", "load": -1}]}',
                    '{"cpus": [{"host-cpus": "0-", "load": 1}]}',
                    '{"rotation": 18446744073709551616}', '\x01\x02'):
        with_file(content, lambda f: bad('plan', '--root', EPYC, '--mode',
                                         'numa', '--taken', f))
    assert 'cannot read' in bad('plan', '--taken', '/nonexistent')
    assert 'not a file' in bad('plan', '--taken', '/')


@test
def test_map():
    text = good('map', '--root', EPYC, '--mode', 'one-to-one', '--smp', '3')
    assert '[ 4 v0 20 io] [ 5 v1 21 io]' in text, text
    assert max(map(len, text.splitlines())) <= 80
    text = good('map', '--root', EPYC)
    assert 'v0' not in text and '[ 4 20] [ 5 21]' in text, text
    narrow = good('map', '--root', ALTIX, '--width', '60')
    assert max(map(len, narrow.splitlines())) <= 60
    for width in ('x', '10', '-1', '99999'):
        assert 'width' in bad('map', '--root', EPYC, '--width', width)


@test
def test_svg():
    for root, n in ((EPYC, 32), (TR, 48), (ALTIX, 256)):
        with tempfile.TemporaryDirectory() as d:
            file = os.path.join(d, 'map.svg')
            assert good('map', '--root', root, '--mode', 'numa', '--smp',
                        '4', '--svg', file) == ''
            picture = xml.etree.ElementTree.parse(file).getroot()
        name = '{http://www.w3.org/2000/svg}%s'
        cpus = [int(t.text) for t in picture.iter(name % 'text')
                if t.get('class') == 'n']
        assert sorted(cpus) == list(range(n)), root
        width, height = (int(picture.get(k)) for k in ('width', 'height'))
        for box in list(picture.iter(name % 'rect'))[1:]:
            x, y, w, h = (int(box.get(k))
                          for k in ('x', 'y', 'width', 'height'))
            assert x + w <= width and y + h <= height
    assert 'cannot write' in bad('map', '--root', EPYC, '--svg',
                                 '/nonexistent/map.svg')


@test
def test_alder_lake():
    """Eight vCPUs on one kind of core, sixteen on none"""
    folder = os.environ.get('PINNING_TOPOLOGIES', '')
    archive = os.path.join(folder, 'nri-alderlake-4p8e.tar.xz')
    if not os.path.exists(archive):
        raise Skip('no %s' % (archive if folder else 'PINNING_TOPOLOGIES'))
    with tempfile.TemporaryDirectory() as d:
        with tarfile.open(archive) as tar:
            tar.extractall(d)
        root = os.path.join(d, 'nri-alderlake-4p8e')
        reply = plan('--mode', 'one-to-one', '--smp', '8', root=root)
        host = json.loads(good('topology', '--root', root, '--json'))
        kinds = {host['cpus'][int(m)]['type'] for m in masks(reply)}
        assert len(kinds) == 1 and len(set(masks(reply))) == 8
        assert ' cores, the largest kind' in reply['nodes'][0]['reason']
        message = bad('plan', '--root', root, '--mode', 'one-to-one',
                      '--smp', '16')
        assert ('needs 16 host CPUs of one kind, usable are 8 ' in message
                and '8 performance' in message and '8 efficient' in message)


def main():
    print('1..%d' % len(tests))
    failed = 0
    for number, function in enumerate(tests, 1):
        name = function.__name__[5:].replace('_', '-')
        try:
            function()
        except Skip as reason:
            print('ok %d - %s # SKIP %s' % (number, name, reason))
        except Exception as error:
            failed += 1
            print('not ok %d - %s' % (number, name))
            print('# %s: %s' % (type(error).__name__,
                                str(error).replace('\n', '\n# ')))
        else:
            print('ok %d - %s' % (number, name))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
