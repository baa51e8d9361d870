//! Tenants by name, as people remember them.

use crate::failure::Complaint;
use crate::input::nearest;
use crate::printer::Printer;
use oef_core::{Problem, TenantId};

/// The tenant of that name, or the only one whose name begins so (and then it says whom it took).
pub fn tenant(
    problem: &Problem,
    name: &str,
    flag: &str,
    printer: &Printer,
) -> Result<TenantId, Complaint> {
    if let Some(id) = problem.tenant_named(name) {
        return Ok(id);
    }
    let begins = |t: &TenantId| !name.is_empty() && problem.tenants()[t.0].name.starts_with(name);
    let candidates: Vec<TenantId> = problem.tenant_ids().filter(begins).collect();
    match candidates.as_slice() {
        [id] => {
            printer
                .note(&format!("`{name}` is taken as tenant `{}`", problem.tenants()[id.0].name));
            Ok(*id)
        }
        [] => {
            let names = problem.tenants().iter().map(|t| t.name.as_str());
            let complaint = Complaint::new(format!("there is no tenant `{name}`")).at(flag);
            Err(complaint.hint(nearest::hint("tenants", name, names)))
        }
        several => {
            let names: Vec<&str> =
                several.iter().take(4).map(|t| problem.tenants()[t.0].name.as_str()).collect();
            let complaint = Complaint::new(format!("`{name}` could be several tenants")).at(flag);
            Err(complaint.hint(format!("write the whole name: {}", names.join(", "))))
        }
    }
}
