/*
 * Choosing where a virtual machine goes: words
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "pinning-plan-internal.h"

/* Longest list in a sentence; a machine can read the rest elsewhere */
#define LIST_LENGTH 60

void plan_warn(Planner *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_ptr_array_add(p->warnings, g_strdup_vprintf(fmt, ap));
    va_end(ap);
}

char *plan_list_text(const CpuSet *set)
{
    char *text = cpulist_format(set);

    if (strlen(text) > LIST_LENGTH) {
        char *end = text + LIST_LENGTH;

        while (*end != ',') {
            end--;
        }
        memcpy(end, ",...", 5);
    }
    return text;
}

char *plan_size_text(uint64_t bytes)
{
    if (bytes >= GiB) {
        return bytes % GiB ? g_strdup_printf("%.1f GiB", (double)bytes / GiB)
                           : g_strdup_printf("%" PRIu64 " GiB", bytes / GiB);
    }
    if (bytes >= MiB) {
        return g_strdup_printf("%" PRIu64 " MiB", bytes / MiB);
    }
    return g_strdup_printf("%" PRIu64 " KiB", bytes / KiB);
}

/* Returns: "node 2", "nodes 0-1", or words for what has no number */
char *plan_places_text(const Planner *p, const unsigned *places, unsigned n)
{
    g_autoptr(CpuSet) nodes = cpuset_new();
    g_autofree char *list = NULL;

    for (unsigned i = 0; i < n; i++) {
        if (p->host.places[places[i]].node >= 0) {
            cpuset_add(nodes, p->host.places[places[i]].node);
        }
    }
    if (cpuset_is_empty(nodes)) {
        return g_strdup("host CPUs without node");
    }
    list = plan_list_text(nodes);
    return g_strdup_printf("node%s %s", cpuset_count(nodes) > 1 ? "s" : "",
                           list);
}

bool plan_unit_has_place(const PlanUnit *u, unsigned place)
{
    for (unsigned i = 0; i < u->n_places; i++) {
        if (u->places[i] == place) {
            return true;
        }
    }
    return false;
}

static const PlanMemory *memory_of(const Planner *p, const PlanUnit *u,
                                   unsigned place)
{
    int m = p->host.places[place].memory;

    return m < 0 ? NULL : plan_memory(p, u, m);
}

/* "11.2 GiB uncommitted, most of 4" */
static void say_memory(const Planner *p, const PlanUnit *u, GString *text)
{
    const PlanMemory *own = memory_of(p, u, u->places[0]);
    g_autofree char *size = NULL;
    unsigned n = p->host.n_memories, more = 0, less = 0;

    if (!own || !own->known) {
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        const PlanMemory *m = plan_memory(p, u, i);

        more += m->free > own->free;
        less += m->free < own->free;
    }
    size = plan_size_text(own->free);
    g_string_append_printf(text, "; %s uncommitted", size);
    if (n > 1 && !more && !less) {
        g_string_append_printf(text, ", as on all %u", n);
    } else if (!more || !less) {
        g_string_append_printf(text, ", %s of %u", more ? "least" : "most",
                               n);
    } else {
        g_string_append_printf(text, ", %u of %u %s more", more, n,
                               more > 1 ? "have" : "has");
    }
}

typedef enum Fault {
    FAULT_CORES,
    FAULT_MEMORY,
    FAULT_NO_MEMORY,
    FAULT_CROWD,
    FAULT__MAX,
} Fault;

/* Why @u alone would not do on @place; by how much in @amount */
static int fault_of(const Planner *p, const PlanTrial *t, const PlanUnit *u,
                    unsigned place, uint64_t *amount)
{
    const PlanMemory *m = memory_of(p, u, place);
    uint64_t room = plan_trial_capacity(t, place);
    uint64_t load = DIV_ROUND_UP(p->host.places[place].load, PLAN_VCPU);

    if (room < u->n_chunks) {
        *amount = u->n_chunks - room;
        return FAULT_CORES;
    }
    if (u->binds && m && m->known && m->free < u->size) {
        *amount = u->size - m->free;
        return FAULT_MEMORY;
    }
    if (p->host.places[place].detour) {
        return FAULT_NO_MEMORY;
    }
    if (load && room < u->n_chunks + load) {
        *amount = u->n_chunks + load - room;
        return FAULT_CROWD;
    }
    return -1;
}

static void say_fault(Fault fault, const CpuSet *nodes, uint64_t least,
                      GString *text)
{
    bool many = cpuset_count(nodes) > 1;
    g_autofree char *list = plan_list_text(nodes);
    g_autofree char *size = plan_size_text(least);

    g_string_append_printf(text, "; node%s %s ", many ? "s" : "", list);
    switch (fault) {
    case FAULT_CORES:
        g_string_append_printf(text, "%s %" PRIu64 " core%s",
                               many ? "lack" : "lacks", least,
                               least > 1 ? "s" : "");
        break;
    case FAULT_MEMORY:
        g_string_append_printf(text, "%s %s", many ? "lack" : "lacks", size);
        break;
    case FAULT_NO_MEMORY:
        g_string_append(text, many ? "have no memory" : "has no memory");
        break;
    default:
        g_string_append_printf(text, "%s more used by others",
                               many ? "are" : "is");
    }
}

/* "nodes 0-1 lack 3 cores": the least that any of them lacks */
static void say_faults(const Planner *p, const PlanTrial *t,
                       const PlanUnit *u, GString *text)
{
    for (Fault fault = 0; fault < FAULT__MAX; fault++) {
        g_autoptr(CpuSet) nodes = cpuset_new();
        uint64_t least = UINT64_MAX;

        for (unsigned i = 0; i < p->host.n_places; i++) {
            uint64_t amount = 0;

            if (!plan_unit_has_place(u, i) && p->host.places[i].node >= 0 &&
                fault_of(p, t, u, i, &amount) == (int)fault) {
                cpuset_add(nodes, p->host.places[i].node);
                least = MIN(least, amount);
            }
        }
        if (!cpuset_is_empty(nodes)) {
            say_fault(fault, nodes, least, text);
        }
    }
}

/* Why one place was not enough, and how far the chosen ones are apart */
static void say_several(const Planner *p, const PlanTrial *t,
                        const PlanUnit *u, GString *text)
{
    const PlanHost *h = &p->host;
    unsigned best = 0;
    uint64_t most = 0, sum = 0, pairs = 0;
    g_autofree char *need = plan_size_text(u->size);
    g_autofree char *have = NULL;

    for (unsigned i = 0; i < h->n_places; i++) {
        const PlanMemory *m = memory_of(p, u, i);

        best = MAX(best, plan_trial_capacity(t, i));
        most = MAX(most, m && m->known ? m->free : UINT64_MAX);
    }
    have = plan_size_text(most);
    if (best < u->n_chunks) {
        g_string_append_printf(text, "; needs %u cores, one node has %u at "
                               "most", u->n_chunks, best);
    }
    if (u->binds && most < u->size) {
        g_string_append_printf(text, "; needs %s, one node has %s at most",
                               need, have);
    }
    for (unsigned i = 0; i < u->n_places; i++) {
        for (unsigned j = 0; j < i; j++) {
            sum += h->distance[u->places[i] * h->n_places + u->places[j]];
            pairs += 2;
        }
    }
    g_string_append_printf(text, "; distance %.4g", (double)sum / pairs);
}

char *plan_node_reason(const Planner *p, const PlanTrial *t,
                       const PlanUnit *u)
{
    g_autofree char *where = plan_places_text(p, u->places, u->n_places);
    g_autoptr(GString) text = g_string_new("");
    bool device = false;

    for (unsigned i = 0; i < u->n_places; i++) {
        device |= p->host.places[u->places[i]].device;
    }
    if (u->fixed) {
        g_string_append(text, "; as hostnodes asks for");
    } else if (p->host.n_places == 1) {
        g_string_append(text, "; the only one with usable host CPUs");
    } else {
        if (device) {
            g_string_append(text, "; an assigned device is there");
        }
        if (u->n_places > 1) {
            say_several(p, t, u, text);
        } else {
            say_memory(p, u, text);
            say_faults(p, t, u, text);
        }
    }
    if (p->kind_text) {
        g_string_append_printf(text, "; %s", p->kind_text);
    }
    return g_strdup_printf("%s%s%s", where, text->len ? ": " : "",
                           text->len ? text->str + 2 : "");
}
