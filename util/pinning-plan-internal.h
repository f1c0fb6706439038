/*
 * Choosing where a virtual machine goes: what the parts share
 *
 * The parts work on arrays that refer to each other by index.  CPUs are
 * sorted by place, cache, core and number, so that the CPUs of a core, the
 * cores of a cache and so on are runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef PINNING_PLAN_INTERNAL_H
#define PINNING_PLAN_INTERNAL_H

#include "qemu/pinning-plan.h"

/* The load of one vCPU that counts on one CPU only; see PinningTakenCpu */
#define PLAN_VCPU 1000

/* Up to so many places all assignments are considered */
#define PLAN_EXACT_PLACES 16

#define PLAN_MIB (1024 * 1024)

/* PinningOptions with defaults filled in and lists parsed */
typedef struct PlanWishes {
    PinningMode mode;
    PinningSmt smt;
    PinningCpuKind cpu_kind;
    PinningStrategy strategy;
    PinningMemory memory;
    bool memory_given;
    bool vnuma;
    bool host_topology;
    bool exclusive;
    CpuSet *cpus;           /* NULL: not given; so for the others */
    CpuSet *hostnodes;
    CpuSet *emulator_cpus;
    CpuSet *io_cpus;
} PlanWishes;

/* PinningTaken with lists parsed */
typedef struct PlanOthers {
    CpuSet *exclusive;
    CpuSet *parked;
    char *owners;           /* of exclusive and parked CPUs, for messages */
    uint32_t *load;         /* by host CPU number */
    unsigned load_len;
    PinningTakenNodeList *nodes;
    unsigned rotation;
} PlanOthers;

typedef struct PlanCpu {
    unsigned cpu;
    unsigned core;
    unsigned load;          /* of others */
    bool used;              /* handed out to a vCPU */
} PlanCpu;

typedef struct PlanCore {
    unsigned first_cpu, n_cpus;
    unsigned llc;
    uint64_t load;          /* sum of its CPUs */
    unsigned peak;          /* largest of its CPUs */
    bool isolated;
    unsigned used;          /* CPUs handed out */
} PlanCore;

typedef struct PlanLlc {
    unsigned first_core, n_cores;
    unsigned place;
} PlanLlc;

/* A host node as far as the machine may run there */
typedef struct PlanPlace {
    int node;               /* HOST_UNKNOWN: CPUs that no node claims */
    unsigned first_cpu, n_cpus;
    unsigned first_core, n_cores;
    unsigned first_llc, n_llcs;
    uint64_t load;          /* of others, on those CPUs */
    int memory;             /* nearest node with memory, -1: none */
    unsigned detour;        /* distance to it beyond a local one */
    bool device;            /* an assigned device is attached here */
} PlanPlace;

/* A host node whose memory may be used, in pages of one size */
typedef struct PlanMemory {
    unsigned node;
    uint64_t page_size;     /* 0: ordinary ones */
    bool known;             /* else the host tells nothing, nothing limits */
    uint64_t free;          /* bytes that are free and promised to nobody */
    uint64_t total;         /* bytes that are promised to nobody */
    uint64_t pool;          /* bytes in all */
} PlanMemory;

typedef struct PlanHost {
    PlanCpu *cpus;
    PlanCore *cores;
    PlanLlc *llcs;
    PlanPlace *places;
    PlanMemory *memories;   /* n_memories * n_sizes, by node */
    uint64_t *page_sizes;   /* that the machine has */
    unsigned n_cpus, n_cores, n_llcs, n_places, n_memories, n_sizes;
    uint32_t *distance;     /* n_places * n_places, both ways added */
} PlanHost;

/* What is placed as one: a guest node, or the whole machine */
typedef struct PlanUnit {
    unsigned guest_node;
    const PinningGuestNode *wish;   /* NULL: the machine, or made by vnuma */
    CpuSet *vcpus;
    unsigned n_vcpus;       /* threads to place, see one_thread */
    unsigned n_chunks;      /* sets of vCPUs that want a core each */
    uint64_t size;          /* of its memory, bytes */
    unsigned page_size;     /* index into page_sizes */
    bool prealloc;          /* its memory is touched before it runs */
    bool binds;             /* memory is to be bound where it goes */
    bool fixed;             /* host nodes are given */
    unsigned *places;       /* chosen; indexes */
    unsigned n_places;
    CpuSet *memory_nodes;   /* chosen; host nodes */
    HostMemPolicy policy;
    char *reason;
    char *memory_reason;
} PlanUnit;

/* How much of a place can be counted on */
typedef enum PlanLevel {
    PLAN_OWN_CORES,         /* a core for each chunk */
    PLAN_SIBLINGS,          /* chunks share cores */
    PLAN_SHARED,            /* vCPUs share host CPUs */
} PlanLevel;

typedef enum PlanRoom {
    PLAN_FREE,              /* memory that is free and nobody's */
    PLAN_TOTAL,             /* memory that others could give up */
    PLAN_ANY,               /* as if there were no end of it */
} PlanRoom;

/* What an assignment costs; smaller is better in all of them */
typedef enum PlanCost {
    COST_CPU_LACK,          /* cores missing on the host nodes chosen */
    COST_MEMORY_LACK,       /* MiB missing there, if memory is bound */
    COST_NODES,             /* host nodes used */
    COST_SHARED,            /* pairs of guest nodes on one host node */
    COST_MEMORY_SHORT,      /* MiB missing, if memory is not bound */
    COST_CROWD,             /* cores missing if others use what they have */
    COST_NO_DEVICE,         /* host nodes used without assigned device */
    COST_DETOUR,            /* distance of host nodes from their memory */
    COST_INNER,             /* distance inside the guest nodes */
    COST_APART,             /* distance between all host nodes used */
    COST_MEMORY,            /* MiB less than the emptiest has, or more */
    COST_LOAD,              /* vCPUs of others */
    COST__MAX,
} PlanCost;

typedef struct PlanScore {
    int64_t cost[COST__MAX];
} PlanScore;

typedef struct Planner {
    const HostTopology *topo;
    const PinningRequest *req;
    PlanWishes wishes;
    PlanOthers others;
    CpuSet *usable;         /* host CPUs that vCPUs may have */
    CpuSet *bound;          /* host CPUs that any thread may have */
    GString *left_out;      /* why usable is less than bound, for errors */
    char *kind_text;        /* the kind of core chosen, NULL on one kind */
    PlanHost host;
    PlanUnit *units;
    unsigned n_units;
    bool guest_nodes;       /* units are guest nodes */
    unsigned chunk;         /* vCPUs that go to the siblings of one core */
    PlanLevel level;        /* that the choice was made at */
    PlanRoom room;
    PlanScore score;        /* of the choice */
    unsigned *vcpu_place;   /* by vCPU, for spread and one-to-one */
    CpuSet **vcpu_cpus;     /* by vCPU; one object may stand for many */
    GPtrArray *cpu_sets;    /* that own those */
    char **vcpu_reason;
    CpuSet *single;         /* host CPUs given to one vCPU alone */
    CpuSet *parked;
    CpuSet *emulator_cpus;
    CpuSet *io_cpus;
    PinningTopologyPlan guest;
    GPtrArray *warnings;    /* of char * */
} Planner;

/* A vCPU on the place that it was given */
typedef struct PlanSeat {
    const PlanUnit *unit;
    unsigned vcpu;
    unsigned chunk;         /* counted through on the place */
    bool new_block;         /* begins what the guest takes for one cache */
} PlanSeat;

typedef struct PlanTrial PlanTrial;

/* pinning-plan-input.c: options and what is taken */
bool plan_read_wishes(Planner *p, Error **errp);
bool plan_read_others(Planner *p, const PinningTaken *taken, Error **errp);
void plan_wishes_clear(PlanWishes *w);
void plan_others_clear(PlanOthers *o);
unsigned plan_load_of(const PlanOthers *o, unsigned cpu);

/* pinning-plan-usable.c: the host CPUs that may be used */
bool plan_find_usable(Planner *p, Error **errp);
char *plan_left_out_text(const Planner *p);

/* pinning-plan-kind.c: kinds of CPU */
bool plan_choose_kind(Planner *p, Error **errp);

/* pinning-plan-host.c: places, caches, cores, memory */
void plan_map_host(Planner *p);
void plan_host_clear(PlanHost *h);
int plan_core_of(const HostCpu *c);
int plan_place_of_node(const Planner *p, unsigned node);
unsigned plan_page_size_index(const Planner *p, uint64_t page_size);
PlanMemory *plan_memory(const Planner *p, const PlanUnit *u,
                        unsigned memory);

/* pinning-plan-units.c: what is placed */
bool plan_make_units(Planner *p, Error **errp);
bool plan_cut_machine(Planner *p);
void plan_units_clear(Planner *p);
unsigned plan_vcpu_threads(const Planner *p);

/* pinning-plan-size.c: how much it needs */
bool plan_size_units(Planner *p, Error **errp);
void plan_count_chunks(Planner *p);

/* pinning-plan-score.c: what an assignment costs */
PlanTrial *plan_trial_new(const Planner *p, PlanLevel level, PlanRoom room);
void plan_trial_free(PlanTrial *t);
unsigned plan_trial_capacity(const PlanTrial *t, unsigned place);
unsigned plan_trial_users(const PlanTrial *t, unsigned place);
bool plan_trial_fits(const PlanTrial *t, const PlanUnit *u,
                     const unsigned *places, unsigned n);
void plan_trial_cost(const PlanTrial *t, const PlanUnit *u,
                     const unsigned *places, unsigned n, PlanScore *score);
void plan_trial_add(PlanTrial *t, const PlanUnit *u,
                    const unsigned *places, unsigned n);
void plan_trial_remove(PlanTrial *t, const PlanUnit *u,
                       const unsigned *places, unsigned n);
const PlanScore *plan_trial_score(const PlanTrial *t);
/* What a unit adds at least by being the first on @place */
void plan_trial_opening(const PlanTrial *t, unsigned place, PlanScore *score);
const PlanCost *plan_cost_order(const Planner *p);
int plan_score_compare(const Planner *p, const PlanScore *a,
                       const PlanScore *b);

/* pinning-plan-search.c: the best assignment, or a good one */
void plan_search(Planner *p, PlanLevel level, PlanRoom room);

/* pinning-plan-nodes.c: host nodes for the units */
bool plan_choose_nodes(Planner *p, Error **errp);
bool plan_is_enough(const Planner *p);
void plan_give_reasons(Planner *p);

/* pinning-plan-share.c: vCPUs to the places of their unit */
bool plan_share_places(Planner *p, Error **errp);
unsigned plan_block_chunks(const Planner *p);

/* pinning-plan-cpus.c: host CPUs that vCPUs share */
void plan_float(Planner *p);
void plan_spread(Planner *p);
void plan_follow(Planner *p, const PlanUnit *lead);
GArray *plan_seats(const Planner *p, unsigned place);
void plan_give(Planner *p, unsigned vcpu, CpuSet *cpus, char *reason);
CpuSet *plan_own_set(Planner *p, CpuSet *set);

/* pinning-plan-hand-out.c: a host CPU for each vCPU */
void plan_hand_out(Planner *p);

/* pinning-plan-memory.c: memory */
bool plan_place_memory(Planner *p, Error **errp);

/* pinning-plan-helpers.c: all other threads */
bool plan_place_helpers(Planner *p, Error **errp);

/* pinning-plan-guest.c: what the guest sees */
void plan_guest_topology(Planner *p);

/* pinning-plan-reason.c: words */
void G_GNUC_PRINTF(2, 3) plan_warn(Planner *p, const char *fmt, ...);
char *plan_list_text(const CpuSet *set);
char *plan_size_text(uint64_t bytes);
bool plan_unit_has_place(const PlanUnit *u, unsigned place);
char *plan_places_text(const Planner *p, const unsigned *places, unsigned n);
char *plan_node_reason(const Planner *p, const PlanTrial *t,
                       const PlanUnit *u);

/* pinning-plan-report.c: the plan as QAPI has it */
PinningPlan *plan_report(const Planner *p);

#endif /* PINNING_PLAN_INTERNAL_H */
