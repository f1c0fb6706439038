/*
 * qemu-pinning topology: the CPUs and the memory of a host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-output-visitor.h"
#include "qobject/qjson.h"
#include "qemu/units.h"
#include "tool.h"

static void print_json(HostTopologyInfo *info)
{
    g_autoptr(GString) text = NULL;
    QObject *obj = NULL;
    Visitor *v = qobject_output_visitor_new(&obj);

    visit_type_HostTopologyInfo(v, NULL, &info, &error_abort);
    visit_complete(v, &obj);
    visit_free(v);
    text = qobject_to_json_pretty(obj, true);
    printf("%s\n", text->str);
    qobject_unref(obj);
}

static unsigned count_cores(const HostTopology *topo)
{
    unsigned n = 0;

    for (unsigned i = 0; i < topo->n_cpus; i++) {
        const HostCpu *c = &topo->cpus[i];

        n += c->online && (c->core == HOST_UNKNOWN ||
                           c->core == (int)c->cpu);
    }
    return n;
}

static void print_summary(const HostTopology *topo)
{
    g_autofree char *online = cpulist_format(topo->online);
    unsigned n = cpuset_count(topo->online), cores = count_cores(topo);

    printf("%u host CPU%s online (%s), %u core%s, %u node%s\n", n,
           n == 1 ? "" : "s", online, cores, cores == 1 ? "" : "s",
           topo->n_nodes, topo->n_nodes == 1 ? "" : "s");
}

static void print_set(const char *what, const CpuSet *set)
{
    g_autofree char *text = cpulist_format(set);

    printf("%s: %s\n", what, *text ? text : "none");
}

static void print_sets(const HostTopology *topo)
{
    g_autoptr(CpuSet) all_nodes = cpuset_new();

    for (unsigned i = 0; i < topo->n_nodes; i++) {
        cpuset_add(all_nodes, topo->nodes[i].node);
    }
    for (unsigned i = 0; i < topo->n_types && topo->n_types > 1; i++) {
        g_autofree char *what = g_strdup_printf(
            "%s cores", host_topology_type_name(topo, i));

        print_set(what, topo->types[i].cpus);
    }
    if (!cpuset_is_empty(topo->isolated)) {
        print_set("isolated", topo->isolated);
    }
    if (!cpuset_equal(topo->allowed_cpus, topo->online)) {
        print_set("this process may use host CPUs", topo->allowed_cpus);
    }
    if (!cpuset_equal(topo->allowed_nodes, all_nodes)) {
        print_set("it may take memory from nodes", topo->allowed_nodes);
    }
}

static void print_hugepages(const HostTopology *topo)
{
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        const HostNode *node = &topo->nodes[i];

        for (unsigned j = 0; j < node->n_hugepages; j++) {
            const HostHugepages *pool = &node->hugepages[j];

            if (pool->total) {
                printf("node %u: %" PRIu64 " pages of %" PRIu64 " KiB, %"
                       PRIu64 " free\n", node->node, pool->total,
                       pool->page_size / KiB, pool->free);
            }
        }
    }
}

static void print_distances(const HostTopology *topo)
{
    if (!topo->distances || topo->n_nodes < 2) {
        return;
    }
    printf("distances:\n      ");
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        printf(" %4u", topo->nodes[i].node);
    }
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        printf("\n  %4u", topo->nodes[i].node);
        for (unsigned j = 0; j < topo->n_nodes; j++) {
            printf(" %4u", topo->distances[i * topo->n_nodes + j]);
        }
    }
    printf("\n");
}

static void print_text(const HostTopology *topo)
{
    g_autoptr(HostMap) map = host_map_new(topo);
    g_autofree char *picture = host_map_text(map, 80);

    print_summary(topo);
    printf("%s", picture);
    print_sets(topo);
    print_hugepages(topo);
    print_distances(topo);
    for (unsigned i = 0; i < topo->warnings->len; i++) {
        printf("warning: %s\n", (char *)topo->warnings->pdata[i]);
    }
}

int tool_topology(const ToolArgs *args, Error **errp)
{
    g_autoptr(HostTopology) topo = tool_host_new(args, errp);
    g_autoptr(HostTopologyInfo) info = NULL;

    if (!topo) {
        return 1;
    }
    if (args->json) {
        info = host_topology_info(topo);
        print_json(info);
    } else {
        print_text(topo);
    }
    return 0;
}
