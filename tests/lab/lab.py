# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test has inside the lab host.

  Tap         ok / equal / skip, and done() at the end
  Qemu        our QEMU with QMP; its threads, masks, pages, vhost workers
  Watch       what a thread's mask was at the moment of a system call
  nodes(), online(), siblings(), llc(), allowed() ...   the host, from /sys
  host_qmp()  QMP of the emulator that the lab host runs in

Nothing here knows anything of QEMU's own idea of the host: what a test
compares with is read from /proc and /sys by this file.
"""

import collections
import ctypes
import os
import signal
import socket
import struct
import sys
import threading
import time

import json
import fcntl
import select

config = {}
topology = kernel = None
harness = None                  # the agent, which can ask the harness
_qemus = []


def setup(conf):
    global config, topology, kernel
    config = conf
    topology = conf['topology']
    kernel = conf['kernel']


# --- files and sets -------------------------------------------------------

def read(path, default=None):
    """A file's text without white space around; @default when unreadable."""
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        if default is None:
            raise
        return default


def write(path, text):
    with open(path, 'w') as f:
        f.write(str(text))


def cpus(text):
    """'0-2,5' as [0, 1, 2, 5]."""
    out = []
    for part in text.split(','):
        if part.strip():
            first, _, last = part.partition('-')
            out += range(int(first), int(last or first) + 1)
    return out


def show(numbers):
    """[0, 1, 2, 5] as '0-2,5'."""
    numbers = sorted(numbers)
    parts = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ','.join('%d' % a if a == b else '%d-%d' % (a, b)
                    for a, b in parts)


def wait_for(what, condition, limit=60.0, step=0.02):
    """Till @condition() is true, which is returned."""
    deadline = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError('waited %g s for %s' % (limit, what))
        time.sleep(step)


def run(*args):
    """A command; its exit status and everything it said."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(write_end, 1)
            os.dup2(write_end, 2)
            os.execvp(args[0], args)
        finally:
            os._exit(127)
    os.close(write_end)
    with os.fdopen(read_end, 'rb') as f:
        said = f.read().decode(errors='replace')
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


# --- the host -------------------------------------------------------------

CPU = '/sys/devices/system/cpu/'
NODE = '/sys/devices/system/node/'
Node = collections.namedtuple('Node', 'cpus kib distances')


def online():
    return cpus(read(CPU + 'online'))


def isolated():
    return cpus(read(CPU + 'isolated', ''))


def allowed():
    """CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def allowed_nodes():
    return cpus(field(read('/proc/self/status'), 'Mems_allowed_list'))


def siblings(cpu):
    return cpus(read(CPU + 'cpu%d/topology/thread_siblings_list' % cpu))


def llc(cpu):
    """CPUs that share the last-level cache."""
    folder = CPU + 'cpu%d/cache/' % cpu
    best = max((int(read(folder + name + '/level')), name)
               for name in os.listdir(folder) if name.startswith('index'))
    return cpus(read(folder + best[1] + '/shared_cpu_list'))


def package(cpu):
    return int(read(CPU + 'cpu%d/topology/physical_package_id' % cpu))


def nodes():
    """Online nodes: their online CPUs, memory, distances in node order."""
    out = {}
    for n in cpus(read(NODE + 'online')):
        folder = NODE + 'node%d/' % n
        out[n] = Node(cpus(read(folder + 'cpulist')),
                      int(read(folder + 'meminfo').split()[3]),
                      [int(d) for d in read(folder + 'distance').split()])
    return out


def node_of(cpu):
    for name in os.listdir(CPU + 'cpu%d' % cpu):
        if name.startswith('node'):
            return int(name[4:])
    return None


def cpu_online(cpu, on):
    write(CPU + 'cpu%d/online' % cpu, int(on))


def hugepages(node, kib, count):
    write(NODE + 'node%d/hugepages/hugepages-%dkB/nr_hugepages'
          % (node, kib), count)


def ask(request):
    """Something of the harness, outside of the lab host."""
    harness.send(json.dumps(request).encode())
    reply = json.loads(harness.recv(1 << 16))
    if 'error' in reply:
        raise QmpError(reply['error'])
    return reply.get('return')


def host_qmp(command, **arguments):
    """QMP of the emulator around us: plug a host CPU, for instance."""
    return ask({'qmp': {'execute': command, 'arguments': arguments}})


def unplug_cpu(cpu):
    """A host CPU of topology "hotplug", which has 4 to 7 as devices."""
    host_qmp('device_del', id='cpu%d' % cpu)
    wait_for('host CPU %d to go' % cpu, lambda: cpu not in cpus(
        read(CPU + 'present')))


def plug_cpu(cpu):
    """Back in, and online."""
    host_qmp('device_add', driver='EPYC-v3-x86_64-cpu', id='cpu%d' % cpu,
             **{'socket-id': cpu // 2, 'core-id': cpu % 2, 'thread-id': 0})
    # It is present before its files are there
    wait_for('host CPU %d to come' % cpu, lambda: os.path.exists(
        CPU + 'cpu%d/online' % cpu))
    cpu_online(cpu, True)


def keep(name, text):
    """A file for the logs outside."""
    with open('/tmp/out/' + name, 'w') as f:
        f.write(text)


# --- results --------------------------------------------------------------

class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, condition, name, *why):
        """@why is shown when it failed."""
        self.count += 1
        print('%sok %d - %s' % ('' if condition else 'not ', self.count,
                                name), flush=True)
        if not condition:
            self.failed += 1
            for text in why:
                self.note(text)
        return bool(condition)

    def equal(self, got, want, name):
        return self.ok(got == want, name, 'got  %r' % (got,),
                       'want %r' % (want,))

    def skip(self, name, why):
        self.count += 1
        print('ok %d - %s # SKIP %s' % (self.count, name, why), flush=True)

    def note(self, text):
        for line in str(text).split('\n'):
            print('# ' + line, flush=True)

    def done(self):
        print('1..%d' % self.count, flush=True)
        sys.exit(1 if self.failed else 0)


# --- processes and threads ------------------------------------------------

Thread = collections.namedtuple('Thread', 'tid name mask cpu kind')


def field(text, name):
    for line in text.split('\n'):
        if line.startswith(name + ':'):
            return line.split(':', 1)[1].strip()
    return None


def pids():
    return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def mask(tid):
    """CPUs a thread may run on, from /proc."""
    return cpus(field(read('/proc/%d/status' % tid), 'Cpus_allowed_list'))


def misplaced(qemu):
    """Threads that are not where query-pinning says they should be, as
    (role, wanted, mask); who has ended meanwhile does not count."""
    out = []
    for x in qemu.qmp('query-pinning')['threads']:
        try:
            if 'wanted-cpus' in x and mask(x['thread-id']) != cpus(
                    x['wanted-cpus']):
                out.append((x['role'], x['wanted-cpus'],
                            show(mask(x['thread-id']))))
        except OSError:
            pass
    return out


def last_cpu(tid):
    return int(read('/proc/%d/stat' % tid).rsplit(')', 1)[1].split()[36])


def schedstat(tid):
    """Nanoseconds on a CPU, nanoseconds waiting for one, time slices."""
    return tuple(int(n) for n in read('/proc/%d/schedstat' % tid).split())


def thread(tid, kind='task'):
    return Thread(tid, read('/proc/%d/comm' % tid), mask(tid),
                  last_cpu(tid), kind)


def tasks(pid):
    out = []
    for tid in sorted(map(int, os.listdir('/proc/%d/task' % pid))):
        try:
            out.append(thread(tid))
        except OSError:
            pass                # it has ended meanwhile
    return out


# --- what was the mask when it called -------------------------------------

KVM_CREATE_VCPU = 0xae41
VHOST_SET_OWNER = 0xaf01
VHOST_NEW_WORKER = 0x8004af08
SYSCALLS = {'ioctl': 16, 'sched_setaffinity': 203, 'mbind': 237,
            'set_mempolicy': 238, 'migrate_pages': 256, 'move_pages': 279,
            'sched_setscheduler': 144, 'sched_setattr': 314, 'prctl': 157,
            'sched_getaffinity': 204, 'get_mempolicy': 239, 'fsync': 74,
            'renameat': 264}
Call = collections.namedtuple('Call', 'name tid thread args mask')

_libc = ctypes.CDLL(None, use_errno=True)
_SECCOMP, _SET_FILTER, _NEW_LISTENER = 317, 1, 8
_RECV, _SEND = 0xc0502100, 0xc0182101
_RET_ALLOW, _RET_NOTIFY = 0x7fff0000, 0x7fc00000


class Watch:
    """Stops threads of a Qemu at some system calls and notes their state.

    The kernel holds the calling thread (seccomp user notification) while we
    read its mask, so the mask is the one the call is made with: no order of
    events has to be guessed from a trace.

    @ioctls: ioctl numbers; @calls: names of SYSCALLS.  @calls and .seen are
    in the order of the calls.  @answer, if given, is asked about each Call:
    None lets the kernel do it, else it is done with that errno, 0 for none.
    """

    def __init__(self, ioctls=(), calls=(), answer=None):
        self.ioctls = list(ioctls)
        self.calls = list(calls)
        self.answer = answer or (lambda call: None)
        self.seen = []
        self._ours, self._child = socket.socketpair(socket.AF_UNIX,
                                                    socket.SOCK_DGRAM)

    def _program(self):
        """BPF: notify for the calls wanted, allow the rest."""
        def op(code, jt, jf, k):
            return struct.pack('=HBBI', code, jt, jf, k)
        load, equal, ret = 0x20, 0x15, 0x06
        want = [SYSCALLS[name] for name in self.calls]
        out = [op(load, 0, 0, 0)]
        for number in want:
            out += [op(equal, 0, 1, number), op(ret, 0, 0, _RET_NOTIFY)]
        out += [op(equal, 1, 0, SYSCALLS['ioctl']),
                op(ret, 0, 0, _RET_ALLOW),
                op(load, 0, 0, 24)]             # low half of args[1]
        for number in self.ioctls:
            out += [op(equal, 0, 1, number), op(ret, 0, 0, _RET_NOTIFY)]
        out.append(op(ret, 0, 0, _RET_ALLOW))
        return out

    def enter(self):
        """In the child, before exec."""
        ops = self._program()
        code = ctypes.create_string_buffer(b''.join(ops))
        prog = struct.pack('=HxxxxxxQ', len(ops), ctypes.addressof(code))
        buf = ctypes.create_string_buffer(prog)
        fd = _libc.syscall(_SECCOMP, _SET_FILTER, _NEW_LISTENER, buf)
        if fd < 0:
            raise OSError(ctypes.get_errno(), 'seccomp')
        socket.send_fds(self._child, [b'x'], [fd])

    def serve(self):
        """In the parent, after the fork."""
        self._child.close()
        _, fds, _, _ = socket.recv_fds(self._ours, 1, 1)
        self._ours.close()
        threading.Thread(target=self._loop, args=(fds[0],),
                         daemon=True).start()

    def _loop(self, fd):
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        names = {number: name for name, number in SYSCALLS.items()}
        while True:
            for _, event in poll.poll():
                if event & select.POLLHUP:      # all of them have ended
                    os.close(fd)
                    return
            try:
                req = fcntl.ioctl(fd, _RECV, bytes(80))
            except OSError:
                continue        # killed meanwhile
            ident, tid, _, number = struct.unpack_from('=QIIi', req)
            args = struct.unpack_from('=6Q', req, 32)
            try:
                call = Call(names[number], tid,
                            read('/proc/%d/comm' % tid), args, mask(tid))
                self.seen.append(call)
                error = self.answer(call)
                # Value, error, and the flag CONTINUE: "go on"
                fcntl.ioctl(fd, _SEND, struct.pack(
                    '=QqiI', ident, 0, -(error or 0), error is None))
            except OSError:
                pass

    def ioctl(self, number):
        """Calls of one ioctl."""
        return [call for call in self.seen
                if call.name == 'ioctl' and call.args[1] == number]


# --- QEMU -----------------------------------------------------------------

class QmpError(Exception):
    def __init__(self, error):
        super().__init__(error['desc'])
        self.kind = error['class']


class QemuEnded(Exception):
    """QEMU ended by itself; .status and .said (its stderr)."""

    def __init__(self, status, said):
        super().__init__('QEMU ended with status %s: %s' % (status, said))
        self.status = status
        self.said = said


Vma = collections.namedtuple('Vma', 'start end policy pages page_kib file')
QEMU = '/usr/local/bin/qemu-system-x86_64'
LINUX_ARGS = ('console=ttyS0 panic=-1 nokaslr mitigations=off quiet '
              'tsc=reliable cryptomgr.notests initcall_blacklist='
              'crypto_kdf108_init,jent_mod_init,init_encrypted,'
              'load_system_certificate_list')


class Qemu:
    """Our QEMU; use it with "with".

    @guest: idle, spin, write or irq (guest.S), linux (inner-init), or None
    @append: words for the Linux guest's kernel
    @watch: a Watch
    @affinity: CPUs the process is started with
    @uid: user to be
    Other arguments are QEMU's.  Starting returns when QMP answers; an error
    at start is QemuEnded.
    """

    def __init__(self, *args, guest='idle', accel='kvm', smp='1', mem='64M',
                 machine='q35', append='', watch=None, affinity=None,
                 uid=None, paused=False):
        number = len(_qemus)
        self._err = '/tmp/qemu%d.err' % number
        self._serial = '/tmp/qemu%d.serial' % number
        self.events = []
        self.status = None
        self._buffer = b''
        ours, theirs = socket.socketpair()
        self.args = [QEMU, '-nodefaults', '-no-user-config', '-display',
                     'none', '-name', 'lab%d,debug-threads=on' % number,
                     '-machine', machine, '-accel', accel, '-smp', str(smp),
                     '-m', mem, '-cpu',
                     'host' if accel.startswith('kvm') else 'max',
                     '-serial', 'file:' + self._serial,
                     '-chardev', 'socket,id=qmp,fd=%d' % theirs.fileno(),
                     '-mon', 'chardev=qmp,mode=control']
        if guest == 'linux':
            self.args += ['-kernel', '/lab/vmlinux', '-initrd',
                          '/lab/inner.cpio', '-append',
                          LINUX_ARGS + ' ' + append]
        elif guest:
            self.args += ['-bios', '/lab/guest-%s.bin' % guest]
        if paused:
            self.args.append('-S')
        self.args += args
        for path in (self._err, self._serial):
            write(path, '')
            os.chmod(path, 0o666)
        self.pid = os.fork()
        if self.pid == 0:
            self._child(theirs, watch, affinity, uid)
        _qemus.append(self)
        theirs.close()
        self._qmp = ours
        if watch:
            watch.serve()
        self._line()                    # the greeting
        self.qmp('qmp_capabilities')

    def _child(self, theirs, watch, affinity, uid):
        try:
            err = os.open(self._err, os.O_WRONLY)
            os.dup2(err, 1)
            os.dup2(err, 2)
            theirs.set_inheritable(True)
            if affinity:
                os.sched_setaffinity(0, affinity)
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            if watch:
                watch.enter()
            os.execv(self.args[0], self.args)
        finally:
            os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self, limit=60.0):
        """Till it has ended; its exit status."""
        wait_for('QEMU to end', self.ended, limit)
        return self.status

    def said(self):
        return read(self._err, '')

    def serial(self):
        with open(self._serial) as f:
            return f.read().replace('\r', '')

    def _line(self, limit=60.0):
        self._qmp.settimeout(limit)
        while b'\n' not in self._buffer:
            try:
                data = self._qmp.recv(1 << 16)
            except ConnectionError:
                data = b''
            if not data:
                self.wait()
                raise QemuEnded(self.status, self.said())
            self._buffer += data
        line, self._buffer = self._buffer.split(b'\n', 1)
        return json.loads(line)

    def qmp(self, command, **arguments):
        """Names with an underscore for each hyphen."""
        arguments = {name.replace('_', '-'): value
                     for name, value in arguments.items()}
        try:
            self._qmp.sendall(json.dumps({
                'execute': command, 'arguments': arguments}).encode())
        except ConnectionError:
            self.wait()
            raise QemuEnded(self.status, self.said()) from None
        while True:
            reply = self._line()
            if 'event' in reply:
                self.events.append(reply)
            elif 'error' in reply:
                raise QmpError(reply['error'])
            else:
                return reply['return']

    def hmp(self, command):
        return self.qmp('human-monitor-command', command_line=command)

    def wait_event(self, name, limit=60.0):
        deadline = time.monotonic() + limit
        while True:
            for event in self.events:
                if event['event'] == name:
                    self.events.remove(event)
                    return event
            self.events.append(
                self._line(max(deadline - time.monotonic(), 0.01)))

    def wait_guest(self, text='GUEST-OK', limit=60.0):
        """Till the guest has said @text; the line with it."""
        def line():
            if self.ended():
                raise QemuEnded(self.status, self.said())
            # The last one may be only half said
            for said in self.serial().split('\n')[:-1]:
                if text in said:
                    return said
            return None
        try:
            return wait_for(text, line, limit, 0.05)
        except TimeoutError:
            raise TimeoutError('guest did not say %s in %g s, only:\n%s' % (
                text, limit, self.serial()[-2000:])) from None

    # where its threads are

    def vcpus(self):
        """Thread of each vCPU, by its index."""
        return {cpu['cpu-index']: cpu['thread-id']
                for cpu in self.qmp('query-cpus-fast')}

    def vcpu_masks(self):
        return {index: mask(tid) for index, tid in self.vcpus().items()}

    def threads(self):
        return tasks(self.pid)

    def vhost_workers(self):
        """Tasks of QEMU on newer kernels, kernel threads on older ones."""
        name = 'vhost-%d' % self.pid
        out = [task for task in self.threads() if task.name == name]
        for pid in pids():
            if read('/proc/%d/comm' % pid, '') == name:
                out.append(thread(pid, 'kthread'))
        return out

    # where its memory is

    def ram_blocks(self):
        """Address in the process and size of each RAM block."""
        out = {}
        for line in self.hmp('info ramblock').split('\n'):
            words = line.split()
            if '0x' in line:
                numbers = [int(w, 16) for w in words if w.startswith('0x')]
                out[words[0]] = (numbers[3], numbers[2])
        return out

    def vmas(self):
        """numa_maps with the ends that only maps has."""
        ends = {}
        for line in read('/proc/%d/maps' % self.pid).split('\n'):
            start, end = line.split()[0].split('-')
            ends[int(start, 16)] = int(end, 16)
        out = []
        for line in read('/proc/%d/numa_maps' % self.pid).split('\n'):
            words = line.split()
            start = int(words[0], 16)
            facts = dict(w.split('=', 1) for w in words[2:] if '=' in w)
            pages = {int(name[1:]): int(count)
                     for name, count in facts.items()
                     if name[0] == 'N' and name[1:].isdigit()}
            out.append(Vma(start, ends.get(start, start), words[1], pages,
                           int(facts.get('kernelpagesize_kB', 4)),
                           facts.get('file')))
        return out

    def block_vmas(self, name='pc.ram'):
        hva, size = self.ram_blocks()[name]
        return [vma for vma in self.vmas()
                if vma.start < hva + size and vma.end > hva]

    def pages(self, name='pc.ram'):
        """KiB of a RAM block on each host node."""
        out = collections.Counter()
        for vma in self.block_vmas(name):
            for node, count in vma.pages.items():
                out[node] += count * vma.page_kib
        return dict(out)

    def policies(self, name='pc.ram'):
        return sorted({vma.policy for vma in self.block_vmas(name)})

    def poke(self, address, data, name='pc.ram'):
        """Write into the guest's memory behind its back."""
        with open('/proc/%d/mem' % self.pid, 'r+b', buffering=0) as f:
            f.seek(self.ram_blocks()[name][0] + address)
            f.write(data)

    def peek(self, address, size, name='pc.ram'):
        with open('/proc/%d/mem' % self.pid, 'rb', buffering=0) as f:
            f.seek(self.ram_blocks()[name][0] + address)
            return f.read(size)

    def rounds(self, vcpus, name='pc.ram'):
        """How often each vCPU of a guest "write" went through its memory."""
        return struct.unpack('<%dI' % vcpus,
                             self.peek(0x7100, 4 * vcpus, name))


def reservation(qemu, folder='/run/qemu-pinning/'):
    """Text of its entry in the registry; None if it has none."""
    for name in os.listdir(folder):
        text = read(folder + name, '')
        if text.startswith('{') and json.loads(text)['pid'] == qemu.pid:
            return text
    return None


def qemu_error(*args, **kwargs):
    """What a QEMU said that must refuse to start; None if it started."""
    try:
        with Qemu(*args, **kwargs):
            return None
    except QemuEnded as e:
        return e.said


def cleanup():
    for qemu in _qemus:
        try:
            qemu.stop()
        except (OSError, TimeoutError):
            pass


# --- vhost ----------------------------------------------------------------

VHOST_SWITCH = '/sys/module/vhost/parameters/fork_from_owner_default'


def vhost_tasks(on):
    """Whether vhost workers are tasks of QEMU, where the kernel has both."""
    users = [name for name in ('vhost_net', 'vhost_scsi', 'vhost_vsock')
             if os.path.exists('/sys/module/' + name)]
    for name in users + ['vhost']:
        run('rmmod', name)
    run('modprobe', 'vhost', 'fork_from_owner_default=%d' % on)
    for name in users:
        run('modprobe', name)
    if read(VHOST_SWITCH) != 'NY'[on]:
        raise RuntimeError('vhost could not be loaded again')


# --- network --------------------------------------------------------------

def net(number=0, queues=1, vhost=True, **device):
    """Arguments for a virtio-net on tap<number>; see net_up()."""
    vectors = 2 * queues + 2
    extra = ''.join(',%s=%s' % item for item in device.items())
    return ['-netdev', 'tap,id=net%d,ifname=tap%d,script=no,downscript=no,'
            'vhost=%s%s' % (number, number, 'on' if vhost else 'off',
                            ',queues=%d' % queues if queues > 1 else ''),
            '-device', 'virtio-net-pci,netdev=net%d,id=nic%d,romfile=%s%s'
            % (number, number, ',mq=on,vectors=%d' % vectors
               if queues > 1 else '', extra)]


def net_up(number=0):
    run('ip', 'addr', 'add', '10.0.%d.1/24' % number, 'dev',
        'tap%d' % number)
    run('ip', 'link', 'set', 'tap%d' % number, 'up')


def ping(number=0, count=3, size=56):
    """How many of @count pings the Linux guest answered."""
    said = run('ping', '-c', str(count), '-s', str(size), '-i', '0.1', '-W',
               '5', '10.0.%d.2' % number)[1]
    for line in said.split('\n'):
        if 'received' in line:
            return int(line.split(',')[1].split()[0])
    return 0
