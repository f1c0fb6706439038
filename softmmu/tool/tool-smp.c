/*
 * qemu-pinning: -smp
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-machine.h"
#include "qapi/qobject-input-visitor.h"
#include "qemu/keyval.h"
#include "tool.h"

/* As many as a machine of QEMU can have */
#define MOST_VCPUS 4096

static SMPConfiguration *visit_smp(const char *text, Error **errp)
{
    g_autoptr(QDict) dict = keyval_parse(text, "cpus", NULL, errp);
    SMPConfiguration *smp = NULL;
    Visitor *v;

    if (!dict) {
        return NULL;
    }
    v = qobject_input_visitor_new_keyval(QOBJECT(dict));
    visit_type_SMPConfiguration(v, NULL, &smp, errp);
    visit_free(v);
    return smp;
}

static bool check_counts(const SMPConfiguration *smp, Error **errp)
{
    const struct {
        const char *name;
        bool has;
        int64_t value;
    } counts[] = {
        { "cpus", smp->has_cpus, smp->cpus },
        { "maxcpus", smp->has_maxcpus, smp->maxcpus },
        { "sockets", smp->has_sockets, smp->sockets },
        { "dies", smp->has_dies, smp->dies },
        { "clusters", smp->has_clusters, smp->clusters },
        { "modules", smp->has_modules, smp->modules },
        { "cores", smp->has_cores, smp->cores },
        { "threads", smp->has_threads, smp->threads },
    };

    for (int i = 0; i < ARRAY_SIZE(counts); i++) {
        if (counts[i].has &&
            (counts[i].value < 1 || counts[i].value > MOST_VCPUS)) {
            error_setg(errp, "Parameter 'smp': %s=%" PRId64 " is not between "
                       "1 and %d", counts[i].name, counts[i].value,
                       MOST_VCPUS);
            return false;
        }
    }
    return true;
}

/* What is not said is one, but for cores, then sockets, then threads */
static void fill_gaps(PinningRequest *req, const SMPConfiguration *smp)
{
    unsigned known, total = smp->has_maxcpus ? smp->maxcpus
                            : smp->has_cpus ? smp->cpus : 0;

    req->dies = smp->has_dies ? smp->dies : 1;
    req->clusters = (smp->has_clusters ? smp->clusters : 1) *
                    (smp->has_modules ? smp->modules : 1);
    req->sockets = smp->has_sockets ? smp->sockets : 0;
    req->cores = smp->has_cores ? smp->cores : 0;
    req->threads = smp->has_threads ? smp->threads : 0;
    if (req->threads == 0 && !(total && req->cores && req->sockets)) {
        req->threads = 1;
    }
    if (req->sockets == 0 && !(total && req->cores)) {
        req->sockets = 1;
    }
    known = MAX(req->sockets, 1) * req->dies * req->clusters *
            MAX(req->cores, 1) * MAX(req->threads, 1);
    if (req->cores == 0) {
        req->cores = total ? total / known : 1;
    } else if (req->sockets == 0) {
        req->sockets = total / known;
    } else if (req->threads == 0) {
        req->threads = total / known;
    }
    req->vcpus = total ?: known;
}

bool tool_smp_parse(PinningRequest *req, const char *text, Error **errp)
{
    g_autoptr(SMPConfiguration) smp = visit_smp(text ?: "1", errp);
    uint64_t product;

    if (!smp || !check_counts(smp, errp)) {
        return false;
    }
    fill_gaps(req, smp);
    product = (uint64_t)req->sockets * req->dies * req->clusters *
              req->cores * req->threads;
    if (product != req->vcpus || req->vcpus > MOST_VCPUS) {
        error_setg(errp, "Parameter 'smp': sockets %u, dies %u, clusters "
                   "%u, cores %u, threads %u are not %u vCPUs", req->sockets,
                   req->dies, req->clusters, req->cores, req->threads,
                   req->vcpus);
        return false;
    }
    if (smp->has_cpus && smp->cpus > req->vcpus) {
        error_setg(errp, "Parameter 'smp': maxcpus=%u is less than cpus=%"
                   PRId64, req->vcpus, smp->cpus);
        return false;
    }
    return true;
}
