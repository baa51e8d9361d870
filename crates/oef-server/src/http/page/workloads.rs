//! Workloads: how fast each runs on each gpu type, where that is known from, and what the guard has to say about it.

use super::Seen;
use super::markup::{Markup, figure};
use oef_api::types::{Provenance, Workload};

pub(super) fn show(page: &mut Markup, seen: &Seen) {
    let workloads = &seen.workloads.workloads;
    if workloads.is_empty() {
        return;
    }
    page.raw("<section><h2>Profiles</h2><div class=\"wide\"><table><thead><tr><th>workload</th>");
    for kind in &seen.cluster.types {
        page.raw("<th class=\"n\">").text(&kind.gpu_type).raw("</th>");
    }
    page.raw("<th class=\"n\">jobs</th><th>known from</th></tr></thead><tbody>");
    for workload in workloads {
        row(page, workload, seen);
    }
    page.raw("</tbody></table></div><p>Speed against the slowest type; ~ is an estimate, – cannot run there.</p>");
    if seen.workloads.next.is_some() {
        page.raw("<p>and more: <code>oef workloads</code></p>");
    }
    said(page, workloads);
    page.raw("</section>");
}

fn row(page: &mut Markup, workload: &Workload, seen: &Seen) {
    let profile = &workload.profile;
    let usable = profile.throughput.values().copied().filter(|on| *on > 0.0);
    let slowest = usable.fold(f64::INFINITY, f64::min);
    page.raw("<tr><td>").text(&workload.tenant).raw("/").text(&workload.name).raw("</td>");
    for kind in &seen.cluster.types {
        page.raw("<td class=\"n\">");
        match profile.throughput.get(&kind.gpu_type).filter(|on| **on > 0.0) {
            Some(on) => page.raw(estimate(workload, &kind.gpu_type)).raw(&figure(on / slowest)),
            None => page.raw("–"),
        };
        page.raw("</td>");
    }
    page.raw("<td class=\"n\">").number(workload.jobs).raw("</td><td>");
    page.text(&profile.source).raw("</td></tr>");
}

fn estimate(workload: &Workload, gpu_type: &str) -> &'static str {
    let profile = &workload.profile;
    let from = profile.marks.get(gpu_type).map_or(profile.provenance, |mark| mark.provenance);
    if from == Provenance::Estimated { "~" } else { "" }
}

/// What jobs showed against their profiles, where somebody should do something about it: that there was nothing to
/// compare yet is no news.
fn said(page: &mut Markup, workloads: &[Workload]) {
    let notes = workloads.iter().filter_map(|workload| workload.guard.as_ref());
    let mut notes = notes.filter(|note| note.mismatch.is_some() || note.host_bound).peekable();
    if notes.peek().is_none() {
        return;
    }
    page.raw("<h3>What jobs showed</h3><ul class=\"audit\">");
    for note in notes {
        let class = if note.mismatch.is_some() { "no" } else { "word" };
        for sentence in &note.sentences {
            page.raw(&format!("<li class=\"{class}\">")).text(sentence).raw("</li>");
        }
    }
    page.raw("</ul>");
}
