//! Who asks, and what they may do. Every method of the daemon takes a caller: there is no way around it.

use oef_api::types::Role;
use oef_executor::slurm::user_name;
use std::sync::OnceLock;

/// The holder of a token.
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

impl Caller {
    /// Who may do everything.
    pub fn admin() -> Self {
        Caller { role: Role::Admin, tenant: None, token: 0, user: None }
    }

    /// The daemon's own owner: the user that it runs as.
    pub(crate) fn owner() -> Self {
        static NAME: OnceLock<Option<String>> = OnceLock::new();
        let name = || user_name(rustix::process::getuid().as_raw());
        Caller { user: NAME.get_or_init(name).clone(), ..Caller::admin() }
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
