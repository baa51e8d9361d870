//! Lists that come in pages: ask again with `after` set to `next`, until there is none.

use super::{Group, Job, Notification, RoundSummary, Tenant, Token, Workload};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
