# SPDX-License-Identifier: GPL-2.0-or-later
"""The code blocks of reStructuredText, for tests that try them."""

import re
import textwrap


def marked_blocks(path):
    """Yield (line, language, marker, text) of each code-block in PATH; the
    marker is what a comment "docs-test:" right before it says, or ''."""
    lines = open(path).read().split('\n')
    marker = ''
    n = 0
    while n < len(lines):
        m = re.fullmatch(r'( *)\.\. (docs-test|code-block): *(?::)? *(.*)',
                         lines[n].replace('code-block::', 'code-block:'))
        n += 1
        if not m or m.group(2) == 'docs-test':
            marker = m.group(3) if m else ''
            continue
        first, body = n, []
        while n < len(lines) and (not lines[n].strip() or re.match(
                m.group(1) + ' ', lines[n])):
            body.append(lines[n])
            n += 1
        text = textwrap.dedent('\n'.join(body)).strip('\n') + '\n'
        yield first, m.group(3), marker, text
        marker = ''


def block(path, language, what):
    """The one code-block in PATH of this LANGUAGE that has WHAT in it."""
    [text] = [text for _, lang, _, text in marked_blocks(path)
              if lang == language and what in text]
    return text
