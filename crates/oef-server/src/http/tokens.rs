//! Tokens.

use super::handler::*;
use oef_api::types::{NewToken, TokenCreate, Tokens};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// Lists tokens, without their secrets
#[utoipa::path(get, path = "/tokens", tag = "tokens", operation_id = "listTokens", params(NumberedParams),
    responses((status = 200, description = "One page of tokens", body = Tokens)))]
async fn list(Asks(app, caller, query): Asks<NumberedParams>) -> Answer<Tokens> {
    Ok(Json(app.daemon().tokens(&caller, &page(query)?)?))
}

/// Creates a token; its secret is shown this once
#[utoipa::path(post, path = "/tokens", tag = "tokens", operation_id = "createToken",
    request_body = TokenCreate,
    responses((status = 201, description = "The token with its secret", body = NewToken)))]
async fn create(Asks(app, caller, _): Asks, Body(token): Body<TokenCreate>) -> Created<NewToken> {
    Ok(created(app.daemon().create_token(&caller, token).await.map_err(refused)?))
}

/// Makes a token void
#[utoipa::path(delete, path = "/tokens/{id}", tag = "tokens", operation_id = "revokeToken",
    params(("id" = u64, Path, description = "The token's number")),
    responses((status = 204, description = "It is void")))]
async fn revoke(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Removed {
    app.daemon().revoke_token(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
