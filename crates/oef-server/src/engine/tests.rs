//! What callers may do, and what they are told when they may not.

use super::budgets::Budgets;
use super::command::{Command, Done};
use super::prepare::{Numbers, Prepared, prepare};
use crate::caller::Caller;
use crate::world::{Change, ProfileEntry, World};
use oef_api::parsed::{Weight, Workers};
use oef_api::types::{
    ApiError, GroupPut, JobBatch, JobSubmit, Limits, NodeHealth, NodePatch, Provenance, Role,
    SettingsPatch, TenantCreate, TenantPatch, TokenCreate, WorkloadPut,
};
use oef_sched::{NodeSpec, Time};
use std::collections::BTreeMap;

/// Eight slow GPUs and four fast ones; tenants ada and bob; ada's workload `big` runs on fast ones only, and
/// she may have three jobs and six GPUs.
fn world() -> World {
    let mut world = World::new(Default::default(), Default::default());
    let mut apply = |change: Change| {
        world.happen(Time(1_000), change).expect("taken");
    };
    for (name, gpu_type, gpus) in [("n1", "slow", 8), ("n2", "fast", 4)] {
        apply(Change::NodeUp(NodeSpec { name: name.into(), gpu_type: gpu_type.into(), gpus }));
    }
    let limits = Limits { gpus: Some(6), jobs: Some(3) };
    for (name, limits) in [("ada", limits), ("bob", Limits::default())] {
        let (name, weight) = (name.parse().expect("a name"), Weight::default());
        apply(Change::TenantCreated { name, weight, group: None, limits });
    }
    let throughput = BTreeMap::from([("fast".to_string(), 2.0)]);
    let profile = ProfileEntry::plain(throughput, Provenance::Declared, 0, "told".into());
    apply(Change::WorkloadPut {
        tenant: "ada".into(),
        name: "big".parse().expect("a name"),
        weight: None,
        profile: Some(Box::new(profile)),
        told: None,
    });
    world
}

fn ask(world: &World, caller: &Caller, command: Command) -> Result<Prepared, ApiError> {
    let mut numbers = Numbers {
        budgets: Budgets::default(),
        meter: Default::default(),
        next_job: world.next_job,
        next_token: world.next_token,
        next_notification: 1,
    };
    prepare(world, Time(2_000), caller, command, &mut numbers)
}

fn submit(caller: &Caller, job: JobSubmit) -> Result<Prepared, ApiError> {
    let batch = JobBatch::of(vec![job]);
    ask(&world(), caller, Command::Submit { batch, key: None, create_tenants: true })
}

fn job() -> JobSubmit {
    JobSubmit { tenant: "ada".parse().ok(), command: vec!["true".into()], ..JobSubmit::default() }
}

fn tenant(name: &str) -> Caller {
    Caller { role: Role::Tenant, tenant: Some(name.into()), token: 7, user: None }
}

fn viewer() -> Caller {
    Caller { role: Role::Viewer, tenant: None, token: 8, user: None }
}

#[test]
fn a_job_knows_the_person_who_submitted_it() {
    let user = |caller: &Caller, given: Option<&str>| {
        let job = JobSubmit { user: given.map(String::from), ..job() };
        match submit(caller, job).expect("taken") {
            Prepared::Changes(changes, _) => match changes.last() {
                Some(Change::Submitted { jobs, .. }) => jobs[0].spec.user.clone(),
                other => panic!("{other:?}"),
            },
            Prepared::Already(_) => panic!("it is new"),
        }
    };
    let named = |caller: Caller, name: &str| Caller { user: Some(name.into()), ..caller };
    assert_eq!(user(&named(tenant("ada"), "ann"), None).as_deref(), Some("ann"));
    assert_eq!(user(&named(Caller::admin(), "root"), None).as_deref(), Some("root"));
    assert_eq!(user(&Caller::admin(), Some("bob")).as_deref(), Some("bob"), "a portal's admin");
    assert_eq!(user(&Caller::admin(), None), None);
    let job = JobSubmit { user: Some("bob".into()), ..job() };
    let problem = submit(&tenant("ada"), job).err().expect("only an admin says who");
    assert_eq!((problem.kind.as_str(), problem.field.as_deref()), ("forbidden", Some("user")));
}

#[test]
fn a_job_that_cannot_be_is_refused_with_the_field_and_the_way_out() {
    let text = |s: &str| Some(s.to_string());
    let map = |k: &str, v: &str| BTreeMap::from([(k.to_string(), v.to_string())]);
    type Change = Box<dyn Fn(&mut JobSubmit)>;
    let cases: Vec<(&str, &str, &str, Change)> = vec![
        ("bad_request", "command", "what is to run", Box::new(|j| j.command.clear())),
        ("bad_request", "script", "not both", Box::new(move |j| j.script = text("x"))),
        ("bad_request", "command", "NUL", Box::new(|j| j.command.push("a\0".into()))),
        ("bad_request", "command", "empty", Box::new(|j| j.command = vec![String::new()])),
        ("bad_request", "warm", "that is Python", Box::new(|j| j.warm = vec!["torch".into()])),
        (
            "gang_too_large",
            "workers",
            "4 fast, 8 slow",
            Box::new(|j| j.workers = Workers::up_to(13)),
        ),
        (
            "limit_reached",
            "workers",
            "its tenant may have 6",
            Box::new(|j| j.workers = Workers::up_to(7)),
        ),
        (
            "unknown_type",
            "types",
            "there are slow, fast",
            Box::new(|j| j.types = vec!["fats".into()]),
        ),
        (
            "bad_request",
            "types",
            "runs on none of slow",
            Box::new(move |j| {
                j.workload = "big".parse().ok();
                j.types = vec!["slow".into()];
            }),
        ),
        (
            "gang_too_large",
            "workers",
            "4 fast",
            Box::new(move |j| {
                j.workload = "big".parse().ok();
                j.workers = Workers::up_to(5);
            }),
        ),
        ("bad_request", "retries", "1000", Box::new(|j| j.retries = 1001)),
        ("bad_request", "max_run_s", "NaN", Box::new(|j| j.max_run_s = Some(f64::NAN))),
        ("bad_request", "max_run_s", "not 0", Box::new(|j| j.max_run_s = Some(0.0))),
        ("bad_request", "min_run_s", "not -1", Box::new(|j| j.min_run_s = Some(-1.0))),
        ("bad_request", "grace_s", "inf", Box::new(|j| j.grace_s = Some(f64::INFINITY))),
        ("bad_request", "workdir", "absolute", Box::new(move |j| j.workdir = text("here"))),
        (
            "bad_request",
            "checkpoint_dir",
            "absolute",
            Box::new(move |j| j.checkpoint_dir = text("x")),
        ),
        ("bad_request", "env", "no `=`", Box::new(move |j| j.env = map("A=B", "c"))),
        ("bad_request", "env", "NUL", Box::new(move |j| j.env = map("A", "\0"))),
        ("bad_request", "labels", "not allowed", Box::new(move |j| j.labels = map("a\nb", "c"))),
        (
            "bad_request",
            "labels",
            "1000",
            Box::new(move |j| j.labels = map("a", &"x".repeat(1001))),
        ),
        ("bad_request", "name", "200", Box::new(move |j| j.name = text(&"n".repeat(201)))),
        ("bad_request", "tenant", "name it", Box::new(|j| j.tenant = None)),
    ];
    for (kind, field, words, change) in cases {
        let mut wrong = job();
        change(&mut wrong);
        let Err(problem) = submit(&Caller::admin(), wrong) else { panic!("{field}: {words}") };
        assert_eq!(problem.kind, kind, "{problem}");
        assert_eq!(problem.field.as_deref(), Some(field), "{problem}");
        assert!(problem.detail.contains(words), "{problem}");
    }
    let mut wrong = job();
    wrong.types = vec!["fats".into()];
    let problem = submit(&Caller::admin(), wrong).err().expect("refused");
    assert_eq!(problem.hint.as_deref(), Some("did you mean `fast`?"));
    let mut long = job();
    long.script = Some("x".repeat(300_000));
    long.command.clear();
    assert_eq!(submit(&Caller::admin(), long).err().expect("refused").kind, "limit_reached");
}

#[test]
fn what_is_left_out_is_filled_in_and_said() {
    let mut new = job();
    new.tenant = "new".parse().ok();
    new.command = vec!["/usr/bin/env".into()];
    let Ok(Prepared::Changes(changes, Done::Submitted(submitted))) = submit(&Caller::admin(), new)
    else {
        panic!("taken");
    };
    let [Change::TenantCreated { name, weight, .. }, Change::Submitted { jobs, .. }] = &changes[..]
    else {
        panic!("{changes:?}");
    };
    assert_eq!((&**name, **weight), ("new", 1.0));
    let spec = &jobs[0].spec;
    assert_eq!((spec.name.as_deref(), spec.workload.as_deref()), (Some("env"), Some("default")));
    assert_eq!(submitted.ids, [1]);
    assert!(submitted.notes[0].contains("created with weight 1"), "{:?}", submitted.notes);
    assert!(submitted.notes[1].contains("estimate"), "{:?}", submitted.notes);
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let mut bad = job();
    bad.retries = 1001;
    let batch = JobBatch::of(vec![job(), bad]);
    let Err(problem) =
        ask(&world(), &Caller::admin(), Command::Submit { batch, key: None, create_tenants: true })
    else {
        panic!("refused");
    };
    assert_eq!(problem.field.as_deref(), Some("jobs[1].retries"));
    assert!(problem.detail.starts_with("job 2 of the batch: "), "{problem}");
    let batch = JobBatch::of(vec![job(); 4]);
    let Err(problem) =
        ask(&world(), &Caller::admin(), Command::Submit { batch, key: None, create_tenants: true })
    else {
        panic!("refused");
    };
    assert_eq!(problem.kind, "limit_reached", "ada may have three");
    for count in [0, 1001] {
        let batch = JobBatch::of(vec![job(); count]);
        assert!(
            ask(
                &world(),
                &Caller::admin(),
                Command::Submit { batch, key: None, create_tenants: true }
            )
            .is_err()
        );
    }
}

#[test]
fn a_tenant_acts_for_itself_alone() {
    assert!(submit(&tenant("ada"), job()).is_ok());
    let own = JobSubmit { tenant: None, ..job() };
    assert!(submit(&tenant("ada"), own).is_ok());
    let refused = |caller: &Caller| submit(caller, job()).err().map(|problem| problem.status);
    assert_eq!(refused(&tenant("bob")), Some(403));
    assert_eq!(refused(&viewer()), Some(403));
}

#[test]
fn what_belongs_to_all_is_for_admins() {
    let create = || TenantCreate::named("x".parse().expect("a name"));
    let token = || TokenCreate { role: Role::Viewer, tenant: None, note: None, expires_in_s: None };
    let commands: [fn() -> Command; 7] = [
        || Command::PatchTenant { name: "ada".into(), patch: TenantPatch::default() },
        || Command::RemoveTenant { name: "ada".into() },
        || Command::PutGroup { name: "g".into(), group: GroupPut::default() },
        || Command::RemoveGroup { name: "g".into() },
        || Command::RevokeToken { id: 1 },
        || Command::PatchSettings(SettingsPatch::default()),
        || Command::PatchNode { name: "n1".into(), patch: NodePatch::health(NodeHealth::Down) },
    ];
    for caller in [tenant("ada"), viewer()] {
        let others = [Command::CreateTenant(create()), Command::CreateToken(token())];
        for command in commands.iter().map(|make| make()).chain(others) {
            let shown = format!("{command:?}");
            let problem = ask(&world(), &caller, command).err();
            assert_eq!(problem.map(|p| p.kind).as_deref(), Some("forbidden"), "{shown}");
        }
    }
    assert!(ask(&world(), &Caller::admin(), Command::CreateTenant(create())).is_ok());
    assert!(ask(&world(), &Caller::admin(), Command::CreateToken(token())).is_ok());
}

#[test]
fn a_tenant_declares_its_own_profiles_only() {
    let put = |caller: &Caller, provenance| {
        let throughput = Some(BTreeMap::from([("slow".to_string(), 1.0)]));
        let workload = WorkloadPut { throughput, provenance, ..WorkloadPut::default() };
        let (tenant, name) = ("ada".to_string(), "w".to_string());
        ask(&world(), caller, Command::PutWorkload { tenant, name, workload })
            .err()
            .map(|problem| problem.kind)
    };
    assert_eq!(put(&tenant("ada"), None), None);
    assert_eq!(put(&tenant("ada"), Some(Provenance::Measured)).as_deref(), Some("forbidden"));
    assert_eq!(put(&tenant("bob"), None).as_deref(), Some("unknown_tenant"), "not its business");
    assert_eq!(put(&viewer(), None).as_deref(), Some("forbidden"));
    assert_eq!(put(&Caller::admin(), Some(Provenance::Measured)), None);
}

#[test]
fn a_profile_that_cannot_be_used_is_refused_with_the_reason() {
    let put = |slow: f64, fast: f64| {
        let on = [("slow", slow), ("fast", fast)].map(|(gpu, on)| (gpu.to_string(), on));
        let throughput = Some(BTreeMap::from(on));
        let workload = WorkloadPut { throughput, ..WorkloadPut::default() };
        let (tenant, name) = ("ada".to_string(), "w".to_string());
        ask(&world(), &Caller::admin(), Command::PutWorkload { tenant, name, workload })
            .err()
            .map(|problem| (problem.kind, problem.detail))
    };
    assert_eq!(put(1.0, 2.0), None);
    assert_eq!(put(1e-6, 1.0), None);
    let cases = [
        (1e-12, 1.0, "from 1e-12 to 1e0"),
        (1.0, 1e101, "throughput on `fast`"),
        (1.0, f64::NAN, "throughput on `fast`"),
        (-1.0, 1.0, "throughput on `slow`"),
        (0.0, 0.0, "could run nowhere"),
    ];
    for (slow, fast, said) in cases {
        let (kind, detail) = put(slow, fast).expect("it cannot be used");
        assert!(kind == "bad_request" && detail.contains(said), "{slow} {fast}: {kind} {detail}");
    }
}

#[test]
fn a_node_has_so_many_plans_and_no_more() {
    let mut world = world();
    let plan = |world: &World, name: &str| {
        let from = jiff::Timestamp::from_second(4_102_444_800).ok();
        let patch = NodePatch { from, ..NodePatch::health(NodeHealth::Down) };
        ask(world, &Caller::admin(), Command::PatchNode { name: name.into(), patch })
    };
    for _ in 0..100 {
        let Ok(Prepared::Changes(changes, _)) = plan(&world, "n1") else { panic!("refused") };
        for change in changes {
            world.happen(Time(2_000), change).expect("taken");
        }
    }
    let problem = plan(&world, "n1").err().expect("a limit");
    assert_eq!(problem.kind, "limit_reached");
    assert!(problem.detail.contains("node `n1`"), "{problem}");
    assert!(plan(&world, "n2").is_ok(), "another node has its own");
}
