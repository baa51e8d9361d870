//! A problem as a problem file, so that a failure is a file to try again.

use oef_core::ProblemSpec;
use std::fmt::Write;

/// The problem file (TOML) of a description.
pub fn problem_file(spec: &ProblemSpec) -> String {
    let mut out = String::new();
    if let Some(reference) = &spec.reference {
        let _ = writeln!(out, "reference = {reference:?}");
    }
    for gpu in &spec.gpus {
        let _ = writeln!(out, "[[gpu]]\ntype = {:?}\ncount = {:?}", gpu.name, gpu.count);
    }
    for tenant in &spec.tenants {
        let _ = writeln!(out, "[[tenant]]\nname = {:?}\nweight = {:?}", tenant.name, tenant.weight);
        if let Some(demand) = tenant.demand {
            let _ = writeln!(out, "demand = {demand:?}");
        }
        for (what, gpus) in [("guarantee", &tenant.guarantee), ("limit", &tenant.limit)] {
            let entries: Vec<String> =
                gpus.iter().map(|(gpu, n)| format!("{gpu} = {n:?}")).collect();
            if !entries.is_empty() {
                let _ = writeln!(out, "{what} = {{ {} }}", entries.join(", "));
            }
        }
        for workload in &tenant.workloads {
            let entries: Vec<String> =
                workload.throughput.iter().map(|(gpu, thr)| format!("{gpu} = {thr:?}")).collect();
            let _ = writeln!(
                out,
                "[[tenant.workload]]\nname = {:?}\nweight = {:?}",
                workload.name, workload.weight
            );
            if let Some(demand) = workload.demand {
                let _ = writeln!(out, "demand = {demand:?}");
            }
            let _ = writeln!(out, "throughput = {{ {} }}", entries.join(", "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_file_has_the_fields_of_the_interface() {
        let spec = ProblemSpec::from_matrix(&[1.0], &[&[2.0]]);
        let text = "[[gpu]]\ntype = \"g1\"\ncount = 1.0\n[[tenant]]\nname = \"u1\"\nweight = 1.0\n\
            [[tenant.workload]]\nname = \"default\"\nweight = 1.0\nthroughput = { g1 = 2.0 }\n";
        assert_eq!(problem_file(&spec), text);
    }
}
