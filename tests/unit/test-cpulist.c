/*
 * Unit tests for sets of host CPUs and their notations
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cpulist.h"

/* Widths around the edges of words, of the usual limits, and of none */
static const unsigned sizes[] = {
    0, 1, 7, 8, 31, 32, 63, 64, 1023, 1024, 8191, CPUSET_MAX + 1
};

static CpuSet *parse(const char *text)
{
    CpuSet *set = cpulist_parse(text, &error_abort);

    g_assert(set);
    return set;
}

static void assert_list(const CpuSet *set, const char *expected)
{
    g_autofree char *text = cpulist_format(set);

    g_assert_cmpstr(text, ==, expected);
}

static void assert_error(Error *err, const char *expected)
{
    g_assert(err);
    g_assert_cmpstr(error_get_pretty(err), ==, expected);
    error_free(err);
}

static CpuSet *first_members(unsigned size)
{
    return size ? cpuset_new_range(0, size - 1) : cpuset_new();
}

static void test_sizes(void)
{
    for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
        unsigned size = sizes[i];
        g_autoptr(CpuSet) set = first_members(size);
        g_autoptr(CpuSet) one_by_one = cpuset_new();
        g_autofree char *text = cpulist_format(set);
        unsigned seen = 0;

        for (unsigned n = size; n-- > 0;) {
            cpuset_add(one_by_one, n);
        }
        CPUSET_FOREACH(n, set) {
            g_assert_cmpint(n, ==, seen++);
        }
        g_assert_cmpuint(seen, ==, size);
        g_assert_cmpuint(cpuset_count(set), ==, size);
        g_assert_cmpint(cpuset_first(set), ==, size ? 0 : -1);
        g_assert(cpuset_is_empty(set) == !size);
        g_assert(!cpuset_contains(set, size));
        g_assert(!size || cpuset_contains(set, size - 1));
        g_assert(cpuset_equal(set, one_by_one));

        if (size) {
            g_autoptr(CpuSet) again = parse(text);

            g_assert(cpuset_equal(set, again));
        } else {
            g_assert_cmpstr(text, ==, "");
        }
    }
}

/* Sets of each width against sets of each other width */
static void test_widths(void)
{
    for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
        for (int j = 0; j < ARRAY_SIZE(sizes); j++) {
            g_autoptr(CpuSet) a = first_members(sizes[i]);
            g_autoptr(CpuSet) b = first_members(sizes[j]);
            g_autoptr(CpuSet) both = cpuset_copy(a);
            g_autoptr(CpuSet) either = cpuset_copy(a);
            g_autoptr(CpuSet) rest = cpuset_copy(a);
            unsigned smaller = MIN(sizes[i], sizes[j]);

            cpuset_and(both, b);
            cpuset_or(either, b);
            cpuset_andnot(rest, b);
            g_assert_cmpuint(cpuset_count(both), ==, smaller);
            g_assert_cmpuint(cpuset_count(either), ==,
                             MAX(sizes[i], sizes[j]));
            g_assert_cmpuint(cpuset_count(rest), ==, sizes[i] - smaller);
            g_assert(cpuset_equal(a, b) == (i == j));
            g_assert(cpuset_is_subset(a, b) == (i <= j));
            g_assert(cpuset_intersects(a, b) == (smaller > 0));
            g_assert(!cpuset_intersects(rest, b));
            g_assert(cpuset_is_subset(both, b));
            g_assert(cpuset_is_subset(b, either));
        }
    }
}

/* A set stays as wide as it was: emptied, it must still equal a new one */
static void test_change(void)
{
    g_autoptr(CpuSet) set = cpuset_new();
    g_autoptr(CpuSet) empty = cpuset_new();
    g_autoptr(CpuSet) reversed = cpuset_new_range(5, 4);

    cpuset_del(set, CPUSET_MAX);
    cpuset_add(set, CPUSET_MAX);
    cpuset_add(set, 64);
    cpuset_add(set, 64);
    g_assert_cmpuint(cpuset_count(set), ==, 2);
    g_assert_cmpint(cpuset_next(set, 64), ==, CPUSET_MAX);
    g_assert_cmpint(cpuset_next(set, CPUSET_MAX), ==, -1);
    cpuset_del(set, 64);
    cpuset_del(set, CPUSET_MAX);
    g_assert(cpuset_is_empty(set));
    g_assert(cpuset_equal(set, empty));
    g_assert(cpuset_equal(empty, set));
    g_assert(cpuset_is_subset(set, empty));
    g_assert(cpuset_is_empty(reversed));
    cpuset_free(NULL);
}

typedef struct GoodText {
    const char *text;
    const char *list;       /* how the set is written */
} GoodText;

static const GoodText good_lists[] = {
    { "0", "0" },
    { "3-3", "3" },
    { "0-3,8-11", "0-3,8-11" },
    { "8-11,0-3", "0-3,8-11" },
    { "0-15,40-55,20-35,60-75", "0-15,20-35,40-55,60-75" },
    { "3,2,1,0", "0-3" },
    { "1,1,1", "1" },
    { "0-4,2-6", "0-6" },
    { "007", "7" },
    { "62-65", "62-65" },
    { "1023,1024", "1023-1024" },
    { "8191", "8191" },
    { "65535", "65535" },
    { "0-65535", "0-65535" },
    { "0-7:2", "0,2,4,6" },
    { "0-8:3", "0,3,6" },
    { "0-31:2/4", "0-1,4-5,8-9,12-13,16-17,20-21,24-25,28-29" },
    { "0-6:2/4", "0-1,4-5" },
    { "0-4:2/4", "0-1,4" },
    { "0-4:5/9", "0-4" },
    { "0-9:1", "0-9" },
    { "0-9:4/4", "0-9" },
    { "5-9:100", "5" },
    { "0-65535:65535", "0,65535" },
    { "1-3:2,10-12:2", "1,3,10,12" },
};

static void test_list_good(void)
{
    for (int i = 0; i < ARRAY_SIZE(good_lists); i++) {
        g_autoptr(CpuSet) set = parse(good_lists[i].text);

        assert_list(set, good_lists[i].list);
    }
}

typedef struct BadText {
    const char *text;
    const char *error;
} BadText;

static const BadText bad_lists[] = {
    { "", "expected a number at position 1, found the end" },
    { "-", "expected a number at position 1, found '-'" },
    { "-1", "expected a number at position 1, found '-'" },
    { "+1", "expected a number at position 1, found '+'" },
    { ",", "expected a number at position 1, found ','" },
    { "0,", "expected a number at position 3, found the end" },
    { "0,,1", "expected a number at position 3, found ','" },
    { "0-", "expected a number at position 3, found the end" },
    { "0--1", "expected a number at position 3, found '-'" },
    { "0-,1", "expected a number at position 3, found ','" },
    { "0, 1", "expected a number at position 3, found ' '" },
    { " 0", "expected a number at position 1, found ' '" },
    { "0 ", "expected '-', ',' or the end at position 2, found ' '" },
    { "0\n", "expected '-', ',' or the end at position 2, found byte 0x0a" },
    { "0\xc3\xa9",
      "expected '-', ',' or the end at position 2, found byte 0xc3" },
    { "x", "expected a number at position 1, found 'x'" },
    { "0x3", "expected '-', ',' or the end at position 2, found 'x'" },
    { "1.5", "expected '-', ',' or the end at position 2, found '.'" },
    { "all", "expected a number at position 1, found 'a'" },
    { "(null)", "expected a number at position 1, found '('" },
    { "^3", "expected a number at position 1, found '^'" },
    { "0:2", "expected '-', ',' or the end at position 2, found ':'" },
    { "0-3x", "expected ':', ',' or the end at position 4, found 'x'" },
    { "0-3-5", "expected ':', ',' or the end at position 4, found '-'" },
    { "3-1", "range 3-1 at position 1 ends below its start" },
    { "0,10-9", "range 10-9 at position 3 ends below its start" },
    { "0-7:", "expected a number at position 5, found the end" },
    { "0-7:x", "expected a number at position 5, found 'x'" },
    { "0-7:1/", "expected a number at position 7, found the end" },
    { "0-7:2x", "expected ',' or the end at position 6, found 'x'" },
    { "0-7:1/2/3", "expected ',' or the end at position 8, found '/'" },
    { "0-7:0", "stride at position 5 must be N, or M/N with M from 1 to N" },
    { "0-7:0/4", "stride at position 5 must be N, or M/N with M from 1 to N" },
    { "0-7:1/0", "stride at position 5 must be N, or M/N with M from 1 to N" },
    { "0-7:5/4", "stride at position 5 must be N, or M/N with M from 1 to N" },
    { "65536", "number at position 1 is above 65535" },
    { "0-65536", "number at position 3 is above 65535" },
    { "1,4294967296", "number at position 3 is above 65535" },
    { "99999999999999999999999999", "number at position 1 is above 65535" },
    { "0-7:65536", "number at position 5 is above 65535" },
};

static void test_list_bad(void)
{
    for (int i = 0; i < ARRAY_SIZE(bad_lists); i++) {
        Error *err = NULL;

        g_assert(!cpulist_parse(bad_lists[i].text, &err));
        assert_error(err, bad_lists[i].error);
    }
}

static const GoodText good_masks[] = {
    { "0", "" },
    { "00000000", "" },
    { "00000000,00000000", "" },
    { "1", "0" },
    { "f", "0-3" },
    { "F0", "4-7" },
    { "80000000", "31" },
    { "0000,0000003f", "0-5" },
    { "1fff,ffffffff,ffffffff", "0-76" },
    { "1,00000000", "32" },
    { "80000000,00000000", "63" },
    { "1,00000000,00000000", "64" },
    { "00ff00ff", "0-7,16-23" },
};

static void test_mask_good(void)
{
    for (int i = 0; i < ARRAY_SIZE(good_masks); i++) {
        g_autoptr(CpuSet) set = cpumask_parse(good_masks[i].text,
                                              &error_abort);

        assert_list(set, good_masks[i].list);
    }
}

static const BadText bad_masks[] = {
    { "", "expected a hexadecimal digit at position 1, found the end" },
    { ",", "expected a hexadecimal digit at position 1, found ','" },
    { "f,", "expected a hexadecimal digit at position 3, found the end" },
    { "f,f", "expected a hexadecimal digit at position 4, found the end" },
    { "f,0000000,00000000",
      "expected a hexadecimal digit at position 10, found ','" },
    { "0x3",
      "expected a hexadecimal digit, ',' or the end at position 2, "
      "found 'x'" },
    { "123456789", "expected ',' or the end at position 9, found '9'" },
    { "f,123456789", "expected ',' or the end at position 11, found '9'" },
    { "f ",
      "expected a hexadecimal digit, ',' or the end at position 2, "
      "found ' '" },
    { "(null)", "expected a hexadecimal digit at position 1, found '('" },
};

static void test_mask_bad(void)
{
    for (int i = 0; i < ARRAY_SIZE(bad_masks); i++) {
        Error *err = NULL;

        g_assert(!cpumask_parse(bad_masks[i].text, &err));
        assert_error(err, bad_masks[i].error);
    }
}

/* @head, then zeros down to bit 0 of a mask of @groups groups */
static char *wide_mask(const char *head, unsigned groups)
{
    GString *text = g_string_new(head);

    for (unsigned i = 1; i < groups; i++) {
        g_string_append(text, ",00000000");
    }
    return g_string_free(text, FALSE);
}

static void test_mask_wide(void)
{
    unsigned groups = (CPUSET_MAX + 1) / 32;
    g_autofree char *widest = wide_mask("80000000", groups);
    g_autofree char *zeros = wide_mask("00000000", groups + 1);
    g_autofree char *above = wide_mask("1", groups + 1);
    g_autoptr(CpuSet) last = cpumask_parse(widest, &error_abort);
    g_autoptr(CpuSet) none = cpumask_parse(zeros, &error_abort);
    Error *err = NULL;

    assert_list(last, "65535");
    assert_list(none, "");
    g_assert(!cpumask_parse(above, &err));
    assert_error(err, "digit at position 1 stands for numbers above 65535");
}

/* One megabyte, good or bad in itself, is refused without being looked at */
static void test_long(void)
{
    g_autofree char *digits = g_strnfill(MiB, '1');
    g_autofree char *list = g_strnfill(MiB, ',');
    g_autofree char *longest = g_strnfill(CPULIST_MAX_LENGTH - 1, ',');
    g_autoptr(CpuSet) set = NULL;
    Error *err = NULL;

    for (size_t i = 0; i < MiB; i += 2) {
        list[i] = '1';
    }
    list[MiB - 1] = '1';
    for (size_t i = 0; i < CPULIST_MAX_LENGTH - 1; i += 2) {
        longest[i] = '1';
    }

    g_assert(!cpulist_parse(list, &err));
    assert_error(err, "list is longer than 65536 bytes");
    err = NULL;
    g_assert(!cpulist_parse(digits, &err));
    assert_error(err, "list is longer than 65536 bytes");
    err = NULL;
    g_assert(!cpumask_parse(digits, &err));
    assert_error(err, "mask is longer than 65536 bytes");

    set = parse(longest);
    assert_list(set, "1");
}

/* What is written is what is read, whatever the members */
static void test_random(void)
{
    for (int round = 0; round < 2000; round++) {
        g_autoptr(CpuSet) set = cpuset_new();
        g_autoptr(CpuSet) again = NULL;
        g_autofree char *text = NULL;
        int size = g_test_rand_int_range(1, 300);
        int members = g_test_rand_int_range(1, 2 * size);

        for (int i = 0; i < members; i++) {
            cpuset_add(set, g_test_rand_int_range(0, size));
        }
        text = cpulist_format(set);
        again = parse(text);
        g_assert(cpuset_equal(set, again));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/cpulist/set/sizes", test_sizes);
    g_test_add_func("/cpulist/set/widths", test_widths);
    g_test_add_func("/cpulist/set/change", test_change);
    g_test_add_func("/cpulist/list/good", test_list_good);
    g_test_add_func("/cpulist/list/bad", test_list_bad);
    g_test_add_func("/cpulist/mask/good", test_mask_good);
    g_test_add_func("/cpulist/mask/bad", test_mask_bad);
    g_test_add_func("/cpulist/mask/wide", test_mask_wide);
    g_test_add_func("/cpulist/long", test_long);
    g_test_add_func("/cpulist/random", test_random);
    return g_test_run();
}
