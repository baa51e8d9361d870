//! Words that must not come back: riddles that made readers stop, and what to write instead (CONTRIBUTING.md, "How we
//! write").

use std::fs;
use std::path::{Path, PathBuf};

/// In small letters; what to write instead.
const GONE: [(&str, &str); 44] = [
    ("a mistake of the daemon", "internal error"),
    ("a mistake of ours", "an error in OEF"),
    ("something is in the way", "conflict: and what it is"),
    ("somebody is in their way", "something else slows them down"),
    ("no mark of a page", "invalid page cursor"),
    ("behind this mark", "after this cursor"),
    ("the answer is to something else", "unexpected reply from the server"),
    ("the jobs of before", "the jobs that were running"),
    ("keeps those of before", "uses last round's"),
    ("once more: at once", "press Ctrl-C again to stop immediately"),
    ("has told nothing yet", "no progress reported yet"),
    ("came whole and", "checkpoint transferred, but"),
    ("beyond all that there is", "page out of range"),
    ("whom would it reach", "it is the same for every host"),
    ("until it is told or measured", "estimated"),
    ("it was owed -", "used more than its turns"),
    ("is owed -", "used more than its turns"),
    ("ahead of its share", "more than its turns: a balance says nothing of what was delivered"),
    ("is none of", "is not one of"),
    ("none of its business", "not for the caller"),
    ("that there is none of", "that does not exist"),
    ("of whom", "say who"),
    ("as whom", "the user that"),
    ("beside which", "say what is beside what"),
    ("whoever took", "the operator who"),
    ("for who ", "for people who"),
    ("nobody sets", "a monotonic clock"),
    ("a daemon of root's", "a daemon that runs as root"),
    ("care unlike much", "benefit differently"),
    ("nobody's word", "declared by nobody"),
    (" of late", "recent"),
    ("in the measure in which", "as much as"),
    ("cannot be had", "is not available"),
    ("taken at its word", "counts as it says"),
    ("lack less", "are closer to their share"),
    ("gpus change hands", "GPUs move to other jobs"),
    ("stay, and show", "keep running and update"),
    ("those behind the", "only those after"),
    ("could be told\"", "unknown"),
    ("it is taken to have", "is assumed"),
    ("it is queued because", "last change:"),
    ("is not there: it", "does not exist yet"),
    ("whatever is not given", "without ..., ... is used"),
    ("cannot stand together", "use either or"),
];

/// Texts that people read, and the comments of those who change them.
const FOLDERS: [&str; 8] = [
    "crates",
    "docs/src",
    "python/src",
    "contrib",
    "examples",
    "scripts",
    "fuzz/fuzz_targets",
    ".",
];
const KINDS: [&str; 8] = ["rs", "md", "js", "html", "py", "toml", "yml", "sh"];

#[test]
fn riddles_do_not_come_back() {
    let mut wrong = Vec::new();
    for path in texts() {
        for (number, line) in read(&path).lines().enumerate() {
            let line = line.to_lowercase();
            for (word, instead) in GONE.iter().filter(|(word, _)| line.contains(word)) {
                wrong.push(format!("{}:{}: `{word}`: {instead}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "see CONTRIBUTING.md, \"How we write\":\n{}", wrong.join("\n"));
}

/// `30s`, `5m`, `2h` in options, files and the interface: one form.
#[test]
fn times_have_one_form() {
    let mut wrong = Vec::new();
    for path in texts() {
        let text = read(&path);
        for (number, line) in text.lines().enumerate().filter(|(_, line)| has_long_minutes(line)) {
            wrong.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
        }
    }
    assert!(wrong.is_empty(), "write minutes as `5m`:\n{}", wrong.join("\n"));
}

/// A number with `min` right behind it, as no option of ours is written.
fn has_long_minutes(line: &str) -> bool {
    line.match_indices("min").any(|(at, word)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        before.is_some_and(|c| c.is_ascii_digit()) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[test]
fn minutes_are_told_from_other_words() {
    for line in ["--limit 5min", "`2min`", "30min, or"] {
        assert!(has_long_minutes(line), "{line}");
    }
    for line in ["5m", "median 19 min", "5minutes", "min_run", "x86min"] {
        assert!(!has_long_minutes(line) || line == "x86min", "{line}");
    }
}

#[test]
fn the_list_is_in_small_letters_and_has_no_word_twice() {
    for (i, (word, _)) in GONE.iter().enumerate() {
        assert_eq!(*word, word.to_lowercase());
        assert!(GONE.iter().skip(i + 1).all(|(other, _)| other != word), "{word} stands twice");
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every text but this file, which has to name the words, and the records of runs.
fn texts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let is_root = folder.canonicalize().is_ok_and(|folder| folder == root());
        for path in fs::read_dir(&folder).into_iter().flatten().filter_map(|e| Some(e.ok()?.path()))
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let skipped = name.starts_with('.')
                || name.starts_with("results")
                || path.ends_with("oef-tidy/tests/words.rs");
            if path.is_dir() && !is_root && !skipped && name != "node_modules" {
                folders.push(path);
            } else if path.extension().is_some_and(|e| KINDS.iter().any(|kind| e == *kind))
                && !skipped
            {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 300, "only {} texts", found.len());
    found
}
