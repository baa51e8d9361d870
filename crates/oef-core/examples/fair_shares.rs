//! Describe a problem, check it, and see what each mechanism makes of it.
//!
//!     cargo run -p oef-core --example fair_shares
#![expect(clippy::print_stdout, reason = "an example shows something")]

use oef_core::{
    GpuSpec, Mechanism, Options, ProblemSpec, TenantSpec, WorkloadSpec, equal_split, solve,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problem = lab().validate()?;
    for mechanism in Mechanism::ALL {
        let outcome = solve(&problem, mechanism, &Options::default())?;
        println!("{mechanism}: {:.3} in total", outcome.shares.total(&problem));
        for tenant in problem.tenant_ids() {
            let throughput = outcome.shares.throughput(&problem, tenant);
            let gpus = outcome.shares.of_tenant(&problem, tenant);
            println!(
                "  {:8} {:.2?} GPUs, {:.2} of its equal split",
                problem.tenants()[tenant.index()].name,
                gpus,
                throughput / equal_split(&problem, tenant),
            );
        }
    }
    Ok(())
}

/// Two generations of GPUs; one lab has two kinds of jobs, and the other one's do not fit the old GPUs.
fn lab() -> ProblemSpec {
    let gpu = |name: &str, count: f64| GpuSpec { name: name.into(), count };
    let job = |name: &str, throughput: &[(&str, f64)]| WorkloadSpec {
        demand: None,
        name: name.into(),
        weight: 1.0,
        throughput: throughput.iter().map(|&(gpu, value)| (gpu.to_string(), value)).collect(),
        single: Vec::new(),
    };
    let tenant = |name: &str, workloads: Vec<WorkloadSpec>| TenantSpec {
        name: name.into(),
        weight: 1.0,
        demand: None,
        workloads,
        guarantee: Vec::new(),
        limit: Vec::new(),
    };
    ProblemSpec {
        reference: Some("old".into()),
        gpus: vec![gpu("old", 8.0), gpu("new", 4.0)],
        tenants: vec![
            tenant(
                "vision",
                vec![
                    job("vgg16", &[("old", 151.0), ("new", 210.0)]),
                    job("resnet50", &[("old", 228.0), ("new", 365.0)]),
                ],
            ),
            tenant("language", vec![job("lstm", &[("old", 1180.0), ("new", 2540.0)])]),
            tenant("biology", vec![job("unet3d", &[("new", 14.1)])]),
        ],
    }
}
