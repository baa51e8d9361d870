//! Launches that can never be carried out, known before anything is written.

use crate::launch::{Launch, Program};
use std::path::PathBuf;

/// A gang on one machine; more is a mistake.
const MAX_WORKERS: usize = 1024;

/// What is wrong with a launch that no system could start. A gang that is not all here may be larger than one machine.
pub(super) fn check(launch: &Launch, is_all_here: bool) -> Option<String> {
    let words: &[String] = match &launch.program {
        Program::Command(words) => words,
        Program::Script(_) => &[],
    };
    if matches!(launch.program, Program::Command(_)) && words.first().is_none_or(String::is_empty) {
        return Some("it has no command".to_string());
    }
    if launch.devices.is_empty() {
        return Some("it has no GPU".to_string());
    }
    if is_all_here && launch.devices.len() > MAX_WORKERS {
        let count = launch.devices.len();
        return Some(format!("{count} workers are more than the {MAX_WORKERS} of one machine"));
    }
    let is_relative = |path: &&PathBuf| !path.is_absolute();
    for (what, path) in
        [("workdir", &launch.workdir), ("checkpoint dir", &launch.checkpoints.own_dir)]
    {
        if let Some(path) = path.as_ref().filter(is_relative) {
            return Some(format!("its {what} `{}` is not an absolute path", path.display()));
        }
    }
    if let Some(argument) = words.iter().find(|argument| argument.contains('\0')) {
        return Some(format!("{argument:?} of its command has a zero byte in it"));
    }
    for (name, value) in &launch.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Some(format!("{name:?} cannot be the name of a variable"));
        }
        if value.contains('\0') {
            return Some(format!("its variable `{name}` has a zero byte in it"));
        }
    }
    if [&launch.name, &launch.tenant, &launch.workload].iter().any(|text| text.contains('\0')) {
        return Some("one of its names has a zero byte in it".to_string());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceId;
    use crate::testing::launch;

    type Change = &'static dyn Fn(&mut Launch);

    #[test]
    fn what_can_never_be_started() {
        let with = |change: Change| {
            let mut launch = launch(7, &["true"]);
            change(&mut launch);
            check(&launch, true)
        };
        assert_eq!(with(&|_| {}), None);
        let cases: [(Change, &str); 7] = [
            (&|launch| launch.program = Program::Command(vec![]), "no command"),
            (&|launch| launch.devices.clear(), "no GPU"),
            (&|launch| launch.workdir = Some("work".into()), "`work` is not an absolute path"),
            (&|launch| launch.checkpoints.own_dir = Some("c".into()), "`c` is not an absolute"),
            (&|launch| launch.program = Program::Command(vec!["a\0".into()]), "zero byte"),
            (&|launch| drop(launch.env.insert("A=B".into(), "1".into())), "name of a variable"),
            (&|launch| launch.name = "\0".into(), "names has a zero byte"),
        ];
        for (change, said) in cases {
            assert!(with(change).is_some_and(|why| why.contains(said)), "{said}");
        }
        let mut large = launch(7, &["true"]);
        large.devices = (0..2000).map(|index| DeviceId(format!("n{index}:0"))).collect();
        assert_eq!(check(&large, false), None, "on a cluster");
        assert!(check(&large, true).is_some_and(|why| why.contains("of one machine")));
    }
}
