/*
 * What /proc says about the holder of a reservation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/pinning-registry-int.h"
#include "qemu/units.h"

/* Position of the start time among the fields after the program's name */
#define STAT_FIELDS_TO_START_TIME 19

/* Where /proc shows another pid namespace, only "self" names this process */
static char *proc_read(const char *proc, int64_t pid, const char *file)
{
    g_autofree char *who = pid ? g_strdup_printf("%" PRId64, pid)
                               : g_strdup("self");
    g_autofree char *path = g_build_filename(proc, who, file, NULL);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

bool pinning_proc_start_time(const char *proc, int64_t pid, uint64_t *ticks)
{
    g_autofree char *text = proc_read(proc, pid, "stat");
    char *p;
    int i;

    /* The name may have anything in it, but ends with the last ")" */
    p = text ? strrchr(text, ')') : NULL;
    for (i = 0; p && i <= STAT_FIELDS_TO_START_TIME; i++) {
        p = strchr(p + 1, ' ');
    }
    return p && qemu_strtou64(p + 1, (const char **)&p, 10, ticks) == 0;
}

/* Value in bytes of a "Name:   123 kB" line; 0 if it is not there */
static uint64_t status_bytes(const char *text, const char *name)
{
    g_autofree char *start = g_strdup_printf("\n%s:", name);
    const char *p = strstr(text, start);
    uint64_t value;

    if (!p || qemu_strtou64(p + strlen(start), &p, 10, &value) < 0 ||
        !g_str_has_prefix(p, " kB") || value > UINT64_MAX / KiB) {
        return 0;
    }
    return value * KiB;
}

/*
 * numa_maps would tell nodes apart, but walks all page tables of a guest,
 * under its mmap lock, and is for root only.  The counters in status cost
 * microseconds and may be read by all.  File pages are left out, they are
 * the program itself; memory backed by a file on disk then counts as
 * untouched for ever, which is the safe side.
 */
void pinning_proc_touched(const char *proc, PinningHolder *holder)
{
    const PinningReservation *entry = holder->entry;
    g_autofree char *text = NULL;
    uint64_t start_time;

    holder->touched = 0;
    holder->touched_huge = 0;

    if (!entry->memory || entry->pid <= 0 ||
        !pinning_proc_start_time(proc, entry->pid, &start_time) ||
        start_time != entry->start_time) {
        return;
    }
    text = proc_read(proc, entry->pid, "status");
    if (!text) {
        return;
    }
    holder->touched = status_bytes(text, "RssAnon") +
                      status_bytes(text, "RssShmem");
    holder->touched_huge = status_bytes(text, "HugetlbPages");
}
