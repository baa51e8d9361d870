//! A real daemon before a large cluster that is nothing but memory: to look at the page, and for its tests.
//!
//!     cargo run -p oef-server --example page_cluster -- 6212 500 STATE_FOLDER 127.0.0.1:7800 10
//!
//! GPUs, tenants, the state folder, the address and the length of a round in seconds. It prints where it listens and the
//! owner's token, and goes on until it is killed; started again on the same folder it goes on where it was.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to whoever runs it"
)]

mod memory;

use memory::MemoryExecutor;
use oef_api::parsed::Workers;
use oef_api::types::{JobBatch, JobSubmit, JobsQuery, SettingsPatch, TenantCreate, WorkloadPut};
use oef_server::caller::Caller;
use oef_server::config::Config;
use oef_server::daemon::{Daemon, Options};
use oef_server::http::{App, Serving};
use oef_server::metrics::Exporter;
use std::collections::BTreeMap;
use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// The owner's token: this cluster has nothing to protect.
const TOKEN: &str = "oef_example";
/// Gpu types with their part of the cluster and their speed.
const TYPES: [(&str, f64, f64); 6] = [
    ("t4", 0.30, 1.0),
    ("p100", 0.18, 1.4),
    ("v100", 0.22, 2.6),
    ("a30", 0.10, 3.3),
    ("a100", 0.14, 5.5),
    ("h100", 0.06, 10.0),
];
const GPUS_PER_NODE: u32 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [gpus, tenants, state, address, round] = args.as_slice() else {
        eprintln!("usage: page_cluster GPUS TENANTS STATE_FOLDER ADDRESS ROUND_SECONDS");
        return Ok(());
    };
    let listener = TcpListener::bind(address)?;
    let config = Config { listen: listener.local_addr()?, ..Config::default() };
    let exporter = Exporter::new();
    let executor = Arc::new(MemoryExecutor::new(&nodes(gpus.parse()?)));
    let mut options = Options::new(state.into(), executor);
    options.metrics = Arc::new(exporter.clone());
    options.owner_secret = Some(TOKEN.into());
    let round_s = Some(round.parse()?);
    options.settings = SettingsPatch { round_s, min_run_s: round_s, ..SettingsPatch::default() };
    let daemon = Daemon::start(options)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(serve(daemon, exporter, config, listener, state, tenants.parse()?))
}

/// Whole nodes of each type, and a last one for the rest.
fn nodes(gpus: u32) -> Vec<(String, String, u32)> {
    let mut nodes = Vec::new();
    let mut left = gpus;
    for (i, (name, part, _)) in TYPES.iter().enumerate() {
        let is_last = i + 1 == TYPES.len();
        let mut own = if is_last { left } else { ((f64::from(gpus) * part) as u32).min(left) };
        left -= own;
        let mut number = 0;
        while own > 0 {
            let on_node = own.min(GPUS_PER_NODE);
            nodes.push((format!("{name}-{number:03}"), (*name).to_string(), on_node));
            own -= on_node;
            number += 1;
        }
    }
    nodes
}

async fn serve(
    daemon: Daemon,
    exporter: Exporter,
    config: Config,
    listener: TcpListener,
    state: &str,
    tenants: u32,
) -> Result<(), Box<dyn Error>> {
    let app = App::new(daemon.clone(), exporter, &config);
    app.keep_sessions_in(std::path::Path::new(state).join("sessions.json"));
    let serving = Serving::begin(app, listener, None)?;
    let mut dice = Dice(0x0EF);
    create(&daemon, tenants, &mut dice).await.map_err(|problem| problem.detail)?;
    println!("http://{} {TOKEN}", config.listen);
    let total = daemon.cluster(&Caller::admin()).map_err(|p| p.detail)?;
    let wanted: u32 = total.types.iter().map(|t| t.capacity).sum();
    loop {
        top_up(&daemon, tenants, wanted, &mut dice).await.map_err(|problem| problem.detail)?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        if std::env::var_os("OEF_EXAMPLE_ENDS").is_some() {
            return Ok(serving.stop().await?);
        }
    }
}

fn name(tenant: u32) -> String {
    const WORDS: [&str; 10] = [
        "vision", "speech", "language", "robotics", "genomics", "climate", "recsys", "physics",
        "medical", "finance",
    ];
    let word = WORDS[tenant as usize % WORDS.len()];
    if tenant < 10 { word.into() } else { format!("{word}-{:03}", tenant / 10) }
}

async fn create(
    daemon: &Daemon,
    tenants: u32,
    dice: &mut Dice,
) -> Result<(), Box<oef_api::types::ApiError>> {
    let admin = Caller::admin();
    for tenant in 0..tenants {
        let name = name(tenant);
        if daemon.tenant(&admin, &name).is_ok() {
            continue;
        }
        let weight = [0.5, 1.0, 1.0, 1.0, 2.0, 4.0][dice.roll(6) as usize].try_into().ok();
        let create = TenantCreate { weight, ..TenantCreate::named(name.parse().expect("a name")) };
        daemon.create_tenant(&admin, create).await?;
        // How much a workload gains from fast types differs from tenant to tenant.
        let gain = 0.25 + 0.075 * dice.roll(11) as f64;
        let throughput: BTreeMap<String, f64> =
            TYPES.iter().map(|(gpu, _, speed)| ((*gpu).to_string(), speed.powf(gain))).collect();
        let put = WorkloadPut { throughput: Some(throughput), ..WorkloadPut::default() };
        daemon.put_workload(&admin, &name, "train", put).await?;
    }
    Ok(())
}

/// Submits jobs until a little more is wanted than there is.
async fn top_up(
    daemon: &Daemon,
    tenants: u32,
    wanted: u32,
    dice: &mut Dice,
) -> Result<(), Box<oef_api::types::ApiError>> {
    let admin = Caller::admin();
    let mut live = 0;
    let mut after = None;
    loop {
        let query = JobsQuery { limit: Some(1000), after, ..JobsQuery::default() };
        let page = daemon.jobs(&admin, &query)?;
        live += page.jobs.iter().map(|job| job.workers).sum::<u32>();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut jobs = Vec::new();
    while live < wanted + wanted / 12 && jobs.len() < 1000 {
        let workers = [1, 1, 1, 2, 2, 4, 8][dice.roll(7) as usize].min(wanted / 4).max(1);
        let seconds = 60 + 20 * dice.roll(60);
        live += workers;
        let name = name(dice.roll(u64::from(tenants)) as u32);
        jobs.push(JobSubmit {
            tenant: name.parse().ok(),
            workload: "train".parse().ok(),
            name: Some(format!("train-{seconds}s")),
            command: vec!["run".into(), seconds.to_string()],
            workers: Workers::up_to(workers),
            ..JobSubmit::default()
        });
    }
    if !jobs.is_empty() {
        daemon.submit(&admin, JobBatch::of(jobs), None).await?;
    }
    Ok(())
}

/// A plain generator: the same cluster every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % sides
    }
}
