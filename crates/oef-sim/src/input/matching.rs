//! Brings the gpu types of a cluster and of a profile table together.

use super::cluster::ClusterSpec;
use super::profile::{ProfileRow, ProfileTable};
use super::read::{InputError, Source};

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
/// blanks: `RTX-3090` is `rtx3090`. A longer name means the type that whole
/// words of it spell. It is an error when no type is found, or when nothing runs on any.
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

/// The type of this name, or the one that whole words of it spell: `nvidia_a100-sxm4-80gb` is `a100`, but no `a10`;
/// of several the longest.
pub(crate) fn find_type(name: &str, types: &[String]) -> Option<usize> {
    let whole = plain(name);
    if let Some(same) = types.iter().position(|t| plain(t) == whole) {
        return Some(same);
    }
    let spelt = spelt_in(name);
    let fitting = types.iter().enumerate().filter(|(_, t)| spelt.contains(&plain(t)));
    fitting.max_by_key(|(_, t)| plain(t).len()).map(|(i, _)| i)
}

/// Everything that consecutive words of a name spell. A word that makes another card of it (`Ti`) belongs to
/// the word before.
fn spelt_in(name: &str) -> Vec<String> {
    const WORDS_MAX: usize = 16;
    const PART_OF_THE_CARD: [&str; 2] = ["ti", "super"];
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let words: Vec<&str> = words.take(WORDS_MAX).collect();
    let mut spelt = Vec::new();
    for from in 0..words.len() {
        for to in from + 1..=words.len() {
            if words.get(to).is_none_or(|next| !PART_OF_THE_CARD.contains(next)) {
                spelt.push(words[from..to].concat());
            }
        }
    }
    spelt
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
    InputError::one(Source::new("cluster and profiles", "").whole(message).hint(hint))
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
    fn a_long_name_means_the_type_that_its_words_spell() {
        let types = ["a100", "a10", "v100", "V100-32GB", "rtx3090"].map(String::from);
        let found = |name: &str| find_type(name, &types).map(|i| types[i].as_str());
        assert_eq!(found("nvidia_a100-sxm4-80gb"), Some("a100"));
        assert_eq!(found("Tesla V100-32GB"), Some("V100-32GB"));
        assert_eq!(found("tesla_v100"), Some("v100"));
        assert_eq!(found("NVIDIA GeForce RTX 3090"), Some("rtx3090"));
        assert_eq!(found("NVIDIA GeForce RTX 3090 Ti"), None);
        assert_eq!(found("a1000"), None);
        assert_eq!(found(""), None);
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
