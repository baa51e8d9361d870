//! Tenants: share, GPUs held and balance of each; promised and delivered as bars.

use super::Seen;
use super::markup::{Markup, figure};
use oef_api::types::{Tenant, TenantFairness};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The width of the longest bar, in units of the picture.
const BAR: f64 = 120.0;

pub(super) fn show(page: &mut Markup, seen: &Seen) {
    page.raw("<section><h2>Tenants</h2>");
    if seen.tenants.tenants.is_empty() {
        page.raw(
            "<p>There are none yet: <code>oef submit --tenant NAME -- COMMAND</code></p></section>",
        );
        return;
    }
    let parts: BTreeMap<&str, &TenantFairness> = seen
        .fairness
        .iter()
        .flat_map(|fairness| &fairness.tenants)
        .map(|part| (part.tenant.as_str(), part))
        .collect();
    let most = parts.values().flat_map(|part| [part.promised, part.delivered]).fold(0.0, f64::max);
    page.raw("<div class=\"wide\"><table><thead><tr><th>tenant</th><th class=\"n\">weight</th><th>share</th>");
    page.raw(
        "<th>holds</th><th class=\"n\" title=\"+ under, - over its share so far, in GPU-rounds\">balance</th><th class=\"n\">run</th><th class=\"n\">wait</th>",
    );
    page.raw("<th>promised and delivered</th></tr></thead><tbody>");
    for tenant in &seen.tenants.tenants {
        row(page, tenant, parts.get(tenant.name.as_str()).copied(), most);
    }
    page.raw("</tbody></table></div>");
    if seen.tenants.next.is_some() {
        page.raw("<p>and more: <code>oef tenants</code></p>");
    }
    page.raw("</section>");
}

fn row(page: &mut Markup, tenant: &Tenant, part: Option<&TenantFairness>, most: f64) {
    page.raw("<tr><td>").text(&tenant.name);
    if tenant.suspended {
        page.raw(" <em>suspended</em>");
    }
    page.raw("</td><td class=\"n\">").raw(&figure(tenant.weight)).raw("</td><td>");
    by_type(page, tenant.share.iter().map(|(name, gpus)| (name, figure(*gpus))));
    page.raw("</td><td>");
    by_type(page, tenant.holds.iter().map(|(name, gpus)| (name, *gpus)));
    let owed: f64 = tenant.deficit.values().sum();
    page.raw("</td><td class=\"n\">").raw(&figure(owed)).raw("</td><td class=\"n\">");
    page.number(tenant.running).raw("</td><td class=\"n\">").number(tenant.queued).raw("</td><td>");
    if let Some(part) = part {
        bars(page, part, most);
    }
    page.raw("</td></tr>");
}

fn by_type<'a>(page: &mut Markup, entries: impl Iterator<Item = (&'a String, impl Display)>) {
    let mut is_first = true;
    for (name, gpus) in entries.filter(|(_, gpus)| gpus.to_string() != "0") {
        page.raw(if is_first { "" } else { ", " }).number(gpus).raw(" ").text(name);
        is_first = false;
    }
}

/// Two bars below each other, with their numbers: the picture is not needed to read them.
fn bars(page: &mut Markup, part: &TenantFairness, most: f64) {
    page.raw("<svg class=\"bars\" viewBox=\"0 0 180 26\" width=\"180\" height=\"26\" role=\"img\" aria-label=\"promised ");
    page.raw(&figure(part.promised)).raw(", delivered ").raw(&figure(part.delivered)).raw("\">");
    for (y, class, value) in [(1, "promised", part.promised), (14, "delivered", part.delivered)] {
        let width = if most > 0.0 && value.is_finite() { value / most * BAR } else { 0.0 };
        page.raw(&format!(
            "<rect class=\"{class}\" x=\"0\" y=\"{y}\" width=\"{width:.1}\" height=\"11\"/>"
        ));
        page.raw(&format!(
            "<text x=\"{:.1}\" y=\"{}\">{}</text>",
            width + 4.0,
            y + 10,
            figure(value)
        ));
    }
    page.raw("</svg>");
}
