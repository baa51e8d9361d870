//! `--lie TENANT=TYPE:FACTOR,...`

use super::gather::Gathered;
use crate::input::hint;
use oef_sim::world::Lie;
use oef_terminal::names::safe;
use oef_terminal::{Complaint, Failure};

/// The lies that were asked for; tenants and types must be there.
pub fn parse(arguments: &[String], gathered: &Gathered) -> Result<Vec<Lie>, Failure> {
    let mut lies: Vec<Lie> = Vec::new();
    let mut complaints = Vec::new();
    for argument in arguments {
        match one(argument, gathered) {
            Err(complaint) => complaints.push(complaint.at(format!("--lie {}", safe(argument)))),
            Ok(lie) => match lies.iter_mut().find(|known| known.tenant == lie.tenant) {
                // Said in two arguments, it is one lie all the same.
                Some(known) => {
                    known.factors.iter_mut().zip(&lie.factors).for_each(|(a, b)| *a *= b);
                }
                None => lies.push(lie),
            },
        }
    }
    if complaints.is_empty() { Ok(lies) } else { Err(Failure::input(complaints)) }
}

fn one(argument: &str, gathered: &Gathered) -> Result<Lie, Complaint> {
    const FORM: &str = "write TENANT=TYPE:FACTOR, such as t3=rtx3090:1.5,rtx3080:1.2";
    let Some((tenant, factors)) = argument.rsplit_once('=') else {
        return Err(Complaint::new("there is no `=`").hint(FORM));
    };
    let tenants = gathered.trace.tenants();
    if !tenants.contains(&tenant) {
        let complaint = Complaint::new(format!("the trace has no tenant `{}`", safe(tenant)));
        return Err(complaint.hint(hint("tenants", tenant, tenants.iter().copied())));
    }
    let types = &gathered.profiles.types;
    let mut lie = Lie { tenant: tenant.into(), factors: vec![1.0; types.len()] };
    for part in factors.split(',') {
        let Some((gpu, factor)) = part.rsplit_once(':') else {
            return Err(Complaint::new(format!("`{}` has no `:`", safe(part))).hint(FORM));
        };
        let gpu = gpu.trim();
        let Some(column) = types.iter().position(|t| t.eq_ignore_ascii_case(gpu)) else {
            let complaint = Complaint::new(format!("the cluster has no gpu type `{}`", safe(gpu)));
            return Err(complaint.hint(hint("types", gpu, types.iter().map(String::as_str))));
        };
        match factor.trim().parse::<f64>() {
            Ok(x) if x.is_finite() && x > 0.0 => lie.factors[column] = x,
            _ => {
                let message = format!("`{}` is not a factor above 0", safe(factor));
                return Err(Complaint::new(message).hint(FORM));
            }
        }
    }
    Ok(lie)
}
