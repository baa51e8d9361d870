//! "Did you mean".

/// The known name nearest to a wrong one, if any is near enough to be meant.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let distance = |name: &'a str| {
        let edits = strsim::osa_distance(&lower, &name.to_lowercase());
        // A prefix is what people type when they remember half of a name.
        let begun = !lower.is_empty() && name.to_lowercase().starts_with(&lower);
        (if begun { 1 } else { edits }, edits, name)
    };
    let (far, _, near) = known.into_iter().map(distance).min()?;
    let length = wrong.chars().count();
    // Most of the name must have been right: `b200` is no misspelt `a100`.
    (far <= 1.max(length / 3) && far < length).then_some(near)
}

/// A hint that names the nearest known name, or else some of the known ones.
pub fn hint<'a>(
    what: &str,
    wrong: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    const NAMED_MAX: usize = 8;
    if let Some(near) = nearest(wrong, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut names: Vec<&str> = known.into_iter().take(NAMED_MAX + 1).collect();
    if names.len() > NAMED_MAX {
        names[NAMED_MAX] = "...";
    }
    format!("{what}: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_listed() {
        assert_eq!(nearest("wieght", ["weight", "name"]), Some("weight"));
        assert_eq!(nearest("vision", ["vision-lab", "speech"]), Some("vision-lab"));
        assert_eq!(nearest("colour", ["weight", "name"]), None);
        assert_eq!(nearest("xy", ["ab"]), None);
        assert_eq!(nearest("b200", ["a100"]), None);
        assert_eq!(hint("fields", "colour", ["weight", "name"]), "fields: weight, name");
        assert_eq!(hint("columns", "gpu", ["gpu_type", "gpus"]), "did you mean `gpus`?");
    }
}
