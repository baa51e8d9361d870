//! From a user of this machine to a caller.

use super::listener::Peer;
use super::settings::SocketSettings;
use crate::caller::Caller;
use crate::config::Config;
use crate::slurm::ExecutorKind;
use oef_api::types::Role;
use oef_executor::slurm::user_name;
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
    /// Jobs run as their own users, so that whoever submits can do no more than before.
    has_own_users: bool,
    /// Users may submit although all jobs run as the daemon's user.
    trusts: bool,
    uid: u32,
    names: Mutex<BTreeMap<u32, (Instant, Option<String>)>>,
}

impl People {
    pub(crate) fn new(config: &Config) -> People {
        let slurm = &config.slurm;
        let uid = rustix::process::getuid().as_raw();
        let by_rule = slurm.user_of.is_some() || !slurm.users.is_empty();
        People {
            settings: config.socket.clone(),
            has_own_users: config.executor.kind == ExecutorKind::Slurm && by_rule && uid == 0,
            trusts: config.trust_tenants,
            uid,
            names: Mutex::default(),
        }
    }

    /// The caller behind a connection, and whether its tenant is to be created if it is not there. `tenant_of` knows
    /// the tenants whose jobs run as a user of their own.
    pub(crate) fn caller(
        &self,
        peer: Peer,
        tenant_of: impl Fn(&str) -> Option<String>,
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
        if !self.has_own_users && !self.trusts {
            // What they submit would run as the daemon's user, who may do more than they.
            return (viewer, false);
        }
        let by_rule = || self.settings.tenant_of.replace("{user}", user);
        let tenant = self.settings.tenants.get(user).cloned().unwrap_or_else(by_rule);
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

    fn people(text: &str, has_own_users: bool) -> People {
        let config = Config::check(text).expect("right");
        let (uid, trusts) = (4_000_000, config.trust_tenants);
        People { settings: config.socket, has_own_users, trusts, uid, names: Mutex::default() }
    }

    #[test]
    fn users_are_tenants_where_that_gives_them_nothing_else() {
        let daemon_uid = user_name(1).expect("Debian's `daemon`, or `bin`");
        let role = |people: &People, uid| people.caller(Peer { uid }, |_| None).0.role;
        let plain = people("", false);
        assert_eq!(role(&plain, 0), Role::Admin);
        assert_eq!(role(&plain, 4_000_000), Role::Admin, "the daemon's own");
        assert_eq!(role(&plain, 1), Role::Viewer, "jobs run as the daemon's user");
        let own = people("", true);
        let (caller, creates) = own.caller(Peer { uid: 1 }, |_| None);
        assert_eq!(
            (caller.role, caller.tenant, creates),
            (Role::Tenant, Some(daemon_uid.clone()), true)
        );
        let trusted = people("trust_tenants = true\n[socket]\ntenant_of = \"lab-{user}\"\n", false);
        assert_eq!(
            trusted.caller(Peer { uid: 1 }, |_| None).0.tenant,
            Some(format!("lab-{daemon_uid}"))
        );
        let operator = people(&format!("[socket]\noperators = [\"{daemon_uid}\"]\n"), true);
        assert_eq!(role(&operator, 1), Role::Admin);
        assert_eq!(operator.caller(Peer { uid: 1 }, |_| None).0.user, Some(daemon_uid));
        assert_eq!(role(&own, 3_999_999), Role::Viewer, "nobody's number");
    }
}
