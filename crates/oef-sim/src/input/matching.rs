//! Brings the gpu types of a cluster and of a profile table together.

use super::cluster::ClusterSpec;
use super::profile::{ProfileRow, ProfileTable};
use super::read::{BadRow, InputError};

/// A profile table whose columns are the types of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// The table with one column per type of the cluster, in the cluster's order and spelling. A type that
    /// was not measured has empty cells: nothing can run there.
    pub profiles: ProfileTable,
    /// Types of the cluster that the profiles do not have.
    pub unmeasured: Vec<String>,
    /// Types of the profiles that the cluster does not have; they are left out.
    pub unused: Vec<String>,
}

/// Finds each type of the cluster among those of the profiles. Case does not matter, nor do `-`, `_` and
/// blanks: `RTX-3090` is `rtx3090`. A longer name means the one type whose name is in it. It is an error when no type is found, or when nothing runs on any.
pub fn match_types(cluster: &ClusterSpec, profiles: &ProfileTable) -> Result<Matched, InputError> {
    let types = cluster.types();
    let columns: Vec<Option<usize>> =
        types.iter().map(|name| find_type(name, &profiles.types)).collect();
    if columns.iter().all(Option::is_none) {
        let message = format!(
            "the cluster has {}; the profiles have {}: no gpu type is in both",
            list(&types),
            list(&profiles.types)
        );
        return Err(wrong(message, "rename the types on one side, or take another profile table"));
    }
    let pick = |row: &ProfileRow| ProfileRow {
        throughput: columns.iter().map(|c| c.and_then(|c| row.throughput[c])).collect(),
        ..row.clone()
    };
    let rows: Vec<ProfileRow> = profiles.rows.iter().map(pick).collect();
    if rows.iter().all(|row| row.fastest().is_none()) {
        let message = format!("no model of the profiles runs on {}", list(&types));
        return Err(wrong(message, "fill in thr_<type> for at least one type of the cluster"));
    }
    let is_unmeasured = |(name, column): (&String, &Option<usize>)| match column {
        None => Some(name.clone()),
        Some(_) => None,
    };
    let unmeasured = types.iter().zip(&columns).filter_map(is_unmeasured).collect();
    let unused = profiles.types.iter().enumerate();
    let unused = unused.filter(|(i, _)| !columns.contains(&Some(*i))).map(|(_, t)| t.clone());
    Ok(Matched { unused: unused.collect(), profiles: ProfileTable { types, rows }, unmeasured })
}

/// The type of this name, or the only one whose name is part of it.
pub(crate) fn find_type(name: &str, types: &[String]) -> Option<usize> {
    let name = plain(name);
    if let Some(same) = types.iter().position(|t| plain(t) == name) {
        return Some(same);
    }
    let mut within = (0..types.len()).filter(|&i| {
        let short = plain(&types[i]);
        !short.is_empty() && name.contains(&short)
    });
    within.next().filter(|_| within.next().is_none())
}

/// A type's name without what people write differently.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

fn list(names: &[String]) -> String {
    const NAMED_MAX: usize = 12;
    let mut shown: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
    if names.len() > NAMED_MAX {
        shown.push("...");
    }
    shown.join(", ")
}

fn wrong(message: String, hint: &str) -> InputError {
    let file = "cluster and profiles".into();
    InputError::one(BadRow {
        file,
        line: 0,
        field: String::new(),
        message,
        hint: Some(hint.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Placement, cluster_file::spread};

    fn table(types: &[&str], cells: &[Option<f64>]) -> ProfileTable {
        let row = ProfileRow {
            model: "m".into(),
            batch_size: None,
            scale_factor: 1,
            placement: Placement::Unknown,
            throughput: cells.to_vec(),
        };
        ProfileTable { types: types.iter().map(|t| t.to_string()).collect(), rows: vec![row] }
    }

    fn cluster(types: &[&str]) -> ClusterSpec {
        ClusterSpec { nodes: types.iter().flat_map(|t| spread(t, 4, 4)).collect() }
    }

    #[test]
    fn types_match_in_any_case_and_take_the_clusters_order() {
        let profiles = table(&["K80", "V100", "rtx_3090"], &[Some(1.0), Some(2.0), Some(3.0)]);
        let matched = match_types(&cluster(&["RTX3090", "h100", "v100"]), &profiles).unwrap();
        assert_eq!(matched.profiles.types, ["RTX3090", "h100", "v100"]);
        assert_eq!(matched.profiles.rows[0].throughput, [Some(3.0), None, Some(2.0)]);
        assert_eq!((matched.unmeasured, matched.unused), (vec!["h100".into()], vec!["K80".into()]));
    }

    #[test]
    fn a_long_name_means_the_only_type_in_it() {
        let types = ["a100", "v100", "v100-32gb"].map(String::from);
        assert_eq!(find_type("nvidia_a100-sxm4-80gb", &types), Some(0));
        assert_eq!(find_type("Tesla V100-32GB", &types), None);
        assert_eq!(find_type("V100_32GB", &types), Some(2));
    }

    #[test]
    fn nothing_in_common_is_an_error_that_lists_both_sides() {
        let error = match_types(&cluster(&["a100"]), &table(&["v100"], &[Some(1.0)])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a100") && text.contains("v100"), "{text}");
        let error = match_types(&cluster(&["v100"]), &table(&["v100"], &[None])).unwrap_err();
        assert!(error.to_string().contains("no model of the profiles runs on v100"), "{error}");
    }
}
