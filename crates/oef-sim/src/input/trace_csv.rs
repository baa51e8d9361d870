//! Traces in CSV: one job per row.

use super::cells::{Dialect, Row, Table};
use super::limits;
use super::nearest;
use super::profile_csv::batch_size;
use super::read::{BadRow, BadRows, InputError, Read, Source};
use super::trace::{Trace, TraceJob, TraceOptions, Work};
use std::collections::BTreeMap;

/// The columns of a trace.
struct Columns {
    tenant: usize,
    id: Option<usize>,
    submit: usize,
    gpus: usize,
    duration: Option<usize>,
    steps: Option<usize>,
    model: Option<usize>,
    batch_size: Option<usize>,
    priority: Option<usize>,
    weight: Option<usize>,
}

/// Reads a trace.
pub(crate) fn read(source: Source<'_>, options: &TraceOptions) -> Result<Read<Trace>, InputError> {
    let mut table = Table::open(source, Dialect::CSV)?;
    let columns = Columns::of(&table, options)?;
    let mut bad = BadRows::new(options.skip_bad_rows);
    let mut trace = Trace::default();
    let mut lines_of_ids: BTreeMap<String, usize> = BTreeMap::new();
    table.rows(&mut bad, |row| {
        let job = columns.job(row)?;
        if let Some(first) = lines_of_ids.insert(job.id.clone(), row.line) {
            let column = columns.id.unwrap_or(columns.tenant);
            let message = format!("`{}` is on line {first} already", job.id);
            return Err(row.bad(column, message).hint("give every job its own name"));
        }
        trace.jobs.push(job);
        Ok(())
    })?;
    trace.sort();
    let read = bad.finish(trace, Vec::new())?;
    if read.value.jobs.is_empty() {
        let bad = source.whole("there is no job in it");
        return Err(InputError::one(bad.hint("below the header goes one row per job")));
    }
    Ok(read)
}

const SUBMIT: &[&str] = &["submit_s", "submit", "arrival_s"];
const GPUS: &[&str] = &["gpus", "num_gpus", "scale_factor"];

impl Columns {
    fn of(table: &Table<'_>, options: &TraceOptions) -> Result<Self, InputError> {
        let tenant = match &options.tenant_column {
            Some(name) => table.require(&[name.as_str()])?,
            None => table.require(&["tenant"])?,
        };
        let (duration, steps) = work_columns(table, options)?;
        Ok(Columns {
            tenant,
            id: table.column(&["job_id", "id"]),
            submit: table.require(SUBMIT)?,
            gpus: table.require(GPUS)?,
            duration,
            steps,
            model: table.column(&["model"]),
            batch_size: table.column(&["batch_size", "batch"]),
            priority: table.column(&["priority"]),
            weight: table.column(&["weight"]),
        })
    }

    fn job(&self, row: &Row<'_>) -> Result<TraceJob, BadRow> {
        let most = i64::from(limits::GPUS_PER_JOB_MAX);
        let missing = |column| move || row.bad(column, "is empty").hint("every job needs it");
        let submit = row.within(Some(self.submit), 0.0, limits::SECONDS_MAX)?;
        let gpus = row.whole(Some(self.gpus), 1, most)?.ok_or_else(missing(self.gpus))?;
        let priority = row.whole(self.priority, i64::from(i32::MIN), i64::from(i32::MAX))?;
        Ok(TraceJob {
            tenant: row.name(self.tenant)?,
            id: match row.optional_name(self.id)? {
                Some(id) => id,
                None => format!("line-{}", row.line),
            },
            submit_s: submit.ok_or_else(missing(self.submit))?,
            gpus: gpus as u32,
            work: self.work(row)?,
            model: row.optional_name(self.model)?,
            batch_size: batch_size(row, self.batch_size)?,
            priority: priority.unwrap_or(0) as i32,
            weight: positive(row, self.weight, f64::MAX)?,
            line: row.line,
        })
    }

    /// The duration if there is one, else the steps.
    fn work(&self, row: &Row<'_>) -> Result<Work, BadRow> {
        if let Some(seconds) = positive(row, self.duration, limits::SECONDS_MAX)? {
            return Ok(Work::DurationOnFastest(seconds));
        }
        if let Some(steps) = positive(row, self.steps, limits::STEPS_MAX)? {
            return Ok(Work::Steps(steps));
        }
        let column = self.duration.or(self.steps).unwrap_or(self.tenant);
        Err(row.bad(column, "is empty").hint("every job needs a duration or its steps"))
    }
}

fn positive(row: &Row<'_>, column: Option<usize>, most: f64) -> Result<Option<f64>, BadRow> {
    let number = row.within(column, 0.0, most)?;
    match (number, column) {
        (Some(0.0), Some(c)) => Err(row.bad(c, "is 0").hint("a number above 0 is needed")),
        _ => Ok(number),
    }
}

/// The columns of duration and steps; at least one is there.
fn work_columns(
    table: &Table<'_>,
    options: &TraceOptions,
) -> Result<(Option<usize>, Option<usize>), InputError> {
    if let Some(name) = &options.duration_column {
        let column = Some(table.require(&[name.as_str()])?);
        let is_steps = name.to_ascii_lowercase().starts_with("total_steps");
        return Ok(if is_steps { (None, column) } else { (column, None) });
    }
    let duration = table.column(&["duration_s", "duration"]);
    let steps = table.column(&["total_steps"]).or_else(|| {
        let like = |h: &String| h.to_ascii_lowercase().starts_with("total_steps");
        table.header().iter().position(like)
    });
    if duration.is_none() && steps.is_none() {
        let bad = table.bad_header("duration_s", "neither `duration_s` nor `total_steps` is there");
        let known = table.header().iter().map(String::as_str);
        return Err(InputError::one(bad.hint(nearest::hint(
            "the header has",
            "duration_s",
            known,
        ))));
    }
    Ok((duration, steps))
}
