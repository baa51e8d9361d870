//! Jobs that run, that wait and that ended, each with its reason.

use super::Seen;
use super::markup::Markup;
use oef_api::types::{GpuRef, Job};
use oef_report::format::span;
use std::collections::BTreeMap;

/// Ended jobs that are shown: the last ones.
const ENDED_SHOWN: usize = 10;

pub(super) fn show(page: &mut Markup, seen: &Seen) {
    list(page, "Running", &seen.running, seen.more_running);
    list(page, "Waiting", &seen.queued, seen.more_queued);
    let ended = &seen.ended[..seen.ended.len().min(ENDED_SHOWN)];
    if !ended.is_empty() {
        list(page, "Ended", ended, seen.ended.len() > ENDED_SHOWN);
    }
}

fn list(page: &mut Markup, title: &str, jobs: &[Job], has_more: bool) {
    page.raw("<section><h2>").raw(title).raw("</h2>");
    if jobs.is_empty() {
        page.raw("<p>None.</p></section>");
        return;
    }
    page.raw("<div class=\"wide\"><table class=\"jobs\"><thead><tr><th class=\"n\">job</th><th>name</th><th>tenant</th><th>state</th>");
    page.raw("<th>GPUs</th><th class=\"n\">steps</th><th class=\"n\">ran</th><th>reason</th></tr></thead><tbody>");
    for job in jobs {
        row(page, job);
    }
    page.raw("</tbody></table></div>");
    if has_more {
        page.raw("<p>and more: <code>oef jobs</code></p>");
    }
    page.raw("</section>");
}

fn row(page: &mut Markup, job: &Job) {
    page.raw("<tr><td class=\"n\">")
        .number(job.id)
        .raw("</td><td>")
        .text(&job.name)
        .raw("</td><td>");
    page.text(&job.tenant).raw("</td><td>").raw(job.state.name()).raw("</td><td>");
    if job.gpus.is_empty() {
        page.number(job.workers);
    } else {
        page.text(&places(&job.gpus));
    }
    page.raw("</td><td class=\"n\">");
    if job.progress.steps > 0.0 {
        page.raw(&format!("{:.0}", job.progress.steps));
    }
    page.raw("</td><td class=\"n\">");
    if job.ran_s > 0.0 {
        page.raw(&span(job.ran_s));
    }
    page.raw("</td><td class=\"why\">").text(&job.reason).raw("</td></tr>");
}

fn places(gpus: &[GpuRef]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for gpu in gpus {
        *counts.entry(&gpu.gpu_type).or_default() += 1;
    }
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    shown.join(", ")
}
