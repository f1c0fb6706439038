# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of several runs as one, and tables of them."""

import statistics


def median(values):
    return statistics.median(values)


def spread(values):
    """Half the distance between the quartiles: one run that the machine
    disturbed does not move it."""
    if len(values) < 2:
        return 0.0
    first, _, third = statistics.quantiles(values, n=4, method='inclusive')
    return (third - first) / 2


def extent(values):
    """Half the distance between the extremes, of what others cannot disturb."""
    return (max(values) - min(values)) / 2


def with_spread(values, digits=1, of=spread):
    return '%.*f ± %.*f' % (digits, median(values), digits, of(values))


def with_extent(values, digits=1):
    return with_spread(values, digits, extent)


def table(head, rows):
    """Lines of a Markdown table that can be read as it stands."""
    cells = [[str(cell) for cell in row] for row in [head] + rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ['| ' + ' | '.join(cell.ljust(width) for cell, width
                               in zip(row, widths)) + ' |' for row in cells]
    rule = '|' + '|'.join('-' * (width + 2) for width in widths) + '|'
    return [lines[0], rule] + lines[1:]
