//! What a round makes of what was seen.

use super::correct::{Corrected, corrected};
use super::evidence::Evidence;
use super::gangs::SeenGang;
use super::link::{Link, links};
use super::policy::Policy;
use super::verdict::ProfileVerdict;
use super::watch::Guard;
use crate::ids::WorkloadKey;
use crate::profile::{Profile, Provenance};

/// Nobody declared an estimate: what was seen is better as soon as it rests on some eight windows on each of
/// two types.
pub(super) const ENOUGH_WINDOWS: f64 = 4.0;
/// A profile that was written from what was seen is written again when there is so much more evidence...
pub(super) const MORE: f64 = 2.0;
/// ... and it says something else by this part.
pub(super) const OTHERWISE: f64 = 0.01;

/// What a round makes of what was seen of one workload, to be written down and then [settled](Guard::settle).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Judgement {
    /// The workload.
    pub workload: WorkloadKey,
    /// What is new about it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub news: Option<News>,
    /// The profile that is to count from now on.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub profile: Option<Corrected>,
    /// What does not fit.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    found: Option<ProfileVerdict>,
    /// Whether it was told that the profile is false.
    #[cfg_attr(feature = "serde", serde(default))]
    told_false: bool,
    /// The evidence that a profile was written from.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    written: Option<f64>,
    /// What was seen of its gangs.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub gangs: Vec<SeenGang>,
}

/// What counts when somebody tells a profile of a workload, to be written down and then [settled](Guard::settle_told).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Told {
    /// What was seen, where that counts; none: the profile counts as it is told.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub seen: Option<Corrected>,
    /// What does not fit, where it is why.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub verdict: Option<ProfileVerdict>,
    /// The evidence that what counts was written from.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    written: Option<f64>,
}

/// What a round makes of what was seen of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// What is new about it.
    pub news: Option<News>,
    /// The profile that is to count from now on.
    pub profile: Option<Corrected>,
}

/// What is new about a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum News {
    /// Its profile is not what its jobs show. Told once of a profile, and once more where it turns out to be
    /// further off than somebody could have told in good faith.
    Found(ProfileVerdict),
    /// That was told before; now what was seen counts.
    Replaced(ProfileVerdict),
    /// What its jobs show fits its profile again.
    Cleared,
    /// Its profile was an estimate, and now it is what was seen.
    Learnt,
    /// What was seen counted already, and now there is more of it.
    Refined,
}

impl Guard {
    /// What a round makes of what was seen of a workload; nothing is changed. `None`: nothing was seen.
    pub fn judgement(
        &self,
        workload: WorkloadKey,
        profile: &Profile,
        policy: Policy,
    ) -> Option<Judgement> {
        let mut evidence = self.seen.get(&workload)?.clone();
        let gangs = evidence.judge_gangs(profile, policy);
        let Judged { news, profile } = evidence.judge(profile, policy);
        let Evidence { found, told_false, written, .. } = evidence;
        Some(Judgement { workload, news, profile, found, told_false, written, gangs })
    }

    /// A judgement counts from now on.
    pub fn settle(&mut self, judgement: &Judgement) {
        if let Some(evidence) = self.seen.get_mut(&judgement.workload) {
            evidence.fresh = false;
            evidence.found = judgement.found;
            evidence.told_false = judgement.told_false;
            evidence.written = judgement.written;
            evidence.settle_gangs(&judgement.gangs);
        }
    }

    /// The two in one, for a driver that writes nothing down.
    pub fn judge(&mut self, workload: WorkloadKey, profile: &Profile, policy: Policy) -> Judged {
        let evidence = self.seen.get_mut(&workload);
        evidence.map_or_else(Judged::default, |evidence| evidence.judge(profile, policy))
    }

    /// What counts when somebody tells a profile; nothing is changed. With [`Policy::Replace`] what was seen counts, where
    /// it counted already or where it does not fit; otherwise the profile counts as it is told.
    pub fn told_judgement(&self, workload: WorkloadKey, profile: &[f64], policy: Policy) -> Told {
        let Some(evidence) = self.seen.get(&workload) else { return Told::default() };
        let links = links(evidence, &Profile::new(profile.to_vec(), Provenance::Declared));
        let verdict = ProfileVerdict::of(&links, profile);
        let counts = verdict.is_some() || evidence.written.is_some();
        if policy != Policy::Replace || !counts {
            return Told::default();
        }
        match corrected(&links, profile) {
            Some(seen) => Told { seen: Some(seen), verdict, written: Some(weight(&links)) },
            None => Told::default(),
        }
    }

    /// Somebody tells a profile, and this was made of it.
    pub fn settle_told(&mut self, workload: WorkloadKey, told: &Told) {
        if let Some(evidence) = self.seen.get_mut(&workload) {
            evidence.forget_verdict();
            evidence.fresh = true;
            (evidence.found, evidence.written) = (told.verdict, told.written);
        }
    }

    /// Somebody who may be believed gave a workload another profile: it is compared anew.
    pub fn trusted(&mut self, workload: WorkloadKey) {
        if let Some(evidence) = self.seen.get_mut(&workload) {
            evidence.forget_verdict();
            (evidence.written, evidence.fresh) = (None, true);
            evidence.gangs.clear();
        }
    }
}

impl Evidence {
    /// Looks at what was seen, once in a round.
    fn judge(&mut self, profile: &Profile, policy: Policy) -> Judged {
        self.fresh = false;
        if policy == Policy::Off {
            self.forget_verdict();
            return Judged::default();
        }
        let links = links(self, profile);
        if links.is_empty() {
            return Judged::default();
        }
        match (self.written, profile.provenance) {
            (Some(weight), _) => self.refine(&links, &profile.throughput, weight),
            (None, Provenance::Estimated) => self.learn(&links, &profile.throughput),
            (None, _) => self.compare(&links, &profile.throughput, policy),
        }
    }

    /// What was found says nothing about the profile from now on.
    fn forget_verdict(&mut self) {
        (self.found, self.told_false) = (None, false);
    }

    fn compare(&mut self, links: &[Link], profile: &[f64], policy: Policy) -> Judged {
        let Some(verdict) = ProfileVerdict::of(links, profile) else {
            let cleared = self.found.is_some() && ProfileVerdict::has_fallen(links, profile);
            if cleared {
                self.forget_verdict();
            }
            return Judged { news: cleared.then_some(News::Cleared), profile: None };
        };
        // Which pair of types sticks out most changes with every run; it is one profile that is not true.
        let is_false = !verdict.may_be_honest();
        let is_new = self.found.is_none() || (is_false && !self.told_false);
        self.found = Some(verdict);
        self.told_false |= is_false;
        let news = is_new.then_some(News::Found(verdict));
        match policy {
            Policy::Replace => {
                let written = self.write(links, profile);
                let replaced = written.profile.is_some().then_some(News::Replaced(verdict));
                Judged { news: news.or(replaced), ..written }
            }
            Policy::Report | Policy::Off => Judged { news, profile: None },
        }
    }

    fn learn(&mut self, links: &[Link], profile: &[f64]) -> Judged {
        if !links.iter().any(|link| link.windows_weight >= ENOUGH_WINDOWS) {
            return Judged::default();
        }
        Judged { news: Some(News::Learnt), ..self.write(links, profile) }
    }

    fn refine(&mut self, links: &[Link], profile: &[f64], before: f64) -> Judged {
        let is_out = ProfileVerdict::of(links, profile).is_some();
        if !is_out && weight(links) < MORE * before {
            return Judged::default();
        }
        let written = self.write(links, profile);
        let differs = |new: &Corrected| {
            let old = |gpu: usize| profile.get(gpu).copied().unwrap_or(0.0);
            let off = |(gpu, &on): (usize, &f64)| (on - old(gpu)).abs() > OTHERWISE * on;
            new.throughput.iter().enumerate().any(off)
        };
        match written.profile.filter(differs) {
            Some(profile) => Judged { news: Some(News::Refined), profile: Some(profile) },
            None => Judged::default(),
        }
    }

    fn write(&mut self, links: &[Link], profile: &[f64]) -> Judged {
        let profile = corrected(links, profile);
        if profile.is_some() {
            self.written = Some(weight(links));
        }
        Judged { news: None, profile }
    }
}

fn weight(links: &[Link]) -> f64 {
    links.iter().map(|link| link.weight).sum()
}
