//! The machines as a picture: one square for each GPU, in the colour of its tenant.

use super::Seen;
use super::markup::{Markup, figure};
use oef_api::types::{Node, NodeHealth};
use oef_report::escape;
use std::collections::BTreeMap;

/// Squares in a row of the picture.
const PER_ROW: usize = 16;
/// The distance from one square to the next, in units of the picture.
const STEP: usize = 20;
/// GPUs of one type that are drawn; a picture with more is no picture.
const DRAWN_MAX: usize = 512;
/// Colours before they come again; the style has as many, and each has a letter beside it.
const COLOURS: usize = 8;

pub(super) fn show(page: &mut Markup, seen: &Seen) {
    let owners: BTreeMap<u64, &str> =
        seen.running.iter().map(|j| (j.id, j.tenant.as_str())).collect();
    page.raw("<section><h2>Cluster</h2>");
    if seen.cluster.types.is_empty() {
        page.raw("<p>There are no GPUs.</p>");
    }
    for t in &seen.cluster.types {
        page.raw("<h3>").text(&t.gpu_type).raw("</h3><p>").number(t.capacity - t.idle).raw(" of ");
        page.number(t.capacity).raw(" in use");
        if let Some(price) = t.price {
            page.raw(" · one more would be worth ").raw(&figure(price));
        }
        page.raw("</p>");
        let nodes = seen.cluster.nodes.iter().filter(|node| node.gpu_type == t.gpu_type);
        let gpus: Vec<Square<'_>> = nodes.flat_map(|node| squares(node, &owners)).collect();
        picture(
            page,
            &gpus,
            &seen.tenants.tenants.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        );
    }
    page.raw("</section>");
}

struct Square<'a> {
    node: &'a str,
    index: usize,
    is_up: bool,
    job: Option<u64>,
    owner: Option<&'a str>,
}

fn squares<'a>(node: &'a Node, owners: &BTreeMap<u64, &'a str>) -> Vec<Square<'a>> {
    let square = |(index, job): (usize, &Option<u64>)| Square {
        node: &node.name,
        index,
        is_up: node.health == NodeHealth::Up,
        job: *job,
        owner: job.and_then(|job| owners.get(&job).copied()),
    };
    node.jobs.iter().enumerate().map(square).collect()
}

fn picture(page: &mut Markup, gpus: &[Square<'_>], tenants: &[&str]) {
    let drawn = &gpus[..gpus.len().min(DRAWN_MAX)];
    let (width, rows) = (PER_ROW.min(drawn.len().max(1)) * STEP, drawn.len().div_ceil(PER_ROW));
    let height = rows * STEP;
    page.raw(&format!("<svg class=\"gpus\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\""));
    let busy = gpus.iter().filter(|gpu| gpu.job.is_some()).count();
    page.number(busy).raw(" of ").number(gpus.len()).raw(" in use\">");
    for (i, gpu) in drawn.iter().enumerate() {
        let (x, y) = (i % PER_ROW * STEP, i / PER_ROW * STEP);
        let place = gpu.owner.and_then(|owner| tenants.iter().position(|tenant| *tenant == owner));
        let class = match (gpu.is_up, gpu.job, place) {
            (false, ..) => "down".to_string(),
            (_, None, _) => "idle".into(),
            (_, Some(_), Some(place)) => format!("c{}", place % COLOURS),
            (_, Some(_), None) => "busy".into(),
        };
        page.raw(&format!("<g><title>{}</title>", escape(&says(gpu))));
        page.raw(&format!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"16\" rx=\"3\"/>",
            x + 2,
            y + 2
        ));
        if let Some(letter) = gpu.owner.and_then(|owner| owner.chars().next()) {
            let letter = escape(&letter.to_string());
            page.raw(&format!("<text x=\"{}\" y=\"{}\">{letter}</text>", x + 10, y + 14));
        }
        page.raw("</g>");
    }
    page.raw("</svg>");
    if gpus.len() > DRAWN_MAX {
        page.raw("<p>and ").number(gpus.len() - DRAWN_MAX).raw(" more</p>");
    }
}

fn says(gpu: &Square<'_>) -> String {
    let Square { node, index, .. } = gpu;
    match (gpu.is_up, gpu.job, gpu.owner) {
        (false, ..) => format!("{node}:{index} is down"),
        (_, None, _) => format!("{node}:{index} is idle"),
        (_, Some(job), Some(owner)) => format!("{node}:{index} has job {job} of {owner}"),
        (_, Some(job), None) => format!("{node}:{index} has job {job}"),
    }
}
