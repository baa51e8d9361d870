//! Tests of the views: a small cluster in which things happen, and what callers see of it.

mod figures;
mod jobs;
mod rounds;
mod scene;
mod tenants;
mod whatif;

use crate::caller::Caller;
use oef_api::types::Role;
pub(crate) use scene::Scene;

fn admin() -> Caller {
    Caller::admin()
}

fn viewer() -> Caller {
    Caller { role: Role::Viewer, tenant: None, token: 7, user: None }
}

fn of(tenant: &str) -> Caller {
    Caller { role: Role::Tenant, tenant: Some(tenant.into()), token: 8, user: None }
}
