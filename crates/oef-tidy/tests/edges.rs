//! Which crate may depend on which: the arrows of ARCHITECTURE.md.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Every crate of the workspace with the workspace crates that it may use. A new crate needs a line here and
/// one in ARCHITECTURE.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("oef-core", &[]),
    ("oef-sched", &["oef-core"]),
    ("oef-sim", &["oef-core", "oef-sched"]),
    ("oef-report", &[]),
    ("oef-executor", &["oef-sched"]),
    ("oef-api", &[]),
    ("oef-server", &["oef-api", "oef-core", "oef-sched", "oef-executor", "oef-report"]),
    ("oef-terminal", &["oef-api", "oef-core", "oef-report", "oef-sim"]),
    (
        "oef-lab",
        &[
            "oef-api",
            "oef-core",
            "oef-executor",
            "oef-report",
            "oef-sched",
            "oef-sim",
            "oef-terminal",
        ],
    ),
    (
        "oef-cli",
        &[
            "oef-api",
            "oef-core",
            "oef-executor",
            "oef-lab",
            "oef-report",
            "oef-sched",
            "oef-server",
            "oef-sim",
            "oef-terminal",
        ],
    ),
    ("oef-oracle", &["oef-core"]),
    ("oef-tidy", &["oef-core"]),
];

/// Only tests may use these, whatever the table above says.
const FOR_TESTS_ONLY: [&str; 2] = ["oef-oracle", "oef-tidy"];

/// Everything from outside that the core may use. It computes; it needs little: matrix products and error
/// types, and `serde` behind a feature that is off by default.
const CORE_MAY_USE_FROM_OUTSIDE: [&str; 4] = ["ndarray", "serde", "strsim", "thiserror"];

struct Dependency {
    from: String,
    to: String,
    is_inside: bool,
    is_for_tests: bool,
    is_optional: bool,
}

#[test]
fn crates_depend_only_on_those_they_may() {
    let (crates, dependencies) = workspace();
    let table: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    for name in &crates {
        assert!(table.contains_key(name.as_str()), "`{name}` is not in the table of this test");
    }
    for d in dependencies.iter().filter(|d| d.is_inside) {
        // Tests of a crate may ask for its features.
        if d.is_for_tests && (FOR_TESTS_ONLY.contains(&d.to.as_str()) || d.from == d.to) {
            continue;
        }
        let allowed = table.get(d.from.as_str()).is_some_and(|may| may.contains(&d.to.as_str()));
        assert!(allowed, "`{}` must not depend on `{}`", d.from, d.to);
        assert!(!FOR_TESTS_ONLY.contains(&d.to.as_str()), "`{}` is for tests only", d.to);
    }
}

/// Whoever runs a cluster can build without what only judges OEF, and without the solver that it compares with.
#[test]
fn the_product_can_be_built_without_the_lab() {
    let (_, dependencies) = workspace();
    for d in dependencies.iter().filter(|d| !d.is_for_tests) {
        let is_lab = d.to == "oef-lab" || d.to == "clarabel";
        let may = d.from == "oef-lab" || FOR_TESTS_ONLY.contains(&d.from.as_str()) || d.is_optional;
        assert!(!is_lab || may, "`{}` uses `{}` in every build", d.from, d.to);
    }
}

#[test]
fn the_core_uses_almost_nothing_from_outside() {
    let (_, dependencies) = workspace();
    for d in dependencies.iter().filter(|d| d.from == "oef-core" && !d.is_inside && !d.is_for_tests)
    {
        assert!(
            CORE_MAY_USE_FROM_OUTSIDE.contains(&d.to.as_str()),
            "`oef-core` must not depend on `{}`: no I/O, no clock, no runtime",
            d.to
        );
    }
}

fn workspace() -> (Vec<String>, Vec<Dependency>) {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_string();
    let crates: Vec<String> = packages.iter().map(name).collect();
    let mut dependencies = Vec::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            dependencies.push(Dependency {
                from: name(package),
                to: name(dependency),
                is_inside: crates.contains(&name(dependency)),
                is_for_tests: dependency["kind"] == "dev",
                is_optional: dependency["optional"] == true,
            });
        }
    }
    assert!(crates.len() >= 2, "only found {crates:?}");
    (crates, dependencies)
}
