//! What a first try runs on: a small cluster, its profiles and a busy half day.

use super::cluster::{ClusterLike, cluster};
use super::trace::{Load, TraceLike, TraceSpec, trace};
use crate::input::{ClusterSpec, ProfileTable, Source, Trace, read_profiles};

/// Everything that a simulation needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Demo {
    /// Eight each of three generations of gaming cards, four to a host: the paper's cluster.
    pub cluster: ClusterSpec,
    /// Six models. The figures are illustrative: the ends of `vgg16` and `lstm` are the paper's, the others
    /// made up to look like measured ones.
    pub profiles: ProfileTable,
    /// Eight tenants, 120 jobs, twelve hours, somewhat more work than the cluster can do.
    pub trace: Trace,
}

const PROFILES: &str = include_str!("../../data/demo-profiles.csv");
const MEASURED: &str = include_str!("../../data/h200-mps.csv");

/// The inputs of a demonstration; always the same.
pub fn demo() -> Demo {
    let cluster = cluster(ClusterLike::Paper);
    let profiles = embedded("demo-profiles.csv", PROFILES);
    let spec = TraceSpec {
        tenants: Some(8),
        jobs: 120,
        days: 0.5,
        gpus: Some(vec![(1, 70.0), (2, 18.0), (4, 12.0)]),
        load: Some(Load { gpus: cluster.gpus(), load: 1.1 }),
        longest_s: Some(4.0 * 3600.0),
        ..TraceSpec::new(TraceLike::Philly, 1)
    };
    // A test keeps this from ever being empty.
    let trace = trace(&spec, &profiles).unwrap_or_default();
    Demo { cluster, profiles, trace }
}

/// Seven models at two batch sizes, measured by us on slices of one H200 (`sm12` to `sm132`).
pub fn measured_profiles() -> ProfileTable {
    embedded("h200-mps.csv", MEASURED)
}

/// A test keeps these from ever being empty.
fn embedded(name: &str, text: &str) -> ProfileTable {
    let read = read_profiles(Source::new(name, text), None, false);
    read.map(|read| read.value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Work, check_models, match_types};

    #[test]
    fn the_demonstration_is_complete() {
        let demo = demo();
        assert_eq!((demo.cluster.gpus(), demo.trace.jobs.len()), (24, 120));
        assert_eq!(demo.trace.tenants().len(), 8);
        let matched = match_types(&demo.cluster, &demo.profiles).unwrap();
        assert_eq!((matched.unmeasured.len(), matched.unused.len()), (0, 0));
        assert_eq!(check_models(&demo.trace, &matched.profiles, "demo"), Ok(()));
        let offered = demo.trace.jobs.iter().map(|job| match job.work {
            Work::DurationOnFastest(s) => s * f64::from(job.gpus),
            _ => 0.0,
        });
        let load = offered.sum::<f64>() / (24.0 * 43_200.0);
        assert!((load - 1.1).abs() < 1e-3, "{load}");
    }

    #[test]
    fn the_measured_table_is_the_one_in_the_examples() {
        let table = measured_profiles();
        assert_eq!((table.types.len(), table.rows.len()), (4, 14));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/h200-mps.csv");
        assert_eq!(std::fs::read_to_string(path).unwrap(), MEASURED);
    }
}
