/*
 * TCG plugin: guest instructions that a vCPU executes before it is pinned
 *
 * Argument: cpus=N  a thread is pinned once its mask has at most N host CPUs
 *           out=FILE
 *
 * The mask is read by the vCPU's own thread before each block of
 * instructions, till it is pinned.  FILE has one line "VCPU INSTRUCTIONS"
 * for each vCPU, written when QEMU ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <glib.h>
#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

typedef struct Vcpu {
    bool pinned;
    uint64_t insns;
} Vcpu;

static struct qemu_plugin_scoreboard *vcpus;
static int max_cpus = 1;
static const char *path;

static void before_block(unsigned vcpu, void *n_insns)
{
    Vcpu *v = qemu_plugin_scoreboard_find(vcpus, vcpu);
    cpu_set_t mask;

    if (v->pinned) {
        return;
    }
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0 &&
        CPU_COUNT(&mask) <= max_cpus) {
        v->pinned = true;
    } else {
        v->insns += (uintptr_t)n_insns;
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    qemu_plugin_register_vcpu_tb_exec_cb(
        tb, before_block, QEMU_PLUGIN_CB_NO_REGS,
        (void *)(uintptr_t)qemu_plugin_tb_n_insns(tb));
}

static void finish(qemu_plugin_id_t id, void *opaque)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        perror(path);
        return;
    }
    for (int i = 0; i < qemu_plugin_num_vcpus(); i++) {
        Vcpu *v = qemu_plugin_scoreboard_find(vcpus, i);

        fprintf(out, "%d %" PRIu64 "\n", i, v->insns);
    }
    fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                           const qemu_info_t *info,
                                           int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (g_str_has_prefix(argv[i], "out=")) {
            path = g_strdup(argv[i] + 4);
        } else if (g_str_has_prefix(argv[i], "cpus=")) {
            max_cpus = atoi(argv[i] + 5);
        } else {
            fprintf(stderr, "unpinned: unknown argument '%s'\n", argv[i]);
            return -1;
        }
    }
    if (!path) {
        fprintf(stderr, "unpinned: out= is needed\n");
        return -1;
    }
    vcpus = qemu_plugin_scoreboard_new(sizeof(Vcpu));
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
