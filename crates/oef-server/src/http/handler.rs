//! What all files with routes use.

pub(super) use super::App;
pub(super) use super::auth::Asks;
pub(super) use super::extract::{Body, LargeBody, Part, within};
pub(super) use super::failure::{Answer, Created, Failure, Removed, created, refused};
pub(super) use super::queries::{NumberedParams, page};
pub(super) use crate::problem::{Kind, More};
pub(super) use axum::Json;
pub(super) use axum::http::StatusCode;
pub(super) use oef_api::types::PageQuery;
pub(super) use utoipa_axum::router::OpenApiRouter;
pub(super) use utoipa_axum::routes;
