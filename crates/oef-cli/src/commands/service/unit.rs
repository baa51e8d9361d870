//! The unit, and where everything is.

use oef_terminal::{Complaint, Failure};
use std::path::{Path, PathBuf};

/// The unit for a whole machine, as `contrib/` has it.
const SYSTEM: &str = include_str!("../../../../../contrib/systemd/oef.service");

/// The unit for one person: without root there is nothing to take away.
const USER: &str = "\
# The OEF daemon as a service of one user. Jobs run as this user.
[Unit]
Description=OEF: fair sharing of GPUs

[Service]
ExecStart=/usr/local/bin/oef serve --config /etc/oef/oef.toml
# A daemon that ended because of an error of its own has exit code 70 and is started again; jobs continue meanwhile.
Restart=on-failure
RestartSec=2
# Only the daemon is ended: its jobs continue, and the next start finds them.
KillMode=process
TimeoutStopSec=60
LimitNOFILE=65536
Delegate=yes

[Install]
WantedBy=default.target
";

/// The line that every unit has and that is replaced.
const START: &str = "ExecStart=/usr/local/bin/oef serve --config /etc/oef/oef.toml";

/// Whose service it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The machine's.
    System,
    /// One person's.
    User,
}

/// Where the files of a service are.
#[derive(Clone, Debug)]
pub struct Places {
    pub unit: PathBuf,
    pub config: PathBuf,
    pub state: PathBuf,
}

impl Places {
    /// The usual ones; an error where nobody knows this user's home.
    pub fn new(scope: Scope) -> Result<Places, Failure> {
        if scope == Scope::System {
            return Ok(Places {
                unit: "/etc/systemd/system/oef.service".into(),
                config: "/etc/oef/oef.toml".into(),
                state: "/var/lib/oef".into(),
            });
        }
        let folder = |variable: &str, below: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
            let home = || std::env::home_dir().map(|home| home.join(below));
            set.or_else(home).ok_or_else(|| {
                Complaint::new("this user has no home folder").hint("set HOME, or use --system")
            })
        };
        let config = folder("XDG_CONFIG_HOME", ".config")?;
        Ok(Places {
            unit: config.join("systemd/user/oef.service"),
            config: config.join("oef/oef.toml"),
            state: folder("XDG_STATE_HOME", ".local/state")?.join("oef/daemon"),
        })
    }
}

/// The unit that runs this program with these settings.
pub fn text(scope: Scope, program: &Path, config: &Path) -> Result<String, Failure> {
    let line = format!("ExecStart={} serve --config {}", quoted(program)?, quoted(config)?);
    let template = match scope {
        Scope::System => SYSTEM,
        Scope::User => USER,
    };
    Ok(template.replacen(START, &line, 1))
}

/// A path as systemd reads it: in quotes where it has spaces, `%` and `$` doubled.
fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains(|c: char| c.is_control()));
    let Some(text) = text else {
        let complaint = Complaint::new("systemd cannot run a program with such a name");
        return Err(complaint.at(path.display().to_string()).into());
    };
    let escaped =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    Ok(match escaped.contains(char::is_whitespace) || escaped != text {
        true => format!("\"{escaped}\""),
        false => escaped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_names_the_program_and_the_settings() {
        for scope in [Scope::System, Scope::User] {
            let unit = text(scope, Path::new("/opt/a b/oef"), Path::new("/etc/100%.toml")).unwrap();
            let line = "ExecStart=\"/opt/a b/oef\" serve --config \"/etc/100%%.toml\"\n";
            assert!(unit.contains(line), "{unit}");
            assert!(!unit.contains("/usr/local/bin/oef serve"), "{unit}");
        }
        assert!(text(Scope::User, Path::new("/a\nb"), Path::new("/c")).is_err());
    }
}
