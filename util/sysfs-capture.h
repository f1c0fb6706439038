/*
 * Files of a host in one text file
 *
 * A line is "path<TAB>content".  In the content a newline, tab, carriage
 * return, NUL and backslash are written \n, \t, \r, \0 and \\, other bytes
 * as they are or as \xHH.  Content that begins with \! is no content: it
 * says why the file could not be read.  A path that ends in "/" stands for a
 * directory which may be empty.  Lines that begin with "#" are comments.
 * Directories follow from the paths; the order of lines does not matter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef UTIL_SYSFS_CAPTURE_H
#define UTIL_SYSFS_CAPTURE_H

typedef struct SysfsCapture SysfsCapture;

typedef struct SysfsCaptureEntry {
    const char *path;
    const char *content;    /* @len bytes, then a NUL */
    size_t len;
    bool broken;            /* @content is the reason */
} SysfsCaptureEntry;

/**
 * sysfs_capture_new:
 * @text: the text file; g_free()d together with the capture, or at once
 *        when this fails
 * @size: its length in bytes
 * @errp: pointer to error object
 *
 * Returns: a new capture, or NULL with @errp set.
 */
SysfsCapture *sysfs_capture_new(char *text, size_t size, Error **errp);

/** sysfs_capture_free: free @c, which may be NULL. */
void sysfs_capture_free(SysfsCapture *c);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SysfsCapture, sysfs_capture_free)

/** sysfs_capture_find: Returns: the file @path, NULL if not there. */
const SysfsCaptureEntry *sysfs_capture_find(const SysfsCapture *c,
                                            const char *path);

/** sysfs_capture_is_dir: Returns: whether @path is a directory. */
bool sysfs_capture_is_dir(const SysfsCapture *c, const char *path);

/**
 * sysfs_capture_list:
 * @c: the capture
 * @path: a directory
 *
 * Returns: the names in @path in ascending order; NULL if @path is none.
 */
GStrv sysfs_capture_list(const SysfsCapture *c, const char *path);

#endif /* UTIL_SYSFS_CAPTURE_H */
