# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves of growth as SVG: both axes logarithmic, so that a straight line is
a power and linear growth is parallel to the dashed line."""

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 130, 40, 50
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#555555')


def _decades(values):
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + 1)


class _Axis:
    def __init__(self, values, start, end):
        self.low, self.high = _decades(values)
        self._start, self._end = start, end

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self):
        return [10.0 ** n for n in range(self.low, self.high + 1)]


def _text(x, y, text, anchor='middle', extra=''):
    return ('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>'
            % (x, y, anchor, extra, text))


def _line(points, style):
    return '<polyline points="%s" fill="none" %s/>' % (
        ' '.join('%.1f,%.1f' % point for point in points), style)


def svg(title, x_name, y_name, series):
    """@series: {name: [(x, y), ...]}, all above 0."""
    points = [point for values in series.values() for point in values]
    x = _Axis([p[0] for p in points], LEFT, WIDTH - RIGHT)
    y = _Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
           'font-family="sans-serif" font-size="12">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="white"/>',
           _text(WIDTH / 2, 20, title, extra=' font-size="14"'),
           _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_name),
           _text(16, HEIGHT / 2, y_name,
                 extra=' transform="rotate(-90 16 %d)"' % (HEIGHT / 2))]
    grid = 'stroke="#dddddd"'
    for tick in x.ticks():
        out.append(_line([(x.at(tick), TOP), (x.at(tick), HEIGHT - BOTTOM)],
                         grid))
        out.append(_text(x.at(tick), HEIGHT - BOTTOM + 16, '%g' % tick))
    for tick in y.ticks():
        out.append(_line([(LEFT, y.at(tick)), (WIDTH - RIGHT, y.at(tick))],
                         grid))
        out.append(_text(LEFT - 6, y.at(tick) + 4, '%g' % tick, 'end'))
    first = min(points)
    last = max(p[0] for p in points)
    linear = first[1] * last / first[0]
    if linear <= 10.0 ** y.high:
        out.append(_line([(x.at(first[0]), y.at(first[1])),
                          (x.at(last), y.at(linear))],
                         'stroke="#999999" stroke-dasharray="4 4"'))
    for colour, (name, values) in zip(COLOURS, series.items()):
        at = [(x.at(a), y.at(b)) for a, b in values]
        out.append(_line(at, 'stroke="%s" stroke-width="2"' % colour))
        out += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>'
                % (a, b, colour) for a, b in at]
        out.append(_text(at[-1][0] + 8, at[-1][1] + 4, name, 'start',
                         ' fill="%s"' % colour))
    return '\n'.join(out + ['</svg>', ''])
