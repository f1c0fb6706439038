/*
 * qemu-pinning map: the host with a machine on it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/ioctl.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "tool.h"

/* Columns of the terminal, of a wide page where there is none */
static bool find_width(const char *wish, unsigned *width, Error **errp)
{
    struct winsize size;

    *width = 80;
    if (wish) {
        if (qemu_strtoui(wish, NULL, 10, width) < 0 || *width < 40 ||
            *width > 10000) {
            error_setg(errp, "Parameter 'width' expects a number from 40 to "
                       "10000, not '%s'", wish);
            return false;
        }
    } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
               size.ws_col >= 40) {
        *width = size.ws_col;
    }
    return true;
}

static bool write_svg(const char *file, const char *svg, Error **errp)
{
    g_autoptr(GError) gerr = NULL;

    if (!g_file_set_contents(file, svg, -1, &gerr)) {
        error_setg(errp, "cannot write '%s': %s", file, gerr->message);
        return false;
    }
    return true;
}

static int draw(const ToolArgs *args, const HostTopology *topo,
                const PinningPlan *plan, Error **errp)
{
    g_autoptr(HostMap) map = plan ? host_map_new_plan(topo, plan)
                                  : host_map_new(topo);
    g_autofree char *text = NULL;
    const strList *l;
    unsigned width;

    if (args->svg) {
        text = tool_map_svg(topo, map, plan);
        return write_svg(args->svg, text, errp) ? 0 : 1;
    }
    if (!find_width(args->width, &width, errp)) {
        return 1;
    }
    text = host_map_text(map, width);
    printf("%s", text);
    for (l = plan ? plan->warnings : NULL; l; l = l->next) {
        printf("warning: %s\n", l->value);
    }
    return 0;
}

int tool_map(const ToolArgs *args, Error **errp)
{
    g_auto(ToolMachine) machine = { 0 };
    g_autoptr(HostTopology) topo = NULL;
    g_autoptr(PinningPlan) plan = NULL;

    if (!tool_machine_init(&machine, args, errp)) {
        return 1;
    }
    topo = tool_host_new(args, errp);
    if (!topo) {
        return 1;
    }
    if (machine.options->has_mode) {
        plan = pinning_plan_new(topo, &machine.req, machine.taken, errp);
        if (!plan) {
            return 1;
        }
    }
    return draw(args, topo, plan, errp);
}
