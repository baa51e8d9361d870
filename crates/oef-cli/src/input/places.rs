//! Where each field of a problem stands in its file.

use oef_core::Field;

/// Byte offsets of everything that the checks may complain about.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Whether the problem came from a table of rows, whose fields are columns.
    pub from_table: bool,
    /// The `reference` field.
    pub reference: usize,
    /// The gpu types.
    pub gpus: Vec<GpuPlaces>,
    /// The tenants.
    pub tenants: Vec<TenantPlaces>,
}

/// The places of one gpu type.
#[derive(Clone, Debug)]
pub struct GpuPlaces {
    /// Its name.
    pub name: usize,
    /// Its count.
    pub count: usize,
}

/// The places of one tenant.
#[derive(Clone, Debug)]
pub struct TenantPlaces {
    /// Its name.
    pub name: usize,
    /// Its weight.
    pub weight: usize,
    /// Its demand.
    pub demand: usize,
    /// Its guarantees.
    pub guarantee: usize,
    /// Its limits by gpu type.
    pub limit: usize,
    /// Its list of workloads.
    pub list: usize,
    /// Its workloads.
    pub workloads: Vec<WorkloadPlaces>,
}

/// The places of one workload.
#[derive(Clone, Debug)]
pub struct WorkloadPlaces {
    /// Its name.
    pub name: usize,
    /// Its weight.
    pub weight: usize,
    /// Its demand.
    pub demand: usize,
    /// Its throughputs as a whole.
    pub throughput: usize,
    /// The throughputs of a single worker.
    pub single: usize,
    /// Each throughput: the place and the name it goes by in the file.
    pub entries: Vec<(usize, String)>,
}

impl Places {
    /// Offset and name of a field. A field that is not in the file is placed at what should have it.
    pub fn of(&self, field: &Field) -> (usize, String) {
        let found = match *field {
            Field::Whole => None,
            Field::Reference => Some((self.reference, "reference".into())),
            Field::GpuName(j) => self.gpus.get(j).map(|g| (g.name, "gpu.type".into())),
            Field::GpuCount(j) => self.gpus.get(j).map(|g| (g.count, "gpu.count".into())),
            _ => self.of_tenant(field),
        };
        found.unwrap_or_default()
    }

    /// Whether the field was given on the command line and not in the file.
    pub fn is_argument(&self, field: &Field) -> bool {
        self.from_table && matches!(field, Field::GpuName(_) | Field::GpuCount(_))
    }

    fn of_tenant(&self, field: &Field) -> Option<(usize, String)> {
        let name =
            |tree: &str, table: &str| String::from(if self.from_table { table } else { tree });
        let tenant = |t: usize| self.tenants.get(t);
        let workload = |t: usize, w: usize| tenant(t).and_then(|tenant| tenant.workloads.get(w));
        Some(match *field {
            Field::TenantName(t) => (tenant(t)?.name, name("tenant.name", "the row's name")),
            Field::TenantWeight(t) => (tenant(t)?.weight, name("tenant.weight", "weight")),
            Field::TenantDemand(t) => (tenant(t)?.demand, name("tenant.demand", "demand")),
            Field::TenantGuarantee(t) => {
                (tenant(t)?.guarantee, name("tenant.guarantee", "guarantee"))
            }
            Field::TenantLimit(t) => (tenant(t)?.limit, name("tenant.limit", "limit")),
            Field::TenantWorkloads(t) => (tenant(t)?.list, "tenant.workload".into()),
            Field::WorkloadName(t, w) => (workload(t, w)?.name, "tenant.workload.name".into()),
            Field::WorkloadWeight(t, w) => {
                (workload(t, w)?.weight, "tenant.workload.weight".into())
            }
            Field::WorkloadDemand(t, w) => {
                (workload(t, w)?.demand, "tenant.workload.demand".into())
            }
            Field::WorkloadThroughput(t, w) => {
                (workload(t, w)?.throughput, name("tenant.workload.throughput", "thr_*"))
            }
            Field::WorkloadSingle(t, w) => {
                (workload(t, w)?.single, "tenant.workload.single".into())
            }
            Field::WorkloadThroughputEntry(t, w, e) => {
                let (at, entry) = workload(t, w)?.entries.get(e)?;
                let path = format!("tenant.workload.throughput.{entry}");
                (*at, name(&path, &format!("thr_{entry}")))
            }
            _ => return None,
        })
    }
}
