//! Names and numbers that are right wherever they are: each is checked once, where a request, a file or a command line is
//! read.

use crate::check;
use crate::limits::WORKERS_MAX;
use derive_more::{Deref, Display, Into};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Borrow;
use std::cell::Cell;
use std::str::FromStr;

thread_local! {
    static IS_RECORDED: Cell<bool> = const { Cell::new(false) };
}

/// Reads what was taken before, be it by another version: it counts as it is, also where the rule has become stricter.
/// For the journal, its snapshots, and the answers of a daemon.
pub fn recorded<T>(read: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_RECORDED.set(self.0);
        }
    }
    let _before = Before(IS_RECORDED.replace(true));
    read()
}

/// A value of a type of its own, and the rule that it keeps: what is wrong with a value, in a sentence.
macro_rules! parsed {
    ($(#[$about:meta])* $name:ident($inner:ty), $rule:expr) => {
        #[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deref, Display, Into)]
        $(#[$about])*
        pub struct $name($inner);

        impl $name {
            /// What is wrong with it, where it was read as it was recorded.
            pub fn check(&self) -> Result<(), String> {
                let rule: fn(&$inner) -> Result<(), String> = $rule;
                rule(&self.0)
            }
        }

        impl TryFrom<$inner> for $name {
            type Error = String;

            fn try_from(value: $inner) -> Result<Self, String> {
                let parsed = $name(value);
                parsed.check().map(|()| parsed)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let value: $inner = text.parse().map_err(|_| format!("`{text}` is no number"))?;
                value.try_into()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value = <$inner>::deserialize(from)?;
                match IS_RECORDED.get() {
                    true => Ok($name(value)),
                    false => value.try_into().map_err(serde::de::Error::custom),
                }
            }
        }
    };
}

/// A name, found by its text.
macro_rules! name {
    ($(#[$about:meta])* $name:ident, $what:literal) => {
        parsed! {
            $(#[$about])*
            #[derive(Eq, Ord, Hash)]
            #[deref(forward)]
            $name(String), |name| check::name($what, name)
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name! {
    /// The name of a tenant.
    TenantName, "the name of a tenant"
}
name! {
    /// The name of a group.
    GroupName, "the name of a group"
}
name! {
    /// The name of a workload.
    WorkloadName, "the name of a workload"
}

impl Default for WorkloadName {
    /// That of a job that names none.
    fn default() -> Self {
        WorkloadName("default".into())
    }
}

parsed! {
    /// What a tenant, a group or a workload is entitled to, relative to its neighbours.
    #[derive(Copy)]
    Weight(f64), |&weight| match weight.is_finite() && weight > 0.0 {
        true => Ok(()),
        false => Err(format!("a weight is a number above 0, not {weight}")),
    }
}

impl Default for Weight {
    fn default() -> Self {
        Weight(1.0)
    }
}

parsed! {
    /// Workers of a job.
    #[derive(Copy, Eq)]
    Workers(u32), |&workers| match (1..=WORKERS_MAX).contains(&workers) {
        true => Ok(()),
        false => Err(format!("a job has 1 to {WORKERS_MAX} workers, not {workers}")),
    }
}

impl Workers {
    /// So many, or as many of them as a job can have.
    pub fn up_to(workers: u32) -> Workers {
        Workers(workers.clamp(1, WORKERS_MAX))
    }
}

impl Default for Workers {
    fn default() -> Self {
        Workers(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_shown_or_stand_in_a_path_are_refused() {
        for good in ["a", "vision lab", "<script>", "ü", &"x".repeat(100)] {
            let name: TenantName = good.parse().expect(good);
            assert_eq!(&*name, good);
        }
        for bad in ["", " a", "a\n", "a/b", "..", "\u{0}", &"x".repeat(101)] {
            let why = bad.parse::<WorkloadName>().expect_err(bad);
            assert!(why.starts_with("the name of a workload "), "{why}");
        }
    }

    #[test]
    fn numbers_keep_their_rules() {
        assert_eq!("2.5".parse::<Weight>().map(f64::from), Ok(2.5));
        for bad in ["0", "-1", "nan", "inf", "x"] {
            assert!(bad.parse::<Weight>().is_err(), "{bad}");
        }
        for bad in ["0", "-1", "1.5", "100001"] {
            assert!(bad.parse::<Workers>().is_err(), "{bad}");
        }
        assert_eq!(*Workers::default(), 1);
    }

    #[test]
    fn what_was_taken_before_is_read_as_it_is() {
        let read = || serde_json::from_str::<TenantName>("\"a/b\"");
        let why = read().expect_err("no name").to_string();
        assert!(why.contains("'/', which is not allowed in a name"), "{why}");
        let name = recorded(read).expect("an old name");
        assert_eq!(serde_json::to_string(&name).expect("text"), "\"a/b\"");
        assert!(read().is_err(), "only within");
        let panics = std::panic::catch_unwind(|| recorded(|| panic!("on purpose")));
        assert!(panics.is_err() && read().is_err(), "also after a panic");
    }
}
