//! From text to settings, with a line for everything that is wrong.

use super::{Config, keys};
use crate::run_error::RunError;
use oef_api::parsed::{GroupName, TenantName};
use oef_executor::gpus;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use toml::de::{DeTable, DeValue};

/// How often GPUs may be read, in seconds: more often than the driver looks itself, or too seldom to mean anything.
const READ_EVERY_S: RangeInclusive<f64> = 0.1..=3600.0;

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
        // A table with a value that cannot be read is not judged by the rest of it.
        let unread: BTreeSet<String> = problems.iter().map(|p| table_of(&p.key).into()).collect();
        let mut found = Vec::new();
        Checks { config, lines: &lines, problems: &mut found }.all();
        problems.extend(found.into_iter().filter(|p| !unread.contains(table_of(&p.key))));
    }
    problems.sort_by_key(|problem| problem.line);
    match parsed {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(problems),
    }
}

fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

/// The settings of a text. A value that cannot be read is noted and left out, so that the next one is found as well.
fn read(text: &str, lines: &Lines<'_>, problems: &mut Vec<ConfigProblem>) -> Option<Config> {
    let mut rest = text.to_string();
    loop {
        let mut unknown = Vec::new();
        let parsed = toml::de::Deserializer::parse(&rest)
            .and_then(|de| serde_ignored::deserialize(de, |path| unknown.push(path.to_string())));
        let error = match parsed {
            Ok(config) => {
                for key in unknown {
                    let (table, name) = key.rsplit_once('.').unwrap_or(("", &key));
                    let table = table.split('.').next().unwrap_or("");
                    let what = format!("is not known; {}", keys::hint(table, name));
                    problems.push(ConfigProblem { line: lines.of(&key), key, what });
                }
                return Some(config);
            }
            Err(error) => error,
        };
        let at = error.span().map_or(0, |span| span.start);
        let found = setting_at(lines.table, at, "");
        let (key, place) = found.clone().unwrap_or_default();
        let what = error.message().to_string();
        problems.push(ConfigProblem { line: lines.at(at), key, what });
        // Blanks keep every line where it is. What is blank already cannot be wrong once more.
        let blank = found.filter(|_| rest.get(place.clone()).is_some_and(|t| !t.trim().is_empty()));
        let (_, place) = blank?;
        let blanks: String =
            rest[place.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        // A character may be longer than its blank: the text must keep its places.
        let blanks = blanks + &" ".repeat(place.len() - rest[place.clone()].chars().count());
        rest.replace_range(place, &blanks);
    }
}

/// The key and the place of the setting (`key = value`) that is at an offset.
fn setting_at(table: &DeTable<'_>, at: usize, head: &str) -> Option<(String, Range<usize>)> {
    for (name, value) in table {
        let key = if head.is_empty() { name.to_string() } else { format!("{head}.{name}") };
        let inner = match value.get_ref() {
            DeValue::Table(inner) => setting_at(inner, at, &key),
            DeValue::Array(list) => list.iter().enumerate().find_map(|(i, value)| {
                let DeValue::Table(inner) = value.get_ref() else { return None };
                setting_at(inner, at, &format!("{key}.{i}"))
            }),
            _ => None,
        };
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        let place = name.span().start..value.span().end;
        let own = (!is_table && place.contains(&at)).then_some((key, place));
        if let Some(found) = inner.or(own) {
            return Some(found);
        }
    }
    None
}

/// The lines of the file.
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
        self.jobs();
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
        self.must(!is_open(c), "listen", RunError::Open(c.listen).to_string());
        let level = c.log.level.parse::<tracing_subscriber::filter::Targets>();
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
            "use either `emulated` or `mps`, not both",
        );
        let emulated = c.gpus.emulated.as_deref().map(gpus::emulated);
        if let Some(Err(why)) = emulated {
            self.wrong("gpus.emulated", why.to_string());
        }
        if let Some(Err(why)) = c.gpus.mps.as_deref().map(|spec| gpus::mps(spec, "here")) {
            self.wrong("gpus.mps", why.to_string());
        }
        let every = c.gpus.read_every;
        self.must(
            every.0.is_zero() || READ_EVERY_S.contains(&every.0.as_secs_f64()),
            "gpus.read_every",
            format!("{every} is neither 0s (never) nor between 100ms and 1 hour"),
        );
    }

    fn scheduling(&mut self) {
        for bad in self.config.settings().check() {
            // In the file a time has its own unit.
            self.wrong(format!("scheduling.{}", bad.field.trim_end_matches("_s")), bad.message);
        }
        let solve = self.config.scheduling.solve_limit.0;
        self.must(!solve.0.is_zero(), "scheduling.solve_limit", "must be more than 0");
    }

    fn jobs(&mut self) {
        let j = &self.config.jobs;
        for (key, amount) in [("memory_gib", j.memory_gib), ("cpus", j.cpus)] {
            let fits = amount.is_none_or(|x| x > 0.0 && x.is_finite());
            let shown = amount.unwrap_or_default();
            self.must(fits, format!("jobs.{key}"), format!("{shown} is not more than 0"));
        }
        self.must(j.processes != Some(0), "jobs.processes", "must be at least 1");
        let known = ["http://", "https://", "unix:///"];
        let address = self.config.jobs.address.clone().unwrap_or_else(|| known[0].into());
        let fits = known.iter().any(|scheme| address.starts_with(scheme));
        let why = format!("`{address}` is not an address such as https://login-node:7733");
        self.must(fits, "jobs.address", why);
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
            ("journal_bytes_per_second", l.journal_bytes_per_second),
            ("journal_bytes_burst", l.journal_bytes_burst),
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
            if let Some(parent) = group.parent.as_deref().filter(|p| !known.contains(p)) {
                let what = format!("there is no group `{parent}` before this one");
                self.wrong(format!("group.{i}.parent"), what);
            }
            let name = group.name.as_str();
            self.name::<GroupName>(format!("group.{i}.name"), name);
            self.must(
                known.insert(name),
                format!("group.{i}.name"),
                format!("`{name}` comes twice"),
            );
        }
    }

    fn name<T: FromStr<Err = String>>(&mut self, key: String, name: &str) {
        if let Err(why) = name.parse::<T>() {
            self.wrong(key, why);
        }
    }

    fn tenants(&mut self) {
        let groups: BTreeSet<&str> = self.config.groups.iter().map(|g| g.name.as_str()).collect();
        let mut known = BTreeSet::new();
        for (i, tenant) in self.config.tenants.iter().enumerate() {
            if let Some(group) = tenant.group.as_deref().filter(|g| !groups.contains(g)) {
                let what = format!("there is no group `{group}`; add a [[group]] of that name");
                self.wrong(format!("tenant.{i}.group"), what);
            }
            let name = tenant.name.as_str();
            self.name::<TenantName>(format!("tenant.{i}.name"), name);
            self.must(
                known.insert(name),
                format!("tenant.{i}.name"),
                format!("`{name}` comes twice"),
            );
        }
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
