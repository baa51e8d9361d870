//! Slurm's accounting: what `sacct -P` prints.

use super::cells::{Dialect, Row, Table, quoted};
use super::limits;
use super::read::{BadRow, BadRows, InputError, Read, Source};
use super::slurm_fields::{self, Gpus};
use super::trace::{Trace, TraceJob, TraceOptions, Work};
use std::collections::BTreeMap;

/// The columns of an accounting table.
struct Columns {
    id: usize,
    tenant: Option<usize>,
    account: Option<usize>,
    user: Option<usize>,
    submit: usize,
    start: Option<usize>,
    end: Option<usize>,
    elapsed: Option<usize>,
    elapsed_raw: Option<usize>,
    state: Option<usize>,
    resources: Vec<usize>,
}

/// What was left out, and what had to be assumed.
#[derive(Default)]
struct Counts {
    without_gpus: usize,
    never_ran: usize,
    untyped: usize,
    mixed: usize,
    running: usize,
}

/// Reads an accounting table. The first submission is second 0.
pub(crate) fn read(source: Source<'_>, options: &TraceOptions) -> Result<Read<Trace>, InputError> {
    let mut table = Table::open(source, Dialect { delimiter: b'|', quoted: false })?;
    let columns = Columns::of(&table, options)?;
    let mut bad = BadRows::new(options.skip_bad_rows);
    let mut counts = Counts::default();
    let mut trace = Trace::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    table.rows(&mut bad, |row| {
        let Some(mut job) = columns.job(row, &mut counts)? else { return Ok(()) };
        // A job that was put back into the queue has several rows with `sacct --duplicates`.
        let times = seen.entry(job.id.clone()).and_modify(|n| *n += 1).or_insert(1);
        if *times > 1 {
            job.id = format!("{}#{times}", job.id);
        }
        trace.jobs.push(job);
        Ok(())
    })?;
    trace.sort();
    let first = trace.jobs.first().map_or(0.0, |job| job.submit_s);
    trace.jobs.iter_mut().for_each(|job| job.submit_s -= first);
    let read = bad.finish(trace, counts.notes())?;
    if read.value.jobs.is_empty() {
        let bad = source.whole(format!("no job with GPUs ran in it{}", counts.in_brackets()));
        return Err(InputError::one(
            bad.hint("ask sacct for AllocTRES, and for all users with -a"),
        ));
    }
    Ok(read)
}

/// Whether a line is the header of such a table.
pub(crate) fn is_header(line: &str) -> bool {
    line.contains('|') && line.split('|').any(|cell| cell.trim().eq_ignore_ascii_case("JobID"))
}

impl Columns {
    fn of(table: &Table<'_>, options: &TraceOptions) -> Result<Self, InputError> {
        let tenant = options.tenant_column.as_deref().map(|name| table.require(&[name]));
        let columns = Columns {
            id: table.require(&["JobID"])?,
            tenant: tenant.transpose()?,
            account: table.column(&["Account"]),
            user: table.column(&["User"]),
            submit: table.require(&["Submit"])?,
            start: table.column(&["Start"]),
            end: table.column(&["End"]),
            elapsed: table.column(&["Elapsed"]),
            elapsed_raw: table.column(&["ElapsedRaw"]),
            state: table.column(&["State"]),
            resources: ["AllocTRES", "ReqTRES", "TRES", "AllocGRES", "ReqGRES"]
                .iter()
                .filter_map(|name| table.column(&[name]))
                .collect(),
        };
        let has_elapsed = columns.elapsed.or(columns.elapsed_raw).is_some();
        let missing = if columns.resources.is_empty() {
            Some(("AllocTRES", "no column says how many GPUs a job had"))
        } else if !has_elapsed && columns.start.and(columns.end).is_none() {
            Some(("ElapsedRaw", "no column says how long a job ran"))
        } else if columns.tenant.or(columns.account).or(columns.user).is_none() {
            Some(("Account", "no column says whose a job was"))
        } else {
            None
        };
        match missing {
            None => Ok(columns),
            Some((field, message)) => Err(InputError::one(
                table.bad_header(field, message).hint(format!("ask sacct for it: {FORMAT}")),
            )),
        }
    }

    /// A job, or `None` for a step, a job without GPUs and a job that never ran.
    fn job(&self, row: &Row<'_>, counts: &mut Counts) -> Result<Option<TraceJob>, BadRow> {
        let id = row.name(self.id)?;
        if id.contains('.') {
            return Ok(None);
        }
        let gpus = self.gpus(row)?;
        if gpus.count == 0 {
            counts.without_gpus += 1;
            return Ok(None);
        }
        let Some(seconds) = self.seconds(row)?.filter(|&s| s > 0.0) else {
            counts.never_ran += 1;
            return Ok(None);
        };
        let submit = row.text(Some(self.submit));
        let submit_s = slurm_fields::time(submit).ok_or_else(|| {
            let bad = row.bad(self.submit, format!("{} is not a time", quoted(submit)));
            bad.hint("such as 2024-05-01T12:00:00")
        })?;
        let tenant = self.tenant(row)?;
        counts.running += usize::from(row.text(self.state).eq_ignore_ascii_case("RUNNING"));
        counts.mixed += usize::from(gpus.is_mixed);
        counts.untyped += usize::from(gpus.gpu_type.is_none());
        Ok(Some(TraceJob {
            tenant,
            id,
            submit_s,
            gpus: gpus.count,
            work: match gpus.gpu_type {
                Some(gpu_type) => Work::DurationOn { gpu_type, seconds },
                None => Work::DurationOnFastest(seconds),
            },
            model: None,
            batch_size: None,
            priority: 0,
            weight: None,
            line: row.line,
        }))
    }

    fn tenant(&self, row: &Row<'_>) -> Result<String, BadRow> {
        if let Some(column) = self.tenant {
            return row.name(column);
        }
        let filled = [self.account, self.user].into_iter().flatten();
        let column = filled.clone().find(|c| !row.text(Some(*c)).is_empty());
        row.name(column.or(filled.last()).unwrap_or(self.id))
    }

    /// What the job had, or what it asked for where it has nothing yet.
    fn gpus(&self, row: &Row<'_>) -> Result<Gpus, BadRow> {
        for &column in &self.resources {
            let text = row.text(Some(column));
            let gpus = slurm_fields::gpus(text).map_err(|item| {
                row.bad(column, format!("{} has no count of GPUs", quoted(&item)))
            })?;
            if gpus.count > limits::GPUS_PER_JOB_MAX {
                let most = limits::GPUS_PER_JOB_MAX;
                return Err(row.bad(column, format!("{} GPUs: {most} at most", gpus.count)));
            }
            if !text.is_empty() {
                return Ok(gpus);
            }
        }
        Ok(Gpus::default())
    }

    /// How long it ran; `None` where it has not.
    fn seconds(&self, row: &Row<'_>) -> Result<Option<f64>, BadRow> {
        if let Some(seconds) = row.within(self.elapsed_raw, 0.0, limits::SECONDS_MAX)? {
            return Ok(Some(seconds));
        }
        let elapsed = row.text(self.elapsed);
        if let Some(column) = self.elapsed.filter(|_| !elapsed.is_empty() && !is_unknown(elapsed)) {
            let seconds = slurm_fields::elapsed(elapsed).ok_or_else(|| {
                let bad = row.bad(column, format!("{} is not a duration", quoted(elapsed)));
                bad.hint("such as 1-02:03:04, or ask sacct for ElapsedRaw")
            })?;
            return Ok(Some(seconds));
        }
        let times = (self.time(row, self.start)?, self.time(row, self.end)?);
        Ok(if let (Some(start), Some(end)) = times { Some(end - start) } else { None })
    }

    fn time(&self, row: &Row<'_>, column: Option<usize>) -> Result<Option<f64>, BadRow> {
        let text = row.text(column);
        let Some(column) = column.filter(|_| !is_unknown(text)) else { return Ok(None) };
        slurm_fields::time(text).map(Some).ok_or_else(|| {
            let bad = row.bad(column, format!("{} is not a time", quoted(text)));
            bad.hint("such as 2024-05-01T12:00:00")
        })
    }
}

/// The call whose output has everything.
const FORMAT: &str = "sacct -a -P -S 2024-05-01 -E 2024-06-01 \
                      -o JobID,User,Account,Submit,ElapsedRaw,AllocTRES,State";

fn is_unknown(text: &str) -> bool {
    ["", "Unknown", "None", "N/A", "INVALID"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

impl Counts {
    fn notes(&self) -> Vec<String> {
        let told = [
            (self.without_gpus, "jobs without GPUs, left out"),
            (self.never_ran, "jobs that never ran, left out"),
            (
                self.untyped,
                "jobs that do not say their gpu type, whose time counts as on the fastest",
            ),
            (self.running, "jobs that were still running, whose time so far counts"),
            (self.mixed, "jobs with several gpu types, of which the one with the most GPUs counts"),
        ];
        let some = told.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{what}: {count}")).collect()
    }

    fn in_brackets(&self) -> String {
        match (self.without_gpus, self.never_ran) {
            (0, 0) => String::new(),
            (no_gpus, no_run) => format!(" ({no_gpus} without GPUs, {no_run} that never ran)"),
        }
    }
}
