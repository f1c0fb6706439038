/*
 * A picture of the host and of who sits where on it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/host-map.h"

/* A picture of more lines than this is not one any more */
#define MOST_LINES 80
/* A label that is longer is cut; the list has it whole */
#define MOST_LABEL 9

struct HostMap {
    const HostTopology *topo;
    CpuSet **vcpus;         /* by host CPU number */
    uint8_t *marks;
    unsigned len;
    uint8_t seen;           /* all marks together */
    bool placed;            /* there is anything to show */
};

HostMap *host_map_new(const HostTopology *topo)
{
    HostMap *map = g_new0(HostMap, 1);

    map->topo = topo;
    map->len = topo->cpu_index_len;
    map->vcpus = g_new0(CpuSet *, map->len);
    map->marks = g_new0(uint8_t, map->len);
    return map;
}

void host_map_free(HostMap *map)
{
    if (map) {
        for (unsigned i = 0; i < map->len; i++) {
            cpuset_free(map->vcpus[i]);
        }
        g_free(map->vcpus);
        g_free(map->marks);
        g_free(map);
    }
}

void host_map_put(HostMap *map, const CpuSet *cpus, unsigned vcpu)
{
    CPUSET_FOREACH(cpu, cpus) {
        if (cpu < map->len) {
            if (!map->vcpus[cpu]) {
                map->vcpus[cpu] = cpuset_new();
            }
            cpuset_add(map->vcpus[cpu], vcpu);
            map->placed = true;
        }
    }
}

void host_map_mark(HostMap *map, const CpuSet *cpus, HostMapMark mark)
{
    CPUSET_FOREACH(cpu, cpus) {
        if (cpu < map->len) {
            map->marks[cpu] |= mark;
            map->seen |= mark;
            map->placed = true;
        }
    }
}

/* A list out of a plan: it is ours, so it is right, or it is empty */
static CpuSet *plan_set(const char *text)
{
    CpuSet *set = *text ? cpulist_parse(text, NULL) : NULL;

    return set ?: cpuset_new();
}

static void mark_list(HostMap *map, const char *text, HostMapMark mark)
{
    g_autoptr(CpuSet) set = plan_set(text);

    host_map_mark(map, set, mark);
}

HostMap *host_map_new_plan(const HostTopology *topo, const PinningPlan *plan)
{
    HostMap *map = host_map_new(topo);
    const PinningVcpuPlanList *l;

    for (l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) set = plan_set(l->value->host_cpus);

        host_map_put(map, set, l->value->vcpu);
    }
    mark_list(map, plan->emulator_cpus, HOST_MAP_HELPERS);
    mark_list(map, plan->io_cpus, HOST_MAP_IO);
    mark_list(map, plan->parked_cpus, HOST_MAP_PARKED);
    return map;
}

const CpuSet *host_map_vcpus(const HostMap *map, unsigned cpu)
{
    return cpu < map->len ? map->vcpus[cpu] : NULL;
}

char *host_map_label(const HostMap *map, unsigned cpu)
{
    const CpuSet *vcpus = host_map_vcpus(map, cpu);
    unsigned marks = cpu < map->len ? map->marks[cpu] : 0;

    if (vcpus) {
        g_autofree char *list = cpulist_format(vcpus);

        return g_strdup_printf("v%s", list);
    }
    return g_strdup(marks & HOST_MAP_RESERVED ? "r"
                    : marks & HOST_MAP_PARKED ? "#"
                    : marks & HOST_MAP_IO ? "io"
                    : marks & HOST_MAP_HELPERS ? "h" : ".");
}

char *host_map_legend(const HostMap *map)
{
    g_autoptr(GString) text = g_string_new("vN: vCPU N");

    if (map->seen & HOST_MAP_IO) {
        g_string_append(text, "  io: I/O threads");
    }
    if (map->seen & HOST_MAP_HELPERS) {
        g_string_append(text, "  h: helper threads");
    }
    if (map->seen & HOST_MAP_RESERVED) {
        g_string_append(text, "  r: reserved");
    }
    if (map->seen & HOST_MAP_PARKED) {
        g_string_append(text, "  #: kept idle");
    }
    g_string_append(text, "  .: nothing");
    return g_strdup(text->str);
}

static int compare_places(const void *a, const void *b)
{
    const HostCpu *x = *(const HostCpu **)a, *y = *(const HostCpu **)b;
    /* HOST_UNKNOWN becomes the largest number, so it comes last */
    unsigned i[] = { x->node, x->llc, x->core, x->cpu };
    unsigned j[] = { y->node, y->llc, y->core, y->cpu };

    for (int k = 0; k < ARRAY_SIZE(i); k++) {
        if (i[k] != j[k]) {
            return i[k] < j[k] ? -1 : 1;
        }
    }
    return 0;
}

const HostCpu **host_map_order(const HostTopology *topo, unsigned *n)
{
    const HostCpu **cpus = g_new(const HostCpu *, topo->n_cpus + 1);

    *n = 0;
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        if (topo->cpus[i].online) {
            cpus[(*n)++] = &topo->cpus[i];
        }
    }
    qsort(cpus, *n, sizeof(*cpus), compare_places);
    return cpus;
}

/* The picture while it is drawn */
typedef struct Drawing {
    const HostMap *map;
    GString *text;
    unsigned width;
    unsigned number;        /* columns of a CPU number */
    unsigned label;         /* columns of a label */
    unsigned column;        /* where the line is */
    unsigned indent;        /* of further lines of a cache */
} Drawing;

static char *short_label(const HostMap *map, unsigned cpu)
{
    char *label = host_map_label(map, cpu);

    if (strlen(label) > MOST_LABEL) {
        label[MOST_LABEL - 1] = '+';
        label[MOST_LABEL] = '\0';
    }
    return label;
}

static void measure(Drawing *d, const HostCpu **cpus, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *label = short_label(d->map, cpus[i]->cpu);
        g_autofree char *number = g_strdup_printf("%u", cpus[i]->cpu);

        d->label = MAX(d->label, strlen(label));
        d->number = MAX(d->number, strlen(number));
    }
    if (!d->map->placed) {
        d->label = 0;
    }
}

static void say_size(GString *text, int64_t bytes, const char *what)
{
    if (bytes != HOST_UNKNOWN) {
        g_string_append_printf(text, ", %.1f GiB%s",
                               (double)bytes / (1 << 30), what);
    }
}

static void draw_node(Drawing *d, int node, const HostCpu **cpus, unsigned n)
{
    const HostNode *info = node < 0 ? NULL
                           : host_topology_node(d->map->topo, node);
    g_autoptr(CpuSet) packages = cpuset_new();
    g_autofree char *list = NULL;

    for (unsigned i = 0; i < n && cpus[i]->node == node; i++) {
        if (cpus[i]->package >= 0 && cpus[i]->package <= CPUSET_MAX) {
            cpuset_add(packages, cpus[i]->package);
        }
    }
    if (node < 0) {
        g_string_append(d->text, "no node");
    } else {
        g_string_append_printf(d->text, "node %d", node);
    }
    if (!cpuset_is_empty(packages)) {
        list = cpulist_format(packages);
        g_string_append_printf(d->text, ", package%s %s",
                               cpuset_count(packages) > 1 ? "s" : "", list);
    }
    if (info && info->memory == 0) {
        g_string_append(d->text, ", no memory");
    } else if (info) {
        say_size(d->text, info->memory, "");
        say_size(d->text, info->free, " free");
    }
    g_string_append_c(d->text, '\n');
}

static void draw_cache(Drawing *d, const HostCpu *c)
{
    size_t before = d->text->len;

    if (c->llc == HOST_UNKNOWN) {
        g_string_append_printf(d->text, "  %-*s", d->number + 7, "cores");
    } else {
        g_string_append_printf(d->text, "  cache %-*d ", d->number, c->llc);
    }
    d->indent = d->column = d->text->len - before;
}

/* One core, in brackets: each of its CPUs with what is there */
static void draw_core(Drawing *d, const HostCpu **cpus, unsigned n)
{
    unsigned cell = d->number + (d->label ? d->label + 1 : 0);
    unsigned width = n * (cell + 1) + 2;

    if (d->column + width > d->width && d->column > d->indent) {
        g_string_append_printf(d->text, "\n%*s", d->indent, "");
        d->column = d->indent;
    }
    g_string_append_c(d->text, '[');
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *label = short_label(d->map, cpus[i]->cpu);

        g_string_append_printf(d->text, "%s%*u", i ? " " : "", d->number,
                               cpus[i]->cpu);
        if (d->label) {
            g_string_append_printf(d->text, " %-*s", d->label, label);
        }
    }
    g_string_append(d->text, "] ");
    d->column += width;
}

static void end_line(GString *text)
{
    while (text->len && text->str[text->len - 1] == ' ') {
        g_string_truncate(text, text->len - 1);
    }
    if (text->len && text->str[text->len - 1] != '\n') {
        g_string_append_c(text, '\n');
    }
}

static void draw_cpus(Drawing *d, const HostCpu **cpus, unsigned n)
{
    for (unsigned i = 0, end; i < n; i = end) {
        bool new_node = !i || cpus[i]->node != cpus[i - 1]->node;

        if (new_node) {
            end_line(d->text);
            draw_node(d, cpus[i]->node, cpus + i, n - i);
        }
        if (new_node || cpus[i]->llc != cpus[i - 1]->llc) {
            end_line(d->text);
            draw_cache(d, cpus[i]);
        }
        for (end = i + 1; end < n && cpus[end]->core == cpus[i]->core &&
             cpus[end]->core != HOST_UNKNOWN &&
             cpus[end]->llc == cpus[i]->llc &&
             cpus[end]->node == cpus[i]->node; end++) {
            continue;
        }
        draw_core(d, cpus + i, end - i);
    }
    end_line(d->text);
}

/* Nodes that have no CPUs, so that draw_cpus() did not come across them */
static void draw_rest(Drawing *d)
{
    const HostTopology *topo = d->map->topo;

    for (unsigned i = 0; i < topo->n_nodes; i++) {
        if (cpuset_is_empty(topo->nodes[i].cpus)) {
            draw_node(d, topo->nodes[i].node, NULL, 0);
        }
    }
}

/*
 * One line of the list.  What does not fit goes on below; a list of CPUs can
 * be cut at each comma.
 */
static void list_line(Drawing *d, const char *label, const char *list)
{
    size_t start = d->text->len;
    g_auto(GStrv) parts = g_strsplit(list, ",", 0);

    g_string_append_printf(d->text, "  %-12s ", label);
    for (char **part = parts; *part; part++) {
        size_t column = d->text->len - start;

        if (column + strlen(*part) + 1 > d->width && column > 15) {
            start = d->text->len + 1;
            g_string_append_printf(d->text, "\n%15s", "");
        }
        g_string_append_printf(d->text, "%s%s", *part, part[1] ? "," : "\n");
    }
}

/* A label of the list that is too long for its line has lines of its own */
static void list_label(Drawing *d, const char *label, const char *list)
{
    if (strlen(label) + 16 < d->width) {
        list_line(d, label, list);
    } else {
        list_line(d, "", label);
        list_line(d, "  on", list);
    }
}

/* Lines of the list: host CPUs of a node that have the same on them */
static void list_node(Drawing *d, const HostCpu **cpus, unsigned n)
{
    g_auto(GStrv) labels = g_new0(char *, n + 1);
    g_autofree bool *done = g_new0(bool, n);

    for (unsigned i = 0; i < n; i++) {
        labels[i] = host_map_label(d->map, cpus[i]->cpu);
    }
    for (unsigned i = 0; i < n; i++) {
        g_autoptr(CpuSet) same = cpuset_new();
        g_autofree char *list = NULL;

        for (unsigned j = i; j < n && !done[i]; j++) {
            if (!strcmp(labels[i], labels[j])) {
                cpuset_add(same, cpus[j]->cpu);
                done[j] = j > i;
            }
        }
        if (!cpuset_is_empty(same)) {
            list = cpulist_format(same);
            list_label(d, d->map->placed ? labels[i] : "CPUs", list);
        }
    }
}

static void list_cpus(Drawing *d, const HostCpu **cpus, unsigned n)
{
    for (unsigned i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && cpus[end]->node == cpus[i]->node;
             end++) {
            continue;
        }
        draw_node(d, cpus[i]->node, cpus + i, n - i);
        list_node(d, cpus + i, end - i);
    }
}

static unsigned count_lines(const GString *text)
{
    unsigned n = 0;

    for (size_t i = 0; i < text->len; i++) {
        n += text->str[i] == '\n';
    }
    return n;
}

/* Break a line at the last gap before column @width */
static void fold(char *line, unsigned width)
{
    char *gap = NULL;

    for (char *next = strstr(line, "  "); next && next - line <= width;
         next = strstr(next + 2, "  ")) {
        gap = next;
    }
    if (strlen(line) > width && gap) {
        gap[0] = '\n';
        memmove(gap + 1, gap + 2, strlen(gap + 2) + 1);
    }
}

char *host_map_text(const HostMap *map, unsigned width)
{
    unsigned n;
    g_autofree const HostCpu **cpus = host_map_order(map->topo, &n);
    g_autoptr(GString) text = g_string_new("");
    Drawing d = { .map = map, .text = text, .width = MAX(width, 40) };

    measure(&d, cpus, n);
    draw_cpus(&d, cpus, n);
    if (count_lines(text) > MOST_LINES) {
        g_string_truncate(text, 0);
        list_cpus(&d, cpus, n);
    }
    draw_rest(&d);
    if (map->placed) {
        g_autofree char *legend = host_map_legend(map);

        fold(legend, width);
        g_string_append_printf(text, "%s\n", legend);
    }
    return g_strdup(text->str);
}
