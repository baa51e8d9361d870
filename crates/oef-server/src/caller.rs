//! Who asks, and what they may do. Every method of the daemon takes a caller: there is no way around it.

use crate::socket::People;
use oef_api::types::Role;
use oef_executor::slurm::user_name;
use std::sync::OnceLock;

/// The holder of a token, or a user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// What they may do.
    pub role: Role,
    /// Whose they are, for the role `tenant`.
    pub tenant: Option<String>,
    /// The number of their token; 0: the daemon's own owner.
    pub token: u64,
    /// The Unix user, where it is known who that is.
    pub user: Option<String>,
}

/// The user that the daemon runs as, where it has a name.
fn own_user() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    NAME.get_or_init(|| user_name(rustix::process::getuid().as_raw())).as_deref()
}

/// Whether the jobs of a tenant with this user run as the daemon does: it has none, or the daemon's own.
pub(crate) fn runs_as_daemon(user: Option<&str>) -> bool {
    user.is_none_or(|user| own_user() == Some(user))
}

impl Caller {
    /// Who may do everything.
    pub fn admin() -> Self {
        Caller { role: Role::Admin, tenant: None, token: 0, user: None }
    }

    /// The daemon's own owner: the user that it runs as.
    pub(crate) fn owner() -> Self {
        Caller { user: own_user().map(String::from), ..Caller::admin() }
    }

    /// Whether they came by the local socket: what they may do follows from who they are, and not from a token.
    fn is_user(&self) -> bool {
        People::user_of(self.token).is_some()
    }

    /// Who they are, for the sentence that says what they may not do.
    pub(crate) fn named(&self) -> String {
        let role = self.role.name();
        match (&self.user, self.is_user()) {
            (Some(user), true) => format!("user `{user}` (role {role})"),
            (None, true) => format!("a user without a name (role {role})"),
            (_, false) => format!("a token of role {role}"),
        }
    }

    /// How they come to a role that may do more.
    pub(crate) fn way_out(&self) -> String {
        match (&self.user, self.role) {
            (Some(user), Role::Viewer) if self.is_user() => {
                format!(
                    "ask an operator of the cluster; `oef tenant create NAME --user {user}` gives you a tenant"
                )
            }
            _ if self.is_user() => "ask an operator of the cluster".into(),
            _ => "use another token, or ask an operator of the cluster".into(),
        }
    }

    /// Whether they may see what belongs to a tenant.
    pub fn may_see(&self, tenant: &str) -> bool {
        match self.role {
            Role::Admin | Role::Operator | Role::Viewer => true,
            Role::Tenant => self.tenant.as_deref() == Some(tenant),
        }
    }

    /// Whether they may see a tenant's commands, environments and logs.
    pub fn may_see_inside(&self, tenant: &str) -> bool {
        !matches!(self.role, Role::Viewer | Role::Operator) && self.may_see(tenant)
    }

    /// Whether they may change what belongs to a tenant: its jobs and workloads.
    pub fn may_change(&self, tenant: &str) -> bool {
        self.role != Role::Viewer && self.may_see(tenant)
    }

    /// Whether they run the cluster: nodes, and what tenants are entitled to.
    pub fn is_operator(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Operator)
    }

    /// Whether they may change what belongs to all.
    pub fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_of_the_socket_is_told_of_users_and_not_of_tokens() {
        let token = Caller { role: Role::Viewer, tenant: None, token: 2, user: None };
        assert_eq!(token.named(), "a token of role viewer");
        assert!(token.way_out().starts_with("use another token"));
        let bob = Caller { token: People::token_of(1003), user: Some("bob".into()), ..token };
        assert_eq!(bob.named(), "user `bob` (role viewer)");
        assert!(bob.way_out().contains("`oef tenant create NAME --user bob`"));
        let tenant = Caller { role: Role::Tenant, tenant: Some("t".into()), ..bob.clone() };
        assert_eq!(tenant.way_out(), "ask an operator of the cluster");
        let nameless = Caller { user: None, ..bob };
        assert!(![nameless.named(), nameless.way_out()].join(" ").contains("token"));
    }

    #[test]
    fn a_tenant_sees_and_touches_only_its_own() {
        let own = Caller { role: Role::Tenant, tenant: Some("a".into()), token: 1, user: None };
        let viewer = Caller { role: Role::Viewer, tenant: None, token: 2, user: None };
        assert!(own.may_see("a") && own.may_see_inside("a") && own.may_change("a"));
        assert!(!own.may_see("b") && !own.may_see_inside("b") && !own.may_change("b"));
        assert!(viewer.may_see("a") && !viewer.may_see_inside("a") && !viewer.may_change("a"));
        let operator = Caller { role: Role::Operator, tenant: None, token: 3, user: None };
        assert!(operator.may_change("a") && !operator.may_see_inside("a") && !operator.is_admin());
        assert!(operator.is_operator() && !viewer.is_operator() && !own.is_operator());
        assert!(Caller::admin().may_change("b") && !own.is_admin() && !viewer.is_admin());
    }
}
