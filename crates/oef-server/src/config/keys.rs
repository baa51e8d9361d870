//! The keys of the file, for "did you mean".

/// Every table with its keys; the tables of a list go by the name of the list.
pub(super) const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "listen",
            "insecure",
            "state_dir",
            "public_metrics",
            "trust_tenants",
            "hosts",
            "tls",
            "scheduling",
            "gpus",
            "jobs",
            "executor",
            "slurm",
            "socket",
            "checkpoints",
            "notify",
            "log",
            "limits",
            "group",
            "tenant",
        ],
    ),
    ("tls", &["certificate", "key", "ca"]),
    (
        "scheduling",
        &[
            "mechanism",
            "round",
            "reference",
            "min_run",
            "grace",
            "stickiness",
            "gpu_memory",
            "guard",
            "usage_half_life",
            "usage_bound",
            "solve_limit",
        ],
    ),
    ("gpus", &["emulated", "mps", "read_every"]),
    ("jobs", &["pass_env", "address", "on_stop", "memory_gib", "cpus", "processes"]),
    (
        "checkpoints",
        &[
            "place",
            "node_dir",
            "transport",
            "address",
            "ssh_options",
            "password_file",
            "bandwidth",
            "time_limit",
            "silence",
            "tries",
            "stale",
        ],
    ),
    ("executor", &["kind"]),
    (
        "slurm",
        &[
            "depth",
            "advise",
            "on_stop",
            "conf",
            "bin_dir",
            "partition",
            "nodes",
            "qos",
            "account",
            "account_of",
            "accounts",
            "user_of",
            "users",
            "options",
            "modules",
            "prolog",
            "container",
            "container_command",
            "workload",
            "form",
            "poll",
            "command_limit",
        ],
    ),
    ("socket", &["path", "tenant_of", "tenants", "operators", "create_tenants"]),
    ("notify", &["hosts", "commands", "pause"]),
    ("log", &["format", "level"]),
    (
        "limits",
        &[
            "ended_jobs",
            "events",
            "rounds",
            "round_bytes",
            "log_bytes",
            "body_bytes",
            "batch_bytes",
            "requests_per_second",
            "requests_burst",
            "submissions_per_second",
            "submissions_burst",
            "event_streams",
            "streams_per_token",
            "connections",
            "tenant_jobs",
            "tenant_bytes",
            "all_bytes",
            "profile_runs",
            "request_time",
        ],
    ),
    ("group", &["name", "weight", "parent", "guarantee", "limit"]),
    ("tenant", &["name", "weight", "group", "max_gpus", "max_jobs", "guarantee", "limit", "user"]),
];

/// What to write instead of a key that is not known.
pub(super) fn hint(table: &str, wrong: &str) -> String {
    let known = KEYS.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, keys)| keys);
    if let Some(near) = nearest(wrong, known) {
        return format!("did you mean `{near}`?");
    }
    // Right key, wrong table: the usual mistake with TOML, where a table goes on to the next one's head.
    let homes = KEYS.iter().filter(|(_, keys)| keys.contains(&wrong)).map(|(name, _)| *name);
    match homes.collect::<Vec<_>>()[..] {
        [""] => format!("`{wrong}` belongs at the top of the file, before the first table"),
        [home] => format!("`{wrong}` belongs into [{home}]"),
        _ => format!("known here: {}", known.join(", ")),
    }
}

fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let distance = |name: &&'a str| (strsim::osa_distance(&lower, name), *name);
    let (far, near) = known.iter().map(distance).min()?;
    (far <= 1.max(wrong.chars().count() / 3)).then_some(near)
}
