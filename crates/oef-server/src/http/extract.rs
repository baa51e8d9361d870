//! What comes in, checked: bodies, queries, parts of the path. Everything that is wrong becomes a problem
//! that names the place.

use super::App;
use super::failure::{Failure, refused};
use crate::problem::{Kind, More};
use axum::body::{Bytes, HttpBody, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use oef_api::parsed::recorded;
use oef_api::types::ApiError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A JSON body of the usual size.
pub(super) struct Body<T>(pub T);

/// A JSON body that may be as large as a batch.
pub(super) struct LargeBody<T>(pub T);

/// A part of the path.
pub(super) struct Part<T>(pub T);

impl<T: DeserializeOwned + Serialize> FromRequest<App> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        json(request, app.inner.limits.body_bytes).await.map(Body)
    }
}

impl<T: DeserializeOwned + Serialize> FromRequest<App> for LargeBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        json(request, app.inner.limits.batch_bytes).await.map(LargeBody)
    }
}

async fn json<T: DeserializeOwned + Serialize>(
    request: Request,
    limit: usize,
) -> Result<T, Failure> {
    if !is_json(request.headers()) {
        let problem = Kind::UnsupportedMediaType.problem("the body does not say that it is JSON");
        return Err(Failure(problem.hint("send the header `Content-Type: application/json`")));
    }
    let bytes = raw(request, limit).await?;
    read(&bytes).map_err(Failure)
}

fn read<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, ApiError> {
    let parsed = parse(bytes).and_then(|value| match without_minus_zero(bytes) {
        Some(text) => parse(text.as_bytes()),
        None => Ok(value),
    });
    parsed.or_else(|problem| with_whole_numbers(bytes, problem))
}

/// The same body with 0 for every `-0.0`, which would be kept and shown with its sign; none: it has none.
fn without_minus_zero(bytes: &[u8]) -> Option<String> {
    if !bytes.windows(2).any(|pair| pair == b"-0") {
        return None;
    }
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let is_minus_zero = |x: f64| x == 0.0 && x.is_sign_negative();
    rewrite(&mut value, &|x| is_minus_zero(x).then_some(0)).then(|| value.to_string())
}

/// To JSON `2.0` is as whole as `2`, and some clients write it so. The reader wants the latter. Where that helps, another
/// value may still break its rule; else it is the first problem that counts.
fn with_whole_numbers<T: DeserializeOwned + Serialize>(
    bytes: &[u8],
    first: ApiError,
) -> Result<T, ApiError> {
    let mut value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if !make_whole(&mut value) {
        return Err(first);
    }
    parse(value.to_string().as_bytes()).map_err(|problem| match problem.status {
        400 => first,
        _ => problem,
    })
}

/// Writes whole numbers as such; whether there were any.
fn make_whole(value: &mut Value) -> bool {
    /// Up to here every whole number is a double of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    rewrite(value, &|x| (x.trunc() == x && x.abs() < EXACT).then_some(x as i64))
}

/// Puts whole numbers in the place of others; whether there were any to replace.
fn rewrite(value: &mut Value, whole: &dyn Fn(f64) -> Option<i64>) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => {
            let instead = number.as_f64().and_then(whole);
            instead.map(|whole| *value = Value::from(whole)).is_some()
        }
        Value::Array(list) => {
            list.iter_mut().fold(false, |found, inner| rewrite(inner, whole) | found)
        }
        Value::Object(fields) => {
            fields.values_mut().fold(false, |found, inner| rewrite(inner, whole) | found)
        }
        _ => false,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// A body as it is, whatever it is.
pub(super) async fn raw(request: Request, limit: usize) -> Result<Bytes, Failure> {
    let too_large = || {
        let problem =
            Kind::PayloadTooLarge.problem(format!("the body is larger than {limit} bytes"));
        Failure(problem.hint("split it, or raise `limits` in the daemon's settings"))
    };
    let body = request.into_body();
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    to_bytes(body, limit).await.map_err(|error| {
        let is_limit = std::error::Error::source(&error)
            .is_some_and(|source| source.to_string().contains("length limit exceeded"));
        if is_limit { too_large() } else { Failure(Kind::BadRequest.problem("the body broke off")) }
    })
}

/// Reads JSON; what is wrong is named with its line, its column and its field.
fn parse<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, ApiError> {
    let value = read_as(bytes).map_err(|problem| match recorded(|| read_as::<T>(bytes)) {
        // Only a value breaks the rule of its type: the rest was understood.
        Ok(_) => refused(problem).0,
        Err(_) => problem,
    })?;
    check_objects(bytes, serde_json::to_value(&value))?;
    Ok(value)
}

fn read_as<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader);
    let value = read.map_err(|error| unreadable(error.path().to_string(), error.inner()))?;
    reader.end().map_err(|error| unreadable(".".into(), &error))?;
    Ok(value)
}

fn unreadable(field: String, error: &serde_json::Error) -> ApiError {
    let words = if error.is_data() { "the body does not fit" } else { "the body is not JSON" };
    let problem = Kind::BadRequest.problem(format!("{words}: {error}"));
    if field == "." { problem } else { problem.field(field) }
}

/// The reader takes a list where an object should be, field by field in their order. Nobody writes that but
/// by mistake, and it would tie us to the order of fields: wherever the value has an object, the text must.
fn check_objects(bytes: &[u8], value: serde_json::Result<Value>) -> Result<(), ApiError> {
    let (Ok(text), Ok(value)) = (serde_json::from_slice(bytes), value) else { return Ok(()) };
    match list_for_object(&text, &value) {
        None => Ok(()),
        Some(path) => {
            let problem =
                Kind::BadRequest.problem("the body does not fit: a list, expected an object");
            Err(if path.is_empty() { problem } else { problem.field(path) })
        }
    }
}

/// Where the text has a list and the value an object.
fn list_for_object(text: &Value, value: &Value) -> Option<String> {
    match (text, value) {
        (Value::Array(_), Value::Object(_)) => Some(String::new()),
        (Value::Object(text), Value::Object(value)) => value.iter().find_map(|(key, value)| {
            let path = list_for_object(text.get(key)?, value)?;
            Some(if path.is_empty() { key.clone() } else { format!("{key}.{path}") })
        }),
        (Value::Array(text), Value::Array(value)) => {
            let mut pairs = text.iter().zip(value).enumerate();
            pairs.find_map(|(i, (text, value))| {
                Some(format!("[{i}]{}", list_for_object(text, value)?))
            })
        }
        _ => None,
    }
}

/// Reads the query of a request.
pub(super) fn query<T: DeserializeOwned>(parts: &Parts) -> Result<T, Failure> {
    let query = parts.uri.query().unwrap_or("");
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let field = error.path().to_string();
        let problem =
            Kind::BadRequest.problem(format!("the query does not fit: {}", error.inner()));
        Failure(if field == "." { problem } else { problem.field(field) })
    })
}

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Part<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let path = Path::<T>::from_request_parts(parts, app).await;
        path.map(|Path(value)| Part(value)).map_err(|rejection| {
            Failure(
                Kind::BadRequest
                    .problem(format!("the path does not fit: {}", rejection.body_text())),
            )
        })
    }
}

/// A number of a list's entries that may stand in one page.
pub(super) fn within(field: &str, value: Option<u32>, max: u32) -> Result<(), Failure> {
    match value {
        Some(value) if !(1..=max).contains(&value) => {
            let problem =
                Kind::BadRequest.problem(format!("{field} is {value}, not between 1 and {max}"));
            Err(Failure(problem.field(field)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_api::types::JobBatch;

    #[test]
    fn what_is_wrong_with_a_body_is_named() {
        let cases: &[(&str, Option<&str>, &str)] = &[
            ("{\"jobs\": [{\"workers\": \"x\"}]}", Some("jobs[0].workers"), "line 1 column 25"),
            ("{\"jobs\": [],\n \"nme\": 1}", Some("nme"), "unknown field `nme`"),
            ("{\"jobs\": [", Some("jobs"), "not JSON: EOF"),
            ("{} {}", None, "missing field `jobs`"),
            ("{\"jobs\": []} x", None, "trailing characters"),
            ("", None, "not JSON: EOF"),
            ("[null, [], null]", None, "a list, expected an object"),
            ("{\"jobs\": [{}, [\"t\"]]}", Some("jobs[1]"), "expected struct JobSubmit"),
            ("\u{0}", None, "expected value at line 1"),
        ];
        for (body, field, words) in cases {
            let problem = parse::<JobBatch>(body.as_bytes()).expect_err(body);
            assert_eq!(problem.field.as_deref(), *field, "{body}: {problem:?}");
            assert!(problem.detail.contains(words), "{body}: {problem:?}");
            assert_eq!((problem.kind.as_str(), problem.status), ("bad_request", 400));
        }
    }

    fn read(body: &str) -> Result<JobBatch, ApiError> {
        super::read(body.as_bytes())
    }

    #[test]
    fn minus_zero_is_zero() {
        for zero in ["-0.0", "-0", "-0e5", "-0.00"] {
            let job = format!(r#"{{"min_run_s": {zero}, "priority": {zero}, "name": "a-0.0"}}"#);
            for body in [
                format!(r#"{{"jobs": [{job}]}}"#),
                format!(r#"{{"at_once": 2.0, "jobs": [{job}]}}"#),
            ] {
                let batch = read(&body).expect(&body);
                let job = &batch.jobs[0];
                assert_eq!(job.min_run_s.map(f64::to_bits), Some(0), "{body}");
                assert_eq!((job.priority, job.name.as_deref()), (0, Some("a-0.0")), "{body}");
            }
        }
        let twice = r#"{"jobs": [{"min_run_s": -0.0, "min_run_s": 1}]}"#;
        assert_eq!(read(twice).expect_err("twice").status, 400);
    }

    /// A whole number written as `2.0` hid the rule that another value breaks.
    #[test]
    fn a_value_that_breaks_a_rule_is_named_beside_a_whole_number_with_a_point() {
        let problem =
            read(r#"{"at_once": 2.0, "jobs": [{"workers": 0}]}"#).expect_err("no workers");
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some("jobs[0].workers")));
        let problem = read(r#"{"at_once": 2.0, "jobs": [{"workers": "x"}]}"#).expect_err("a text");
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("at_once")));
        assert!(read(r#"{"at_once": 2.0, "jobs": [{}]}"#).is_ok());
    }

    #[test]
    fn a_value_that_breaks_a_rule_was_understood() {
        let cases = [
            (r#"{"jobs": [{}, {"workers": 0}]}"#, "jobs[1].workers", "1 to 100000 workers, not 0"),
            (r#"{"jobs": [{"tenant": "a/b"}]}"#, "jobs[0].tenant", "the name of a tenant contains"),
            (r#"{"jobs": [{"workload": ""}]}"#, "jobs[0].workload", "a workload is empty"),
        ];
        for (body, field, words) in cases {
            let problem = parse::<JobBatch>(body.as_bytes()).expect_err(body);
            assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)), "{body}");
            assert!(problem.detail.contains(words), "{body}: {problem:?}");
        }
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        let body = r#"{"jobs": [{"workers": 2.0, "grace_s": 1.5, "min_run_s": 3.0}]}"#;
        assert!(parse::<JobBatch>(body.as_bytes()).is_err());
        let batch = read(body).expect("it is right");
        assert_eq!((*batch.jobs[0].workers, batch.jobs[0].grace_s), (2, Some(1.5)));
        for wrong in [
            r#"{"jobs": [{"workers": 2.5}]}"#,
            r#"{"jobs": [{"workers": 1e300}]}"#,
            "{\"jobs\": 1.0}",
            "{",
        ] {
            assert_eq!(read(wrong).expect_err(wrong).status, 400, "{wrong}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        let deep = "[".repeat(100_000);
        assert!(parse::<JobBatch>(deep.as_bytes()).is_err());
        assert!(parse::<Value>(deep.as_bytes()).is_err());
    }
}
