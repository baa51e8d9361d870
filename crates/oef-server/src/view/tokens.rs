//! Tokens, without their secrets.

use super::text::timestamp;
use super::visible;
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::world::World;
use oef_api::types::PageQuery;
use oef_api::types::{ApiError, Token, Tokens};
use oef_sched::Time;
use std::ops::Bound;

/// Tokens, the oldest first.
pub fn tokens(world: &World, caller: &Caller, page: &PageQuery) -> Result<Tokens, ApiError> {
    if !caller.is_admin() {
        return Err(Kind::Forbidden
            .problem("only an admin may list tokens")
            .hint(caller.way_out()));
    }
    let limit = visible::limit(page.limit)?;
    let after =
        visible::number_mark(page.after.as_deref())?.map_or(Bound::Unbounded, Bound::Excluded);
    let mut shown = Tokens::default();
    for (&id, token) in world.tokens.range((after, Bound::Unbounded)) {
        if shown.tokens.len() == limit {
            shown.next = shown.tokens.last().map(|last| last.id.to_string());
            break;
        }
        shown.tokens.push(Token {
            id,
            role: token.role,
            tenant: token.tenant.clone(),
            note: token.note.clone(),
            created: timestamp(Time(token.created_ms)),
            expires: token.expires_ms.map(|at| timestamp(Time(at))),
        });
    }
    Ok(shown)
}
