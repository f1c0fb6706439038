#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""watch-pinning.py SOCKET

An example of a QMP client: shows where the vCPUs of a running machine are,
and goes on to tell what happens to its placement, until the machine ends.
SOCKET is the path of a QMP socket, as of "-qmp unix:PATH,server,wait=off".
"""

import json
import socket
import sys


class Machine:
    """A QMP connection: one JSON object a line, in both directions."""

    def __init__(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        self.file = connection.makefile('rw')
        self.events = []
        self.read()                     # the greeting
        self.run('qmp_capabilities')

    def read(self):
        try:
            line = self.file.readline()
        except ConnectionError:         # it was killed
            line = ''
        if not line:
            raise EOFError('the machine has ended')
        return json.loads(line)

    def run(self, command, **arguments):
        try:
            self.file.write(json.dumps({'execute': command,
                                        'arguments': arguments}) + '\n')
            self.file.flush()
        except ConnectionError as e:
            raise EOFError('the machine has ended') from e
        while True:
            reply = self.read()
            if 'event' in reply:        # may come before any reply
                self.events.append(reply)
            elif 'error' in reply:
                raise RuntimeError(reply['error']['desc'])
            else:
                return reply['return']

    def event(self):
        return self.events.pop(0) if self.events else self.read()


def show(machine):
    info = machine.run('query-pinning')
    if not info['enabled']:
        print('not placed')
    for thread in info['threads']:
        if thread['role'] == 'vcpu':
            print('vCPU %d: wanted %s, actual %s, last ran on %s' % (
                thread['vcpu'], thread.get('wanted-cpus', '-'),
                thread.get('actual-cpus', '-'), thread.get('last-cpu', '-')))
    sys.stdout.flush()


def main():
    machine = Machine(sys.argv[1])
    show(machine)
    while True:
        event = machine.event()
        if event['event'] == 'PINNING_CHANGED':
            show(machine)
        elif event['event'].startswith('PINNING_'):
            print(event['event'], json.dumps(event['data']), flush=True)


if __name__ == '__main__':
    try:
        main()
    except EOFError:
        pass
