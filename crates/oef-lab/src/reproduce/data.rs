//! Public data to run on, as far as a directory has it.

use crate::experiment::SpeedupTable;
use oef_sim::input::{Source, Trace, TraceOptions, read_profiles, read_trace};
use oef_terminal::Source as File;
use oef_terminal::{Complaint, Failure, Printer};
use std::path::Path;

/// Tables of speedups by file, with a name and three gpu types, the slowest first.
const TABLES: [(&str, &str, [&str; 3]); 2] = [
    ("lambda_rtx30_speedups.csv", "Lambda's RTX 3070/3080/3090", ["RTX3070", "RTX3080", "RTX3090"]),
    ("gavel_physical_speedups.csv", "Gavel's K80/P100/V100", ["k80", "p100", "v100"]),
];
const TRACE: &str = "philly_3day_50tenants.csv";

/// What was found.
#[derive(Debug, Default)]
pub struct DataFiles {
    /// Measured speedups.
    pub tables: Vec<SpeedupTable>,
    /// A real trace and its name.
    pub trace: Option<(String, Trace)>,
    /// The files, for the report.
    pub names: Vec<String>,
}

/// Reads what the directory has; it is an error when it has nothing of it.
pub fn read(dir: Option<&Path>, printer: &Printer) -> Result<DataFiles, Failure> {
    let mut found = DataFiles::default();
    let Some(dir) = dir else { return Ok(found) };
    for (file, name, types) in TABLES {
        let Some(text) = text(dir, file)? else { continue };
        // Rows of such tables may repeat a model; the first of each counts.
        let read = read_profiles(Source::new(file, &text), None, true)?;
        if let Some(table) = SpeedupTable::from_profiles(name, &read.value, &types) {
            found.tables.push(table);
            found.names.push(file.into());
        }
    }
    if let Some(text) = text(dir, TRACE)? {
        let read = read_trace(Source::new(TRACE, &text), None, &TraceOptions::default());
        let name = "jobs and times of Microsoft's Philly trace".to_string();
        found.trace = Some((name, read?.value));
        found.names.push(TRACE.into());
    }
    if found.names.is_empty() {
        let names: Vec<&str> = TABLES.iter().map(|t| t.0).chain([TRACE]).collect();
        let complaint = Complaint::new("none of the known data files is there");
        let hint = format!("it looks for {}", names.join(", "));
        return Err(complaint.at(dir.display().to_string()).hint(hint).into());
    }
    printer.note(&format!("with {}", found.names.join(", ")));
    Ok(found)
}

fn text(dir: &Path, file: &str) -> Result<Option<String>, Failure> {
    let path = dir.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    Ok(Some(File::read(&path, "it should hold measurements")?.text))
}
