//! The files of the page are what they should be.

use super::assets::{ASSETS, FILES, current};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_file_of_the_page_is_served() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let mut there = BTreeSet::new();
    walk(&folder, &folder, &mut there);
    let served: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_string()).collect();
    assert_eq!(served, there, "src/http/page/assets.rs lists the files of crates/oef-server/page");
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => walk(root, &path, found),
            false => {
                let name = path.strip_prefix(root).expect("below it").display().to_string();
                found.insert(name);
            }
        }
    }
}

/// What tenants wrote is text: nothing here may make markup of it, or run what it says.
#[test]
fn no_script_makes_markup_of_text() {
    let forbidden = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "http://",
        "https://",
    ];
    for (name, bytes) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
        let text = String::from_utf8_lossy(bytes).replace("http://www.w3.org/2000/svg", "");
        for word in forbidden {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
    let shell = current("index.html").expect("the shell");
    let text = String::from_utf8_lossy(&shell.plain).to_string();
    assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains("javascript:"));
    assert!(text.contains(&format!("/assets/{}/app.js", ASSETS.version)), "{text}");
    let inline = text.split("<script").skip(1).filter(|tag| !tag.contains(" src=")).count();
    assert_eq!(inline, 0, "the policy allows no inline script");
}

#[test]
fn the_page_is_small() {
    let bytes: usize =
        FILES.iter().filter_map(|(name, _)| current(name)).map(|a| a.gzip.len()).sum();
    assert!(bytes < 150_000, "{bytes} bytes compressed: half of what the first view may transfer");
}
