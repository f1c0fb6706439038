/*
 * CPUs and memory of the host: distances between nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "host-topology-internal.h"

#define LOCAL_DISTANCE 10
#define UNREACHABLE 255

/*
 * One row: as many numbers as there are nodes, in their order.  It is not
 * by the number of a node, which may be anything.
 */
static bool parse_row(const char *text, uint8_t *row, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned distance;

        if (qemu_strtoui(text, &text, 10, &distance) < 0 ||
            distance > UINT8_MAX || (*text && *text != ' ')) {
            return false;
        }
        row[i] = distance;
    }
    return !*text;
}

static SysfsResult read_row(TopologyReading *t, unsigned i, uint8_t *row)
{
    unsigned node = t->topo->nodes[i].node;
    g_autofree char *text = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_text(t->reader, &text, &err,
                                 NODE_DIR "/node%u/distance", node);
    if (!topology_has_value(t, res, err)) {
        return res;
    }
    if (!parse_row(text, row, t->topo->n_nodes)) {
        topology_warn(t, "distances of host node %u are not one number for "
                      "each of %u nodes; no distance is used", node,
                      t->topo->n_nodes);
        return SYSFS_BROKEN;
    }
    return SYSFS_VALUE;
}

static bool read_table(TopologyReading *t, uint8_t *table)
{
    unsigned n = t->topo->n_nodes;
    unsigned rows = 0;

    for (unsigned i = 0; i < n; i++) {
        SysfsResult res = read_row(t, i, table + i * n);

        if (res == SYSFS_BROKEN) {
            return false;
        }
        rows += res == SYSFS_VALUE;
    }
    if (rows && rows < n) {
        topology_warn(t, "%u of %u host nodes tell no distances; no distance "
                      "is used", n - rows, n);
    }
    return rows == n;
}

/*
 * Firmware that has never been asked for distances often gives nonsense.
 * The two directions between nodes may differ, but not so that one of them
 * does not exist.
 */
static const char *bad_distance(const uint8_t *table, unsigned n, unsigned i,
                                unsigned j)
{
    unsigned there = table[i * n + j], back = table[j * n + i];

    if (i == j) {
        return there == LOCAL_DISTANCE ? NULL : "to itself";
    }
    if (there <= LOCAL_DISTANCE) {
        return "no more than to itself";
    }
    if ((there == UNREACHABLE) != (back == UNREACHABLE)) {
        return "unreachable one way only";
    }
    return NULL;
}

static bool check_table(TopologyReading *t, const uint8_t *table)
{
    unsigned n = t->topo->n_nodes;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            const char *why = bad_distance(table, n, i, j);

            if (why) {
                topology_warn(t, "distance %u from host node %u to %u (%s) "
                              "makes no sense; no distance is used",
                              table[i * n + j], t->topo->nodes[i].node,
                              t->topo->nodes[j].node, why);
                return false;
            }
        }
    }
    return true;
}

void topology_read_distances(TopologyReading *t)
{
    size_t n = t->topo->n_nodes;
    g_autofree uint8_t *table = NULL;

    if (!t->topo->has_nodes) {
        return;
    }
    table = g_new0(uint8_t, n * n);
    if (read_table(t, table) && check_table(t, table)) {
        t->topo->distances = g_steal_pointer(&table);
    }
}
