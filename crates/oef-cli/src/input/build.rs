//! From a tree to a description of a problem, noting every field that does not belong there.

use super::Finding;
use super::nearest;
use super::places::Places;
use oef_core::{Field, GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec};
use oef_sim::input::tree::{Node, Table, Value};

const TOP_FIELDS: [&str; 3] = ["reference", "gpu", "tenant"];
const GPU_FIELDS: [&str; 2] = ["type", "count"];
const TENANT_FIELDS: [&str; 6] = ["name", "weight", "demand", "guarantee", "limit", "workload"];
const WORKLOAD_FIELDS: [&str; 5] = ["name", "weight", "demand", "throughput", "single"];

/// Examples of tables of numbers by gpu type.
const GPUS: &str = "{ a100 = 4 }";
const SPEEDS: &str = "{ a100 = 1.0, h100 = 2.2 }";

/// A description with the places of its fields and what is wrong with its structure.
#[derive(Debug, Default)]
pub struct Built {
    /// The description; a field that is wrong holds a harmless value.
    pub spec: ProblemSpec,
    /// Where everything stands.
    pub places: Places,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Fields whose values are made up, or missing for a reason already told: no further complaints.
    pub silenced: Vec<Field>,
}

/// One table of a file.
#[derive(Clone, Copy)]
struct Part<'t> {
    /// Where it begins.
    at: usize,
    /// What it is in: the beginning of its fields' names.
    path: &'static str,
    table: &'t Table,
}

/// Reads a whole problem.
pub fn problem(root: &Table) -> Built {
    let mut built = Built::default();
    let whole = Part { at: 0, path: "", table: root };
    if built.unknown(whole, &TOP_FIELDS) {
        // A misspelt `gpu` or `tenant` would be told a second time as "no tenants".
        built.silenced.push(Field::Whole);
    }
    built.spec.reference = built.text(whole, "reference", Field::Reference);
    for part in built.tables(root, "gpu", "gpu") {
        built.gpu(part);
    }
    for part in built.tables(root, "tenant", "tenant") {
        built.tenant(part);
    }
    built
}

/// Reads a file that only has tenants.
pub fn tenants_only(root: &Table) -> Built {
    let mut built = Built::default();
    built.unknown(Part { at: 0, path: "", table: root }, &["tenant"]);
    for part in built.tables(root, "tenant", "tenant") {
        built.tenant(part);
    }
    built
}

impl Built {
    fn gpu(&mut self, part: Part<'_>) {
        let j = self.spec.gpus.len();
        self.unknown(part, &GPU_FIELDS);
        self.require(part, "type");
        let name = self.text(part, "type", Field::GpuName(j));
        self.require(part, "count");
        let count = self.number(part, "count", Field::GpuCount(j)).unwrap_or(1.0);
        if name.is_none() {
            self.silenced.push(Field::GpuName(j));
        }
        self.spec.gpus.push(GpuSpec { name: name.unwrap_or_else(|| unnamed(j)), count });
    }

    fn tenant(&mut self, part: Part<'_>) {
        let t = self.spec.tenants.len();
        let unknown = self.unknown(part, &TENANT_FIELDS);
        self.require(part, "name");
        let name = self.text(part, "name", Field::TenantName(t));
        if name.is_none() {
            self.silenced.push(Field::TenantName(t));
        }
        let mut spec = TenantSpec {
            name: name.unwrap_or_else(|| unnamed(t)),
            weight: self.number(part, "weight", Field::TenantWeight(t)).unwrap_or(1.0),
            demand: self.number(part, "demand", Field::TenantDemand(t)),
            guarantee: self
                .by_type(part, "guarantee", Field::TenantGuarantee(t), GPUS, None)
                .unwrap_or_default(),
            limit: self
                .by_type(part, "limit", Field::TenantLimit(t), GPUS, None)
                .unwrap_or_default(),
            workloads: Vec::new(),
        };
        let before = self.findings.len();
        self.place(part, "workload", Field::TenantWorkloads(t));
        let workloads = self.tables(part.table, "workload", "tenant.workload");
        if unknown || self.findings.len() > before {
            self.silenced.push(Field::TenantWorkloads(t));
        }
        for (w, part) in workloads.into_iter().enumerate() {
            spec.workloads.push(self.workload((t, w), part));
        }
        self.spec.tenants.push(spec);
    }

    fn workload(&mut self, (t, w): (usize, usize), part: Part<'_>) -> WorkloadSpec {
        let unknown = self.unknown(part, &WORKLOAD_FIELDS);
        let is_named = part.table.get("name").is_some();
        let name = self.text(part, "name", Field::WorkloadName(t, w));
        let weight = self.number(part, "weight", Field::WorkloadWeight(t, w)).unwrap_or(1.0);
        let demand = self.number(part, "demand", Field::WorkloadDemand(t, w));
        let whole = Field::WorkloadThroughput(t, w);
        let throughput = self.by_type(part, "throughput", whole.clone(), SPEEDS, Some(1.0));
        match part.table.get("throughput").map(|node| &node.value) {
            Some(Value::Table(table)) => {
                for (e, entry) in table.entries.iter().enumerate() {
                    // The name may be what is wrong as well as the number, so the key is the place.
                    let path = format!("tenant.workload.throughput.{}", entry.key);
                    self.places.set(Field::WorkloadThroughputEntry(t, w, e), entry.key_at, path);
                }
            }
            None if !unknown => {}
            _ => self.silenced.push(whole),
        }
        let single = self.by_type(part, "single", Field::WorkloadSingle(t, w), SPEEDS, Some(1.0));
        WorkloadSpec {
            name: name.unwrap_or_else(|| if is_named { unnamed(w) } else { "default".into() }),
            weight,
            demand,
            throughput: throughput.unwrap_or_default(),
            single: single.unwrap_or_default(),
        }
    }

    /// Complains about every field that does not belong in a table; whether there is any.
    fn unknown(&mut self, Part { path, table, .. }: Part<'_>, known: &[&str]) -> bool {
        let before = self.findings.len();
        for entry in table.entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let field = join(path, &entry.key);
            let whose = if path.is_empty() { "a problem".into() } else { format!("`{path}`") };
            let message = format!("unknown field `{}` in {whose}", entry.key);
            let hint = match elsewhere(path, &entry.key) {
                Some(owner) => format!("`{}` belongs in `{owner}`", entry.key),
                None => nearest::hint("fields", &entry.key, known.iter().copied()),
            };
            self.findings.push(Finding::new(entry.key_at, &field, message).hint(hint));
        }
        self.findings.len() > before
    }

    fn require(&mut self, Part { at, path, table }: Part<'_>, key: &str) {
        let near = |e: &&str| nearest::nearest(e, [key]).is_some();
        let misspelt = || table.entries.iter().map(|e| e.key.as_str()).any(|e| near(&e));
        // A misspelt field has its own complaint, with this one as the hint.
        if table.get(key).is_none() && !misspelt() {
            let example =
                if key == "count" { format!("{key} = 8") } else { format!("{key} = \"...\"") };
            let message = format!("a {path} has no `{key}`");
            let finding = Finding::new(at, &join(path, key), message);
            self.findings.push(finding.hint(format!("add `{example}`")));
        }
    }

    /// The tables of a list of tables; one table alone is taken as a list of one.
    fn tables<'t>(&mut self, table: &'t Table, key: &str, path: &'static str) -> Vec<Part<'t>> {
        let expected = format!("a list of tables, written [[{path}]]");
        let nodes = match table.get(key) {
            None => return Vec::new(),
            Some(Node { value: Value::List(list), .. }) => list.iter().collect(),
            Some(node) => vec![node],
        };
        let mut tables = Vec::with_capacity(nodes.len());
        for node in nodes {
            match &node.value {
                Value::Table(table) => tables.push(Part { at: node.at, path, table }),
                other => self.wrong_type(node.at, path, &expected, other),
            }
        }
        if tables.is_empty() && !self.findings.is_empty() && path != "tenant.workload" {
            self.silenced.push(Field::Whole);
        }
        tables
    }

    /// Notes where a field stands, and answers with it and its name.
    fn place<'t>(&mut self, part: Part<'t>, key: &str, field: Field) -> Option<(&'t Node, String)> {
        let (node, path) = (part.table.get(key), join(part.path, key));
        self.places.set(field, node.map_or(part.at, |node| node.at), path.as_str());
        node.map(|node| (node, path))
    }

    fn text(&mut self, part: Part<'_>, key: &str, field: Field) -> Option<String> {
        let (node, path) = self.place(part, key, field)?;
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            other => {
                self.wrong_type(node.at, &path, "a text in double quotes", other);
                None
            }
        }
    }

    fn number(&mut self, part: Part<'_>, key: &str, field: Field) -> Option<f64> {
        let (node, path) = self.place(part, key, field)?;
        self.number_at(node, &path)
    }

    /// Numbers by gpu type. What is none counts as `instead`, or is left out.
    fn by_type(
        &mut self,
        part: Part<'_>,
        key: &str,
        field: Field,
        example: &str,
        instead: Option<f64>,
    ) -> Option<Vec<(String, f64)>> {
        let (node, path) = self.place(part, key, field)?;
        let Value::Table(table) = &node.value else {
            self.wrong_type(node.at, &path, &format!("a table such as {example}"), &node.value);
            return None;
        };
        let mut found = Vec::new();
        for entry in &table.entries {
            let number = self.number_at(&entry.node, &join(&path, &entry.key));
            found.extend(number.or(instead).map(|number| (entry.key.clone(), number)));
        }
        Some(found)
    }

    fn number_at(&mut self, node: &Node, path: &str) -> Option<f64> {
        match &node.value {
            Value::Number(x) => Some(*x),
            other => {
                self.wrong_type(node.at, path, "a number", other);
                None
            }
        }
    }

    fn wrong_type(&mut self, at: usize, path: &str, expected: &str, found: &Value) {
        let message = format!("`{path}` is {}", found.describe());
        self.findings
            .push(Finding::new(at, path, message).hint(format!("it should be {expected}")));
    }
}

/// A made-up name must not collide with a real one.
fn unnamed(index: usize) -> String {
    format!("(unnamed, {})", index + 1)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// The table in which a field would be right, if it was put into the wrong one.
fn elsewhere(path: &str, key: &str) -> Option<&'static str> {
    let homes: [(&str, &[&str]); 3] =
        [("gpu", &GPU_FIELDS), ("tenant", &TENANT_FIELDS), ("tenant.workload", &WORKLOAD_FIELDS)];
    let unique = ["throughput", "count", "demand", "guarantee", "limit", "workload"];
    let home = homes.iter().find(|(home, fields)| *home != path && fields.contains(&key));
    home.filter(|_| unique.contains(&key)).map(|(home, _)| *home)
}
