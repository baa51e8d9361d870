//! Tenants by name, as people remember them.

use crate::input::nearest;
use oef_core::{Problem, TenantId};
use oef_terminal::{Complaint, Printer};

/// The tenant of that name in a problem; see [`position`].
pub fn tenant(
    problem: &Problem,
    name: &str,
    flag: &str,
    printer: &Printer,
) -> Result<TenantId, Complaint> {
    let names: Vec<&str> = problem.tenants().iter().map(|t| t.name.as_str()).collect();
    position(&names, name, flag, printer).map(TenantId)
}

/// The position of the tenant of that name, or of the only one whose name begins so (and then it says
/// whom it took).
pub fn position(
    names: &[&str],
    name: &str,
    flag: &str,
    printer: &Printer,
) -> Result<usize, Complaint> {
    if let Some(exact) = names.iter().position(|n| *n == name) {
        return Ok(exact);
    }
    let begins = |t: &usize| !name.is_empty() && names[*t].starts_with(name);
    let candidates: Vec<usize> = (0..names.len()).filter(begins).collect();
    match candidates.as_slice() {
        [one] => {
            printer.note(&format!("`{name}` is taken as tenant `{}`", names[*one]));
            Ok(*one)
        }
        [] => {
            let complaint = Complaint::new(format!("there is no tenant `{name}`")).at(flag);
            Err(complaint.hint(nearest::hint("tenants", name, names.iter().copied())))
        }
        several => {
            let first: Vec<&str> = several.iter().take(4).map(|&t| names[t]).collect();
            let complaint = Complaint::new(format!("`{name}` could be several tenants")).at(flag);
            Err(complaint.hint(format!("write the whole name: {}", first.join(", "))))
        }
    }
}
