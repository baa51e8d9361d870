//! Documents that are kept beside the code: they say what the code does.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn read(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
}

#[test]
fn the_committed_openapi_document_is_the_served_one() {
    assert!(
        read("docs/openapi.json") == oef_server::http::document_text(),
        "docs/openapi.json is old: cargo run -p oef-server --example openapi > docs/openapi.json"
    );
}

/// The document can only have numbers: they are those of `oef_api::limits`.
#[test]
fn the_limits_in_the_openapi_document_are_those_that_count() {
    use oef_api::limits;
    let document = serde_json::to_value(oef_server::http::document()).expect("JSON");
    let schemas = &document["components"]["schemas"];
    let job = &schemas["JobSubmit"]["properties"];
    let settings = &schemas["SettingsPatch"]["properties"];
    assert_eq!(job["workers"]["maximum"], limits::WORKERS_MAX);
    assert_eq!(job["retries"]["maximum"], limits::RETRIES_MAX);
    assert_eq!(schemas["JobBatch"]["properties"]["jobs"]["maxItems"], limits::BATCH_MAX);
    assert_eq!(settings["round_s"]["minimum"], *limits::ROUND_S.start());
    assert_eq!(settings["round_s"]["maximum"], *limits::ROUND_S.end());
    assert_eq!(settings["stickiness"]["maximum"], *limits::STICKINESS.end());
    let parameters = document["paths"].as_object().expect("paths").values();
    let parameters = parameters.filter_map(|path| path["get"]["parameters"].as_array()).flatten();
    let pages = parameters.filter(|p| p["name"] == "limit");
    let most: BTreeSet<u64> = pages.filter_map(|p| p["schema"]["maximum"].as_u64()).collect();
    let known = [limits::PAGE_MAX, limits::LOG_BYTES_MAX].map(u64::from);
    assert_eq!(most, BTreeSet::from(known));
}

#[test]
fn every_operation_is_documented() {
    let document = serde_json::to_value(oef_server::http::document()).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let what = format!("{method} {path}");
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id.to_string()), "{what}: `{id}` comes twice");
            assert!(operation["summary"].as_str().is_some_and(|s| !s.is_empty()), "{what}");
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.keys().any(|status| status.starts_with('2')), "{what}");
            for (status, response) in
                responses.iter().filter(|(status, _)| *status >= &"400".to_string())
            {
                let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/Problem", "{what}: {status}");
            }
            let expected: &[&str] = match operation.get("requestBody") {
                Some(_) => {
                    &["400", "401", "403", "404", "409", "413", "415", "422", "429", "500", "503"]
                }
                None if path == "/openapi.json" => &["500"],
                None => &["400", "401", "403", "429", "500", "503"],
            };
            for status in expected {
                assert!(responses.contains_key(*status), "{what}: {status} is missing");
            }
        }
    }
}

#[test]
fn every_schema_that_is_named_is_there() {
    let document = serde_json::to_value(oef_server::http::document()).expect("JSON");
    let mut named = Vec::new();
    references(&document, &mut named);
    assert!(named.len() > 50);
    for name in named {
        let pointer = name.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{name}");
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                match inner.as_str().filter(|_| key == "$ref") {
                    Some(name) => found.push(name.into()),
                    None => references(inner, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_is_one() {
    let dashboard: Value = serde_json::from_str(&read("contrib/grafana/oef.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has a number of its own");
    for panel in panels {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(
            targets.iter().all(|t| t["expr"].as_str().is_some_and(|e| e.contains("oef_"))),
            "{panel}"
        );
    }
}
