//! Reasons as data on the wire: a kind, and what belongs to it.

use crate::world::{Reason, World};
use oef_api::types::ReasonData;
use oef_sched::{StartReason, WaitReason};
use serde_json::{Map, Value};

/// Why a job came into its state.
pub(super) fn of_state(world: &World, reason: &Reason) -> ReasonData {
    match reason {
        Reason::Text(_) => ReasonData { kind: "text".into(), fields: Map::new() },
        _ => data(world, serde_json::to_value(reason)),
    }
}

/// What a job waits for.
pub(super) fn of_wait(world: &World, waits: &WaitReason) -> ReasonData {
    data(world, serde_json::to_value(waits))
}

/// Why a job has its GPUs.
pub(super) fn of_start(world: &World, why: StartReason) -> ReasonData {
    data(world, serde_json::to_value(why))
}

fn data(world: &World, value: serde_json::Result<Value>) -> ReasonData {
    let mut fields = flat(world, value.unwrap_or_default());
    let kind = fields.remove("kind").and_then(|kind| kind.as_str().map(String::from));
    ReasonData { kind: kind.unwrap_or_default(), fields }
}

/// Whatever way an enum is written: its variant under `kind`, its fields beside it, gpu types by name.
fn flat(world: &World, value: Value) -> Map<String, Value> {
    let mut fields = match value {
        Value::Object(fields) if fields.contains_key("kind") => fields,
        Value::Object(variant) => {
            let Some((kind, inner)) = variant.into_iter().next() else { return Map::new() };
            if kind == "blocked" {
                return flat(world, inner);
            }
            let mut fields = match inner {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            fields.insert("kind".into(), kind.into());
            fields
        }
        variant => Map::from_iter([("kind".into(), variant)]),
    };
    if let Some(why @ (Value::String(_) | Value::Object(_))) = fields.get("why").cloned() {
        fields.insert("why".into(), flat(world, why).into());
    }
    if let Some(gpu) = fields.get("gpu").and_then(Value::as_u64) {
        let name = world.sched.cluster().types().get(gpu as usize).cloned();
        fields.insert("gpu".into(), name.into());
    }
    fields
}
