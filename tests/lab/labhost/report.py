# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests' TAP lines as one TAP stream, and the sum."""

import re
import sys

RESULT = re.compile(r'(not )?ok\b\s*\d*\s*-?\s*(.*)')
PLAN = re.compile(r'1\.\.(\d+)\s*$')
SKIP = re.compile(r'#\s*skip', re.I)


class Report:
    def __init__(self, verbose=False, out=sys.stdout):
        self.passed = self.failed = self.skipped = 0
        self.verbose = verbose
        self._out = out

    def say(self, text):
        print(text, file=self._out, flush=True)

    def note(self, text):
        for line in text.rstrip('\n').split('\n'):
            self.say('# ' + line)

    def result(self, good, name):
        if good and SKIP.search(name):
            self.skipped += 1
        elif good:
            self.passed += 1
        else:
            self.failed += 1
        number = self.passed + self.failed + self.skipped
        self.say('%sok %d - %s' % ('' if good else 'not ', number, name))

    def test(self, where, lines, status, trouble=None):
        """One test's lines and its exit status.

        It has failed also when it said nothing, not all that it planned, or
        nothing of why its status is not 0.
        """
        count = bad = 0
        plan = None
        shown = []
        for line in lines:
            found = RESULT.match(line)
            if found:
                count += 1
                bad += bool(found.group(1))
                self.result(not found.group(1),
                            where + ': ' + found.group(2))
                shown = shown[-50:]
            elif PLAN.match(line):
                plan = int(PLAN.match(line).group(1))
            elif self.verbose or (found is None and bad):
                self.say(line if line.startswith('#') else '# ' + line)
            else:
                shown.append(line)
        wrong = trouble
        if wrong is None and status == 124:
            wrong = 'out of time'
        if wrong is None and status and not bad:
            wrong = 'exit status %d' % status
        if wrong is None and plan is None:
            wrong = 'stopped after %d results' % count
        if wrong is None and plan != count:
            wrong = '%d results planned, %d seen' % (plan, count)
        if wrong is None and count == 0:
            wrong = 'no result'
        if wrong is not None:
            self.result(False, '%s: %s' % (where, wrong))
            for line in shown[-50:]:
                self.note(line.removeprefix('# '))

    def close(self):
        total = self.passed + self.failed + self.skipped
        self.say('1..%d' % total)
        self.say('lab: %d passed, %d failed, %d skipped'
                 % (self.passed, self.failed, self.skipped))
        return 0 if self.failed == 0 and total else 1


class Show:
    """Instead of a Report: what a script says, as it stands."""

    verbose = False

    def __init__(self, out=sys.stdout):
        self._failed = False
        self._out = out

    def say(self, text):
        print(text, file=self._out, flush=True)

    def note(self, text):
        print(text, file=sys.stderr)

    def result(self, good, name):
        self._failed |= not good
        self.say(name)

    def test(self, where, lines, status, trouble=None):
        for line in lines:
            self.say(line)
        if status:
            self.result(False, '%s: %s' % (where, trouble or 'exit status %d'
                                           % status))

    def close(self):
        return int(self._failed)
