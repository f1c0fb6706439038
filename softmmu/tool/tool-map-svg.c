/*
 * qemu-pinning map: the host as a picture
 *
 * Boxes in boxes: nodes, caches, cores, CPUs.  A CPU has the colour of the
 * lowest vCPU on it, so that vCPUs with the same CPUs look alike.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "tool.h"

/* Everything is in pixels */
#define CPU_WIDTH 46
#define CPU_HEIGHT 30
#define GAP 4
#define TITLE 16
/* A node is about as wide as this, then caches go into another row */
#define NODE_WIDTH 560
/* So is the picture, then nodes do */
#define PAGE_WIDTH 1180

typedef struct Picture {
    const HostTopology *topo;
    const HostMap *map;
    GString *svg;
    unsigned right, bottom;     /* of everything drawn */
} Picture;

/* A box that is filled from left to right, row by row */
typedef struct Flow {
    unsigned left, top;
    unsigned x, y;              /* where the next one goes */
    unsigned row;               /* height of the row */
    unsigned right;             /* of the longest row */
    unsigned width;             /* a row is not longer, if it can be helped */
} Flow;

static Flow flow_start(unsigned left, unsigned top, unsigned width)
{
    return (Flow) { left, top, left, top, 0, left, width };
}

static void flow_place(Flow *f, unsigned width)
{
    if (f->x > f->left && f->x + width > f->left + f->width) {
        f->x = f->left;
        f->y += f->row + GAP;
        f->row = 0;
    }
}

static void flow_add(Flow *f, unsigned width, unsigned height)
{
    f->x += width + GAP;
    f->row = MAX(f->row, height);
    f->right = MAX(f->right, f->x - GAP);
}

static unsigned flow_bottom(const Flow *f)
{
    return f->y + f->row;
}

static void draw_box(Picture *p, unsigned x, unsigned y, unsigned width,
                     unsigned height, const char *fill)
{
    g_string_append_printf(p->svg, "<rect x=\"%u\" y=\"%u\" width=\"%u\" "
                           "height=\"%u\" rx=\"3\" fill=\"%s\" "
                           "stroke=\"#888\"/>\n", x, y, width, height, fill);
    p->right = MAX(p->right, x + width);
    p->bottom = MAX(p->bottom, y + height);
}

static void draw_text(Picture *p, unsigned x, unsigned y, const char *class,
                      const char *text)
{
    g_string_append_printf(p->svg, "<text x=\"%u\" y=\"%u\" class=\"%s\">%s"
                           "</text>\n", x, y, class, text);
}

/* Neighbouring vCPUs differ clearly: the golden angle between their hues */
static char *colour_of(const Picture *p, unsigned cpu)
{
    const CpuSet *vcpus = host_map_vcpus(p->map, cpu);
    g_autofree char *label = host_map_label(p->map, cpu);

    if (vcpus) {
        return g_strdup_printf("hsl(%u, 70%%, 78%%)",
                               cpuset_first(vcpus) * 137 % 360);
    }
    return g_strdup(!strcmp(label, "#") ? "#999"
                    : !strcmp(label, "io") ? "#dfe8f2"
                    : !strcmp(label, "h") ? "#f2efdf" : "#fff");
}

static void draw_cpu(Picture *p, const HostCpu *c, unsigned x, unsigned y)
{
    g_autofree char *label = host_map_label(p->map, c->cpu);
    g_autofree char *colour = colour_of(p, c->cpu);
    g_autofree char *number = g_strdup_printf("%u", c->cpu);

    draw_box(p, x, y, CPU_WIDTH, CPU_HEIGHT, colour);
    draw_text(p, x + 3, y + 11, "n", number);
    if (strlen(label) > 7) {
        strcpy(label + 6, "+");
    }
    if (strcmp(label, ".")) {
        draw_text(p, x + 3, y + 25, "v", label);
    }
}

static unsigned draw_core(Picture *p, const HostCpu **cpus, unsigned n,
                          Flow *f)
{
    unsigned len = 1, width, height = CPU_HEIGHT + 2 * GAP;

    while (len < n && cpus[len]->core == cpus[0]->core &&
           cpus[len]->core != HOST_UNKNOWN &&
           cpus[len]->llc == cpus[0]->llc) {
        len++;
    }
    width = len * (CPU_WIDTH + GAP) + GAP;
    flow_place(f, width);
    draw_box(p, f->x, f->y, width, height, "#e4e4e4");
    for (unsigned i = 0; i < len; i++) {
        draw_cpu(p, cpus[i], f->x + GAP + i * (CPU_WIDTH + GAP), f->y + GAP);
    }
    flow_add(f, width, height);
    return len;
}

static void draw_cores(Picture *p, const HostCpu **cpus, unsigned n, Flow *f)
{
    for (unsigned i = 0; i < n;) {
        i += draw_core(p, cpus + i, n - i, f);
    }
}

/*
 * A box is drawn before what is in it, and its size known after: so what is
 * in it goes to a string of its own.
 */
static GString *begin_box(Picture *p)
{
    GString *outer = p->svg;

    p->svg = g_string_new("");
    return outer;
}

static void end_box(Picture *p, GString *outer, const Flow *inner,
                    const char *title, const char *fill, Flow *f)
{
    g_autoptr(GString) content = p->svg;
    unsigned width, height = flow_bottom(inner) + GAP - f->y;

    width = MAX(inner->right + GAP - f->x, strlen(title) * 7 + 2 * GAP);
    p->svg = outer;
    draw_box(p, f->x, f->y, width, height, fill);
    draw_text(p, f->x + GAP, f->y + TITLE - 4, "t", title);
    g_string_append_len(p->svg, content->str, content->len);
    flow_add(f, width, height);
}

static unsigned cache_width(const HostCpu **cpus, unsigned n)
{
    unsigned cores = 0;

    for (unsigned i = 0; i < n; i++) {
        cores += !i || cpus[i]->core != cpus[i - 1]->core;
    }
    return MIN(n * (CPU_WIDTH + GAP) + cores * 2 * GAP + 2 * GAP,
               NODE_WIDTH);
}

static unsigned draw_cache(Picture *p, const HostCpu **cpus, unsigned n,
                           Flow *f)
{
    g_autofree char *title = cpus[0]->llc == HOST_UNKNOWN
        ? g_strdup("") : g_strdup_printf("cache %d", cpus[0]->llc);
    unsigned len = 1;
    GString *outer;
    Flow inner;

    while (len < n && cpus[len]->llc == cpus[0]->llc) {
        len++;
    }
    flow_place(f, cache_width(cpus, len));
    outer = begin_box(p);
    inner = flow_start(f->x + GAP, f->y + TITLE, NODE_WIDTH - 4 * GAP);
    draw_cores(p, cpus, len, &inner);
    end_box(p, outer, &inner, title, "#f4f4f4", f);
    return len;
}

static char *node_title(const HostTopology *topo, int node)
{
    const HostNode *n = node < 0 ? NULL : host_topology_node(topo, node);
    g_autoptr(GString) text = g_string_new("");

    if (!n) {
        return g_strdup("no node");
    }
    g_string_append_printf(text, "node %d", node);
    if (n->memory == 0) {
        g_string_append(text, ", no memory");
    } else if (n->memory != HOST_UNKNOWN) {
        g_string_append_printf(text, ", %.1f GiB",
                               (double)n->memory / (1 << 30));
    }
    return g_strdup(text->str);
}

static void draw_node(Picture *p, int node, const HostCpu **cpus, unsigned n,
                      Flow *f)
{
    g_autofree char *title = node_title(p->topo, node);
    GString *outer;
    Flow inner;

    flow_place(f, cache_width(cpus, n) + 2 * GAP);
    outer = begin_box(p);
    inner = flow_start(f->x + GAP, f->y + TITLE, NODE_WIDTH);
    for (unsigned i = 0; i < n;) {
        i += draw_cache(p, cpus + i, n - i, &inner);
    }
    end_box(p, outer, &inner, title, "#fafafa", f);
}

static void draw_nodes(Picture *p, Flow *f)
{
    unsigned n;
    g_autofree const HostCpu **cpus = host_map_order(p->topo, &n);

    for (unsigned i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && cpus[end]->node == cpus[i]->node;
             end++) {
            continue;
        }
        draw_node(p, cpus[i]->node, cpus + i, end - i, f);
    }
    for (unsigned i = 0; i < p->topo->n_nodes; i++) {
        const HostNode *node = &p->topo->nodes[i];

        if (cpuset_is_empty(node->cpus)) {
            draw_node(p, node->node, NULL, 0, f);
        }
    }
}

char *tool_map_svg(const HostTopology *topo, const HostMap *map,
                   const PinningPlan *plan)
{
    g_autofree char *legend = host_map_legend(map);
    g_autofree char *title = plan
        ? g_strdup_printf("pinning=%s", PinningMode_str(plan->mode))
        : g_strdup("host");
    g_autoptr(GString) svg = g_string_new("");
    g_autoptr(GString) body = g_string_new("");
    Picture p = { .topo = topo, .map = map, .svg = body };
    Flow page = flow_start(2 * GAP, 2 * TITLE, PAGE_WIDTH);

    draw_text(&p, 2 * GAP, TITLE, "t", title);
    draw_nodes(&p, &page);
    if (plan) {
        draw_text(&p, 2 * GAP, flow_bottom(&page) + TITLE + GAP, "t", legend);
        p.right = MAX(p.right, strlen(legend) * 7);
    }
    g_string_append_printf(
        svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
        "height=\"%u\">\n<style>text { font-family: sans-serif; } "
        ".t { font-size: 12px; } .n { font-size: 10px; fill: #555; } "
        ".v { font-size: 12px; font-weight: bold; }</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n",
        p.right + 2 * GAP, flow_bottom(&page) + 3 * TITLE, body->str);
    return g_strdup(svg->str);
}
