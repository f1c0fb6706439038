/*
 * TCG plugin: which CPU of an emulated host touches which page of its memory
 *
 * Arguments: out=PREFIX  counts go to PREFIX.0, PREFIX.1, ...
 *            pages=N     pages of 4 KiB that are counted, from address 0 on
 *
 * Counting goes from one marker to the other, wherever they are executed;
 * the work that is measured (remote-work.c) holds them.  Each file has one
 * line "CPU PAGE LOADS STORES WORK" for each pair that has any; WORK is 1 if
 * the work's own memory was there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glib.h>
#include <qemu-plugin.h>
#include "remote-marker.h"

#define MAX_CPUS 256

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

typedef struct Count {
    uint32_t loads;
    uint32_t stores;
    bool work;              /* by an address of the work's memory */
} Count;

static Count *counts[MAX_CPUS];     /* of a CPU: one for each page */
static uint64_t n_pages;
static const char *prefix;
static unsigned n_files;
static bool counting;

static void install(qemu_plugin_id_t id);

/*
 * calloc() of as much as this maps fresh pages: only those of memory that is
 * touched ever exist, so nothing need be known about the host's size.
 */
static Count *counts_of(unsigned cpu)
{
    if (!counts[cpu]) {
        counts[cpu] = calloc(n_pages, sizeof(Count));
        if (!counts[cpu]) {
            fprintf(stderr, "remote: no memory for %" PRIu64 " pages\n",
                    n_pages);
            exit(1);
        }
    }
    return counts[cpu];
}

static void count_access(unsigned cpu, qemu_plugin_meminfo_t info,
                         uint64_t vaddr, void *opaque)
{
    struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
    uint64_t page;
    Count *count;

    if (!hw || qemu_plugin_hwaddr_is_io(hw) || cpu >= MAX_CPUS) {
        return;
    }
    page = qemu_plugin_hwaddr_phys_addr(hw) >> 12;
    if (page >= n_pages) {
        return;
    }
    count = &counts_of(cpu)[page];
    if (qemu_plugin_mem_is_store(info)) {
        count->stores++;
    } else {
        count->loads++;
    }
    if (vaddr - REMOTE_MEMORY < REMOTE_MEMORY_SIZE) {
        count->work = true;
    }
}

static void write_counts(void)
{
    g_autofree char *path = g_strdup_printf("%s.%u", prefix, n_files++);
    g_autofree char *unfinished = g_strconcat(path, ".tmp", NULL);
    FILE *out = fopen(unfinished, "w");

    if (!out) {
        perror(unfinished);
        exit(1);
    }
    for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
        for (uint64_t page = 0; counts[cpu] && page < n_pages; page++) {
            Count *c = &counts[cpu][page];

            if (c->loads || c->stores) {
                fprintf(out, "%u %" PRIu64 " %" PRIu32 " %" PRIu32 " %d\n",
                        cpu, page, c->loads, c->stores, c->work);
            }
        }
    }
    /* Whoever waits for the file finds it whole */
    if (fclose(out) || rename(unfinished, path)) {
        perror(path);
        exit(1);
    }
}

static void forget_counts(void)
{
    for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
        free(counts[cpu]);
        counts[cpu] = NULL;
    }
}

/*
 * What is translated from here on is counted or not.  Outside of the
 * markers nothing is instrumented, so that booting takes its usual time.
 */
static void switch_to(qemu_plugin_id_t id, bool on)
{
    if (counting == on) {
        return;
    }
    counting = on;
    if (on) {
        forget_counts();
    } else {
        write_counts();
    }
    qemu_plugin_reset(id, install);
}

static void start_executed(unsigned cpu, void *id)
{
    switch_to((uintptr_t)id, true);
}

static void stop_executed(unsigned cpu, void *id)
{
    switch_to((uintptr_t)id, false);
}

/* The displacement of an 8-byte NOP; 0 if it is none */
static uint32_t marker_of(struct qemu_plugin_insn *insn)
{
    static const uint8_t nop[] = { 0x0f, 0x1f, 0x84, 0x00 };
    uint8_t bytes[8];

    if (qemu_plugin_insn_size(insn) != sizeof(bytes) ||
        qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) != sizeof(bytes) ||
        memcmp(bytes, nop, sizeof(nop))) {
        return 0;
    }
    return bytes[4] | bytes[5] << 8 | bytes[6] << 16 |
           (uint32_t)bytes[7] << 24;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    void *opaque = (void *)(uintptr_t)id;
    size_t n = qemu_plugin_tb_n_insns(tb);

    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint32_t marker = marker_of(insn);

        if (marker == REMOTE_START) {
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, start_executed, QEMU_PLUGIN_CB_NO_REGS, opaque);
        } else if (marker == REMOTE_STOP) {
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, stop_executed, QEMU_PLUGIN_CB_NO_REGS, opaque);
        }
        if (counting) {
            qemu_plugin_register_vcpu_mem_cb(insn, count_access,
                                             QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, NULL);
        }
    }
}

static void install(qemu_plugin_id_t id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                           const qemu_info_t *info,
                                           int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (g_str_has_prefix(argv[i], "out=")) {
            prefix = g_strdup(argv[i] + 4);
        } else if (g_str_has_prefix(argv[i], "pages=")) {
            n_pages = g_ascii_strtoull(argv[i] + 6, NULL, 10);
        } else {
            fprintf(stderr, "remote: unknown argument '%s'\n", argv[i]);
            return -1;
        }
    }
    if (!prefix || !n_pages) {
        fprintf(stderr, "remote: out= and pages= are needed\n");
        return -1;
    }
    install(id);
    return 0;
}
