/*
 * qemu-pinning: what its parts share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef PINNING_TOOL_H
#define PINNING_TOOL_H

#include "qemu/host-map.h"
#include "qemu/pinning-plan.h"
#include "qobject/qdict.h"

/* What a subcommand understands; see ToolCommand.accepts */
#define TOOL_HOST   1       /* --root, --affinity */
#define TOOL_PLAN   2       /* --mode and all that describes a machine */
#define TOOL_JSON   4       /* --json */
#define TOOL_MAP    8       /* --svg, --width */
#define TOOL_TRIAL  16      /* --taken and what else only a trial has */
#define TOOL_RUN    32      /* a command to run, and how to record it */

/* Command line of a subcommand, words not yet understood */
typedef struct ToolArgs {
    char *root;
    char *affinity;
    QDict *pinning;         /* PinningOptions, as strings */
    char *smp;
    char *memory;
    char *page_size;
    bool prealloc;
    GPtrArray *numa;
    char *taken;
    char *device_nodes;
    bool json;
    char *svg;
    char *width;
    char *registry;
    char *name;
    char **command;         /* to be run; points into argv */
} ToolArgs;

/* A machine that the command line describes */
typedef struct ToolMachine {
    PinningOptions *options;
    PinningRequest req;
    PinningTaken *taken;
    CpuSet *device_nodes;
} ToolMachine;

/* A subcommand; its function returns the exit status */
typedef struct ToolCommand {
    const char *name;
    const char *what;       /* one line for --help */
    const char *usage;      /* what follows its name, or NULL: options */
    const char *more;       /* a paragraph for its --help, or NULL */
    unsigned accepts;       /* TOOL_... */
    int failure;            /* exit status after an error; 0 is 1 */
    int (*run)(const ToolArgs *args, Error **errp);
    /* in place of all but the first two: has a command line of its own */
    int (*main)(int argc, char **argv);
} ToolCommand;

/* tool-options.c */
bool tool_args_parse(ToolArgs *args, unsigned accepts, int argc, char **argv,
                     bool *help, Error **errp);
void tool_args_clear(ToolArgs *args);
void tool_print_options(unsigned accepts);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ToolArgs, tool_args_clear)

/* tool-machine.c */
HostTopology *tool_host_new(const ToolArgs *args, Error **errp);
bool tool_machine_init(ToolMachine *machine, const ToolArgs *args,
                       Error **errp);
void tool_machine_clear(ToolMachine *machine);
char *tool_machine_words(const ToolMachine *machine, const ToolArgs *args);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ToolMachine, tool_machine_clear)

/* tool-numa.c */
bool tool_numa_parse(PinningRequest *req, const GPtrArray *texts,
                     Error **errp);

/* tool-smp.c */
bool tool_smp_parse(PinningRequest *req, const char *text, Error **errp);

/* tool-taken.c */
PinningTaken *tool_taken_from_json(const char *json, Error **errp);
PinningTaken *tool_taken_from_file(const char *file, Error **errp);

/* tool-topology.c, tool-plan.c, tool-map.c */
int tool_topology(const ToolArgs *args, Error **errp);
int tool_plan(const ToolArgs *args, Error **errp);
int tool_map(const ToolArgs *args, Error **errp);

/* tool-map-svg.c */
char *tool_map_svg(const HostTopology *topo, const HostMap *map,
                   const PinningPlan *plan);

#endif /* PINNING_TOOL_H */
