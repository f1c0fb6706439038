/*
 * Reading the kernel's small text files below a chosen root
 *
 * Every reader tells three results apart: the value, the file's absence,
 * and a file that is there but cannot be read or understood.  No reader
 * makes up a value.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_SYSFS_READER_H
#define QEMU_SYSFS_READER_H

#include "qemu/cpulist.h"

typedef struct SysfsReader SysfsReader;

typedef enum SysfsResult {
    SYSFS_BROKEN = -1,      /* there, but unreadable or malformed: errp set */
    SYSFS_ABSENT = 0,       /* not there: errp and output untouched */
    SYSFS_VALUE = 1,        /* output set */
} SysfsResult;

/**
 * sysfs_reader_new:
 * @root: what stands for "/": a directory, or a capture made by
 *        scripts/pinning/capture-topology (one text file)
 * @errp: pointer to error object
 *
 * Returns: a new reader, or NULL with @errp set.
 */
SysfsReader *sysfs_reader_new(const char *root, Error **errp);

/**
 * sysfs_reader_new_from_text:
 * @text: what a capture file would hold, copied
 * @size: its length in bytes
 * @errp: pointer to error object
 *
 * Returns: a new reader, or NULL with @errp set.
 */
SysfsReader *sysfs_reader_new_from_text(const char *text, size_t size,
                                        Error **errp);

/** sysfs_reader_free: free @r, which may be NULL. */
void sysfs_reader_free(SysfsReader *r);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SysfsReader, sysfs_reader_free)

/**
 * sysfs_reader_read_text:
 * @r: the reader
 * @text: where to put the content, white space and NULs at both ends
 *        removed; possibly ""; free with g_free()
 * @errp: pointer to error object
 * @fmt: path below the root, without leading "/", as for printf()
 *
 * The readers below take the same arguments and store a number, a set
 * written as cpulist or as cpumask (empty content, and the "(null)" of some
 * kernels, is the empty set), or the sorted names in a directory.
 */
SysfsResult G_GNUC_PRINTF(4, 5)
sysfs_reader_read_text(SysfsReader *r, char **text, Error **errp,
                       const char *fmt, ...);
SysfsResult G_GNUC_PRINTF(4, 5)
sysfs_reader_read_int(SysfsReader *r, int64_t *value, Error **errp,
                      const char *fmt, ...);
SysfsResult G_GNUC_PRINTF(4, 5)
sysfs_reader_read_cpulist(SysfsReader *r, CpuSet **set, Error **errp,
                          const char *fmt, ...);
SysfsResult G_GNUC_PRINTF(4, 5)
sysfs_reader_read_cpumask(SysfsReader *r, CpuSet **set, Error **errp,
                          const char *fmt, ...);
SysfsResult G_GNUC_PRINTF(4, 5)
sysfs_reader_list(SysfsReader *r, GStrv *names, Error **errp,
                  const char *fmt, ...);

/** sysfs_reader_exists: Returns: whether the path exists. */
bool G_GNUC_PRINTF(2, 3)
sysfs_reader_exists(SysfsReader *r, const char *fmt, ...);

/**
 * sysfs_reader_count:
 * @r: the reader
 *
 * Returns: number of files and directories looked for so far, found or not.
 */
uint64_t sysfs_reader_count(const SysfsReader *r);

#endif /* QEMU_SYSFS_READER_H */
