//! The last round with its certificate.

use super::Seen;
use super::markup::{Markup, figure};
use oef_api::types::{Audit, Property};

pub(super) fn show(page: &mut Markup, seen: &Seen) {
    let Some(round) = &seen.round else { return };
    page.raw("<section><h2>Round ").number(round.round).raw("</h2><p>Total throughput ");
    page.raw(&figure(round.total));
    if let Some(reference) = &round.reference {
        page.raw(" (").text(reference).raw(" is 1)");
    }
    page.raw(", shares by ").text(&round.mechanism);
    page.raw(&format!(", computed in {:.0} ms", round.shares_age.solve_s * 1e3));
    if round.shares_age.kept {
        page.raw(", <em>kept from round ").number(round.shares_age.of_round).raw("</em>");
    }
    page.raw(".</p>");
    if let Some(trouble) = &round.shares_age.trouble {
        page.raw("<p><em>").text(trouble).raw("</em></p>");
    }
    match &round.audit {
        Some(audit) => certificate(page, audit),
        None => _ = page.raw("<p>There was nothing to share.</p>"),
    }
    page.raw("</section>");
}

fn certificate(page: &mut Markup, audit: &Audit) {
    let properties: [(&str, &Property); 5] = [
        ("no more handed out than there is", &audit.capacity),
        ("nobody would rather have another's share", &audit.envy_free),
        ("nobody is worse off than with an equal split", &audit.sharing_incentive),
        ("nobody could gain without somebody losing", &audit.pareto_efficient),
        ("every tenant's gpu types lie side by side", &audit.adjacent),
    ];
    page.raw("<ul class=\"audit\">");
    for (words, property) in properties {
        page.raw(if property.holds { "<li class=\"yes\">✓ " } else { "<li class=\"no\">✗ " });
        page.raw(words).raw(" (").raw(&figure(property.worst)).raw(")");
        if let Some(witness) = property.witness.as_ref().filter(|_| !property.holds) {
            page.raw(": ").text(witness);
        }
        page.raw("</li>");
    }
    page.raw("</ul>");
}
