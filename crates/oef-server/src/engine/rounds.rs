//! When rounds begin, and when shares are asked for.
//!
//! Rounds begin at whole multiples of their length. The shares for a round are asked for when it is due, or
//! so much earlier as the last computation took; a round waits for them a moment and then begins with the last
//! ones, cut to what there is and what can be used. If the mechanism is changed, a computation by the old one is stopped.

use super::archiver::Document;
use super::batch::Batch;
use super::run::Engine;
use super::solver::Asked;
use crate::daemon::Measure;
use crate::view::{RoundDraft, RoundFacts};
use crate::world::Change;
use oef_core::Mechanism;
use oef_sched::{Answer, Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A round waits for its shares for this part of its length...
const PATIENCE_PART: u64 = 10;
/// ... and no longer than this: people look at the clock.
const PATIENCE_MAX: Span = Span(500);

/// Rounds that may wait to be written down, each as large as its document. Certificates of many tenants can take longer
/// than short rounds: then rounds are left out, and said so.
const WAITING_MAX: usize = 16;

/// What is known of the next round.
pub(super) struct Rounds {
    /// When it is due.
    pub next: Time,
    /// For which length of rounds that is.
    length: Span,
    /// Shares are being computed.
    is_solving: bool,
    /// By which mechanism, and how it is told that its answer is not wanted any more.
    computing: Option<(Mechanism, Arc<AtomicBool>)>,
    /// They were asked for for this round.
    is_asked: bool,
    /// How long the last computation took.
    last_solve: Span,
    /// Shares that are not yet durable.
    answer: Option<(Box<Answer>, Duration)>,
    /// Rounds that wait to be written down hold a copy each.
    ticket: Arc<()>,
}

impl Rounds {
    /// The first round is due at once.
    pub fn due(at: Time) -> Rounds {
        Rounds {
            next: at,
            length: Span(0),
            is_solving: false,
            computing: None,
            is_asked: false,
            last_solve: Span(0),
            answer: None,
            ticket: Arc::default(),
        }
    }

    /// Shares are being computed from now on; what is set says that they are not wanted any more.
    fn asked(&mut self, mechanism: Mechanism) -> Arc<AtomicBool> {
        let superseded = Arc::new(AtomicBool::new(false));
        self.computing = Some((mechanism, Arc::clone(&superseded)));
        self.is_solving = true;
        superseded
    }

    /// This mechanism counts now: a computation by another one is stopped.
    fn counts(&mut self, mechanism: Mechanism) {
        if let Some((_, superseded)) = self.computing.as_ref().filter(|(of, _)| *of != mechanism) {
            superseded.store(true, Ordering::Relaxed);
        }
    }

    pub fn solved(&mut self, answer: Box<Answer>, took: Duration) {
        self.is_solving = false;
        let computing = self.computing.take();
        if computing.is_some_and(|(_, superseded)| superseded.load(Ordering::Relaxed)) {
            // The mechanism was changed meanwhile: asked for again, by the new one.
            self.is_asked = false;
            return;
        }
        self.last_solve = Span(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        self.answer = Some((answer, took));
    }

    /// Rounds have this length now. Shorter ones begin sooner.
    fn follow(&mut self, at: Time, length: Span) {
        if self.length != length {
            self.next = self.next.min(multiple_after(at, length));
            self.length = length;
        }
    }

    /// How much earlier than the round its shares are asked for.
    fn lead(&self, round: Span) -> Span {
        match self.last_solve > Span(patience(round).0 / 2) {
            true => (self.last_solve.times(2)).min(Span(round.0 / 2)),
            false => Span(0),
        }
    }
}

/// The next whole multiple of a length.
fn multiple_after(at: Time, length: Span) -> Time {
    Time((at.0 / length.0.max(1) + 1).saturating_mul(length.0))
}

fn patience(round: Span) -> Span {
    Span(round.0 / PATIENCE_PART).min(PATIENCE_MAX)
}

impl Engine {
    /// When something about rounds is to be done next.
    pub(super) fn round_wake(&self) -> Time {
        let round = self.round_length();
        let rounds = &self.rounds;
        if rounds.is_solving && rounds.is_asked {
            return rounds.next + patience(round);
        }
        if rounds.is_asked {
            return rounds.next;
        }
        Time(rounds.next.0.saturating_sub(rounds.lead(round).0))
    }

    fn round_length(&self) -> Span {
        self.world.sched.settings().round.max(Span(1))
    }

    /// Shares that came in go into the batch. True: there are some.
    pub(super) fn take_shares(&mut self, at: Time, batch: &mut Batch) {
        if let Some((answer, took)) = &self.rounds.answer {
            let solve_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            batch.push(at, Change::Shares { answer: answer.clone(), solve_ms });
            self.metrics.measure(Measure::Solved(*took));
        }
    }

    /// The shares are durable, or as good as: they will be asked for again.
    pub(super) fn shares_done(&mut self) {
        self.rounds.answer = None;
    }

    /// Asks for shares, or begins a round, if it is time. Called when nothing else is to be done first.
    pub(super) fn turn_round(&mut self, at: Time) {
        let round = self.round_length();
        self.rounds.follow(at, round);
        self.rounds.counts(self.world.sched.settings().mechanism);
        if self.stopping.is_some() || at < self.round_wake() {
            return;
        }
        if !self.rounds.is_asked {
            self.rounds.is_asked = true;
            if !self.rounds.is_solving && self.ask() && at < self.rounds.next + patience(round) {
                return;
            }
        }
        let wait = if self.rounds.is_solving { patience(round) } else { Span(0) };
        if at >= self.rounds.next + wait {
            self.begin_round(at);
        }
    }

    /// Asks for shares if they are not up to date. False: they are.
    fn ask(&mut self) -> bool {
        let question = self.world.sched.question();
        let Some(question) = question else { return false };
        let superseded = self.rounds.asked(self.world.sched.settings().mechanism);
        self.rounds.is_solving = self.solver.send(Asked { question, superseded }).is_ok();
        self.rounds.is_solving
    }

    fn begin_round(&mut self, at: Time) {
        let kept = self.rounds.is_solving;
        let mut batch = Batch::default();
        // The last shares may be for GPUs and tenants that are gone.
        let question = if kept { self.world.sched.question() } else { None };
        if let Some(question) = question {
            let answer = Box::new(question.keep_last("not computed in time"));
            batch.push(at, Change::Shares { answer, solve_ms: 0 });
        }
        batch.extend(at, self.readings.change());
        batch.push(at, Change::Round { kept });
        if !self.commit(batch) {
            // Tried again soon; meanwhile everything goes on as it is.
            self.rounds.next = at + Span(1000);
            return;
        }
        self.readings.done();
        self.rounds.next = multiple_after(at, self.rounds.length);
        self.rounds.is_asked = false;
        self.shared.health.round_began(self.rounds.length.0);
        if kept {
            tracing::warn!(
                round = self.world.sched.round().0,
                "shares could not be computed in time; using last round's"
            );
        }
        self.archive_round(self.planned);
    }

    /// Has the round written down with its certificate.
    fn archive_round(&mut self, plan: Duration) {
        let waiting = Arc::strong_count(&self.rounds.ticket) - 1;
        if waiting >= WAITING_MAX {
            let round = self.world.sched.round().0;
            tracing::warn!(
                round,
                waiting,
                "this round is not kept: the certificates of those before take too long; make rounds longer"
            );
            return;
        }
        let draft = Box::new(RoundDraft::take(&self.world, RoundFacts { plan }));
        let ticket = Arc::clone(&self.rounds.ticket);
        let _ = self.pages.send(Document::Round { draft, ticket });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::Scene;

    fn answer() -> Box<Answer> {
        let mut scene = Scene::two_tenants(Mechanism::Cooperative);
        scene.tenant("carol", 1.0);
        scene.workload("carol", "train", &[("slow", 1.0), ("fast", 3.0)]);
        scene.submit("carol", "train", 1);
        let question = scene.world.sched.question().expect("somebody came");
        Box::new(question.answer(&oef_core::Options::default()))
    }

    #[test]
    fn an_answer_by_the_mechanism_that_counts_is_taken() {
        let mut rounds = Rounds::due(Time(0));
        let superseded = rounds.asked(Mechanism::Cooperative);
        rounds.counts(Mechanism::Cooperative);
        rounds.solved(answer(), Duration::from_secs(1));
        assert!(!superseded.load(Ordering::Relaxed) && rounds.answer.is_some());
    }

    #[test]
    fn a_computation_is_stopped_when_the_mechanism_is_changed_and_asked_for_again() {
        let mut rounds = Rounds::due(Time(0));
        let superseded = rounds.asked(Mechanism::Cooperative);
        rounds.is_asked = true;
        rounds.counts(Mechanism::Nash);
        assert!(superseded.load(Ordering::Relaxed), "nobody needs the answer");
        rounds.solved(answer(), Duration::from_secs(1));
        assert!(rounds.answer.is_none(), "it is not by the mechanism that counts");
        assert!(!rounds.is_solving && !rounds.is_asked, "asked for again at once");
    }
}
