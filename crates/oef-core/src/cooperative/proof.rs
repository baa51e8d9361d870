//! Multipliers for every row from those of shared bundles.
//!
//! A vertex of the program with shared bundles has prices `p` and multipliers `Z_lb` of the envy of
//! row `l` towards bundle `b`. To prove that no row would do better with a bundle of its own, every
//! row `i` needs its own multipliers `z_li >= 0` with
//!
//! ```text
//! alpha_i v_i - sum_l z_li c_l - lambda_i g <= weight_i p      (equal where the bundle holds a type)
//! alpha_i = worth_i + sum_l z_il
//! ```
//!
//! Envy between rows with the same bundle costs nothing and is free (but for members with a threshold, which count as
//! rows outside), the multipliers of rows outside add up to `Z`, and those of caps to that of the bundle's: so every group of rows with the same bundle is a problem of its own. It is
//! solved from the last multipliers by steps that are small relative to them (affine scaling). Where a
//! step leaves all of them positive, it solves the equations exactly; those that it would take below
//! zero shrink to a small part instead, and the next step does the rest. Where there are none, the
//! steps add up to the direction in which the group wants to be split.

mod system;

use super::data::Data;
use super::multipliers::Multipliers;
use crate::linalg::Cholesky;
use system::{Equation, FEW, Pair, Seed, System};

/// What is left of an equation that roughly holds, and of one that does.
const ROUGH: f64 = 1e-4;
const SOLVED: f64 = 1e-13;

/// Rows with the same bundle, and what the program with shared bundles says about them.
pub(super) struct SharedBundle<'a> {
    pub members: &'a [usize],
    /// Types that the bundle holds.
    pub held: Vec<usize>,
    /// `worth_i` and the multipliers of its envy towards other bundles, by member.
    pub alpha: Vec<f64>,
    /// Rows outside (and members with a threshold) with the multiplier of their envy towards the bundle.
    pub outside: &'a [(usize, f64)],
    /// The multiplier of the bundle's cap, and the members that have this cap.
    pub cap: f64,
    pub at_cap: Vec<usize>,
    /// The last multipliers towards members, by member: (envious row, z).
    pub last: Vec<&'a [(usize, f64)]>,
    pub last_cap: Vec<f64>,
}

/// What a proof for a group leaves to one for the same group at a vertex nearby: where its steps ended,
/// and their last factor, which does for the next ones.
pub(super) struct Draft {
    members: Vec<usize>,
    held: Vec<usize>,
    outside: Vec<usize>,
    has_cap: bool,
    pairs: Vec<Pair>,
    equations: Vec<Equation>,
    at: Vec<Option<usize>>,
    factor: Option<(Cholesky, usize)>,
}

/// What became of the proof for a group.
pub(super) enum Proof {
    /// There are multipliers towards its members; its rows hold the same bundle in every optimum.
    Found,
    /// Multipliers that leave open whether its rows hold the same bundle in every optimum.
    Open,
    /// There are none: where the members want to go, member after member.
    Split(Vec<f64>),
}

/// A proof that is being worked on.
pub(super) struct Attempt<'a>(System<'a>);

impl<'a> Attempt<'a> {
    /// Looks for multipliers that nearly prove that no member of a group wants a bundle of its own:
    /// among those that were there before, then among all. Where there are none, tells where the
    /// members want to go, member after member. A draft of the group is where it starts from.
    pub fn new(
        data: &'a Data<'a>,
        group: &'a SharedBundle<'a>,
        price: &'a [f64],
        draft: Option<Draft>,
    ) -> Result<Self, Vec<f64>> {
        if let Some(draft) = draft.filter(|draft| draft.fits(group)) {
            let mut system = System::resume(data, group, price, draft);
            if system.settle(ROUGH) {
                return Ok(Attempt(system));
            }
            if system.is_beyond_pairs() {
                return Err(system.directions());
            }
        }
        for pairs in [Seed::Known, Seed::All] {
            let mut system = System::new(data, group, price, pairs);
            if system.settle(ROUGH) {
                return Ok(Attempt(system));
            }
            if pairs == Seed::All || group.members.len() <= FEW || system.is_beyond_pairs() {
                return Err(system.directions());
            }
        }
        Err(Vec::new())
    }

    /// Finishes the proof.
    pub fn finish(&mut self) -> Proof {
        let system = &mut self.0;
        if !system.settle(SOLVED) {
            return Proof::Split(system.directions());
        }
        let room = system.room();
        if !system.is_rigid(&room) {
            return Proof::Open;
        }
        Proof::Found
    }

    /// Adds the multipliers so far.
    pub fn add_multipliers(&self, to: &mut Multipliers) {
        self.0.add_multipliers(to);
    }

    /// What is left for the next proof.
    pub fn into_draft(self) -> Draft {
        let System { group, pairs, equations, at, factor, .. } = self.0;
        Draft {
            members: group.members.to_vec(),
            held: group.held.clone(),
            outside: group.outside.iter().map(|o| o.0).collect(),
            has_cap: group.cap > 0.0,
            pairs,
            equations,
            at,
            factor,
        }
    }
}

impl Draft {
    /// The members of the group that it is for.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    fn fits(&self, group: &SharedBundle<'_>) -> bool {
        self.members == group.members
            && self.held == group.held
            && self.has_cap == (group.cap > 0.0)
            && self.outside.iter().eq(group.outside.iter().map(|o| &o.0))
    }
}
