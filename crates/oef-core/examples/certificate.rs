//! Audit a result, and check the witness by hand where a property fails.
//!
//!     cargo run -p oef-core --example certificate
#![expect(clippy::print_stdout, reason = "an example shows something")]

use oef_core::{Mechanism, Options, ProblemSpec, audit, solve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The smallest problem we know in which the cooperative answer could be improved on.
    let rows: [&[f64]; 3] = [&[1.0, 1.5, 2.0], &[1.0, 2.0, 3.5], &[1.0, 2.5, 4.5]];
    let problem = ProblemSpec::from_matrix(&[1.0, 1.0, 1.0], &rows).validate()?;
    let outcome = solve(&problem, Mechanism::Cooperative, &Options::default())?;
    let certificate = audit(&problem, &outcome);
    println!("nobody envies: {}", certificate.envy_free.holds);
    println!("nobody is below its equal split: {}", certificate.sharing_incentive.holds);
    println!("nobody could gain without another's loss: {}", certificate.pareto_efficient.holds);
    if let Some(better) = certificate.pareto_efficient.witness {
        println!("a division that is better for some and worse for nobody:");
        for tenant in problem.tenant_ids() {
            println!(
                "  {} {:.4} -> {:.4} with {:.4?}",
                problem.tenants()[tenant.index()].name,
                outcome.shares.throughput(&problem, tenant),
                better.shares.throughput(&problem, tenant),
                better.shares.of_tenant(&problem, tenant),
            );
        }
    }
    Ok(())
}
