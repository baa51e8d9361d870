//! Lists that come in pages: ask again with `after` set to `next`, until there is none.

use super::{Group, Job, Notification, RoundSummary, Tenant, Token, Workload};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Which part of a list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// So many at most; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Those after this mark, which is the `next` of the page before.
    pub after: Option<String>,
}

/// Which workloads to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkloadsQuery {
    /// Of this tenant.
    pub tenant: Option<String>,
    /// So many at most; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Those after this mark, which is the `next` of the page before.
    pub after: Option<String>,
}

macro_rules! page {
    ($(#[$doc:meta])* $name:ident { $(#[$field_doc:meta])* $field:ident: $item:ty }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        pub struct $name {
            $(#[$field_doc])*
            pub $field: Vec<$item>,
            /// Where the next page begins; none: this is the last.
            pub next: Option<String>,
        }
    };
}

page!(
    /// Jobs, the newest first.
    Jobs {
        /// The jobs of this page.
        jobs: Job
    }
);
page!(
    /// Tenants by name.
    Tenants {
        /// The tenants of this page.
        tenants: Tenant
    }
);
page!(
    /// Groups by name.
    Groups {
        /// The groups of this page.
        groups: Group
    }
);
page!(
    /// Workloads by tenant and name.
    Workloads {
        /// The workloads of this page.
        workloads: Workload
    }
);
page!(
    /// Tokens, the oldest first, without their secrets.
    Tokens {
        /// The tokens of this page.
        tokens: Token
    }
);
page!(
    /// Notifications, the oldest first, without their secrets.
    Notifications {
        /// The notifications of this page.
        notifications: Notification
    }
);
page!(
    /// Rounds, the newest first.
    Rounds {
        /// The rounds of this page.
        rounds: RoundSummary
    }
);
