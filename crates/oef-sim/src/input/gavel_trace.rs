//! Gavel's traces: one job per line, fields separated by tabs. There are as many forms as there were versions of
//! Gavel; the number of fields tells them apart.

use super::cells::{check_name, quoted};
use super::gavel_names;
use super::limits;
use super::read::{BadRow, BadRows, InputError, Read, Source};
use super::trace::{Trace, TraceJob, TraceOptions, Work};

/// Where the fields are that matter, in lines with so many fields. All forms begin with the job type and the
/// command.
struct Form {
    fields: usize,
    steps: usize,
    scale_factor: usize,
    weight: Option<usize>,
    arrival: usize,
}

/// From the oldest to the newest; the last has a mode for batch sizes that change.
const FORMS: [Form; 5] = [
    Form { fields: 6, steps: 3, scale_factor: 5, weight: None, arrival: 4 },
    Form { fields: 7, steps: 4, scale_factor: 6, weight: None, arrival: 5 },
    Form { fields: 9, steps: 4, scale_factor: 5, weight: Some(6), arrival: 8 },
    Form { fields: 10, steps: 5, scale_factor: 6, weight: Some(7), arrival: 9 },
    Form { fields: 11, steps: 5, scale_factor: 6, weight: Some(8), arrival: 10 },
];

/// Reads a trace. Each job is a tenant of its own, or the jobs go round `--tenants` of them.
pub(crate) fn read(source: Source<'_>, options: &TraceOptions) -> Result<Read<Trace>, InputError> {
    source.check_size()?;
    let mut bad = BadRows::new(options.skip_bad_rows);
    let mut trace = Trace::default();
    for (index, line) in source.text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if trace.jobs.len() >= limits::ROWS_MAX {
            let message = format!("there are more than {} rows", limits::ROWS_MAX);
            return Err(InputError::limit(source.whole(message).hint("cut the file")));
        }
        match job(source, line, index + 1, options) {
            Ok(job) => trace.jobs.push(job),
            Err(wrong) => bad.push(wrong)?,
        }
    }
    trace.sort();
    name(&mut trace, options);
    let read = bad.finish(trace, Vec::new())?;
    if read.value.jobs.is_empty() {
        return Err(InputError::one(source.whole("there is no job in it")));
    }
    Ok(read)
}

/// Whether a line looks like one of these.
pub(crate) fn is_line(line: &str) -> bool {
    line.split('\t').count() >= FORMS[0].fields
}

fn job(
    source: Source<'_>,
    line: &str,
    number: usize,
    options: &TraceOptions,
) -> Result<TraceJob, BadRow> {
    let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
    let Some(form) = FORMS.iter().find(|form| form.fields == cells.len()) else {
        let message = format!("the line has {} fields separated by tabs", cells.len());
        return Err(source.at(number, "", message).hint("Gavel's traces have 6, 7, 9, 10 or 11"));
    };
    let cell = |i: usize, field: &str, least: f64, most: f64| -> Result<f64, BadRow> {
        let number_in = |x: &f64| x.is_finite() && (least..=most).contains(x);
        cells[i].parse::<f64>().ok().filter(number_in).ok_or_else(|| {
            let bad = source.at(number, field, format!("{} is not possible", quoted(cells[i])));
            bad.hint(format!("a number between {least} and {most}"))
        })
    };
    let (model, batch_size) = gavel_names::job_type(cells[0]);
    let model = check_name(&model).map_err(|m| source.at(number, "job_type", m))?;
    if model.is_empty() {
        return Err(source.at(number, "job_type", "is empty"));
    }
    let weight = form.weight.map(|i| cell(i, "priority_weight", 1e-9, 1e9)).transpose()?;
    Ok(TraceJob {
        tenant: String::new(),
        id: String::new(),
        submit_s: cell(form.arrival, "arrival_time", 0.0, limits::SECONDS_MAX)?,
        gpus: cell(form.scale_factor, "scale_factor", 1.0, f64::from(limits::GPUS_PER_JOB_MAX))?
            as u32,
        work: Work::Steps(cell(form.steps, "total_steps", 1.0, limits::STEPS_MAX)?),
        model: Some(model),
        batch_size,
        priority: 0,
        // A weight is a tenant's; tenants with several jobs have no single one here.
        weight: weight.filter(|_| options.tenants.is_none()),
        line: number,
    })
}

/// Jobs and tenants have no names in these files: they are numbered by submission.
fn name(trace: &mut Trace, options: &TraceOptions) {
    let jobs = trace.jobs.len();
    let tenants = options.tenants.map_or(jobs, |n| n as usize).max(1);
    let (job_width, tenant_width) = (jobs.to_string().len(), tenants.to_string().len());
    for (i, job) in trace.jobs.iter_mut().enumerate() {
        job.id = format!("j{:0job_width$}", i + 1);
        job.tenant = format!("t{:0tenant_width$}", i % tenants + 1);
    }
}
