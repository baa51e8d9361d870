//! Profile tables in CSV: wide (`thr_<type>` columns) or long (one figure per row).

use super::cells::{Dialect, Row, Table};
use super::limits;
use super::profile::{Placement, ProfileRow, ProfileTable};
use super::profile_rows::{Draft, Rows};
use super::read::{BadRow, BadRows, InputError, Read, Source};

/// Columns with throughputs begin with this.
const PREFIX: &str = "thr_";

/// The columns that say which row it is.
struct Names {
    model: usize,
    batch_size: Option<usize>,
    scale_factor: Option<usize>,
    placement: Option<usize>,
    precision: Option<usize>,
}

/// Reads a table with a `thr_<type>` column per gpu type.
pub(crate) fn read_wide(
    source: Source<'_>,
    skip_bad_rows: bool,
) -> Result<Read<ProfileTable>, InputError> {
    let mut table = Table::open(source, Dialect::CSV)?;
    let names = Names::of(&table)?;
    let columns = type_columns(&table)?;
    let mut bad = BadRows::new(skip_bad_rows);
    let mut rows = Rows::new(source, columns.iter().map(|(_, name)| name.clone()).collect());
    table.rows(&mut bad, |row| {
        let mut draft = names.draft(row)?;
        for &(column, _) in &columns {
            draft.row.throughput.push(throughput(row, column)?);
        }
        rows.add(draft)
    })?;
    rows.finish(bad)
}

/// Reads a table with one figure per row: model, gpu type, throughput.
pub(crate) fn read_long(
    source: Source<'_>,
    skip_bad_rows: bool,
) -> Result<Read<ProfileTable>, InputError> {
    let mut table = Table::open(source, Dialect::CSV)?;
    let names = Names::of(&table)?;
    let type_column = table.require(LONG_TYPE)?;
    let figure = table.require(LONG_FIGURE)?;
    // A bare number is no name: 12 multiprocessors become the type `sm12`.
    let prefix = match table.header().get(type_column).map(String::as_str) {
        Some("sm") => "sm",
        _ => "",
    };
    let mut bad = BadRows::new(skip_bad_rows);
    let mut rows = Rows::new(source, Vec::new());
    table.rows(&mut bad, |row| {
        let draft = names.draft(row)?;
        let gpu_type = format!("{prefix}{}", row.name(type_column)?);
        match throughput(row, figure)? {
            Some(rate) => rows.add_figure(draft, gpu_type, rate, || too_many_types(row)),
            None => Ok(()),
        }
    })?;
    rows.finish(bad)
}

const LONG_TYPE: &[&str] = &["gpu_type", "type", "gpu", "system", "sm"];
const LONG_FIGURE: &[&str] = &["throughput", "samples_per_s", "steps_per_s"];

/// Whether a header is that of a long table.
pub(crate) fn is_long(header: &[&str]) -> bool {
    let has =
        |names: &[&str]| names.iter().any(|n| header.iter().any(|h| h.eq_ignore_ascii_case(n)));
    has(LONG_TYPE) && has(LONG_FIGURE) && has(&["model"])
}

/// Whether a header has throughput columns.
pub(crate) fn is_wide(header: &[&str]) -> bool {
    header.iter().any(|h| type_of(h).is_some())
}

impl Names {
    fn of(table: &Table<'_>) -> Result<Self, InputError> {
        Ok(Names {
            model: table.require(&["model"])?,
            batch_size: table.column(&["batch_size", "batch"]),
            scale_factor: table.column(&["scale_factor", "num_gpu", "num_gpus"]),
            placement: table.column(&["placement"]),
            precision: table.column(&["precision"]),
        })
    }

    fn draft(&self, row: &Row<'_>) -> Result<Draft, BadRow> {
        let most = i64::from(limits::GPUS_PER_JOB_MAX);
        Ok(Draft {
            row: ProfileRow {
                model: row.name(self.model)?,
                batch_size: batch_size(row, self.batch_size)?,
                scale_factor: row.whole(self.scale_factor, 1, most)?.map_or(1, |n| n as u32),
                placement: placement(row, self.placement)?,
                throughput: Vec::new(),
            },
            precision: row.optional_name(self.precision)?,
            line: row.line,
        })
    }
}

/// A batch size; 0 is how some tables write that there is none.
pub(crate) fn batch_size(row: &Row<'_>, column: Option<usize>) -> Result<Option<u32>, BadRow> {
    let number = row.whole(column, 0, i64::from(u32::MAX))?;
    Ok(number.filter(|&n| n > 0).map(|n| n as u32))
}

fn placement(row: &Row<'_>, column: Option<usize>) -> Result<Placement, BadRow> {
    let text = row.text(column).to_ascii_lowercase();
    match (text.as_str(), column) {
        ("", _) | (_, None) => Ok(Placement::Unknown),
        ("consolidated", _) => Ok(Placement::Consolidated),
        ("spread" | "unconsolidated", _) => Ok(Placement::Spread),
        (_, Some(c)) => {
            let bad = row.bad(c, format!("{text:?} is not a placement"));
            Err(bad.hint("consolidated (one host), spread (several hosts), or empty"))
        }
    }
}

/// An empty cell or 0: the model cannot run there.
fn throughput(row: &Row<'_>, column: usize) -> Result<Option<f64>, BadRow> {
    let number = row.within(Some(column), 0.0, f64::MAX)?;
    Ok(number.filter(|&x| x > 0.0))
}

fn type_of(header: &str) -> Option<&str> {
    let (start, name) = header.split_at_checked(PREFIX.len())?;
    (start.eq_ignore_ascii_case(PREFIX) && !name.is_empty()).then_some(name)
}

fn type_columns(table: &Table<'_>) -> Result<Vec<(usize, String)>, InputError> {
    let mut columns: Vec<(usize, String)> = Vec::new();
    for (index, title) in table.header().iter().enumerate() {
        let Some(name) = type_of(title) else { continue };
        if columns.iter().any(|(_, known)| known.eq_ignore_ascii_case(name)) {
            let bad = table.bad_header(title, "this gpu type has two columns");
            return Err(InputError::one(bad.hint("names that differ in case only are one type")));
        }
        columns.push((index, name.into()));
    }
    if columns.is_empty() {
        let bad = table.bad_header("thr_<type>", "there is no column with throughputs");
        return Err(InputError::one(bad.hint("name one per gpu type: thr_v100, thr_a100")));
    }
    if columns.len() > limits::TYPES_MAX {
        let message = format!("there are more than {} gpu types", limits::TYPES_MAX);
        return Err(InputError::limit(table.bad_header("", message)));
    }
    Ok(columns)
}

fn too_many_types(row: &Row<'_>) -> BadRow {
    row.bad(0, format!("there are more than {} gpu types", limits::TYPES_MAX))
}
