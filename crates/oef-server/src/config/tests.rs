//! The sample, and what is said about files that are wrong.

use super::keys::tables;
use super::*;

/// The sample with every setting made: the lines `#key = value` and `#[[list]]` without their `#`.
fn sample_in_full() -> String {
    let setting = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['))
            .map(str::to_string)
    };
    let mut text: Vec<String> =
        Config::sample().lines().map(|line| setting(line).unwrap_or_else(|| line.into())).collect();
    let alone = ["mps", "parent", "address"];
    text.retain(|line| !alone.iter().any(|key| line.starts_with(key)));
    text.join("\n")
}

#[test]
fn the_sample_is_the_defaults() {
    assert_eq!(Config::check(Config::sample()), Ok(Config::default()));
    assert_eq!(Config::check(""), Ok(Config::default()));
    assert_eq!(Config::default().listen.to_string(), DEFAULT_LISTEN);
}

#[test]
fn what_the_sample_leaves_out_can_be_set() {
    let config = Config::check(&sample_in_full()).expect("the sample in full is right");
    let sched = oef_sched::Settings::default();
    let patch = config.settings();
    assert_eq!(patch.mechanism.as_deref(), Some(sched.mechanism.name()));
    assert_eq!(patch.round_s, Some(sched.round.seconds()));
    assert_eq!(patch.min_run_s, Some(sched.min_run.seconds()));
    assert_eq!(patch.stickiness, Some(sched.stickiness));
    assert_eq!(patch.guard.as_deref(), Some("replace"));
    assert_eq!(config.tenants[0].limits(), Limits { gpus: Some(16), jobs: Some(1000) });
    assert_eq!(config.groups[0].name, "research");
    assert!(config.has_tls());
}

#[test]
fn every_key_is_in_the_sample() {
    let mut table = String::new();
    let mut seen = Vec::new();
    for line in Config::sample().lines().map(|line| line.trim_start_matches('#')) {
        if let Some(head) = line.strip_prefix('[') {
            table = head.trim_matches(['[', ']']).into();
            seen.push((String::new(), table.clone()));
        } else if let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| !key.contains(' '))
        {
            seen.push((table.clone(), key.into()));
        }
    }
    let mut known: Vec<(String, String)> = tables()
        .iter()
        .flat_map(|(table, keys)| keys.iter().map(|key| (table.to_string(), key.to_string())))
        .collect();
    seen.sort();
    known.sort();
    assert_eq!(seen, known);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let cases: &[(&str, usize, &str)] = &[
        (
            "[notify]\ncommands = { mail = [\"sendmail\"] }\n",
            2,
            "`notify.commands.mail`: `sendmail` is not the path of a program from /",
        ),
        (
            "[notify]\nhosts = [\"https://chat.lab/\"]\n",
            2,
            "`notify.hosts.0`: `https://chat.lab/` is not a host; write `chat.lab` or `chat.lab:8080`",
        ),
        (
            "listen = \"127.0.0.1:1\"\nlisen = 3\n",
            2,
            "`lisen`: is not known; did you mean `listen`?",
        ),
        ("[limits]\nevnts = 3\n", 2, "`limits.evnts`: is not known; did you mean `events`?"),
        ("[limits]\nround = \"5m\"\n", 2, "did you mean `rounds`?"),
        ("[log]\ngrace = \"5s\"\n", 2, "`grace` belongs into [scheduling]"),
        ("[log]\nlisten = \"127.0.0.1:80\"\n", 2, "belongs at the top of the file"),
        ("[gpus]\ncolour = 1\n", 2, "known here: emulated, mps, read_every"),
        ("[[tenant]]\nname = \"a\"\nwieght = 2\n", 3, "did you mean `weight`?"),
        ("listen = \n", 1, "not TOML"),
        ("listen = \"somewhere\"\n", 1, "`somewhere` is not an address with a port"),
        ("listen = \"0.0.0.0:80\"\n", 1, "can be reached from other machines"),
        ("\n[tls]\ncertificate = \"x\"\n", 2, "needs both"),
        ("[scheduling]\nround = 300\n", 2, "300 has no unit; write \"300s\""),
        ("[scheduling]\nround = \"5 moons\"\n", 2, "`5 moons` is not a duration"),
        ("[scheduling]\nround = \"1ms\"\n", 2, "between 0.1 s and 86400 s, not 0.001 s"),
        (
            "[scheduling]\nmechanism = \"fair\"\n",
            2,
            "`fair` is not a mechanism; there are: noncooperative, coop",
        ),
        ("[scheduling]\nguard = \"on\"\n", 2, "off, report, replace"),
        ("[scheduling]\nstickiness = nan\n", 2, "between 0 and 100, not NaN"),
        ("[scheduling]\ngpu_memory = \"fast=much\"\n", 2, "`much` is not a size of memory"),
        ("[gpus]\nread_every = \"10ms\"\n", 2, "between 100ms and 1 hour"),
        ("[gpus]\nemulated = \"a=1\"\nmps = \"b=1x5%\"\n", 1, "use either `emulated` or `mps`"),
        ("[log]\nlevel = \"a=b=c\"\n", 2, "is not a level"),
        ("[limits]\nbody_bytes = 1\n", 2, "1 is not between"),
        ("[limits]\nrequests_per_second = 0.0\n", 2, "0 is not more than 0"),
        ("[limits]\nevents = 0\n", 2, "must be at least 1"),
        ("[limits]\nevents = -1\n", 2, "invalid value"),
        ("[checkpoints]\nplace = \"disk\"\n", 2, "unknown variant `disk`"),
        ("[checkpoints]\nnode_dir = \"/x\"\n", 2, "`/x` has no {host} in it"),
        ("[checkpoints]\nnode_dir = \"x/{host}\"\n", 2, "not an absolute path"),
        ("[checkpoints]\naddress = \"{host}\"\n", 2, "says nothing without"),
        (
            "[checkpoints]\ntransport = \"ssh\"\naddress = \"gpu-box\"\n",
            3,
            "the same for every host",
        ),
        (
            "[checkpoints]\ntransport = \"ssh\"\naddress = \"-oX{host}\"\n",
            3,
            "is not an ssh address",
        ),
        ("[checkpoints]\ntransport = \"ssh\"\nnode_dir = \"/a b/{host}\"\n", 3, "has a ' ' in it"),
        ("[checkpoints]\ntransport = \"ssh\"\nnode_dir = \"/$(x)/{host}\"\n", 3, "has a '$' in it"),
        ("[checkpoints]\ntransport = \"rsync\"\naddress = \"{host}\"\n", 3, "begin with rsync://"),
        ("[checkpoints]\nbandwidth = \"100\"\n", 2, "`100` is not a bandwidth"),
        ("[checkpoints]\ntime_limit = \"1ms\"\n", 2, "less than 1s"),
        ("[checkpoints]\ntries = 0\n", 2, "must be at least 1"),
        ("[[group]]\nname = \"g\"\nparent = \"h\"\n", 3, "no group `h` before"),
        ("[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"a\"\n", 4, "`a` comes twice"),
        ("[[tenant]]\nname = \"a\"\ngroup = \"g\"\n", 3, "there is no group `g`"),
        ("[[tenant]]\nname = \"a\"\nweight = 0\n", 3, "a weight is a number above 0, not 0"),
        ("[[tenant]]\nname = \"a/b\"\n", 2, "`tenant.0.name`: the name of a tenant contains '/'"),
        ("[[group]]\nname = \"\"\n", 2, "`group.0.name`: the name of a group is empty"),
        ("[scheduling]\nmin_run = \"1000d\"\n", 2, "between 0 s and 2592000 s, not 86400000 s"),
        ("[scheduling]\ngrace = \"400d\"\n", 2, "between 0 s and 2592000 s, not 34560000 s"),
        ("[jobs]\nmemory_gib = -5.0\n", 2, "-5 is not more than 0"),
        ("[jobs]\ncpus = nan\n", 2, "is not more than 0"),
        ("[jobs]\nprocesses = 0\n", 2, "must be at least 1"),
        ("[[tenant]]\nweight = 1\n", 1, "missing field `name`"),
    ];
    for (text, line, words) in cases {
        let problems = Config::check(text).expect_err(text);
        let found = problems.iter().find(|p| p.to_string().contains(words));
        let found = found.unwrap_or_else(|| panic!("{text}: {problems:?} lacks {words:?}"));
        assert_eq!(found.line, *line, "{text}: {found}");
    }
}

#[test]
fn everything_that_is_wrong_is_listed() {
    let problems =
        Config::check("lisen = 1\n[limits]\nevents = 0\nrounds = 0\n").expect_err("wrong");
    let lines: Vec<usize> = problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [1, 3, 4]);
}

#[test]
fn values_that_cannot_be_read_are_listed_together() {
    let text = "listen = \"nope\"\nrond = \"3s\"\n[log]\nformat = \"\u{e4}\"\nlevel = \"a=b=c\"\n\
                [limits]\nevents = -1\n[jobs]\ncpus = -1.0\n[[tenant]]\nname = \"\"\nweight = \"x\"\n\
                [[tenant]]\nname = \"b/c\"\n";
    let problems = Config::check(text).expect_err("wrong");
    let keys: Vec<(usize, &str)> = problems.iter().map(|p| (p.line, p.key.as_str())).collect();
    // The rest of a table with such a value is not judged: it may have been meant for that value.
    let expected = [
        (1, "listen"),
        (2, "rond"),
        (4, "log.format"),
        (7, "limits.events"),
        (9, "jobs.cpus"),
        (12, "tenant.0.weight"),
        (14, "tenant.1.name"),
    ];
    assert_eq!(keys, expected, "{problems:#?}");
}

#[test]
fn what_cannot_be_left_out_ends_the_search() {
    let inline = "[notify]\ncommands = { a = 1, b = 2 }\n";
    for text in ["[[tenant]]\nweight = 1\n", "tenant = 3\n", "[[tls]]\nx = 1\n", inline] {
        assert!(!Config::check(text).expect_err(text).is_empty());
    }
}

#[test]
fn an_open_address_needs_tls_or_a_word() {
    for allowed in [
        "listen = \"[::1]:80\"\n",
        "listen = \"127.8.0.1:80\"\n",
        "listen = \"[::ffff:127.0.0.1]:80\"\n",
        "listen = \"0.0.0.0:80\"\ninsecure = true\n",
        "listen = \"0.0.0.0:80\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n",
    ] {
        assert!(Config::check(allowed).is_ok(), "{allowed}");
    }
}
