//! The guard against false profiles: what jobs do on the GPUs, compared with what was said of them.
//!
//! No mechanism stops a tenant from telling a profile that pays, so the profile is measured while jobs run.
//!
//! **What is seen.** Two words of a job on how far it is make a *window*: steps per second and worker. A
//! window across a start, a stop or a checkpoint does not count, nor one in which the clock jumped or the
//! steps went back (`window`). Neither do windows in which most jobs of a host, or of the cluster, became
//! slow together (`pace`: somebody else is in the way), or in which the job waited for its data for more than
//! half of the time; only where that is so for most of a run does it count, because then it is the truth
//! about that job. A run is worth the *middle* of its windows, their mean without the lowest and the highest
//! eighth: an eighth of them may be anything, and it does not jump between two modes as a median does (`run`).
//!
//! **What is compared.** Only ratios: a profile may have any unit, and jobs of one workload may differ in
//! their batches. Runs are alike where the command, the workers and the number of nodes are the same. With the
//! logarithms of the rates of alike runs on gpu types `j` and `k`, each group `g` says `d_g = middle_k -
//! middle_j` with weight `w_g = 1 / (1/n_gj + 1/n_gk)`, and the groups together say their weighted middle `d`
//! with `w = sum w_g` (`link`). One job that was seen on both types is a group of its own.
//!
//! **When it sticks out.** `|d - ln(p_k / p_j)|` beyond the tolerance (`tolerance`). An honest run may be off by
//! 20 % as a whole, and so may each window: values within a range `L = ln(1.2 / 0.8)`. By Hoeffding's bound
//! the difference of two means of `n_j` and `n_k` such values exceeds `L sqrt(ln(1/p) / 2w)` with
//! probability below `p`, and it never exceeds `L`. So the tolerance is `L min(1, 4/3 sqrt(ln(1/p) / 2w))` for the
//! runs and the same for the windows, with `p` = 1e-6 (4/3 is what the middle moves more than a mean): a factor
//! of 2.25 for one run of few windows on each type, 2 for one of 48, 1.6 for 30 runs, 1.3 for 64. Where at least twenty runs, or windows, differ less from
//! one another than that noise would, their own deviation takes its place, and 1.1 is reached sooner.
//!
//! **What follows** (`judge`, `correct`): a word about it, and where the operator wants it the profile is
//! corrected: types that were seen get what was seen, others what was said, in the same measure. What gangs keep of a
//! single worker's throughput is seen and compared in the same way (`gangs`).

mod correct;
mod evidence;
mod gangs;
mod judge;
mod link;
mod pace;
mod policy;
mod run;
#[cfg(test)]
mod testing;
mod tolerance;
mod verdict;
mod watch;
mod window;

pub use correct::Corrected;
pub use gangs::SeenGang;
pub use judge::{Judged, Judgement, News, Told};
pub use policy::Policy;
pub use verdict::{Direction, ProfileVerdict};
pub use watch::{Guard, Notice};
pub use window::{RunPlace, Word};
