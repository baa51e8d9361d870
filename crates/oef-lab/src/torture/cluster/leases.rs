//! Orders taken and carried out: the lives of leases on the simulated nodes, and what is told of them.

use super::*;

impl State {
    /// What is told of a node that is up.
    pub(super) fn about(&self, node: &Node) -> Vec<Event> {
        let mut devices = node.devices();
        if self.has(Plant::NodeTooLarge) && node.gpus == 2 {
            devices.push(DeviceId(format!("{}/{}", node.name, node.gpus)));
        }
        let (name, gpu_type) = (node.name.into(), node.gpu_type.into());
        let joined = Event::Node(NodeEvent::Joined { node: name, gpu_type, devices });
        let changed = (node.foreign > 0).then(|| node.changed());
        let closed = node.is_closed.then(|| {
            let (node, reason) = (node.name.into(), "a fan is broken".into());
            Event::Node(NodeEvent::Drained { node, reason })
        });
        [Some(joined), changed, closed].into_iter().flatten().collect()
    }

    /// Whether this mistake is built in.
    pub(super) fn has(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = (&Key, &Lease)> {
        self.leases.iter().filter(|(_, lease)| matches!(lease.phase, Phase::Running { .. }))
    }

    pub(super) fn now(&self) -> u64 {
        self.time.now()
    }

    pub(super) fn delay(&mut self) -> u64 {
        if self.is_slow { self.dice.below(DELAY_MAX_MS) } else { 0 }
    }

    /// Sends an event to the daemon: those of one job stay in order.
    pub(super) fn send(&mut self, job: Option<JobId>, event: Event) {
        let mut due = self.now() + self.delay();
        // Nodes are told in order too: the scheduler hears of them from one place.
        let line = job.unwrap_or(JobId(0));
        due = due.max(self.line.due_of.get(&line).copied().unwrap_or(0));
        self.line.due_of.insert(line, due);
        self.line.next += 1;
        self.line.pending.push((due, self.line.next, event));
    }

    /// When a running job is over: by itself, or because it was told to stop.
    fn ends(&self, lease: &Lease) -> u64 {
        let Phase::Running { since } = lease.phase else { return u64::MAX };
        let Some(launch) = &lease.launch else { return u64::MAX };
        let (kind, ms) = lease.words();
        let left = ms.saturating_sub(self.saved.get(&launch.job).copied().unwrap_or(0));
        let ends = since + left.max(500);
        match &lease.stop {
            None => ends,
            Some(_) if kind == Kind::Stubborn && self.has(Plant::StopOnlyOnce) => u64::MAX,
            Some((told, _)) if kind == Kind::Stubborn => told + launch.grace.0,
            Some((told, _)) => ends.min(told + SAVES_IN_MS),
        }
    }

    /// When something becomes of a running job: it ends, or tells how far it is.
    pub(super) fn due(&self, lease: &Lease) -> u64 {
        let Phase::Running { since } = lease.phase else { return u64::MAX };
        let tells = since + TELLS_AFTER_MS;
        let ends = self.ends(lease);
        if self.now() < tells { ends.min(tells) } else { ends }
    }

    pub(super) fn tick(&mut self) {
        let now = self.now();
        self.deliver(now);
        let keys: Vec<Key> = self.leases.keys().copied().collect();
        for key in keys {
            self.advance(key, now);
        }
        self.tell_leases();
        let due = taken(&mut self.line.pending, now);
        due.into_iter().for_each(|event| self.line.log.push(event));
    }

    pub(super) fn deliver(&mut self, now: u64) {
        let due = taken(&mut self.line.orders, now);
        due.into_iter().for_each(|order| self.take(order));
    }

    pub(super) fn take(&mut self, order: Order) {
        match order {
            Order::Start(launch) => self.start(*launch),
            Order::Stop { job, generation, why } => {
                if self.has(Plant::StopLost) && self.dice.once_in(3) {
                    return;
                }
                self.stop(job, generation, why);
            }
            Order::Forget(job) => {
                self.line.forgotten.insert(job);
                self.drop_forgotten();
            }
            Order::Acknowledge(cursor) => {
                for key in self.line.log.acknowledge(cursor) {
                    self.line.told.remove(&key);
                    self.put_away(key);
                }
                self.drop_forgotten();
            }
            Order::Keep { .. } | Order::Retire(_) | Order::EndTenant(_) => {}
        }
    }

    /// Nothing more is to be told of a lease that has ended.
    fn put_away(&mut self, key: Key) {
        let is_over = |lease: &Lease| {
            matches!(lease.phase, Phase::Ended { .. }) && lease.ghost_until.is_none()
        };
        if self.leases.get(&key).is_some_and(is_over)
            && let Some(lease) = self.leases.remove(&key)
        {
            self.over.insert(key, lease);
        }
    }

    /// What was put away of a lease; its end is told again.
    fn take_out(&mut self, key: Key) {
        if let Some(lease) = self.over.remove(&key) {
            self.leases.insert(key, lease);
        }
    }

    fn drop_forgotten(&mut self) {
        let told: BTreeSet<JobId> = self.line.told.keys().map(|(job, _)| *job).collect();
        let (later, now) = std::mem::take(&mut self.line.forgotten)
            .into_iter()
            .partition(|job| told.contains(job));
        self.line.forgotten = later;
        let now: BTreeSet<JobId> = now;
        if !now.is_empty() {
            self.leases.retain(|(job, _), _| !now.contains(job));
            self.over.retain(|(job, _), _| !now.contains(job));
        }
    }

    pub(super) fn start(&mut self, launch: Launch) {
        let key = (launch.job, launch.generation);
        let newest = self.newest.get(&launch.job).copied().unwrap_or_default();
        let void = match impossible(&launch) {
            Some(why) => Some(Ending::Impossible { why }),
            None if newest > launch.generation => {
                Some(Ending::Refused { why: format!("lease {newest} took its place") })
            }
            None => None,
        };
        if let Some(ending) = void {
            let event = LeaseEvent::Ended { ending, exits: Vec::new(), at_ms: self.time.stamp() };
            self.send(Some(key.0), Event::Lease { job: key.0, generation: key.1, event });
            return;
        }
        if newest == launch.generation && !self.has(Plant::GenerationNotCompared) {
            self.take_out(key);
            if !self.leases.contains_key(&key) {
                // It was begun, has ended, and its job was forgotten: this order is a late copy.
                return;
            }
        }
        self.newest.insert(launch.job, launch.generation.max(newest));
        self.stop_older(key);
        self.line.told.entry(key).or_default();
        if self.has(Plant::RepeatedStartRuns)
            && self
                .leases
                .get(&key)
                .is_some_and(|known| matches!(known.phase, Phase::Running { .. }))
        {
            self.broken(
                Invariant::NoJobDoubled,
                format!("job {} was started twice under lease {}", key.0, key.1),
            );
        }
        self.leases.entry(key).or_insert(Lease {
            launch: Some(launch),
            stop: None,
            phase: Phase::Waiting,
            ghost_until: None,
        });
    }

    /// A newer lease takes the place of those that its job has.
    fn stop_older(&mut self, (job, newest): Key) {
        let now = self.now();
        let older = self.leases.range_mut((job, Generation(0))..(job, newest));
        for (_, lease) in older.filter(|(_, lease)| !matches!(lease.phase, Phase::Ended { .. })) {
            lease.stop.get_or_insert_with(|| (now, "a newer lease took its place".to_string()));
        }
    }

    pub(super) fn stop(&mut self, job: JobId, generation: Generation, why: String) {
        self.take_out((job, generation));
        let (now, at_ms) = (self.now(), self.time.stamp());
        // A start that comes after its stop never begins.
        let newest = self.newest.entry(job).or_default();
        *newest = generation.max(*newest);
        let lease = self.leases.entry((job, generation)).or_insert_with(|| {
            let ending = Ending::Stopped { detail: format!("{why}; it had not begun") };
            let phase = Phase::Ended { ending, exits: Vec::new(), at_ms };
            Lease { launch: None, stop: None, phase, ghost_until: None }
        });
        lease.stop.get_or_insert((now, why));
        self.line.told.entry((job, generation)).or_default();
    }

    /// Lets a lease do what is due.
    pub(super) fn advance(&mut self, key: Key, now: u64) {
        let Some(lease) = self.leases.get(&key) else { return };
        match &lease.phase {
            Phase::Ended { .. } => {}
            Phase::Waiting => match &lease.stop {
                Some((_, why)) => {
                    let detail = format!("{why}; it had not begun");
                    self.end(key, Ending::Stopped { detail }, None);
                }
                None => self.try_begin(key, now),
            },
            Phase::Running { since } => {
                let (since, is_over) = (*since, now >= self.ends(lease));
                if is_over {
                    self.finish(key, since, now);
                }
            }
        }
    }

    fn try_begin(&mut self, key: Key, now: u64) {
        let Some(lease) = self.leases.get(&key) else { return };
        let Some(Launch { devices, .. }) = lease.launch.clone() else { return };
        let hangs = lease.words().0 == Kind::Hangs;
        let usable: BTreeSet<DeviceId> = self.nodes.iter().flat_map(Node::usable).collect();
        let known: BTreeSet<DeviceId> = self.nodes.iter().flat_map(Node::devices).collect();
        // A daemon that does not find a GPU any more says so by its name, and the start is refused.
        let is_odd =
            |device: &&DeviceId| !known.contains(*device) && !device.0.starts_with("gone:");
        if let Some(odd) = devices.iter().find(is_odd) {
            self.broken(
                Invariant::GrantsWithinCapacity,
                format!("job {} was sent to {}, which is not there", key.0, odd.0),
            );
        }
        if !devices.iter().all(|device| usable.contains(device)) {
            let why = "its GPUs are not here any more".to_string();
            self.end(key, Ending::Refused { why }, None);
            return;
        }
        if hangs || self.running().any(|((job, _), _)| *job == key.0) {
            return;
        }
        let in_use = |lease: &Lease| {
            let is_there = matches!(lease.phase, Phase::Running { .. })
                || lease.ghost_until.is_some_and(|until| until > now);
            let own = lease.launch.as_ref().map_or(&[][..], |launch| &launch.devices);
            is_there && own.iter().any(|device| devices.contains(device))
        };
        if let Some(((job, _), _)) =
            self.leases.iter().find(|(of, lease)| **of != key && in_use(lease))
        {
            let what = format!("jobs {job} and {} have the same GPU", key.0);
            self.broken(Invariant::OneLeasePerGpu, what);
        }
        let begun = self.begun.entry(key.0).or_insert((0, Generation(0)));
        if begun.0 > 0 && begun.1 >= key.1 {
            let what =
                format!("job {} was started under lease {} after lease {}", key.0, key.1, begun.1);
            self.broken(Invariant::GenerationsRise, what);
        }
        if let Some(begun) = self.begun.get_mut(&key.0) {
            *begun = (begun.0 + 1, key.1);
        }
        if let Some(lease) = self.leases.get_mut(&key) {
            lease.phase = Phase::Running { since: now };
        }
    }

    /// A running job ends by itself, or because it was told to.
    fn finish(&mut self, key: Key, since: u64, now: u64) {
        let Some(lease) = self.leases.get(&key) else { return };
        let (kind, ms) = lease.words();
        let worked = self.saved.get(&key.0).copied().unwrap_or(0) + now.saturating_sub(since);
        let starts = self.begun.get(&key.0).map_or(0, |(starts, _)| *starts);
        let is_done = worked >= ms;
        let stop = lease.stop.clone();
        match (stop, kind) {
            (Some((_, why)), Kind::Stubborn) if !is_done => {
                // It saves now and then: one that never does and is longer than its turns would never end.
                self.saved.insert(key.0, worked);
                let detail = format!("{why}; it was killed after its grace time");
                self.end(key, Ending::Stopped { detail }, Some(-9));
            }
            (Some(_), _) if !is_done => {
                self.saved.insert(key.0, worked);
                self.end(key, Ending::Checkpointed, Some(SAVED));
            }
            (_, Kind::Vanishes) if starts < 3 => {
                let detail = "its processes are gone".to_string();
                self.end(key, Ending::Vanished { detail }, None);
            }
            (_, Kind::Fails) => {
                let (reason, last_lines) = (FailReason::Exit, "no".to_string());
                let (rank, code) = (Some(0), Some(lease.code()));
                let ending = Ending::Failed { reason, rank, code, signal: None, last_lines };
                self.end(key, ending, code);
            }
            _ => self.end(key, Ending::Finished, Some(0)),
        }
    }

    /// Everything on a node is gone.
    pub(super) fn end_on(&mut self, node: &str) {
        let prefix = format!("{node}/");
        let is_there = |lease: &Lease| {
            let devices = lease.launch.as_ref().map_or(&[][..], |launch| &launch.devices);
            devices.iter().any(|device| device.0.starts_with(&prefix))
        };
        let gone: Vec<Key> =
            self.running().filter(|(_, lease)| is_there(lease)).map(|(key, _)| *key).collect();
        for key in gone {
            self.end(key, Ending::Vanished { detail: "its node is gone".into() }, None);
        }
    }

    pub(super) fn end(&mut self, key: Key, ending: Ending, code: Option<i32>) {
        let (now, at_ms) = (self.now(), self.time.stamp());
        let is_early = self.has(Plant::EndedBeforeGone);
        let Some(lease) = self.leases.get_mut(&key) else { return };
        let workers = lease.workers() as usize;
        let after_stop = lease.stop.is_some();
        let exit = |rank| match code {
            Some(-9) => WorkerExit { rank, code: None, signal: Some(9), after_stop },
            code => WorkerExit { rank, code, signal: None, after_stop },
        };
        let exits = match code {
            Some(_) => (0..).take(workers).map(exit).collect(),
            None => Vec::new(),
        };
        if is_early && matches!(lease.phase, Phase::Running { .. }) {
            lease.ghost_until = Some(now + 120_000);
        }
        lease.phase = Phase::Ended { ending, exits, at_ms };
    }

    /// Tells what is new of every lease that the daemon asks about.
    fn tell_leases(&mut self) {
        let keys: Vec<(Key, Stage)> =
            self.line.told.iter().map(|(key, stage)| (*key, *stage)).collect();
        for ((job, generation), stage) in keys {
            let Some(lease) = self.leases.get(&(job, generation)) else { continue };
            let (kind, _) = lease.words();
            let (now, stamp) = (self.now(), self.time.stamp());
            let mut events = Vec::new();
            let mut next = stage;
            let has_run = match &lease.phase {
                Phase::Waiting => false,
                Phase::Running { .. } => true,
                Phase::Ended { exits, .. } => !exits.is_empty(),
            };
            if has_run && stage < Stage::Started {
                next = Stage::Started;
                let checkpoints = Some(CheckpointLocation::Shared);
                events.push(LeaseEvent::Started { at_ms: stamp, checkpoints });
            }
            if let Phase::Running { since } = lease.phase
                && next == Stage::Started
                && now >= since + TELLS_AFTER_MS
            {
                next = Stage::Told;
                events.push(LeaseEvent::Progress(progress(kind, stamp)));
            }
            if let Phase::Ended { ending, exits, at_ms } = &lease.phase
                && stage < Stage::Ended
            {
                next = Stage::Ended;
                let (ending, exits, at_ms) = (ending.clone(), exits.clone(), *at_ms);
                events.push(LeaseEvent::Ended { ending, exits, at_ms });
            }
            self.line.told.insert((job, generation), next);
            for event in events {
                let lost = self.has(Plant::EndingLost) && matches!(event, LeaseEvent::Ended { .. });
                if lost && self.dice.once_in(4) {
                    continue;
                }
                let is_old =
                    self.has(Plant::EndingOfOldLease) && matches!(event, LeaseEvent::Ended { .. });
                if is_old && self.dice.once_in(3) {
                    let later = Generation(generation.0 + 1);
                    let event = event.clone();
                    let due = self.now() + 60_000;
                    self.line.next += 1;
                    let number = self.line.next;
                    self.line.pending.push((
                        due,
                        number,
                        Event::Lease { job, generation: later, event },
                    ));
                }
                self.send(Some(job), Event::Lease { job, generation, event });
            }
        }
    }

    pub(super) fn broken(&mut self, invariant: Invariant, what: String) {
        self.broken.get_or_insert(Broken { invariant, what });
    }

    pub(super) fn resume(&mut self, known: Known) -> JobId {
        let held: BTreeSet<Key> =
            known.held.iter().map(|held| (held.launch.job, held.launch.generation)).collect();
        let unheld: Vec<Key> =
            self.leases.keys().filter(|key| !held.contains(key)).copied().collect();
        for key in unheld {
            if !matches!(self.leases[&key].phase, Phase::Ended { .. }) {
                let detail = "its lease had ended; it was killed".to_string();
                self.end(key, Ending::Stopped { detail }, None);
            }
            self.put_away(key);
        }
        let is_forgotten = |job: &JobId| !known.jobs.contains(job) && *job < known.next;
        self.leases.retain(|key, _| held.contains(key) || !is_forgotten(&key.0));
        self.over.retain(|(job, _), _| !is_forgotten(job));
        for held in known.held {
            let (job, generation) = (held.launch.job, held.launch.generation);
            self.take_out((job, generation));
            let is_new = !self.leases.contains_key(&(job, generation));
            match held.stop {
                Some(why) => self.stop(job, generation, why),
                None if is_new && self.has(Plant::UnbegunNotStarted) => continue,
                None if is_new => self.start(held.launch),
                None => {}
            }
            self.line.told.entry((job, generation)).or_default();
        }
        let last = self.begun.last_key_value().map_or(0, |(job, _)| job.0 + 1);
        JobId(last.max(known.next.0))
    }
}

/// What can never be started, by what is wrong with it.
fn impossible(launch: &Launch) -> Option<String> {
    match (&launch.run_as, &launch.program) {
        (RunAs::User(name), _) => Some(format!("there is no user `{name}`")),
        (_, Program::Command(words)) if words.is_empty() => Some("it has no command".to_string()),
        _ => None,
    }
}

/// Takes what is due out of a list, in its order.
fn taken<T>(sent: &mut Vec<(u64, u64, T)>, now: u64) -> Vec<T> {
    let (mut due, later): (Vec<_>, Vec<_>) =
        std::mem::take(sent).into_iter().partition(|(at, ..)| *at <= now);
    *sent = later;
    due.sort_by_key(|(at, number, _)| (*at, *number));
    due.into_iter().map(|(_, _, sent)| sent).collect()
}

/// What a job says of itself.
fn progress(kind: Kind, at_ms: u64) -> Progress {
    let honest = Progress {
        steps: 10.0,
        throughput: Some(1.0),
        checkpoint: Some(5.0),
        at_ms,
        ..Progress::default()
    };
    match kind {
        Kind::Lies => Progress {
            steps: f64::MAX,
            throughput: Some(f64::NAN),
            loss: Some(f64::NEG_INFINITY),
            checkpoint: Some(1e300),
            wait: Some(-7.0),
            skipped_lines: u64::MAX,
            ..honest
        },
        _ => honest,
    }
}
