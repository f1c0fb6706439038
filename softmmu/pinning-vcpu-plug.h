/*
 * vCPUs that are to run later: is there still room for them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_VCPU_PLUG_H
#define SOFTMMU_PINNING_VCPU_PLUG_H

#include "qapi/qapi-types-pinning.h"

/**
 * pinning_vcpu_has_room:
 * @place: where the plan has a vCPU
 * @errp: pointer to error object
 *
 * The plan is older than this moment: host CPUs may be offline by now, or
 * outside of the cpuset.
 *
 * Returns: whether a thread can be there; if not, @errp is set.
 */
bool pinning_vcpu_has_room(const PinningVcpuPlan *place, Error **errp);

/**
 * pinning_vcpu_plug_watch:
 *
 * From now on, device_add of a vCPU whose host CPUs are not there any more is
 * refused, before there is a device that the guest could see.  Incoming
 * migration is refused for the same reason, before RAM is read.
 */
void pinning_vcpu_plug_watch(void);

#endif /* SOFTMMU_PINNING_VCPU_PLUG_H */
