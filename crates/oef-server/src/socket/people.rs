//! From a user of this machine to a caller.

use super::listener::Peer;
use super::settings::SocketSettings;
use crate::caller::Caller;
use crate::config::Config;
use crate::slurm::ExecutorKind;
use oef_api::types::Role;
use oef_executor::slurm::{Rules, user_name};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Numbers of callers that have no token: far beyond those of tokens.
const FIRST_OF_PEOPLE: u64 = 1 << 62;

/// A directory service may be asked so often for the same user.
const NAME_KEPT: Duration = Duration::from_secs(60);

/// Names that are kept at most.
const NAMES_MAX: usize = 10_000;

/// Who is who on this machine.
#[derive(Debug)]
pub(crate) struct People {
    settings: SocketSettings,
    /// The users that jobs run as, where the daemon can be others than itself.
    rules: Option<Rules>,
    /// Users may submit although all jobs run as the daemon's user.
    trusts: bool,
    uid: u32,
    names: Mutex<BTreeMap<u32, (Instant, Option<String>)>>,
}

impl People {
    pub(crate) fn new(config: &Config) -> People {
        let slurm = &config.slurm;
        let uid = rustix::process::getuid().as_raw();
        let has_rules = config.executor.kind == ExecutorKind::Slurm && uid == 0;
        People {
            settings: config.socket.clone(),
            rules: has_rules.then(|| slurm.rules()),
            trusts: config.trust_tenants,
            uid,
            names: Mutex::default(),
        }
    }

    /// The caller behind a connection, and whether its tenant is to be created if it is not there. `tenant_of` knows
    /// the tenants whose jobs run as a user of their own, and `user_of` these users.
    pub(crate) fn caller(
        &self,
        peer: Peer,
        tenant_of: impl Fn(&str) -> Option<String>,
        user_of: impl Fn(&str) -> Option<String>,
    ) -> (Caller, bool) {
        let token = People::token_of(peer.uid);
        let name = self.name(peer.uid);
        let as_a = |role, tenant| Caller { role, tenant, token, user: name.clone() };
        let viewer = as_a(Role::Viewer, None);
        if peer.uid == 0 || peer.uid == self.uid {
            return (as_a(Role::Admin, None), false);
        }
        let Some(user) = &name else { return (viewer, false) };
        if self.settings.operators.contains(user) {
            return (as_a(Role::Admin, None), false);
        }
        if let Some(tenant) = tenant_of(user).filter(|_| self.uid == 0) {
            return (as_a(Role::Tenant, Some(tenant)), false);
        }
        let named = self.settings.tenants.get(user);
        let tenant =
            named.cloned().unwrap_or_else(|| self.settings.tenant_of.replace("{user}", user));
        let exception =
            || user_of(&tenant).or_else(|| self.rules.as_ref()?.users.get(&tenant).cloned());
        // Nobody's jobs run as the daemon, and as somebody else's user only if the operator says so of this user.
        let is_apart = || match exception() {
            Some(runs_as) => self.uid == 0 && (named.is_some() || runs_as == *user),
            None => self.rules.as_ref().is_some_and(|rules| rules.user_of.is_some()),
        };
        if !self.trusts && !is_apart() {
            return (viewer, false);
        }
        (as_a(Role::Tenant, Some(tenant)), self.settings.create_tenants)
    }

    /// The number of a user as a caller.
    pub(crate) fn token_of(uid: u32) -> u64 {
        FIRST_OF_PEOPLE + u64::from(uid)
    }

    /// The user behind the number of a caller; none: it is the number of a token.
    pub(crate) fn user_of(token: u64) -> Option<Peer> {
        let uid = token.checked_sub(FIRST_OF_PEOPLE)?;
        u32::try_from(uid).ok().map(|uid| Peer { uid })
    }

    fn name(&self, uid: u32) -> Option<String> {
        let lock = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, name)) = lock().get(&uid)
            && since.elapsed() < NAME_KEPT
        {
            return name.clone();
        }
        let name = user_name(uid);
        let mut names = lock();
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        names.insert(uid, (Instant::now(), name.clone()));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the daemon is another user, and no jobs run as others.
    fn people(text: &str) -> People {
        let config = Config::check(text).expect("right");
        People { uid: 4_000_000, rules: None, ..People::new(&config) }
    }

    /// Of a daemon that is root, before Slurm.
    fn root(text: &str) -> People {
        let config = Config::check(text).expect("right");
        People { uid: 0, rules: Some(config.slurm.rules()), ..People::new(&config) }
    }

    fn nobody(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn users_are_tenants_where_that_gives_them_nothing_else() {
        let daemon_uid = user_name(1).expect("Debian's `daemon`, or `bin`");
        let role = |people: &People, uid| people.caller(Peer { uid }, nobody, nobody).0.role;
        let plain = people("");
        assert_eq!(role(&plain, 0), Role::Admin);
        assert_eq!(role(&plain, 4_000_000), Role::Admin, "the daemon's own");
        assert_eq!(role(&plain, 1), Role::Viewer, "jobs run as the daemon's user");
        let own = root("[slurm]\nuser_of = \"{tenant}\"\n");
        let (caller, creates) = own.caller(Peer { uid: 1 }, nobody, nobody);
        assert_eq!(
            (caller.role, caller.tenant, creates),
            (Role::Tenant, Some(daemon_uid.clone()), true)
        );
        let trusted = people("trust_tenants = true\n[socket]\ntenant_of = \"lab-{user}\"\n");
        assert_eq!(
            trusted.caller(Peer { uid: 1 }, nobody, nobody).0.tenant,
            Some(format!("lab-{daemon_uid}"))
        );
        let operator = people(&format!("[socket]\noperators = [\"{daemon_uid}\"]\n"));
        assert_eq!(role(&operator, 1), Role::Admin);
        assert_eq!(operator.caller(Peer { uid: 1 }, nobody, nobody).0.user, Some(daemon_uid));
        assert_eq!(role(&own, 3_999_999), Role::Viewer, "nobody's number");
    }

    /// With users for some tenants and no rule for the others, everybody on the machine could have jobs that ran as root;
    /// and who was called like a tenant could have jobs that ran as the user of that tenant.
    #[test]
    fn nobody_has_jobs_that_run_as_another_user() {
        let name = user_name(1).expect("Debian's `daemon`, or `bin`");
        let tenant = |text: &str, user: Option<&str>| {
            let user_of = |_: &str| user.map(String::from);
            root(text).caller(Peer { uid: 1 }, nobody, user_of).0.tenant
        };
        let lab = "[slurm]\nusers = { lab = \"ada\" }\n";
        assert_eq!(tenant(lab, None), None, "its jobs would be root's");
        assert_eq!(tenant("", None), None);
        let named = format!("{lab}[socket]\ntenants = {{ {name} = \"lab\" }}\n");
        assert_eq!(tenant(&named, None).as_deref(), Some("lab"), "the operator says so");
        let of_root = format!("{lab}[socket]\ntenants = {{ {name} = \"other\" }}\n");
        assert_eq!(tenant(&of_root, None), None);
        let same_name =
            format!("[slurm]\nuser_of = \"{{tenant}}\"\nusers = {{ {name} = \"ada\" }}\n");
        assert_eq!(tenant(&same_name, None), None, "its jobs would be ada's");
        let by_rule = "[slurm]\nuser_of = \"{tenant}\"\n";
        assert_eq!(tenant(by_rule, Some("ada")), None, "`oef tenant set --user ada`");
        assert_eq!(tenant(by_rule, None), Some(name.clone()));
        assert_eq!(tenant("[slurm]\nuser_of = \"job-{tenant}\"\n", None), Some(name));
    }

    /// Without Slurm, too: `oef tenant create T --user NAME` is enough.
    #[test]
    fn the_user_of_a_tenant_is_that_tenant_where_the_daemon_is_root() {
        let name = user_name(1).expect("Debian's `daemon`, or `bin`");
        let tenant_of = |user: &str| (user == name).then(|| "vision".to_string());
        let caller = |uid| {
            let people = People { uid, ..people("") };
            let (caller, creates) = people.caller(Peer { uid: 1 }, tenant_of, nobody);
            (caller.role, caller.tenant, creates)
        };
        assert_eq!(caller(0), (Role::Tenant, Some("vision".into()), false));
        // Its jobs cannot run as that user then.
        assert_eq!(caller(4_000_000), (Role::Viewer, None, false));
        let people = People { uid: 0, ..people("") };
        assert_eq!(
            people.caller(Peer { uid: 2 }, tenant_of, nobody).0.role,
            Role::Viewer,
            "another user"
        );
    }
}
