//! The candidates of all workloads during a selection, in a few flat tables.

use crate::class::{Class, WaitingKey};
use crate::ids::{JobId, Slot, WorkloadKey};
use crate::job::Job;
use crate::order::Order;
use crate::promise::Rooms;
use crate::settings::pays;
use crate::state::State;
use crate::time::Span;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::btree_set;
use std::ops::Range;

/// A running job that may stay or go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub slot: Slot,
    /// The type of its GPUs; one beyond the last: several.
    pub gpu: usize,
    pub workers: u32,
    pub priority: i32,
    pub ran: Span,
    /// It has had its turn: a waiting job of the same priority goes first.
    pub had_its_turn: bool,
    id: JobId,
    gone: bool,
}

impl Running {
    pub fn new(state: &State, slot: Slot, job: &Job, gpu: usize) -> Self {
        let ran = state.running_for(job);
        Running {
            slot,
            gpu,
            workers: job.spec.workers,
            priority: job.spec.priority,
            ran,
            had_its_turn: state.tenants()[job.spec.tenant.0].order == Order::Fair
                && ran >= state.own_turn_of(job),
            id: job.spec.id,
            gone: false,
        }
    }

    /// Who should stay longest is first.
    fn order(&self) -> (Reverse<i32>, Span, JobId) {
        (Reverse(self.priority), self.ran, self.id)
    }
}

/// The waiting jobs of one class that are not yet picked.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub class: &'a Class,
    /// A gang of it fits on no single type.
    pub spans: bool,
    /// Who is next.
    pub head: Option<WaitingKey>,
    rest: btree_set::Range<'a, WaitingKey>,
}

/// One workload of a selection.
#[derive(Debug)]
pub(crate) struct Queue {
    pub workload: WorkloadKey,
    lines: Range<usize>,
    /// GPUs given beyond any entitlement in this selection.
    pub extra: f64,
    /// Some gang of it is, or has to be, spread over several types.
    pub spans: bool,
    /// Jobs of it that are not yet picked.
    pub open: u32,
    /// Those of them that run.
    pub running: u32,
}

/// All workloads of a selection with their jobs.
#[derive(Debug)]
pub(crate) struct Queues<'a> {
    state: &'a State,
    types: usize,
    pub all: Vec<Queue>,
    lines: Vec<Line<'a>>,
    running: Vec<Running>,
    /// By queue and type: where the running jobs stand.
    ranges: Vec<Range<usize>>,
    /// What each queue is owed of each type, with the share of the round and without what it was given.
    owed: Vec<f64>,
    /// By slot.
    picked: Vec<bool>,
    /// What tenants may have of each type at most.
    limits: Option<Rooms>,
}

impl<'a> Queues<'a> {
    pub fn new(state: &'a State) -> Self {
        let (types, most) = (state.cluster().types().len(), state.active_workloads().len());
        Queues {
            state,
            types,
            all: Vec::with_capacity(most),
            lines: Vec::with_capacity(most),
            running: Vec::new(),
            ranges: Vec::with_capacity(most * (types + 1)),
            owed: Vec::with_capacity(most * types),
            picked: vec![false; state.slots()],
            limits: Rooms::limits(state),
        }
    }

    /// Adds a workload with its running jobs that may be stopped.
    pub fn add(
        &mut self,
        workload: WorkloadKey,
        owed: impl Iterator<Item = f64>,
        running: &mut [Running],
    ) {
        let of = &self.state.workloads()[workload.0];
        let capacity = self.capacity(workload);
        self.owed.extend(owed);
        running.sort_unstable_by_key(|h| (h.gpu, h.order()));
        let mut rest = &*running;
        for gpu in 0..=self.types {
            let here = rest.iter().take_while(|h| h.gpu == gpu).count();
            self.ranges.push(self.running.len()..self.running.len() + here);
            self.running.extend(&rest[..here]);
            rest = &rest[here..];
        }
        let first = self.lines.len();
        let mut spans = running.last().is_some_and(|h| h.gpu == self.types);
        for class in of.classes.iter().filter(|_| of.waits > 0) {
            let mut rest = class.waiting.range(..);
            let Some(&head) = rest.next() else { continue };
            let spans_types = class.workers > 1 && class.spans(&of.profile, &capacity);
            spans |= spans_types;
            self.lines.push(Line { class, spans: spans_types, head: Some(head), rest });
        }
        let (lines, running) = (first..self.lines.len(), running.len() as u32);
        self.all.push(Queue {
            workload,
            lines,
            extra: 0.0,
            spans,
            open: of.waits + running,
            running,
        });
    }

    /// GPUs of each type that a gang of a workload could have at most.
    pub fn capacity(&self, workload: WorkloadKey) -> Cow<'a, [u32]> {
        let tenant = self.state.workloads()[workload.0].tenant;
        self.state.capacity_within(self.limits.as_ref(), tenant)
    }

    pub fn owed(&self, queue: usize, gpu: usize) -> f64 {
        self.owed[queue * self.types + gpu]
    }

    /// What a queue is owed over some types together.
    pub fn owed_in_all(&self, queue: usize, usable: impl Fn(usize) -> bool) -> f64 {
        (0..self.types).filter(|&j| usable(j)).map(|j| self.owed(queue, j)).sum()
    }

    pub fn charge(&mut self, queue: usize, gpu: usize, gpus: u32) {
        self.owed[queue * self.types + gpu] -= f64::from(gpus);
    }

    /// What one queue is owed of a type counts for another.
    pub fn transfer(&mut self, from: usize, to: usize, gpu: usize, gpus: f64) {
        self.owed[from * self.types + gpu] -= gpus;
        self.owed[to * self.types + gpu] += gpus;
    }

    pub fn lines(&self, queue: usize) -> &[Line<'a>] {
        &self.lines[self.all[queue].lines.clone()]
    }

    /// The running jobs on a type that are not yet picked, who should stay longest first.
    pub fn running(&self, queue: usize, gpu: usize) -> impl DoubleEndedIterator<Item = &Running> {
        self.running[self.ranges[queue * (self.types + 1) + gpu].clone()].iter().filter(|h| !h.gone)
    }

    /// The running jobs that are not yet picked.
    pub fn all_running(&self, queue: usize) -> impl Iterator<Item = &Running> {
        (0..=self.types).flat_map(move |gpu| self.running(queue, gpu))
    }

    /// The next waiting job of so many workers at most that may use a type and could fit there.
    pub fn next_waiting(&self, queue: usize, gpu: usize, room: u32) -> Option<WaitingKey> {
        let capacity = self.state.cluster().capacity();
        let fits =
            |line: &&Line<'_>| line.class.workers <= room && line.class.fits_on(gpu, capacity);
        let lines = self.lines(queue).iter().filter(fits);
        lines.filter_map(|line| line.head).min()
    }

    /// The same among those of which something holds.
    pub fn next_waiting_that(
        &self,
        queue: usize,
        gpu: usize,
        room: u32,
        holds: impl Fn(&Job) -> bool,
    ) -> Option<WaitingKey> {
        let capacity = self.state.cluster().capacity();
        let fits =
            |line: &&Line<'_>| line.class.workers <= room && line.class.fits_on(gpu, capacity);
        let lines = self.lines(queue).iter().filter(fits);
        lines.filter_map(|line| self.next_that(line, &holds)).min()
    }

    /// The next waiting job of so many workers at most that has to be spread over types.
    pub fn next_spanning(&self, queue: usize, room: u32) -> Option<WaitingKey> {
        let spans = |line: &&Line<'_>| line.spans && line.class.workers <= room;
        self.lines(queue).iter().filter(spans).filter_map(|line| line.head).min()
    }

    /// The next job of a line that can afford to be stopped once more.
    pub fn next_affordable(&self, line: &Line<'_>) -> Option<WaitingKey> {
        self.next_that(line, |job| self.state.may_be_stopped_again(job))
    }

    /// The next job of a line of which something holds.
    pub fn next_that(&self, line: &Line<'_>, holds: impl Fn(&Job) -> bool) -> Option<WaitingKey> {
        let head = line.head?;
        let rest = line.class.waiting.range(head..).filter(|key| !self.picked[key.3.0]);
        rest.copied().find(|key| holds(self.state.at(key.3)))
    }

    /// Whether a job was picked.
    pub fn is_picked(&self, slot: Slot) -> bool {
        self.picked[slot.0]
    }

    /// A job that was picked is not, after all.
    pub fn put_back(&mut self, slot: Slot, job: &Job) {
        let row = job.row();
        let Some(queue) = self.all.iter().position(|queue| queue.workload == row) else { return };
        let q = &mut self.all[queue];
        self.picked[slot.0] = false;
        q.open += 1;
        if let Some(at) = self.running.iter().position(|running| running.slot == slot) {
            let range = &mut self.ranges[queue * (self.types + 1) + self.running[at].gpu];
            range.start = range.start.min(at);
            self.running[at].gone = false;
            q.running += 1;
            return;
        }
        let (class, key) =
            (&self.state.workloads()[row.0].classes[job.class], self.state.waiting_key(slot));
        let lines = self.lines[q.lines.clone()].iter_mut();
        // Whoever comes after the head is still to come.
        let passed = |line: &&mut Line<'_>| line.head.is_none_or(|head| key < head);
        for line in lines.filter(|line| std::ptr::eq(line.class, class)).filter(passed) {
            line.rest = line.class.waiting.range(key..);
            line.head = line.rest.next().copied();
        }
    }

    /// A running job of so many workers at most elsewhere that should move to a type: the move pays, or it loses its place (`lost`).
    pub fn next_mover(
        &self,
        queue: usize,
        gpu: usize,
        room: u32,
        lost: impl Fn(&Running) -> bool,
    ) -> Option<Running> {
        if self.all[queue].running == 0 {
            return None;
        }
        let state = self.state;
        let profile = &state.workloads()[self.all[queue].workload.0].profile;
        let capacity = state.cluster().capacity()[gpu].min(room);
        let movers = self.all_running(queue).filter(|h| {
            let now = || match h.gpu < self.types {
                true => profile.on(h.gpu),
                false => pace(state, h.slot),
            };
            h.gpu != gpu
                && h.workers <= capacity
                && (lost(h) || pays(state.settings(), profile.on(gpu), now()))
                && state.may_use(state.at(h.slot), gpu)
        });
        movers.max_by_key(|h| (h.priority, h.ran, Reverse(h.id))).copied()
    }

    /// Takes a picked job out.
    pub fn remove(&mut self, queue: usize, slot: Slot) {
        self.picked[slot.0] = true;
        let q = &mut self.all[queue];
        q.open -= 1;
        for line in &mut self.lines[q.lines.clone()] {
            while line.head.is_some_and(|key| self.picked[key.3.0]) {
                line.head = line.rest.next().copied();
            }
        }
        if q.running == 0 {
            return;
        }
        for range in &mut self.ranges[queue * (self.types + 1)..][..=self.types] {
            if let Some(running) = self.running[range.clone()].iter_mut().find(|h| h.slot == slot) {
                running.gone = true;
                q.running -= 1;
            }
            while range.start < range.end && self.running[range.start].gone {
                range.start += 1;
            }
        }
    }
}

/// The pace of a gang across types: that of the slowest, and what it loses by being spread.
pub(crate) fn pace(state: &State, slot: Slot) -> f64 {
    let profile = &state.workloads()[state.at(slot).row().0].profile;
    let gpus = state.target(slot).map_or(&[][..], |lease| &lease.gpus);
    let on = gpus.iter().map(|&g| profile.on(state.cluster().type_of(g).0));
    on.fold(f64::INFINITY, f64::min) * (1.0 - state.settings().spread_loss.clamp(0.0, 1.0))
}
