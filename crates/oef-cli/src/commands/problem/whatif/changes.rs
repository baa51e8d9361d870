//! From the arguments of `oef whatif` to changes.

use crate::args::problem::WhatifArgs;
use crate::commands::problem::named;
use crate::input::{Loaded, load_tenants, nearest, parse_counts};
use oef_core::{Change, GpuSpec, ProblemSpec, TenantSpec};
use oef_terminal::{Complaint, Failure, Printer};

/// All changes, in the order in which they are made: who leaves, who comes, what is bought, what is
/// set. So a tenant can be replaced, and a new tenant or type can be set up.
pub fn read(args: &WhatifArgs, loaded: &Loaded, printer: &Printer) -> Result<Vec<Change>, Failure> {
    let mut world = World { spec: loaded.spec.clone(), printer };
    let mut changes = Vec::new();
    let mut complaints = Vec::new();
    for name in &args.remove {
        match world.tenant(name, "--remove") {
            Ok(tenant) => {
                world.spec.tenants.retain(|t| t.name != tenant);
                changes.push(Change::RemoveTenant { tenant });
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    let bought = parse_counts(&args.add_gpu, "--add-gpu").map_err(Failure::input)?;
    for count in bought {
        let gpu = world.gpu_to_add(&count.gpu);
        changes.push(Change::AddGpus { gpu, count: count.count });
    }
    for path in &args.add_tenant {
        for tenant in load_tenants(path, &world.spec)? {
            if world.spec.tenants.iter().any(|t| t.name == tenant.name) {
                let complaint =
                    Complaint::new(format!("there is a tenant `{}` already", tenant.name));
                let hint = "give the new one another name, or take the old one out with --remove";
                complaints.push(complaint.at(path.display().to_string()).hint(hint));
            }
            world.spec.tenants.push(tenant.clone());
            changes.push(Change::AddTenant(tenant));
        }
    }
    for assignment in &args.set {
        match world.assignment(assignment) {
            Ok(change) => changes.push(change),
            Err(complaint) => complaints.push(complaint.at(format!("--set {assignment}"))),
        }
    }
    if complaints.is_empty() && changes.is_empty() {
        let hint = "use --set, --add-gpu, --remove or --add-tenant (see `oef whatif --help`)";
        complaints.push(Complaint::new("no change was given").hint(hint));
    }
    if complaints.is_empty() { Ok(changes) } else { Err(Failure::input(complaints)) }
}

/// The names that a change can refer to.
struct World<'a> {
    spec: ProblemSpec,
    printer: &'a Printer,
}

impl World<'_> {
    /// The full name of a tenant, given exactly or by a beginning that no other shares.
    fn tenant(&self, name: &str, flag: &str) -> Result<String, Complaint> {
        let names: Vec<&str> = self.spec.tenants.iter().map(|t| t.name.as_str()).collect();
        named::position(&names, name, flag, self.printer).map(|t| names[t].into())
    }

    /// The type to add GPUs of: a known one in its own spelling, or a new one.
    fn gpu_to_add(&mut self, name: &str) -> String {
        let known = |g: &&GpuSpec| g.name == name;
        let alike = |g: &&GpuSpec| g.name.eq_ignore_ascii_case(name);
        let gpus = &self.spec.gpus;
        if let Some(gpu) = gpus.iter().find(known) {
            return gpu.name.clone();
        }
        if let [one] = gpus.iter().filter(alike).collect::<Vec<_>>().as_slice() {
            self.printer.note(&format!("`{name}` is taken as gpu type `{}`", one.name));
            return one.name.clone();
        }
        self.spec.gpus.push(GpuSpec { name: name.into(), count: 0.0 });
        name.into()
    }

    /// `TENANT.weight=2` and its like.
    fn assignment(&self, text: &str) -> Result<Change, Complaint> {
        let (path, value) = text
            .rsplit_once('=')
            .ok_or_else(|| Complaint::new("there is no `=`").hint("write --set TENANT.weight=2"))?;
        let (path, value) = (path.trim(), value.trim());
        if let Some(gpu) = path.strip_suffix(".count").filter(|gpu| self.has_type(gpu)) {
            return Ok(Change::SetCapacity { gpu: gpu.into(), count: number(value)? });
        }
        let (tenant, field) = self.split_tenant(path)?;
        match field {
            "weight" => {
                Ok(Change::SetWeight { tenant: tenant.name.clone(), weight: number(value)? })
            }
            "demand" => {
                let demand = if value == "none" { None } else { Some(number(value)?) };
                Ok(Change::SetDemand { tenant: tenant.name.clone(), demand })
            }
            _ => self.throughput(tenant, field, number(value)?),
        }
    }

    /// Names may hold dots, so the longest tenant's name that fits is meant.
    fn split_tenant<'p>(&self, path: &'p str) -> Result<(&TenantSpec, &'p str), Complaint> {
        let after = |name: &str| path.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let fits = self.spec.tenants.iter().filter_map(|t| after(&t.name).map(|rest| (t, rest)));
        if let Some(found) = fits.max_by_key(|(t, _)| t.name.len()) {
            return Ok(found);
        }
        let (name, field) = path.split_once('.').ok_or_else(|| {
            Complaint::new(format!("`{path}` names no field"))
                .hint("write TENANT.weight, TENANT.demand, TENANT.WORKLOAD.TYPE or TYPE.count")
        })?;
        let name = self.tenant(name, "--set")?;
        let tenant = self.spec.tenants.iter().find(|t| t.name == name);
        tenant
            .map(|t| (t, field))
            .ok_or_else(|| Complaint::new(format!("there is no tenant `{name}`")))
    }

    fn throughput(
        &self,
        tenant: &TenantSpec,
        field: &str,
        value: f64,
    ) -> Result<Change, Complaint> {
        let after = |name: &str| field.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let fits = tenant.workloads.iter().filter_map(|w| after(&w.name).map(|gpu| (w, gpu)));
        let (workload, gpu) = match fits.max_by_key(|(w, _)| w.name.len()) {
            Some((workload, gpu)) => (Some(workload.name.clone()), gpu),
            None => (None, field),
        };
        if self.has_type(gpu) {
            let tenant = tenant.name.clone();
            return Ok(Change::SetThroughput { tenant, workload, gpu: gpu.into(), value });
        }
        Err(self.unknown_field(tenant, workload.is_some(), gpu))
    }

    fn unknown_field(&self, tenant: &TenantSpec, in_workload: bool, field: &str) -> Complaint {
        let types = self.spec.gpus.iter().map(|g| g.name.as_str());
        if in_workload {
            let complaint = Complaint::new(format!("there is no gpu type `{field}`"));
            return complaint.hint(nearest::hint("types", field, types.collect::<Vec<_>>()));
        }
        if let Some((workload, _)) = field.split_once('.') {
            let names: Vec<&str> = tenant.workloads.iter().map(|w| w.name.as_str()).collect();
            let name = &tenant.name;
            let complaint = Complaint::new(format!("tenant `{name}` has no workload `{workload}`"));
            return complaint.hint(nearest::hint("workloads", workload, names));
        }
        let known: Vec<&str> = ["weight", "demand"].into_iter().chain(types).collect();
        let complaint = Complaint::new(format!("tenant `{}` has no field `{field}`", tenant.name));
        complaint.hint(nearest::hint("fields", field, known))
    }

    fn has_type(&self, name: &str) -> bool {
        self.spec.gpus.iter().any(|g| g.name == name)
    }
}

fn number(text: &str) -> Result<f64, Complaint> {
    let wrong =
        || Complaint::new(format!("`{text}` is not a number")).hint("write a number such as 2");
    text.parse().map_err(|_| wrong())
}
