# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests inside the lab host and talks to the harness over ttyS1.

Lines to the harness:
  @ready              the lab is up
  @start TEST
  |LINE               the test said LINE
  @end TEST STATUS    124: it ran out of time
  @file NAME SIZE     followed by that many bytes on ttyS2
  @ask JSON           a test wants something of the harness, which answers
                      with one line of JSON
  @bye

and from it:
  abort TEST          its time is up
  JSON                answer to @ask

Python and what the tests share are imported once; a test is a fork.
"""

import os
import select
import signal
import socket
import sys
import traceback

import json

import lab

TIMED_OUT = 124
FILES = '/tmp/out'


def raw(path):
    import termios
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    attr = termios.tcgetattr(fd)
    attr[0] = attr[1] = attr[3] = 0
    attr[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
    attr[4] = attr[5] = termios.B115200
    termios.tcsetattr(fd, termios.TCSANOW, attr)
    return fd


class Line:
    """The serial line to the harness."""

    def __init__(self):
        self.fd = raw('/dev/ttyS1')
        self._in = b''

    def say(self, text):
        data = text.encode(errors='replace') + b'\n'
        while data:
            data = data[os.write(self.fd, data):]

    def hear(self):
        while b'\n' not in self._in:
            self._in += os.read(self.fd, 4096)
        line, self._in = self._in.split(b'\n', 1)
        return line.decode()


class Aborted(Exception):
    """The harness has it that the test's time is up."""


def hear(line, name):
    """An answer for test @name; None when it was none."""
    said = line.hear()
    if said == 'abort ' + name:
        raise Aborted
    # One that came too late for an earlier test
    return None if said.startswith('abort ') else said.encode()


def answer(line, name):
    said = None
    while said is None:
        said = hear(line, name)
    return said


def child(test, out, ask):
    """In the fork: become the test; never returns."""
    status = 1
    try:
        os.setsid()
        null = os.open('/dev/null', os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        lab.harness = ask
        os.makedirs(FILES, exist_ok=True)
        path = '/lab/tests/' + test + '.py'
        with open(path) as f:
            code = compile(f.read(), path, 'exec')
        sys.argv = [path]
        exec(code, {'__name__': '__main__', '__file__': path})
        status = 0
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(bool(e.code))
    except BaseException:
        traceback.print_exc()
    finally:
        lab.cleanup()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def relay(line, name, fds, pid):
    """Pass on what the test says and asks till it is gone; its status."""
    # Not till the end of the pipe: what the test left may hold it open
    gone = os.pidfd_open(pid)
    try:
        return pass_on(line, name, fds, pid, gone)
    finally:
        os.close(gone)


def pass_on(line, name, fds, pid, gone):
    out, ask = fds
    rest = b''
    waited = [out, ask, gone, line.fd]
    status = None
    while status is None:
        ready = select.select(waited, [], [])[0]
        if line.fd in ready:
            hear(line, name)        # nothing but "abort" comes unasked
        if ask in ready:
            request = ask.recv(65536)
            if request:
                line.say('@ask ' + request.decode())
                ask.send(answer(line, name))
            else:
                waited.remove(ask)
        if out in ready:
            data = os.read(out, 65536)
            if not data:
                waited.remove(out)
            *lines, rest = (rest + data).split(b'\n')
            for text in lines:
                line.say('|' + text.decode(errors='replace'))
        elif gone in ready:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if rest:
        line.say('|' + rest.decode(errors='replace'))
    return status


def why_stuck(line):
    """What everybody waits for goes to the kernel's console."""
    for key in 'lw':
        with open('/proc/sysrq-trigger', 'w') as f:
            f.write(key)
    for pid in lab.pids():
        name = lab.read('/proc/%d/comm' % pid, '?')
        where = lab.read('/proc/%d/wchan' % pid, '?')
        if lab.read('/proc/%d/cmdline' % pid, ''):
            line.say('|# %d %s waits in %s' % (pid, name, where))


def run(line, name):
    line.say('@start ' + name)
    read_end, write_end = os.pipe()
    ask, ask_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        ask.close()
        child(name, write_end, ask_child)
    os.close(write_end)
    ask_child.close()
    try:
        status = relay(line, name, (read_end, ask), pid)
    except Aborted:
        line.say('|# out of time')
        why_stuck(line)
        status = TIMED_OUT
    os.kill(-1, signal.SIGKILL)         # all but init and us
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    os.close(read_end)
    ask.close()
    send_files(line)
    line.say('@end %s %d' % (name, status))


def send_files(line):
    if not os.path.isdir(FILES):
        return
    out = None
    for name in sorted(os.listdir(FILES)):
        path = os.path.join(FILES, name)
        with open(path, 'rb') as f:
            data = f.read()
        os.unlink(path)
        if out is None:
            out = raw('/dev/ttyS2')
        line.say('@file %s %d' % (name, len(data)))
        while data:
            data = data[os.write(out, data):]
    if out is not None:
        os.close(out)


def main():
    line = Line()
    with open('/lab/config.json') as f:
        config = json.load(f)
    lab.setup(config)
    line.say('@ready')
    for test in config['tests']:
        try:
            run(line, test)
        except Exception:
            for text in traceback.format_exc().split('\n'):
                line.say('|# agent: ' + text)
            line.say('@end %s 125' % test)
    line.say('@bye')


main()
