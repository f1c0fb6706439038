/*
 * Sets of host CPUs or host nodes, and the kernel's notations for them
 *
 * A cpulist is "0-3,8-11" or "0-31:2/4" (of every four, the first two);
 * "0-31:2" means every second.  A cpumask is hexadecimal, in groups of
 * 32 bits, "ff,ffffffff".  Sets grow as needed and have no fixed width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_CPULIST_H
#define QEMU_CPULIST_H

#include "qemu/bitmap.h"
#include "qemu/units.h"

/* Largest number a set can hold: eight times what Linux can be built for */
#define CPUSET_MAX 65535

/* Longest text that is parsed, in bytes */
#define CPULIST_MAX_LENGTH (64 * KiB)

typedef struct CpuSet {
    unsigned long *bits;    /* bitmap of @nbits bits, NULL when nbits is 0 */
    unsigned nbits;
} CpuSet;

/**
 * cpuset_new:
 *
 * Returns: a new empty set; free it with cpuset_free().
 */
CpuSet *cpuset_new(void);

/**
 * cpuset_new_range:
 * @first: first member
 * @last: last member, at most CPUSET_MAX; an empty set if below @first
 *
 * Returns: a new set of all numbers from @first to @last.
 */
CpuSet *cpuset_new_range(unsigned first, unsigned last);

/** cpuset_copy: Returns: a new set with the members of @set. */
CpuSet *cpuset_copy(const CpuSet *set);

/** cpuset_free: free @set, which may be NULL. */
void cpuset_free(CpuSet *set);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CpuSet, cpuset_free)

/** cpuset_add: make @n, at most CPUSET_MAX, a member of @set. */
void cpuset_add(CpuSet *set, unsigned n);

/** cpuset_del: make sure @n is no member of @set. */
void cpuset_del(CpuSet *set, unsigned n);

/** cpuset_contains: Returns: whether @n is a member of @set. */
bool cpuset_contains(const CpuSet *set, unsigned n);

/** cpuset_count: Returns: number of members of @set. */
unsigned cpuset_count(const CpuSet *set);

/** cpuset_is_empty: Returns: whether @set has no member. */
bool cpuset_is_empty(const CpuSet *set);

/** cpuset_equal: Returns: whether @a and @b have the same members. */
bool cpuset_equal(const CpuSet *a, const CpuSet *b);

/** cpuset_is_subset: Returns: whether each member of @a is one of @b. */
bool cpuset_is_subset(const CpuSet *a, const CpuSet *b);

/** cpuset_intersects: Returns: whether @a and @b share a member. */
bool cpuset_intersects(const CpuSet *a, const CpuSet *b);

/** cpuset_or: add the members of @other to @set. */
void cpuset_or(CpuSet *set, const CpuSet *other);

/** cpuset_and: remove what is no member of @other from @set. */
void cpuset_and(CpuSet *set, const CpuSet *other);

/** cpuset_andnot: remove the members of @other from @set. */
void cpuset_andnot(CpuSet *set, const CpuSet *other);

/**
 * cpuset_next:
 * @set: a set
 * @prev: a number, or -1 to begin
 *
 * Returns: the lowest member above @prev, or -1 if there is none.
 */
int cpuset_next(const CpuSet *set, int prev);

/** cpuset_first: Returns: the lowest member of @set, -1 if it is empty. */
static inline int cpuset_first(const CpuSet *set)
{
    return cpuset_next(set, -1);
}

#define CPUSET_FOREACH(n, set) \
    for (int n = cpuset_first(set); n >= 0; n = cpuset_next(set, n))

/**
 * cpulist_parse:
 * @text: a list in the kernel's notation; white space and NUL padding
 *        around it, as in sysfs files, is the caller's to remove
 * @errp: pointer to error object
 *
 * The empty text is an error: callers that read files in which it means
 * the empty set look for it first.  Errors name the position (from 1) and
 * what was expected there.
 *
 * Returns: a new set, or NULL with @errp set.
 */
CpuSet *cpulist_parse(const char *text, Error **errp);

/**
 * cpumask_parse:
 * @text: a mask in the kernel's notation, for instance "ff,ffffffff"
 * @errp: pointer to error object
 *
 * Returns: a new set, or NULL with @errp set.
 */
CpuSet *cpumask_parse(const char *text, Error **errp);

/**
 * cpulist_format:
 * @set: a set
 *
 * Returns: @set as ranges, "0-3,8"; "" when it is empty.  Free with g_free().
 */
char *cpulist_format(const CpuSet *set);

#endif /* QEMU_CPULIST_H */
