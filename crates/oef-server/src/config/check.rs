//! From text to settings, with a line for everything that is wrong.

use super::{Config, keys};
use oef_api::limits::{ROUND_MAX_S, ROUND_MIN_S, STICKINESS_MAX};
use oef_executor::gpus;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use toml::de::{DeTable, DeValue};

/// Something that is wrong with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Its line, from 1; 0: the file as a whole.
    pub line: usize,
    /// The key, with its table.
    pub key: String,
    /// What is wrong, and the way out.
    pub what: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ConfigProblem {}

/// Less than this holds no job with a script.
const BODY_MIN: usize = 4096;
/// The whole body is in memory, once for every request that is under way.
const BODY_MAX: usize = 256 << 20;

pub(super) fn check(text: &str) -> Result<Config, Vec<ConfigProblem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let lines = Lines { text, table: table.get_ref() };
    if !errors.is_empty() {
        let syntax = |e: &toml::de::Error| ConfigProblem {
            line: e.span().map_or(0, |span| lines.at(span.start)),
            key: String::new(),
            what: format!("not TOML: {}", e.message()),
        };
        return Err(errors.iter().map(syntax).collect());
    }
    let mut problems = Vec::new();
    let parsed = read(text, &lines, &mut problems);
    if let Some(config) = &parsed {
        Checks { config, lines: &lines, problems: &mut problems }.all();
    }
    problems.sort_by_key(|problem| problem.line);
    match parsed {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(problems),
    }
}

fn read(text: &str, lines: &Lines<'_>, problems: &mut Vec<ConfigProblem>) -> Option<Config> {
    let mut unknown = Vec::new();
    let parsed = toml::de::Deserializer::parse(text)
        .and_then(|de| serde_ignored::deserialize(de, |path| unknown.push(path.to_string())));
    for key in unknown {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", &key));
        let table = table.split('.').next().unwrap_or("");
        let what = format!("is not known; {}", keys::hint(table, name));
        problems.push(ConfigProblem { line: lines.of(&key), key, what });
    }
    match parsed {
        Ok(config) => Some(config),
        Err(error) => {
            let line = error.span().map_or(0, |span| lines.at(span.start));
            let what = error.message().to_string();
            problems.push(ConfigProblem { line, key: String::new(), what });
            None
        }
    }
}

/// Where things stand in the file.
struct Lines<'a> {
    text: &'a str,
    table: &'a DeTable<'a>,
}

impl Lines<'_> {
    fn at(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset.min(self.text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
    }

    /// The line of a key such as `limits.events` or `tenant.0.name`; of what holds it where it is not given.
    fn of(&self, key: &str) -> usize {
        let mut line = 0;
        let mut parts = key.split('.');
        let Some(first) = parts.next() else { return 0 };
        let Some((name, mut value)) = self.table.get_key_value(first) else { return 0 };
        line = line.max(self.at(name.span().start));
        for part in parts {
            let next = match value.get_ref() {
                DeValue::Table(table) => {
                    table.get_key_value(part).map(|(k, v)| (k.span().start, v))
                }
                DeValue::Array(list) => {
                    part.parse().ok().and_then(|i: usize| list.get(i)).map(|v| (v.span().start, v))
                }
                _ => None,
            };
            let Some((at, inner)) = next else { break };
            (line, value) = (self.at(at), inner);
        }
        line
    }
}

/// What the types alone do not forbid.
struct Checks<'a> {
    config: &'a Config,
    lines: &'a Lines<'a>,
    problems: &'a mut Vec<ConfigProblem>,
}

impl Checks<'_> {
    fn all(&mut self) {
        self.listening();
        self.scheduling();
        self.limits();
        self.checkpoints();
        self.notify();
        self.groups();
        self.tenants();
    }

    fn wrong(&mut self, key: impl Into<String>, what: impl Into<String>) {
        let key = key.into();
        self.problems.push(ConfigProblem { line: self.lines.of(&key), key, what: what.into() });
    }

    fn must(&mut self, holds: bool, key: impl Into<String>, what: impl Into<String>) {
        if !holds {
            self.wrong(key, what);
        }
    }

    fn listening(&mut self) {
        let c = self.config;
        if c.tls.certificate.is_some() != c.tls.key.is_some() {
            self.wrong("tls", "needs both `certificate` and `key`, or neither");
        }
        if is_open(c) {
            let address = c.listen;
            self.wrong(
                "listen",
                format!(
                    "{address} can be reached from other machines, and tokens would cross the network in the \
                     clear; give [tls] a certificate and key, listen on 127.0.0.1, or say `insecure = true`"
                ),
            );
        }
        let level = c.log.level.parse::<tracing_subscriber::EnvFilter>();
        if let Err(why) = level {
            let text = &c.log.level;
            self.wrong(
                "log.level",
                format!("`{text}` is not a level: {why}; one of error, warn, info, debug, trace"),
            );
        }
        self.must(
            c.gpus.emulated.is_none() || c.gpus.mps.is_none(),
            "gpus",
            "`emulated` and `mps` cannot stand together: GPUs are either real or not",
        );
        let emulated = c.gpus.emulated.as_deref().map(gpus::emulated);
        if let Some(Err(why)) = emulated {
            self.wrong("gpus.emulated", why.to_string());
        }
        if let Some(Err(why)) = c.gpus.mps.as_deref().map(|spec| gpus::mps(spec, "here")) {
            self.wrong("gpus.mps", why.to_string());
        }
    }

    fn scheduling(&mut self) {
        let s = &self.config.scheduling;
        if let Some(round) = s.round {
            self.must(
                (ROUND_MIN_S..=ROUND_MAX_S).contains(&round.0.as_secs_f64()),
                "scheduling.round",
                format!("{round} is not between 100ms and 1 day"),
            );
        }
        if let Some(x) = s.stickiness {
            let fits = (0.0..=STICKINESS_MAX).contains(&x);
            self.must(fits, "scheduling.stickiness", format!("{x} is not between 0 and 100"));
        }
        if let Some(Err(why)) = s.gpu_memory.as_deref().map(oef_api::memory::by_type) {
            self.must(false, "scheduling.gpu_memory", why);
        }
        let solve = s.solve_limit.0;
        self.must(!solve.0.is_zero(), "scheduling.solve_limit", "must be more than 0");
    }

    fn limits(&mut self) {
        let l = self.config.limits;
        for (key, bytes) in [("body_bytes", l.body_bytes), ("batch_bytes", l.batch_bytes)] {
            self.must(
                (BODY_MIN..=BODY_MAX).contains(&bytes),
                format!("limits.{key}"),
                format!("{bytes} is not between {BODY_MIN} and {BODY_MAX}"),
            );
        }
        for (key, rate) in [
            ("requests_per_second", l.requests_per_second),
            ("submissions_per_second", l.submissions_per_second),
        ] {
            let fits = rate > 0.0 && rate.is_finite();
            self.must(fits, format!("limits.{key}"), format!("{rate} is not more than 0"));
        }
        for (key, count) in [
            ("requests_burst", u64::from(l.requests_burst)),
            ("submissions_burst", u64::from(l.submissions_burst)),
            ("events", l.events as u64),
            ("rounds", l.rounds),
            ("log_bytes", l.log_bytes),
        ] {
            self.must(count > 0, format!("limits.{key}"), "must be at least 1");
        }
        self.must(!l.request_time.0.is_zero(), "limits.request_time", "must be more than 0");
    }

    fn checkpoints(&mut self) {
        for (key, what) in self.config.checkpoints.problems() {
            self.wrong(format!("checkpoints.{key}"), what);
        }
    }

    fn notify(&mut self) {
        let notify = &self.config.notify;
        for (name, command) in &notify.commands {
            let key = format!("notify.commands.{name}");
            let program = command.first().map_or("", String::as_str);
            // The daemon's folder and search path are not what the operator has in mind.
            let fits = program.starts_with('/');
            self.must(fits, key, format!("`{program}` is not the path of a program from /"));
        }
        for (i, host) in notify.hosts.iter().enumerate() {
            let fits = !host.is_empty() && !host.contains('/');
            let what = format!("`{host}` is not a host; write `chat.lab` or `chat.lab:8080`");
            self.must(fits, format!("notify.hosts.{i}"), what);
        }
        let pause = notify.pause;
        self.must(!pause.0.is_zero(), "notify.pause", format!("{pause} is no pause"));
    }

    fn groups(&mut self) {
        let mut known = BTreeSet::new();
        for (i, group) in self.config.groups.iter().enumerate() {
            self.weight(&format!("group.{i}.weight"), group.weight);
            if let Some(parent) = group.parent.as_deref().filter(|p| !known.contains(p)) {
                let what = format!("there is no group `{parent}` before this one");
                self.wrong(format!("group.{i}.parent"), what);
            }
            let name = group.name.as_str();
            self.must(
                known.insert(name),
                format!("group.{i}.name"),
                format!("`{name}` comes twice"),
            );
        }
    }

    fn tenants(&mut self) {
        let groups: BTreeSet<&str> = self.config.groups.iter().map(|g| g.name.as_str()).collect();
        let mut known = BTreeSet::new();
        for (i, tenant) in self.config.tenants.iter().enumerate() {
            self.weight(&format!("tenant.{i}.weight"), tenant.weight);
            if let Some(group) = tenant.group.as_deref().filter(|g| !groups.contains(g)) {
                let what = format!("there is no group `{group}`; add a [[group]] of that name");
                self.wrong(format!("tenant.{i}.group"), what);
            }
            let name = tenant.name.as_str();
            self.must(
                known.insert(name),
                format!("tenant.{i}.name"),
                format!("`{name}` comes twice"),
            );
        }
    }

    fn weight(&mut self, key: &str, weight: f64) {
        let fits = weight > 0.0 && weight.is_finite();
        self.must(fits, key, format!("{weight} is not more than 0"));
    }
}

/// Whether tokens would cross a network in the clear.
pub(crate) fn is_open(config: &Config) -> bool {
    !is_loopback(config.listen.ip()) && !config.has_tls() && !config.insecure
}

/// Whether only this machine can reach an address.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
