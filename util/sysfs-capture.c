/*
 * Files of a host in one text file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "sysfs-capture.h"

struct SysfsCapture {
    char *text;
    GArray *entries;        /* of SysfsCaptureEntry, ascending by path */
};

/* Decodes what follows a backslash at @p; returns what follows that, or NULL */
static const char *unescape_char(const char *p, char *out)
{
    static const char names[] = "ntr0\\", values[] = "\n\t\r\0\\";
    const char *name = *p ? strchr(names, *p) : NULL;

    if (name) {
        *out = values[name - names];
        return p + 1;
    }
    if (*p == 'x' && g_ascii_isxdigit(p[1]) && g_ascii_isxdigit(p[2])) {
        *out = g_ascii_xdigit_value(p[1]) << 4 | g_ascii_xdigit_value(p[2]);
        return p + 3;
    }
    return NULL;
}

/* In place: what is written is never longer than what was read */
static bool unescape(char *text, size_t *len)
{
    const char *p = text;
    char *out = text;

    while (*p) {
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        p = unescape_char(p + 1, out++);
        if (!p) {
            return false;
        }
    }
    *out = '\0';
    *len = out - text;
    return true;
}

static bool path_is_valid(const char *path)
{
    size_t len = strlen(path);

    return len && path[0] != '/' && len < PATH_MAX && !strstr(path, "//");
}

static bool parse_line(SysfsCapture *c, char *line, unsigned number,
                       Error **errp)
{
    SysfsCaptureEntry e = { .path = line };
    char *content = strchr(line, '\t');

    if (!content) {
        error_setg(errp, "line %u has no tab", number);
        return false;
    }
    *content++ = '\0';
    if (!path_is_valid(line)) {
        error_setg(errp, "line %u does not begin with a relative path",
                   number);
        return false;
    }
    if (g_str_has_prefix(content, "\\!")) {
        content += 2;
        e.broken = true;
    }
    if (!unescape(content, &e.len)) {
        error_setg(errp, "line %u has a backslash that escapes nothing",
                   number);
        return false;
    }
    e.content = content;
    g_array_append_val(c->entries, e);
    return true;
}

static bool parse_lines(SysfsCapture *c, size_t size, Error **errp)
{
    char *line = c->text;
    char *end = c->text + size;
    unsigned number = 0;

    while (line < end) {
        char *newline = memchr(line, '\n', end - line);

        number++;
        if (!newline) {
            error_setg(errp, "line %u does not end", number);
            return false;
        }
        if (memchr(line, '\0', newline - line)) {
            error_setg(errp, "line %u has a NUL byte", number);
            return false;
        }
        *newline = '\0';
        if (*line && *line != '#' && !parse_line(c, line, number, errp)) {
            return false;
        }
        line = newline + 1;
    }
    return true;
}

static gint compare_paths(gconstpointer a, gconstpointer b)
{
    const SysfsCaptureEntry *left = a, *right = b;

    return strcmp(left->path, right->path);
}

static const SysfsCaptureEntry *entry_at(const SysfsCapture *c, guint i)
{
    return &g_array_index(c->entries, SysfsCaptureEntry, i);
}

/* Index of the first entry whose path is not below @path in the order */
static guint lower_bound(const SysfsCapture *c, const char *path)
{
    guint low = 0, high = c->entries->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;

        if (strcmp(entry_at(c, middle)->path, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const SysfsCaptureEntry *sysfs_capture_find(const SysfsCapture *c,
                                            const char *path)
{
    guint i = lower_bound(c, path);

    if (i < c->entries->len && g_str_equal(entry_at(c, i)->path, path)) {
        return entry_at(c, i);
    }
    return NULL;
}

/* All paths with one beginning stand together; this is the first of them */
static guint first_below(const SysfsCapture *c, const char *path,
                         char **prefix)
{
    *prefix = g_strconcat(path, "/", NULL);
    return lower_bound(c, *prefix);
}

static bool is_below(const SysfsCapture *c, guint i, const char *prefix)
{
    return i < c->entries->len &&
           g_str_has_prefix(entry_at(c, i)->path, prefix);
}

bool sysfs_capture_is_dir(const SysfsCapture *c, const char *path)
{
    g_autofree char *prefix = NULL;
    guint i = first_below(c, path, &prefix);

    return is_below(c, i, prefix);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The nameless entry that only says that the directory exists counts as one */
static bool is_last(const GPtrArray *names, const char *name, size_t len)
{
    const char *last = names->len ? names->pdata[names->len - 1] : "";

    return strlen(last) == len && !memcmp(last, name, len);
}

GStrv sysfs_capture_list(const SysfsCapture *c, const char *path)
{
    g_autofree char *prefix = NULL;
    guint i = first_below(c, path, &prefix);
    GPtrArray *names;

    if (!is_below(c, i, prefix)) {
        return NULL;
    }
    names = g_ptr_array_new();
    for (; is_below(c, i, prefix); i++) {
        const char *name = entry_at(c, i)->path + strlen(prefix);
        size_t len = strcspn(name, "/");

        /* What a directory holds stands together, so a look back is enough */
        if (!is_last(names, name, len)) {
            g_ptr_array_add(names, g_strndup(name, len));
        }
    }
    /* "/" sorts after some characters, so "a-b/" stands before "a/" */
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (GStrv)g_ptr_array_free(names, false);
}

/* Each path once, and none of them both a file and a directory */
static bool check_paths(const SysfsCapture *c, Error **errp)
{
    for (guint i = 0; i < c->entries->len; i++) {
        const char *path = entry_at(c, i)->path;

        if (i && g_str_equal(entry_at(c, i - 1)->path, path)) {
            error_setg(errp, "'%s' is there twice", path);
            return false;
        }
        if (sysfs_capture_is_dir(c, path)) {
            error_setg(errp, "'%s' is both a file and a directory", path);
            return false;
        }
    }
    return true;
}

SysfsCapture *sysfs_capture_new(char *text, size_t size, Error **errp)
{
    g_autoptr(SysfsCapture) c = g_new0(SysfsCapture, 1);

    c->text = text;
    c->entries = g_array_new(false, false, sizeof(SysfsCaptureEntry));
    if (!parse_lines(c, size, errp)) {
        return NULL;
    }
    g_array_sort(c->entries, compare_paths);
    if (!check_paths(c, errp)) {
        return NULL;
    }
    return g_steal_pointer(&c);
}

void sysfs_capture_free(SysfsCapture *c)
{
    if (c) {
        g_array_unref(c->entries);
        g_free(c->text);
        g_free(c);
    }
}
