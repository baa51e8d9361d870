//! The documents name what is there, and what they name is there.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for path in documents() {
        for target in links(&read(&path)) {
            let file = target.split('#').next().unwrap_or_default();
            let is_outside = target.contains("://") || target.starts_with("mailto:");
            let folder = path.parent().expect("a folder");
            if !is_outside && !file.is_empty() && !folder.join(file).exists() {
                wrong.push(format!("{} -> {target}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links to nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = links(&read(&root().join("docs/src/SUMMARY.md")));
    for page in in_folder("docs/src", "md").iter().filter(|p| !p.ends_with("SUMMARY.md")) {
        let name = page.file_name().expect("a name").to_string_lossy();
        assert!(summary.iter().any(|link| *link == name), "{name} is not in docs/src/SUMMARY.md");
    }
}

#[test]
fn every_crate_is_in_the_architecture() {
    let text = read(&root().join("ARCHITECTURE.md"));
    for folder in fs::read_dir(root().join("crates")).expect("crates") {
        let name = folder.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(text.contains(&format!("`{name}`")), "{name} is not in ARCHITECTURE.md");
    }
}

#[test]
fn every_example_has_its_story() {
    let text = read(&root().join("examples/README.md"));
    for extension in ["toml", "csv", "json"] {
        for example in in_folder("examples", extension) {
            let name = example.file_name().expect("a name").to_string_lossy();
            assert!(text.contains(&format!("`{name}`")), "{name} is not in examples/README.md");
        }
    }
}

#[test]
fn the_readme_and_ci_use_the_same_test_command() {
    for file in ["README.md", "CONTRIBUTING.md", ".ci/run"] {
        assert!(read(&root().join(file)).contains("scripts/test.sh"), "{file}");
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn in_folder(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

fn documents() -> Vec<PathBuf> {
    let folders = [".", "docs/src", "examples", "benches/prototype"];
    folders.iter().flat_map(|folder| in_folder(folder, "md")).collect()
}

/// The targets of `[text](target)`, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let end = rest.find(')').unwrap_or(rest.len());
            found.push(rest[..end].to_string());
            rest = &rest[end..];
        }
    }
    found
}
