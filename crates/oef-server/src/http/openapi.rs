//! The OpenAPI document: gathered from the handlers, with what is the same for all added here.

use super::failure::PROBLEM_JSON;
use super::{
    App, cluster, events, fairness, groups, info, jobs, live, login, notifications, rounds,
    settings, tenants, terminal, tokens, usage, workloads,
};
use axum::Json;
use oef_api::types::{ApiError, Event, Notice};
use std::sync::LazyLock;
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder, Schema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "OEF",
        description = "Shares clusters of mixed GPUs among tenants. Lists come in pages: ask again with `after` set to `next`. \
                       Errors are problem details (RFC 9457) with a stable `type`, what is wrong in `detail` and the way out in `hint`."
    ),
    servers((url = "/api/v1")),
    components(schemas(ApiError, Event, Notice)),
    security(("token" = [])),
    tags(
        (name = "jobs", description = "Submit, watch, ask, stop"),
        (name = "tenants", description = "Who owns weight and jobs"),
        (name = "workloads", description = "Kinds of jobs and their profiles"),
        (name = "cluster", description = "Machines and settings"),
        (name = "rounds", description = "Plans, certificates, fairness"),
        (name = "tokens", description = "Who may do what"),
        (name = "notifications", description = "Who is told when jobs change"),
        (name = "events", description = "What happens, as it happens")
    )
)]
struct Base;

/// Every route under the prefix.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Base::openapi())
        .merge(info::routes())
        .merge(jobs::routes())
        .merge(terminal::routes())
        .merge(tenants::routes())
        .merge(groups::routes())
        .merge(workloads::routes())
        .merge(cluster::routes())
        .merge(rounds::routes())
        .merge(fairness::routes())
        .merge(usage::routes())
        .merge(settings::routes())
        .merge(tokens::routes())
        .merge(notifications::routes())
        .merge(events::routes())
        .merge(live::routes())
        .merge(login::routes())
        .routes(routes!(show))
}

/// The document, whole.
pub fn document() -> utoipa::openapi::OpenApi {
    let (_, mut api) = routes().split_for_parts();
    let components = api.components.get_or_insert_default();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token, as `oef token create` makes it"))
        .build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    components.schemas.values_mut().for_each(close_variants);
    for (path, item) in &mut api.paths.paths {
        let is_open = path == "/openapi.json";
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            complete(operation, is_open);
        }
    }
    api
}

/// Variants of an enum take no other fields than their own; the derived schema does not say so.
fn close_variants(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::OneOf(one_of)) = schema else { return };
    for variant in &mut one_of.items {
        if let RefOr::T(Schema::Object(object)) = variant
            && !object.properties.is_empty()
        {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
}

/// The same as text, as it is kept in `docs/openapi.json`.
pub fn document_text() -> String {
    let mut text = serde_json::to_string_pretty(&*DOCUMENT).unwrap_or_default();
    text.push('\n');
    text
}

static DOCUMENT: LazyLock<serde_json::Value> =
    LazyLock::new(|| serde_json::to_value(document()).unwrap_or_default());

/// Serves this document
#[utoipa::path(get, path = "/openapi.json", tag = "cluster", operation_id = "getOpenApi",
    responses((status = 200, description = "The OpenAPI document", body = serde_json::Value)))]
async fn show() -> Json<&'static serde_json::Value> {
    Json(&DOCUMENT)
}

/// Adds the errors that every operation of its kind may answer with.
fn complete(operation: &mut Operation, is_open: bool) {
    // Whoever names a host that is not ours, or whose token may not.
    let mut errors = vec![(403, "The caller may not do that"), (500, "Internal error")];
    if is_open {
        operation.security = Some(vec![SecurityRequirement::default()]);
    } else {
        errors.push((400, "Something about the request makes no sense"));
        errors.push((401, "No valid token"));
        errors.push((429, "Too many requests; Retry-After says how long to wait"));
        errors.push((503, "Not now: the daemon stops, its disk is full, or it took too long"));
    }
    if operation.parameters.is_some() || operation.request_body.is_some() {
        errors.push((404, "It does not exist, or the caller may not see it"));
    }
    if operation.request_body.is_some() {
        errors.push((409, "Conflict with the current state"));
        errors.push((413, "The body is too large"));
        errors.push((415, "The body does not say that it is JSON"));
        errors.push((
            422,
            "It is understood, and cannot be: an unknown gpu type, a limit, a gang too large",
        ));
    } else if matches!(
        operation.operation_id.as_deref(),
        Some(
            "cancelJob" | "removeGroup" | "testNotification" | "readTerminal" | "readTerminalOfJob"
        )
    ) {
        errors.push((409, "Conflict with the current state"));
    }
    errors.sort_unstable();
    for (status, description) in errors {
        let entry = operation.responses.responses.entry(status.to_string());
        entry.or_insert_with(|| RefOr::T(problem(description)));
    }
}

fn problem(description: &str) -> utoipa::openapi::Response {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build()
}
