//! From a tree to a description of a problem, noting every field that does not belong there.

use super::Finding;
use super::nearest;
use super::places::{GpuPlaces, Places, TenantPlaces, WorkloadPlaces};
use oef_core::{Field, GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec};
use oef_sim::input::tree::{Node, Table, Value};

const TOP_FIELDS: [&str; 3] = ["reference", "gpu", "tenant"];
const GPU_FIELDS: [&str; 2] = ["type", "count"];
const TENANT_FIELDS: [&str; 6] = ["name", "weight", "demand", "guarantee", "limit", "workload"];
const WORKLOAD_FIELDS: [&str; 5] = ["name", "weight", "demand", "throughput", "single"];

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

/// Reads a whole problem.
pub fn problem(root: &Table) -> Built {
    let mut built = Built::default();
    if let Some(Finding { .. }) = built.unknown(root, "", &TOP_FIELDS) {
        // A misspelt `gpu` or `tenant` would be told a second time as "no tenants".
        built.silenced.push(Field::Whole);
    }
    if let Some(node) = root.get("reference") {
        built.places.reference = node.at;
        built.spec.reference = built.text(node, "reference");
    }
    for table in built.tables(root, "gpu", "gpu") {
        built.gpu(table);
    }
    for table in built.tables(root, "tenant", "tenant") {
        built.tenant(table);
    }
    built
}

/// Reads a file that only has tenants.
pub fn tenants_only(root: &Table) -> Built {
    let mut built = Built::default();
    built.unknown(root, "", &["tenant"]);
    for table in built.tables(root, "tenant", "tenant") {
        built.tenant(table);
    }
    built
}

impl Built {
    fn gpu(&mut self, (at, table): (usize, &Table)) {
        let j = self.spec.gpus.len();
        self.unknown(table, "gpu", &GPU_FIELDS);
        let mut places = GpuPlaces { name: at, count: at };
        let name = self.required(table, at, "gpu", "type").and_then(|node| {
            places.name = node.at;
            self.text(node, "gpu.type")
        });
        let count = self.required(table, at, "gpu", "count").and_then(|node| {
            places.count = node.at;
            self.number(node, "gpu.count")
        });
        if name.is_none() {
            self.silenced.push(Field::GpuName(j));
        }
        // A made-up name must not collide with a real one.
        let name = name.unwrap_or_else(|| format!("(unnamed, {})", j + 1));
        self.spec.gpus.push(GpuSpec { name, count: count.unwrap_or(1.0) });
        self.places.gpus.push(places);
    }

    fn tenant(&mut self, (at, table): (usize, &Table)) {
        let t = self.spec.tenants.len();
        let unknown = self.unknown(table, "tenant", &TENANT_FIELDS);
        let mut places = TenantPlaces {
            name: at,
            weight: at,
            demand: at,
            guarantee: at,
            limit: at,
            list: at,
            workloads: vec![],
        };
        let name = self.required(table, at, "tenant", "name").and_then(|node| {
            places.name = node.at;
            self.text(node, "tenant.name")
        });
        if name.is_none() {
            self.silenced.push(Field::TenantName(t));
        }
        let mut spec = TenantSpec {
            name: name.unwrap_or_else(|| format!("(unnamed, {})", t + 1)),
            weight: 1.0,
            demand: None,
            guarantee: Vec::new(),
            limit: Vec::new(),
            workloads: Vec::new(),
        };
        if let Some(node) = table.get("weight") {
            places.weight = node.at;
            spec.weight = self.number(node, "tenant.weight").unwrap_or(1.0);
        }
        if let Some(node) = table.get("demand") {
            places.demand = node.at;
            spec.demand = self.number(node, "tenant.demand");
        }
        if let Some(node) = table.get("guarantee") {
            places.guarantee = node.at;
            spec.guarantee = self.gpus_by_type(node, "tenant.guarantee");
        }
        if let Some(node) = table.get("limit") {
            places.limit = node.at;
            spec.limit = self.gpus_by_type(node, "tenant.limit");
        }
        let before = self.findings.len();
        let workloads = self.tables(table, "workload", "tenant.workload");
        if unknown.is_some() || self.findings.len() > before {
            self.silenced.push(Field::TenantWorkloads(t));
        }
        if let Some(node) = table.get("workload") {
            places.list = node.at;
        }
        for (w, entry) in workloads.into_iter().enumerate() {
            let (workload, place) = self.workload((t, w), entry);
            spec.workloads.push(workload);
            places.workloads.push(place);
        }
        self.spec.tenants.push(spec);
        self.places.tenants.push(places);
    }

    /// A table of numbers of GPUs.
    fn gpus_by_type(&mut self, node: &Node, path: &str) -> Vec<(String, f64)> {
        let Value::Table(entries) = &node.value else {
            self.wrong_type(node.at, path, "a table such as { a100 = 4 }", &node.value);
            return Vec::new();
        };
        let mut gpus = Vec::new();
        for entry in &entries.entries {
            if let Some(number) = self.number(&entry.node, &format!("{path}.{}", entry.key)) {
                gpus.push((entry.key.clone(), number));
            }
        }
        gpus
    }

    fn workload(
        &mut self,
        (t, w): (usize, usize),
        (at, table): (usize, &Table),
    ) -> (WorkloadSpec, WorkloadPlaces) {
        let unknown = self.unknown(table, "tenant.workload", &WORKLOAD_FIELDS);
        let mut spec = WorkloadSpec {
            name: "default".into(),
            weight: 1.0,
            demand: None,
            throughput: Vec::new(),
            single: Vec::new(),
        };
        let mut places = WorkloadPlaces {
            name: at,
            weight: at,
            demand: at,
            throughput: at,
            single: at,
            entries: Vec::new(),
        };
        if let Some(node) = table.get("name") {
            places.name = node.at;
            match self.text(node, "tenant.workload.name") {
                Some(name) => spec.name = name,
                None => spec.name = format!("(unnamed, {})", w + 1),
            }
        }
        if let Some(node) = table.get("weight") {
            places.weight = node.at;
            spec.weight = self.number(node, "tenant.workload.weight").unwrap_or(1.0);
        }
        if let Some(node) = table.get("demand") {
            places.demand = node.at;
            spec.demand = self.number(node, "tenant.workload.demand");
        }
        match table.get("throughput") {
            None if unknown.is_some() => self.silenced.push(Field::WorkloadThroughput(t, w)),
            None => {}
            Some(node) => {
                places.throughput = node.at;
                match &node.value {
                    Value::Table(entries) => self.throughput(entries, &mut spec, &mut places),
                    other => {
                        let example = "a table such as { a100 = 1.0, h100 = 2.2 }";
                        self.wrong_type(node.at, "tenant.workload.throughput", example, other);
                        self.silenced.push(Field::WorkloadThroughput(t, w));
                    }
                }
            }
        }
        if let Some(node) = table.get("single") {
            places.single = node.at;
            match &node.value {
                Value::Table(entries) => {
                    for entry in &entries.entries {
                        let path = format!("tenant.workload.single.{}", entry.key);
                        let value = self.number(&entry.node, &path).unwrap_or(1.0);
                        spec.single.push((entry.key.clone(), value));
                    }
                }
                other => {
                    let example = "a table such as { a100 = 1.0, h100 = 2.2 }";
                    self.wrong_type(node.at, "tenant.workload.single", example, other);
                }
            }
        }
        (spec, places)
    }

    fn throughput(&mut self, table: &Table, spec: &mut WorkloadSpec, places: &mut WorkloadPlaces) {
        for entry in &table.entries {
            let path = format!("tenant.workload.throughput.{}", entry.key);
            let value = self.number(&entry.node, &path).unwrap_or(1.0);
            // The name may be what is wrong as well as the number, so the key is the place.
            places.entries.push((entry.key_at, entry.key.clone()));
            spec.throughput.push((entry.key.clone(), value));
        }
    }

    /// Complains about every field that does not belong in a table; answers with the last of them.
    fn unknown(&mut self, table: &Table, path: &str, known: &[&str]) -> Option<Finding> {
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
        let unknown = table.entries.iter().any(|e| !known.contains(&e.key.as_str()));
        if unknown { self.findings.last().cloned() } else { None }
    }

    fn required<'t>(
        &mut self,
        table: &'t Table,
        at: usize,
        path: &str,
        key: &str,
    ) -> Option<&'t Node> {
        let found = table.get(key);
        let near = |e: &&str| nearest::nearest(e, [key]).is_some();
        let misspelt = || table.entries.iter().map(|e| e.key.as_str()).any(|e| near(&e));
        // A misspelt field has its own complaint, with this one as the hint.
        if found.is_none() && !misspelt() {
            let example =
                if key == "count" { format!("{key} = 8") } else { format!("{key} = \"...\"") };
            let message = format!("a {path} has no `{key}`");
            let finding = Finding::new(at, &join(path, key), message);
            self.findings.push(finding.hint(format!("add `{example}`")));
        }
        found
    }

    /// The tables of a list of tables; one table alone is taken as a list of one.
    fn tables<'t>(&mut self, table: &'t Table, key: &str, path: &str) -> Vec<(usize, &'t Table)> {
        let expected = format!("a list of tables, written [[{path}]]");
        let nodes = match table.get(key) {
            None => return Vec::new(),
            Some(Node { value: Value::List(list), .. }) => list.iter().collect(),
            Some(node) => vec![node],
        };
        let mut tables = Vec::with_capacity(nodes.len());
        for node in nodes {
            match &node.value {
                Value::Table(table) => tables.push((node.at, table)),
                other => self.wrong_type(node.at, path, &expected, other),
            }
        }
        if tables.is_empty() && !self.findings.is_empty() && path != "tenant.workload" {
            self.silenced.push(Field::Whole);
        }
        tables
    }

    fn text(&mut self, node: &Node, path: &str) -> Option<String> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            other => {
                self.wrong_type(node.at, path, "a text in double quotes", other);
                None
            }
        }
    }

    fn number(&mut self, node: &Node, path: &str) -> Option<f64> {
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
