/*
 * Sets of host CPUs or host nodes, and the kernel's notations for them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cpulist.h"

/*
 * CpuSet.nbits is always a multiple of BITS_PER_LONG.  No word then has bits
 * that do not count, so sets of different widths compare word by word.
 */

CpuSet *cpuset_new(void)
{
    return g_new0(CpuSet, 1);
}

static void cpuset_widen(CpuSet *set, unsigned nbits)
{
    nbits = ROUND_UP(nbits, BITS_PER_LONG);
    if (nbits > set->nbits) {
        set->bits = bitmap_zero_extend(set->bits, set->nbits, nbits);
        set->nbits = nbits;
    }
}

static void cpuset_add_range(CpuSet *set, unsigned first, unsigned last)
{
    g_assert(last <= CPUSET_MAX);
    cpuset_widen(set, last + 1);
    bitmap_set(set->bits, first, last - first + 1);
}

CpuSet *cpuset_new_range(unsigned first, unsigned last)
{
    CpuSet *set = cpuset_new();

    if (first <= last) {
        cpuset_add_range(set, first, last);
    }
    return set;
}

CpuSet *cpuset_copy(const CpuSet *set)
{
    CpuSet *copy = cpuset_new();

    cpuset_or(copy, set);
    return copy;
}

void cpuset_free(CpuSet *set)
{
    if (set) {
        g_free(set->bits);
        g_free(set);
    }
}

void cpuset_add(CpuSet *set, unsigned n)
{
    cpuset_add_range(set, n, n);
}

void cpuset_del(CpuSet *set, unsigned n)
{
    if (n < set->nbits) {
        clear_bit(n, set->bits);
    }
}

bool cpuset_contains(const CpuSet *set, unsigned n)
{
    return n < set->nbits && test_bit(n, set->bits);
}

unsigned cpuset_count(const CpuSet *set)
{
    return bitmap_count_one(set->bits, set->nbits);
}

/* Whether @set has no member from @start, a multiple of BITS_PER_LONG, on */
static bool cpuset_is_empty_from(const CpuSet *set, unsigned start)
{
    return start >= set->nbits ||
           bitmap_empty(set->bits + BIT_WORD(start), set->nbits - start);
}

bool cpuset_is_empty(const CpuSet *set)
{
    return cpuset_is_empty_from(set, 0);
}

bool cpuset_equal(const CpuSet *a, const CpuSet *b)
{
    unsigned common = MIN(a->nbits, b->nbits);

    return (!common || bitmap_equal(a->bits, b->bits, common)) &&
           cpuset_is_empty_from(a, common) && cpuset_is_empty_from(b, common);
}

bool cpuset_is_subset(const CpuSet *a, const CpuSet *b)
{
    unsigned common = MIN(a->nbits, b->nbits);

    for (unsigned i = 0; i < BIT_WORD(common); i++) {
        if (a->bits[i] & ~b->bits[i]) {
            return false;
        }
    }
    return cpuset_is_empty_from(a, common);
}

bool cpuset_intersects(const CpuSet *a, const CpuSet *b)
{
    unsigned common = MIN(a->nbits, b->nbits);

    return common && bitmap_intersects(a->bits, b->bits, common);
}

void cpuset_or(CpuSet *set, const CpuSet *other)
{
    cpuset_widen(set, other->nbits);
    if (other->nbits) {
        bitmap_or(set->bits, set->bits, other->bits, other->nbits);
    }
}

void cpuset_and(CpuSet *set, const CpuSet *other)
{
    unsigned common = MIN(set->nbits, other->nbits);

    if (common) {
        bitmap_and(set->bits, set->bits, other->bits, common);
    }
    if (set->nbits > common) {
        bitmap_clear(set->bits, common, set->nbits - common);
    }
}

void cpuset_andnot(CpuSet *set, const CpuSet *other)
{
    unsigned common = MIN(set->nbits, other->nbits);

    if (common) {
        bitmap_andnot(set->bits, set->bits, other->bits, common);
    }
}

int cpuset_next(const CpuSet *set, int prev)
{
    unsigned start = prev + 1;
    unsigned found;

    if (start >= set->nbits) {
        return -1;
    }
    found = find_next_bit(set->bits, set->nbits, start);
    return found < set->nbits ? (int)found : -1;
}

/* A text that is being parsed; @at moves from @text to its end */
typedef struct Cursor {
    const char *text;
    const char *at;
} Cursor;

static size_t cursor_position(const Cursor *c)
{
    return c->at - c->text + 1;
}

static void error_expected(Error **errp, const Cursor *c, const char *what)
{
    if (!*c->at) {
        error_setg(errp, "expected %s at position %zu, found the end",
                   what, cursor_position(c));
    } else if (g_ascii_isprint(*c->at)) {
        error_setg(errp, "expected %s at position %zu, found '%c'",
                   what, cursor_position(c), *c->at);
    } else {
        error_setg(errp, "expected %s at position %zu, found byte 0x%02x",
                   what, cursor_position(c), (unsigned char)*c->at);
    }
}

static bool check_length(const char *text, const char *kind, Error **errp)
{
    if (strnlen(text, CPULIST_MAX_LENGTH + 1) > CPULIST_MAX_LENGTH) {
        error_setg(errp, "%s is longer than %d bytes", kind,
                   (int)CPULIST_MAX_LENGTH);
        return false;
    }
    return true;
}

/*
 * Not qemu_strtoui(): that takes white space and signs, which the notation
 * does not have, and tells no position.
 */
static bool parse_number(Cursor *c, unsigned *number, Error **errp)
{
    const char *start = c->at;
    unsigned n = 0;

    if (!g_ascii_isdigit(*c->at)) {
        error_expected(errp, c, "a number");
        return false;
    }
    for (; g_ascii_isdigit(*c->at); c->at++) {
        n = n * 10 + (*c->at - '0');
        if (n > CPUSET_MAX) {
            c->at = start;
            error_setg(errp, "number at position %zu is above %d",
                       cursor_position(c), CPUSET_MAX);
            return false;
        }
    }
    *number = n;
    return true;
}

static bool skip_char(Cursor *c, char ch)
{
    if (*c->at != ch) {
        return false;
    }
    c->at++;
    return true;
}

/* What follows the ":" of "first-last:used/group" or "first-last:group" */
static bool parse_stride(Cursor *c, unsigned *used, unsigned *group,
                         Error **errp)
{
    size_t position = cursor_position(c);

    if (!parse_number(c, group, errp)) {
        return false;
    }
    *used = 1;
    if (skip_char(c, '/')) {
        *used = *group;
        if (!parse_number(c, group, errp)) {
            return false;
        }
    }
    if (!*used || *used > *group) {
        error_setg(errp, "stride at position %zu must be N, or M/N with M "
                   "from 1 to N", position);
        return false;
    }
    return true;
}

static void add_strides(CpuSet *set, unsigned first, unsigned last,
                        unsigned used, unsigned group)
{
    for (unsigned n = first; n <= last; n += group) {
        cpuset_add_range(set, n, MIN(n + used - 1, last));
    }
}

/* One element: "first", "first-last" or a range with strides */
static bool parse_range(CpuSet *set, Cursor *c, Error **errp)
{
    size_t position = cursor_position(c);
    const char *next = "'-', ',' or the end";
    unsigned used = 1, group = 1;
    unsigned first, last;

    if (!parse_number(c, &first, errp)) {
        return false;
    }
    last = first;
    if (skip_char(c, '-')) {
        if (!parse_number(c, &last, errp)) {
            return false;
        }
        if (last < first) {
            error_setg(errp, "range %u-%u at position %zu ends below its "
                       "start", first, last, position);
            return false;
        }
        next = "':', ',' or the end";
        if (skip_char(c, ':')) {
            if (!parse_stride(c, &used, &group, errp)) {
                return false;
            }
            next = "',' or the end";
        }
    }
    if (*c->at && *c->at != ',') {
        error_expected(errp, c, next);
        return false;
    }
    if (used == group) {
        cpuset_add_range(set, first, last);
    } else {
        add_strides(set, first, last, used, group);
    }
    return true;
}

CpuSet *cpulist_parse(const char *text, Error **errp)
{
    g_autoptr(CpuSet) set = cpuset_new();
    Cursor c = { .text = text, .at = text };

    if (!check_length(text, "list", errp)) {
        return NULL;
    }
    do {
        if (!parse_range(set, &c, errp)) {
            return NULL;
        }
    } while (skip_char(&c, ','));
    return g_steal_pointer(&set);
}

#define MASK_DIGITS 8   /* in a group: 32 bits */

/* Walk over one group of digits; only the first may be shorter than others */
static bool check_mask_group(Cursor *c, bool first, Error **errp)
{
    unsigned digits = 0;

    for (; g_ascii_isxdigit(*c->at) && digits < MASK_DIGITS; c->at++) {
        digits++;
    }
    if (!digits || (!first && digits < MASK_DIGITS)) {
        error_expected(errp, c, "a hexadecimal digit");
        return false;
    }
    if (*c->at && *c->at != ',') {
        error_expected(errp, c, digits == MASK_DIGITS ? "',' or the end" :
                       "a hexadecimal digit, ',' or the end");
        return false;
    }
    return true;
}

static bool add_mask_digit(CpuSet *set, const Cursor *c, unsigned shift,
                           Error **errp)
{
    unsigned digit = g_ascii_xdigit_value(*c->at);

    for (unsigned bit = 0; digit >> bit; bit++) {
        if (!(digit & (1 << bit))) {
            continue;
        }
        if (shift + bit > CPUSET_MAX) {
            error_setg(errp, "digit at position %zu stands for numbers "
                       "above %d", cursor_position(c), CPUSET_MAX);
            return false;
        }
        cpuset_add(set, shift + bit);
    }
    return true;
}

CpuSet *cpumask_parse(const char *text, Error **errp)
{
    g_autoptr(CpuSet) set = cpuset_new();
    Cursor c = { .text = text, .at = text };
    unsigned shift = 0;

    if (!check_length(text, "mask", errp)) {
        return NULL;
    }
    do {
        if (!check_mask_group(&c, c.at == text, errp)) {
            return NULL;
        }
    } while (skip_char(&c, ','));

    /* The last digit has the lowest numbers */
    while (c.at > text) {
        c.at--;
        if (*c.at == ',') {
            continue;
        }
        /* On large hosts nearly all digits are: do not look at their bits */
        if (*c.at != '0' && !add_mask_digit(set, &c, shift, errp)) {
            return NULL;
        }
        shift += 4;
    }
    return g_steal_pointer(&set);
}

char *cpulist_format(const CpuSet *set)
{
    GString *text = g_string_new(NULL);
    int first = cpuset_first(set);

    while (first >= 0) {
        int end = find_next_zero_bit(set->bits, set->nbits, first);

        g_string_append_printf(text, "%s%d", text->len ? "," : "", first);
        if (end - 1 > first) {
            g_string_append_printf(text, "-%d", end - 1);
        }
        first = cpuset_next(set, end);
    }
    return g_string_free(text, FALSE);
}
