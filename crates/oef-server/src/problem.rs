//! Kinds of problems that callers are told about, each with its status and its title.

use oef_api::types::ApiError;

/// The kinds: stable words for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something about the request makes no sense.
    BadRequest,
    /// No token, or one that is not valid.
    Unauthorized,
    /// The token's role may not do that.
    Forbidden,
    /// It does not exist (or the caller may not see it).
    NotFound,
    /// There is no tenant of that name.
    UnknownTenant,
    /// There is no workload of that name.
    UnknownWorkload,
    /// There is no gpu type of that name.
    UnknownType,
    /// The gang could never run.
    GangTooLarge,
    /// A limit is reached.
    LimitReached,
    /// It conflicts with something: it exists already, or its state forbids it.
    Conflict,
    /// The route knows other methods.
    MethodNotAllowed,
    /// The body is not JSON, or does not say so.
    UnsupportedMediaType,
    /// The request is too large.
    PayloadTooLarge,
    /// Too many requests in a short time.
    TooManyRequests,
    /// The daemon cannot take it now: it stops, or its disk is full.
    Unavailable,
    /// An internal error.
    Internal,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        self.parts().0
    }

    /// A problem of this kind. The detail names the value.
    pub fn problem(self, detail: impl Into<String>) -> ApiError {
        let (kind, status, title) = self.parts();
        ApiError {
            kind: kind.into(),
            status,
            title: title.into(),
            detail: detail.into(),
            hint: None,
            field: None,
        }
    }

    fn parts(self) -> (&'static str, u16, &'static str) {
        match self {
            Kind::BadRequest => ("bad_request", 400, "bad request"),
            Kind::Unauthorized => ("unauthorized", 401, "a valid token is needed"),
            Kind::Forbidden => ("forbidden", 403, "not allowed"),
            Kind::NotFound => ("not_found", 404, "there is no such thing"),
            Kind::UnknownTenant => ("unknown_tenant", 404, "there is no such tenant"),
            Kind::UnknownWorkload => ("unknown_workload", 404, "there is no such workload"),
            Kind::UnknownType => ("unknown_type", 422, "there is no such gpu type"),
            Kind::GangTooLarge => ("gang_too_large", 422, "the gang could never run"),
            Kind::LimitReached => ("limit_reached", 422, "a limit is reached"),
            Kind::Conflict => ("conflict", 409, "conflict"),
            Kind::MethodNotAllowed => ("method_not_allowed", 405, "the route knows other methods"),
            Kind::UnsupportedMediaType => {
                ("unsupported_media_type", 415, "the body must be JSON and say so")
            }
            Kind::PayloadTooLarge => ("payload_too_large", 413, "the request is too large"),
            Kind::TooManyRequests => ("too_many_requests", 429, "too many requests"),
            Kind::Unavailable => ("unavailable", 503, "not now"),
            Kind::Internal => ("internal", 500, "internal error (please report it)"),
        }
    }
}

/// What a problem may also say.
pub trait More {
    /// The way out.
    fn hint(self, hint: impl Into<String>) -> Self;
    /// The way out, where one is known.
    fn maybe_hint(self, hint: Option<String>) -> Self;
    /// The field that it is about.
    fn field(self, field: impl Into<String>) -> Self;
}

impl More for ApiError {
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn maybe_hint(self, hint: Option<String>) -> Self {
        ApiError { hint, ..self }
    }

    fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}
