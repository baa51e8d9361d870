//! Clusters, profiles and traces as text that the readers take back.

use crate::input::{ClusterSpec, Placement, ProfileTable, Trace, Work};
use std::fmt::Write as _;

/// A cluster file in TOML.
pub fn write_cluster(cluster: &ClusterSpec) -> String {
    let mut out = String::new();
    for node in &cluster.nodes {
        // A string in quotes as JSON has it is one in TOML, too.
        let text = |s: &str| serde_json::Value::from(s).to_string();
        let _ = writeln!(out, "[[node]]\nname = {}", text(&node.name));
        let _ = writeln!(out, "gpu_type = {}\ngpus = {}", text(&node.gpu_type), node.gpus);
        if node.host != node.name {
            let _ = writeln!(out, "host = {}", text(&node.host));
        }
    }
    out
}

/// A profile table in CSV. Columns that say nothing are left out.
pub fn write_profiles(table: &ProfileTable) -> String {
    let rows = &table.rows;
    let with_batch = rows.iter().any(|r| r.batch_size.is_some());
    let with_scale = rows.iter().any(|r| r.scale_factor != 1);
    let with_placement = rows.iter().any(|r| r.placement != Placement::Unknown);
    let mut header = vec!["model".to_string()];
    let optional =
        [(with_batch, "batch_size"), (with_scale, "scale_factor"), (with_placement, "placement")];
    header.extend(optional.iter().filter(|(is, _)| *is).map(|(_, name)| name.to_string()));
    header.extend(table.types.iter().map(|t| format!("thr_{t}")));
    let mut lines = vec![header];
    for row in rows {
        let mut line = vec![row.model.clone()];
        let cells = [
            (with_batch, row.batch_size.map(|b| b.to_string()).unwrap_or_default()),
            (with_scale, row.scale_factor.to_string()),
            (with_placement, placement(row.placement).into()),
        ];
        line.extend(cells.into_iter().filter(|(is, _)| *is).map(|(_, cell)| cell));
        line.extend(row.throughput.iter().map(|x| x.map(|x| x.to_string()).unwrap_or_default()));
        lines.push(line);
    }
    csv(lines)
}

/// A trace in CSV. Work that was measured on a type is written as a duration: there is no column for the type.
pub fn write_trace(trace: &Trace) -> String {
    let jobs = &trace.jobs;
    let is_steps = |w: &Work| matches!(w, Work::Steps(_));
    let with_duration = jobs.iter().any(|j| !is_steps(&j.work));
    let with_steps = jobs.iter().any(|j| is_steps(&j.work));
    let with_batch = jobs.iter().any(|j| j.batch_size.is_some());
    let with_priority = jobs.iter().any(|j| j.priority != 0);
    let with_weight = jobs.iter().any(|j| j.weight.is_some());
    let optional = [
        (with_duration, "duration_s"),
        (with_steps, "total_steps"),
        (true, "model"),
        (with_batch, "batch_size"),
        (with_priority, "priority"),
        (with_weight, "weight"),
    ];
    let mut header: Vec<String> =
        ["tenant", "job_id", "submit_s", "gpus"].map(String::from).to_vec();
    header.extend(optional.iter().filter(|(is, _)| *is).map(|(_, name)| name.to_string()));
    let mut lines = vec![header];
    for job in jobs {
        let (duration, steps) = match &job.work {
            Work::DurationOnFastest(s) | Work::DurationOn { seconds: s, .. } => {
                (s.to_string(), String::new())
            }
            Work::Steps(steps) => (String::new(), steps.to_string()),
        };
        let mut line = vec![
            job.tenant.clone(),
            job.id.clone(),
            job.submit_s.to_string(),
            job.gpus.to_string(),
        ];
        let cells = [
            (with_duration, duration),
            (with_steps, steps),
            (true, job.model.clone().unwrap_or_default()),
            (with_batch, job.batch_size.map(|b| b.to_string()).unwrap_or_default()),
            (with_priority, job.priority.to_string()),
            (with_weight, job.weight.map(|w| w.to_string()).unwrap_or_default()),
        ];
        line.extend(cells.into_iter().filter(|(is, _)| *is).map(|(_, cell)| cell));
        lines.push(line);
    }
    csv(lines)
}

fn placement(placement: Placement) -> &'static str {
    match placement {
        Placement::Consolidated => "consolidated",
        Placement::Spread => "spread",
        Placement::Unknown => "",
    }
}

/// Writing to memory cannot fail, and the cells were text before.
fn csv(lines: Vec<Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in &lines {
        let _ = writer.write_record(line);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
