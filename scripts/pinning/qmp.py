# SPDX-License-Identifier: GPL-2.0-or-later
"""A QMP client in a few lines, for scripts that must not need a package."""

import json
import socket


class QmpError(Exception):
    """The reply was an error; its text is QEMU's."""


class Qmp:
    """Talks to the server behind a unix socket's PATH; events are kept."""

    def __init__(self, path, timeout=60):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(path)
        self._lines = self._socket.makefile('r')
        self.events = []
        json.loads(self._lines.readline())      # the greeting
        self('qmp_capabilities')

    def __call__(self, command, **arguments):
        """Run COMMAND ('_' in argument names stands for '-')."""
        message = {'execute': command}
        if arguments:
            message['arguments'] = {name.replace('_', '-'): value
                                    for name, value in arguments.items()}
        self._socket.sendall(json.dumps(message).encode() + b'\n')
        while True:
            line = self._lines.readline()
            if not line:
                raise QmpError('QEMU closed the connection')
            reply = json.loads(line)
            if 'event' in reply:
                self.events.append(reply)
            elif 'error' in reply:
                raise QmpError(reply['error']['desc'])
            else:
                return reply['return']
