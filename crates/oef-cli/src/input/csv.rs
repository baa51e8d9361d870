//! A speedup table (`thr_<type>` columns, one tenant per row) to a description of a problem.

use super::Finding;
use super::build::Built;
use super::counts::Count;
use super::nearest;
use super::places::Places;
use csv::StringRecord;
use oef_core::{Field, GpuSpec, ProblemSpec, TenantSpec};
use oef_terminal::Complaint;
use std::collections::BTreeMap;

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    /// Part of the tenant's name.
    Name,
    /// The tenant's weight.
    Weight,
    /// The tenant's demand.
    Demand,
    /// The throughput on the counted type of this position.
    Throughput(usize),
    /// A type that is not counted, or a figure about a type (`w_<type>`, `bs_<type>`).
    Ignored,
}

/// Reads a table. Only counted types are kept.
pub fn parse(text: &str, counts: &[Count], label: &str) -> Result<Built, Vec<Complaint>> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let header =
        reader.headers().map_err(|e| vec![Complaint::new(e.to_string()).at(label)])?.clone();
    let columns = assign_columns(&header, counts, label)?;
    let mut built = Built {
        spec: ProblemSpec {
            reference: None,
            gpus: counts.iter().map(|c| GpuSpec { name: c.gpu.clone(), count: c.count }).collect(),
            tenants: Vec::new(),
        },
        places: Places::of_table(),
        ..Built::default()
    };
    let mut rows =
        Rows { text, header: &header, columns: &columns, counts, names: BTreeMap::new() };
    for record in reader.records() {
        match record {
            Ok(record) => rows.add(&record, &mut built),
            Err(error) => {
                let at = error.position().map_or(0, |p| p.byte() as usize);
                built.findings.push(Finding::new(at, "", format!("not CSV: {error}")));
                break;
            }
        }
    }
    if built.spec.tenants.is_empty() && !built.findings.is_empty() {
        // Rows there were; what is wrong with them is what has to be said.
        built.silenced.push(Field::Whole);
    }
    Ok(built)
}

struct Rows<'a> {
    text: &'a str,
    header: &'a StringRecord,
    columns: &'a [Column],
    counts: &'a [Count],
    /// How often each name has occurred.
    names: BTreeMap<String, usize>,
}

impl Rows<'_> {
    fn add(&mut self, record: &StringRecord, built: &mut Built) {
        let at = self.start(record);
        if record.len() != self.header.len() {
            let (found, expected) = (record.len(), self.header.len());
            let message = format!("the row has {found} fields, the header has {expected}");
            let hint = "give every row a cell for each column; an empty cell: cannot run there";
            built.findings.push(Finding::new(at, "", message).hint(hint));
            return;
        }
        let mut tenant = TenantSpec::simple(self.name(record), Vec::new());
        let mut entries = Vec::new();
        for ((cell, column), title) in record.iter().zip(self.columns).zip(self.header) {
            let mut number = || number(cell, at, title, built);
            match *column {
                Column::Name | Column::Ignored => {}
                Column::Weight => tenant.weight = number().unwrap_or(1.0),
                Column::Demand => tenant.demand = number(),
                Column::Throughput(j) => {
                    if let Some(value) = number() {
                        entries.push(title);
                        tenant.workloads[0].throughput.push((self.counts[j].gpu.clone(), value));
                    }
                }
            }
        }
        let t = built.spec.tenants.len();
        built.spec.tenants.push(tenant);
        built.places.set(Field::TenantName(t), at, "the row's name");
        built.places.set(Field::TenantWeight(t), at, "weight");
        built.places.set(Field::TenantDemand(t), at, "demand");
        built.places.set(Field::WorkloadThroughput(t, 0), at, "thr_*");
        for (e, title) in entries.into_iter().enumerate() {
            built.places.set(Field::WorkloadThroughputEntry(t, 0, e), at, title);
        }
    }

    /// Where a row begins: the reader counts the line breaks and empty lines before it to the row.
    fn start(&self, record: &StringRecord) -> usize {
        let at = record.position().map_or(0, |p| p.byte() as usize);
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
    }

    /// The descriptive cells joined, and numbered where that is not unique.
    fn name(&mut self, record: &StringRecord) -> String {
        let parts = record
            .iter()
            .zip(self.columns)
            .filter(|(cell, column)| **column == Column::Name && !cell.is_empty());
        let parts: Vec<&str> = parts.map(|(cell, _)| cell).collect();
        let base = if parts.is_empty() { "row".into() } else { parts.join("-") };
        loop {
            let times = self.names.entry(base.clone()).and_modify(|n| *n += 1).or_insert(1);
            if *times == 1 {
                return base;
            }
            let numbered = format!("{base}#{times}");
            // A table may itself hold a name that ends like this.
            if !self.names.contains_key(&numbered) {
                self.names.insert(numbered.clone(), 1);
                return numbered;
            }
        }
    }
}

const PREFIX: &str = "thr_";

/// An empty cell is not a number and no mistake.
fn number(cell: &str, at: usize, column: &str, built: &mut Built) -> Option<f64> {
    if cell.is_empty() {
        return None;
    }
    match cell.parse() {
        Ok(x) => Some(x),
        Err(_) => {
            let finding = Finding::new(at, column, format!("`{cell}` is not a number"));
            built
                .findings
                .push(finding.hint("write a number, or leave the cell empty: cannot run there"));
            // A harmless value, so that the row is not told to run nowhere as well.
            Some(1.0)
        }
    }
}

fn assign_columns(
    header: &StringRecord,
    counts: &[Count],
    label: &str,
) -> Result<Vec<Column>, Vec<Complaint>> {
    let types: Vec<&str> = header.iter().filter_map(|title| title.strip_prefix(PREFIX)).collect();
    if types.is_empty() {
        let titles: Vec<&str> = header.iter().take(8).collect();
        let message = format!("the table has no `thr_<type>` column, but {}", titles.join(", "));
        let hint = "name the throughput columns like `thr_a100`, and separate columns with commas";
        return Err(vec![Complaint::new(message).at(format!("{label}:1")).hint(hint)]);
    }
    if counts.is_empty() {
        let example = types.iter().map(|t| format!("{t}=8")).collect::<Vec<_>>().join(",");
        let message = "a table says nothing about how many GPUs there are";
        let hint = format!("add --counts {example}");
        return Err(vec![Complaint::new(message).at(label).hint(hint)]);
    }
    let matched = match_types(&types, counts, label)?;
    Ok(header.iter().map(|title| column_of(title, &types, &matched)).collect())
}

/// The position of the column type that each count means, exactly or but for upper and lower case.
fn match_types<'t>(
    types: &[&'t str],
    counts: &[Count],
    label: &str,
) -> Result<Vec<&'t str>, Vec<Complaint>> {
    let mut matched = Vec::new();
    let mut complaints = Vec::new();
    for Count { gpu, .. } in counts {
        let exact = types.iter().find(|t| *t == gpu);
        let alike: Vec<_> = types.iter().filter(|t| t.eq_ignore_ascii_case(gpu)).collect();
        match (exact, alike.as_slice()) {
            (Some(found), _) => matched.push(*found),
            (None, [found]) => matched.push(**found),
            (None, []) => {
                let message = format!("gpu type `{gpu}` is not a column of {label}");
                let hint = nearest::hint("types", gpu, types.iter().copied());
                complaints.push(Complaint::new(message).at("--counts").hint(hint));
            }
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|t| **t).collect();
                let message = format!("gpu type `{gpu}` could be {}", names.join(" or "));
                let hint = "spell it exactly like the column";
                complaints.push(Complaint::new(message).at("--counts").hint(hint));
            }
        }
    }
    for (i, found) in matched.iter().enumerate() {
        if matched[..i].contains(found) {
            let message = format!("gpu type `{found}` is counted twice");
            complaints.push(Complaint::new(message).at("--counts").hint("keep one of the two"));
        }
    }
    for (i, found) in types.iter().enumerate() {
        if types[..i].contains(found) {
            let message = format!("column `{PREFIX}{found}` occurs twice");
            let complaint = Complaint::new(message).at(format!("{label}:1"));
            complaints.push(complaint.hint("rename or remove one of them"));
        }
    }
    if complaints.is_empty() { Ok(matched) } else { Err(complaints) }
}

fn column_of(title: &str, types: &[&str], matched: &[&str]) -> Column {
    if let Some(gpu) = title.strip_prefix(PREFIX) {
        let position = matched.iter().position(|m| *m == gpu);
        return position.map_or(Column::Ignored, Column::Throughput);
    }
    match title {
        "weight" => Column::Weight,
        "demand" => Column::Demand,
        // Speedups and batch sizes per type (`w_k80`, `bs_k80`) describe the type, not the tenant.
        _ if title.starts_with("w_") => Column::Ignored,
        _ if types
            .iter()
            .any(|t| title.strip_suffix(t).is_some_and(|rest| rest.ends_with('_'))) =>
        {
            Column::Ignored
        }
        _ => Column::Name,
    }
}
