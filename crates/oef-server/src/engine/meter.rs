//! How much each caller writes into the journal: a bucket of bytes that fills again with time.

use super::budgets::Budgets;
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::store::ByteCount;
use crate::world::Change;
use oef_api::types::ApiError;
use oef_sched::Time;
use std::collections::BTreeMap;

/// Beyond so many callers, those whose bucket is full again are forgotten: they are as good as new.
const CALLERS_MAX: usize = 10_000;

/// Whose bucket it is. All tokens of a tenant share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Tenant(String),
    Token(u64),
}

/// What each caller has left, and when that was.
#[derive(Debug, Default)]
pub(super) struct Meter {
    left: BTreeMap<Who, (f64, Time)>,
}

impl Meter {
    /// Charges what these changes take in the journal. More than the bucket holds is taken when it is full, and has to
    /// be waited for afterwards. Admins are not limited: they can fill the disk anyway.
    pub fn charge(
        &mut self,
        caller: &Caller,
        changes: &[Change],
        now: Time,
        budgets: &Budgets,
    ) -> Result<(), ApiError> {
        if caller.is_admin() {
            return Ok(());
        }
        let bytes = changes.iter().map(written_bytes).sum::<u64>() as f64;
        let (rate, most) =
            (budgets.journal_bytes_per_second as f64, budgets.journal_bytes_burst as f64);
        let filled = |(left, at): (f64, Time)| (left + now.since(at).seconds() * rate).min(most);
        if self.left.len() >= CALLERS_MAX {
            self.left.retain(|_, known| filled(*known) < most);
        }
        let who = match &caller.tenant {
            Some(tenant) => Who::Tenant(tenant.clone()),
            None => Who::Token(caller.token),
        };
        let level = self.left.entry(who).or_insert((most, now));
        let left = filled(*level);
        let needed = bytes.min(most);
        if left < needed {
            *level = (left, now);
            return Err(too_much((needed - left) / rate));
        }
        *level = (left - bytes, now);
        Ok(())
    }
}

fn too_much(wait_s: f64) -> ApiError {
    let why = "too much was written into the journal by this caller in a short time";
    let seconds = wait_s.ceil().max(1.0);
    let hint =
        format!("wait {seconds} s; `limits.journal_bytes_per_second` in the daemon's settings");
    Kind::TooManyRequests.problem(why).hint(hint)
}

/// The length of a change as the journal has it.
fn written_bytes(change: &Change) -> u64 {
    let mut length = ByteCount::default();
    // What cannot be written is refused when it is.
    let _ = serde_json::to_writer(&mut length, change);
    length.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_api::types::Role;

    #[test]
    fn each_caller_writes_so_much_and_no_more() {
        let budgets = Budgets {
            journal_bytes_per_second: 100,
            journal_bytes_burst: 1000,
            ..Budgets::default()
        };
        let caller = |tenant: &str, token| Caller {
            role: Role::Tenant,
            tenant: Some(tenant.into()),
            token,
            user: None,
        };
        let change = |bytes: usize| [Change::GroupRemoved { name: "x".repeat(bytes) }];
        let mut meter = Meter::default();
        let mut charge = |caller: &Caller, bytes, at_s: u64| {
            meter.charge(caller, &change(bytes), Time(at_s * 1000), &budgets)
        };
        assert!(charge(&caller("a", 1), 900, 0).is_ok());
        let problem = charge(&caller("a", 2), 900, 0).expect_err("another token of the same");
        assert_eq!((problem.status, problem.kind.as_str()), (429, "too_many_requests"));
        assert!(charge(&caller("b", 3), 900, 0).is_ok(), "others have their own");
        assert!(charge(&Caller::admin(), 90_000, 0).is_ok());
        assert!(charge(&caller("a", 1), 900, 2).is_err());
        assert!(charge(&caller("a", 1), 900, 20).is_ok());
        assert!(charge(&caller("b", 3), 5_000, 20).is_ok(), "once, when it is full");
        assert!(charge(&caller("b", 3), 1, 50).is_err(), "and it has to be waited for");
    }
}
