/*
 * Pinning options as properties of every accelerator
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/visitor.h"
#include "qemu/config-file.h"
#include "qemu/cpulist.h"
#include "qemu/error-report.h"
#include "qemu/option.h"
#include "qobject/qdict.h"
#include "qobject/qstring.h"
#include "qom/object.h"
#include "system/pinning-qemu.h"
#include "accel-props.h"

/* One member of PinningOptions */
typedef struct PinningProp {
    const char *name;
    const char *type;           /* QAPI type, for qom-list-properties */
    const char *description;
    size_t value;               /* offset of the member */
    size_t has;                 /* offset of its has_ flag; lists have none */
    bool (*visit)(Visitor *v, const char *name, void *value, Error **errp);
    const QEnumLookup *lookup;  /* words of an enumeration */
} PinningProp;

/*
 * Options exist before there is a place for them in the accelerator's
 * instance: AccelState has no room, and some accelerators have no instance
 * of their own.  An accelerator that fails to initialize leaves its options
 * behind here, so that they must not be taken for those of the next.
 */
static AccelState *owner;
static PinningOptions *options;

#define VISIT(Type) \
    static bool visit_##Type(Visitor *v, const char *name, void *value, \
                             Error **errp) \
    { \
        return visit_type_##Type(v, name, value, errp); \
    }

VISIT(PinningMode)
VISIT(PinningSmt)
VISIT(PinningCpuKind)
VISIT(PinningStrategy)
VISIT(PinningMemory)
VISIT(PinningGuestTopology)
VISIT(PinningCoreSched)
VISIT(bool)
VISIT(uint32)
VISIT(str)

#define MEMBER(m) \
    .value = offsetof(PinningOptions, m), \
    .has = offsetof(PinningOptions, has_##m)
#define WORD(n, m, Type, d) \
    { .name = n, .type = #Type, .description = d, MEMBER(m), \
      .visit = visit_##Type, .lookup = &Type##_lookup }
#define FLAG(n, m, d) \
    { .name = n, .type = "bool", .description = d, MEMBER(m), \
      .visit = visit_bool }
#define TEXT(n, m, d) \
    { .name = n, .type = "str", .description = d, .visit = visit_str, \
      .value = offsetof(PinningOptions, m) }

static const PinningProp props[] = {
    WORD("pinning", mode, PinningMode,
         "How to place the machine on its host (none, balanced, numa, spread,"
         " one-to-one)"),
    TEXT("pinning-cpus", cpus, "Host CPUs that may be used at all"),
    TEXT("pinning-hostnodes", hostnodes, "Host nodes that may be used"),
    WORD("pinning-smt", smt, PinningSmt,
         "How SMT siblings are handed out (prefer, isolate, require)"),
    WORD("pinning-cpu-kind", cpu_kind, PinningCpuKind,
         "Kind of core to use (largest, performance, efficient, any)"),
    WORD("pinning-strategy", strategy, PinningStrategy,
         "Host node to take among equals (spread, pack)"),
    WORD("pinning-memory", memory, PinningMemory,
         "Policy of automatic memory binding (bind, preferred, interleave,"
         " none)"),
    TEXT("pinning-emulator-cpus", emulator_cpus,
         "Host CPUs of the main loop and the helper threads"),
    TEXT("pinning-io-cpus", io_cpus,
         "Host CPUs of iothreads and vhost workers"),
    { .name = "pinning-io-share", .type = "uint32",
      .description = "How many workers one I/O CPU may carry",
      MEMBER(io_share), .visit = visit_uint32 },
    FLAG("pinning-vnuma", vnuma, "Make guest nodes when there are none"),
    WORD("pinning-guest-topology", guest_topology, PinningGuestTopology,
         "What the guest sees of its host CPUs (keep, host)"),
    FLAG("pinning-exclusive", exclusive, "Share host CPUs with nobody"),
    WORD("pinning-core-sched", core_sched, PinningCoreSched,
         "Core scheduling cookies (off, vm, vcpu)"),
    TEXT("pinning-registry", registry,
         "Directory of the reservations, or off"),
    FLAG("pinning-heal", heal,
         "Restore masks that a host CPU going offline has erased"),
};

static bool is_list(const PinningProp *prop)
{
    return g_str_has_suffix(prop->name, "cpus") ||
           g_str_has_suffix(prop->name, "nodes");
}

static void *member(const PinningProp *prop)
{
    return (char *)options + prop->value;
}

static void claim_options(Object *obj)
{
    if (owner != ACCEL(obj)) {
        qapi_free_PinningOptions(options);
        options = g_new0(PinningOptions, 1);
        owner = ACCEL(obj);
    }
}

static void hint_words(const QEnumLookup *lookup, Error **errp)
{
    int i;

    error_append_hint(errp, "Possible values:");
    for (i = 0; i < lookup->size; i++) {
        error_append_hint(errp, "%s %s", i ? "," : "",
                          qapi_enum_lookup(lookup, i));
    }
    error_append_hint(errp, ".\n");
}

/* A repeated list adds to what was given before */
static bool set_list(const PinningProp *prop, char **value, const char *text,
                     Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) set = cpulist_parse(text, errp);

    if (!set) {
        error_prepend(errp, "Parameter '%s': ", prop->name);
        error_append_hint(errp, "Write it like 0-3,8-11 (on the command line"
                          " a comma is doubled: 0-3,,8-11).\n");
        return false;
    }
    if (*value) {
        g_autoptr(CpuSet) before = cpulist_parse(*value, &error_abort);

        cpuset_or(set, before);
    }
    g_free(*value);
    *value = cpulist_format(set);
    return true;
}

static void set_prop(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    ERRP_GUARD();
    const PinningProp *prop = opaque;
    g_autofree char *text = NULL;

    if (phase_check(PHASE_ACCEL_CREATED)) {
        error_setg(errp, "Property '%s' cannot be set while the machine"
                   " exists", name);
        error_append_hint(errp, "Use the command set-pinning.\n");
        return;
    }
    claim_options(obj);
    if (prop->visit == visit_str) {
        if (!visit_type_str(v, name, &text, errp)) {
            return;
        }
        if (is_list(prop)) {
            set_list(prop, member(prop), text, errp);
        } else {
            g_free(*(char **)member(prop));
            *(char **)member(prop) = g_steal_pointer(&text);
        }
    } else if (prop->visit(v, name, member(prop), errp)) {
        *(bool *)((char *)options + prop->has) = true;
    } else if (prop->lookup) {
        hint_words(prop->lookup, errp);
    }
}

static void get_prop(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const PinningProp *prop = opaque;
    const PinningOptions *all = pinning_accel_props_get(ACCEL(obj));
    g_autofree char *text = NULL;

    if (prop->visit == visit_str) {
        text = g_strdup(*(char **)((char *)all + prop->value) ?: "");
        visit_type_str(v, name, &text, errp);
    } else {
        prop->visit(v, name, (char *)all + prop->value, errp);
    }
}

void pinning_accel_props_register(void)
{
    ObjectClass *accel = object_class_by_name(TYPE_ACCEL);
    int i;

    for (i = 0; i < ARRAY_SIZE(props); i++) {
        object_class_property_add(accel, props[i].name, props[i].type,
                                  get_prop, set_prop, NULL,
                                  (void *)&props[i]);
        object_class_property_set_description(accel, props[i].name,
                                              props[i].description);
    }
}

bool pinning_accel_props_take_sugar(QDict *machine_opts, Error **errp)
{
    const QDictEntry *entry = qdict_first(machine_opts);

    while (entry) {
        const char *key = qdict_entry_key(entry);
        const char *value = qdict_get_try_str(machine_opts, key);
        const QDictEntry *next = qdict_next(machine_opts, entry);

        if (g_str_has_prefix(key, "pinning")) {
            if (!value) {
                error_setg(errp, "Parameter '%s' of -machine expects a word"
                           " or a list", key);
                return false;
            }
            object_register_sugar_prop(TYPE_ACCEL, key, value, false);
            qdict_del(machine_opts, key);
        }
        entry = next;
    }
    return true;
}

static int find_pinning(void *opaque, const char *name, const char *value,
                        Error **errp)
{
    return g_str_has_prefix(name, "pinning");
}

static int opts_have_pinning(void *opaque, QemuOpts *opts, Error **errp)
{
    return qemu_opt_foreach(opts, find_pinning, NULL, NULL);
}

bool pinning_accel_props_used(void)
{
    return qemu_opts_foreach(qemu_find_opts("accel"), opts_have_pinning, NULL,
                             NULL);
}

typedef INIT_MACHINE(InitMachine);

static GHashTable *stock_init;      /* AccelClass -> its own init_machine() */
static void (*before_init)(MachineState *ms);

static INIT_MACHINE(init_machine)
{
    AccelClass *class = ACCEL_GET_CLASS(ms->accelerator);
    InitMachine *stock = g_hash_table_lookup(stock_init, class);

    before_init(ms);
    return CALL_INIT_MACHINE(stock);
}

static void watch_class(ObjectClass *class, void *opaque)
{
    AccelClass *accel = ACCEL_CLASS(class);

    if (accel->init_machine) {
        g_hash_table_insert(stock_init, accel, accel->init_machine);
        accel->init_machine = init_machine;
    }
}

/* An accelerator has no moment of its own for others to be called */
void pinning_accel_props_before_init(void (*fn)(MachineState *ms))
{
    before_init = fn;
    stock_init = g_hash_table_new(NULL, NULL);
    object_class_foreach(watch_class, TYPE_ACCEL, false, NULL);
}

/* The first of its name is the one that was initialized */
static int warn_unused(void *opaque, QemuOpts *opts, Error **errp)
{
    AccelClass **used = opaque;
    const char *name = qemu_opt_get(opts, "accel");

    if (*used && name && accel_find(name) == *used) {
        *used = NULL;
    } else if (opts_have_pinning(NULL, opts, NULL)) {
        warn_report("-accel %s: its pinning options have no effect,"
                    " accelerator '%s' is in use", name,
                    current_accel_name());
    }
    return 0;
}

void pinning_accel_props_warn_unused(AccelState *accel)
{
    AccelClass *used = ACCEL_GET_CLASS(accel);

    qemu_opts_foreach(qemu_find_opts("accel"), warn_unused, &used, NULL);
}

const PinningOptions *pinning_accel_props_get(AccelState *accel)
{
    static const PinningOptions unset;

    return owner == accel ? options : &unset;
}
