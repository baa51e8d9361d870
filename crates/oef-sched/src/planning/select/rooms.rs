//! What there is still to give: GPUs that are free, what tenants may have by their limits, and what is kept for gangs.

use super::deficit::Selection;
use super::pick::{Pick, Types};
use crate::ids::{Slot, TenantKey};
use crate::reason::StartReason;

impl Selection<'_> {
    /// Takes what is left of its tenant's limit for a gang that waited; false: others have it.
    pub(crate) fn take_room(&mut self, slot: Slot, gpu: usize) -> bool {
        let spec = &self.state.at(slot).spec;
        if !self.is_within_type_limits(slot, &Types::One(gpu)) {
            return false;
        }
        let room = &mut self.room[spec.tenant.0];
        let left = room.checked_sub(spec.workers);
        *room = left.unwrap_or(*room);
        if left.is_some() {
            self.charge_rooms(slot, &Types::One(gpu));
        }
        left.is_some()
    }

    /// Whether an owed gang waits for a type behind jobs that stay.
    pub(super) fn is_reserved(&self, gpu: usize) -> bool {
        !self.reserved[gpu].is_empty()
    }

    pub(super) fn reserve_all(&mut self, slot: Slot) {
        let job = self.state.at(slot);
        for gpu in 0..self.free.len() {
            if self.state.may_use(job, gpu) {
                self.reserved[gpu].insert(slot);
            }
        }
    }

    /// How many more GPUs the tenant of a queue may be given.
    pub(super) fn room_of(&self, queue: usize) -> u32 {
        let workload = self.queues.all[queue].workload;
        self.room[self.state.workloads()[workload.0].tenant.0]
    }

    /// How many more GPUs of a type the tenant of a queue may be given.
    pub(super) fn room_on(&self, queue: usize, gpu: usize) -> u32 {
        let tenant = self.state.workloads()[self.queues.all[queue].workload.0].tenant;
        let on_type = self.limits.as_ref().map_or(u32::MAX, |limits| limits.least(tenant, gpu));
        self.room[tenant.0].min(on_type)
    }

    /// GPUs of a type that are not given yet and that the tenant of a job may be given.
    pub(super) fn free_for(&self, slot: Slot, gpu: usize) -> u32 {
        let tenant = self.state.at(slot).spec.tenant;
        let on_type = self.limits.as_ref().map_or(u32::MAX, |limits| limits.least(tenant, gpu));
        self.free[gpu].min(on_type)
    }

    /// Whether the tenant of a job may be given its GPUs, by the limits of their types.
    pub(super) fn is_within_type_limits(&self, slot: Slot, types: &Types) -> bool {
        let Some(limits) = &self.limits else { return true };
        let (spec, mut within) = (&self.state.at(slot).spec, true);
        types.each(spec.workers, |gpu, count| within &= count <= limits.least(spec.tenant, gpu));
        within
    }

    /// Counts GPUs that a job is given in the limits and guarantees of its tenant.
    pub(super) fn charge_rooms(&mut self, slot: Slot, types: &Types) {
        let spec = &self.state.at(slot).spec;
        for rooms in [&mut self.limits, &mut self.guarantees].into_iter().flatten() {
            types.each(spec.workers, |gpu, count| rooms.charge(spec.tenant, gpu, count));
        }
    }

    /// Counts GPUs that it is not given after all.
    pub(super) fn credit_rooms(&mut self, slot: Slot, types: &Types) {
        let spec = &self.state.at(slot).spec;
        for rooms in [&mut self.limits, &mut self.guarantees].into_iter().flatten() {
            types.each(spec.workers, |gpu, count| rooms.credit(spec.tenant, gpu, count));
        }
    }

    /// Whether the tenant of a job may be given its GPUs.
    pub fn is_within_limit(&self, slot: Slot) -> bool {
        let spec = &self.state.at(slot).spec;
        spec.workers <= self.room[spec.tenant.0]
    }

    /// Whether there is room for a job.
    pub fn fits(&self, slot: Slot, types: &Types) -> bool {
        let mut fits = self.is_within_limit(slot) && self.is_within_type_limits(slot, types);
        types.each(self.state.at(slot).spec.workers, |gpu, count| fits &= count <= self.free[gpu]);
        fits
    }

    /// Whether a start on a type is allowed: a reserved one takes only jobs that can afford to be stopped.
    pub fn may_start(&self, slot: Slot, gpu: usize) -> bool {
        let job = self.state.at(slot);
        let kept =
            self.is_reserved(gpu) || self.is_kept_for_a_gang(job.spec.tenant, job.spec.workers);
        !kept || self.state.may_be_stopped_again(job)
    }

    /// Whether a gang that is owed GPUs would no longer be within its tenant's limit beside so many more
    /// workers of the same tenant: those then only borrow what is left of the limit.
    fn is_kept_for_a_gang(&self, tenant: TenantKey, workers: u32) -> bool {
        let Some(limit) = self.state.tenants()[tenant.0].limit else { return false };
        let left = self.room[tenant.0].saturating_sub(workers);
        let of_tenant = |queue: &usize| {
            let workload = self.queues.all[*queue].workload;
            self.state.workloads()[workload.0].tenant == tenant
        };
        let waits = |queue: usize| {
            let lines = self.queues.lines(queue).iter().filter(|line| line.head.is_some());
            let mut gangs = lines.map(|line| line.class.workers).filter(|&gang| gang > workers);
            gangs.any(|gang| gang > left && gang <= limit)
                && self.queues.owed_in_all(queue, |_| true) > 0.0
        };
        (0..self.queues.all.len()).filter(of_tenant).any(waits)
    }

    /// Picks a job.
    pub fn take(&mut self, queue: usize, slot: Slot, types: Types, stays: bool, why: StartReason) {
        let spec = &self.state.at(slot).spec;
        let mut borrowed = self.is_kept_for_a_gang(spec.tenant, spec.workers);
        let room = &mut self.room[spec.tenant.0];
        *room = room.saturating_sub(spec.workers);
        self.has_some[spec.tenant.0] = true;
        self.charge_rooms(slot, &types);
        // What it waited for is no longer kept for it.
        self.reserved.iter_mut().for_each(|gangs| {
            gangs.remove(&slot);
        });
        let (free, queues, reserved) = (&mut self.free, &mut self.queues, &self.reserved);
        types.each(self.state.at(slot).spec.workers, |gpu, count| {
            borrowed |= !reserved[gpu].is_empty();
            free[gpu] = free[gpu].saturating_sub(count);
            queues.charge(queue, gpu, count);
        });
        queues.remove(queue, slot);
        let why = if borrowed { StartReason::Borrowed } else { why };
        self.picks.push(Pick { slot, types, stays, why });
    }
}
