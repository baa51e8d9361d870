//! "Did you mean".

/// A hint that names the known name nearest to a wrong one, or else some of the known ones.
pub(crate) fn hint<'a>(
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

fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&lower, &name.to_lowercase());
    let (far, near) = known.into_iter().map(|name| (distance(name), name)).min()?;
    let length = wrong.chars().count();
    // Most of the name must have been right: `b200` is no misspelt `a100`.
    (far <= 1.max(length / 3) && far < length).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_listed() {
        assert_eq!(hint("columns", "gpu", ["gpus", "tenant"]), "did you mean `gpus`?");
        assert_eq!(hint("columns", "colour", ["gpus", "tenant"]), "columns: gpus, tenant");
    }
}
