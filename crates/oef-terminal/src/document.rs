//! What all results for machines have in common. Fields are added freely, never renamed.

use oef_core::Status;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The version of every document.
pub const VERSION: u32 = 1;

/// A result for machines, field by field: a JSON object whose fields stand in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Document<F>(F);

/// The fields before, and one more; `None` is left out.
#[derive(Clone, Debug)]
pub struct Field<F, T>(F, &'static str, Option<T>);

impl Document<()> {
    /// A part of a document, without fields yet.
    pub fn part() -> Self {
        Document(())
    }

    /// A whole document: it begins with its version.
    pub fn whole() -> Document<Field<(), u32>> {
        Document::part().with("version", VERSION)
    }
}

impl<F> Document<F> {
    /// With a field.
    pub fn with<T: Serialize>(self, name: &'static str, value: T) -> Document<Field<F, T>> {
        self.maybe(name, Some(value))
    }

    /// With a field that is left out where there is no value.
    pub fn maybe<T: Serialize>(
        self,
        name: &'static str,
        value: Option<T>,
    ) -> Document<Field<F, T>> {
        Document(Field(self.0, name, value))
    }

    /// With a number, made [`finite`].
    pub fn number(self, name: &'static str, value: f64) -> Document<Field<F, f64>> {
        self.with(name, finite(value))
    }

    /// With a list.
    pub fn list<T: Serialize>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Document<Field<F, Vec<T>>> {
        self.with(name, values.into_iter().collect())
    }
}

/// Fields of an object, one after another.
trait Fields {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl Fields for () {
    fn write<M: SerializeMap>(&self, _: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

impl<F: Fields, T: Serialize> Fields for Field<F, T> {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Field(before, name, value) = self;
        before.write(map)?;
        value.as_ref().map_or(Ok(()), |value| map.serialize_entry(name, value))
    }
}

impl<F: Fields> Serialize for Document<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write(&mut map)?;
        map.end()
    }
}

/// A JSON object by names that are not known before; they keep their order.
#[derive(Clone, Debug)]
pub struct Object<'a, T>(pub Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Object<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// JSON has no infinities; nothing should be one, and if it were a reader must still get a number.
pub fn finite(x: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    if x.is_nan() { 0.0 } else { x.clamp(f64::MIN, f64::MAX) + 0.0 }
}

/// A gap that could not be computed is not a small one.
pub fn gap(x: f64) -> f64 {
    if x.is_nan() { f64::MAX } else { finite(x) }
}

/// A status in one word.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Feasible => "feasible",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_those_without_a_value_are_left_out() {
        let part = Document::part().number("x", f64::NAN).with("none", None::<u8>);
        let document =
            Document::whole().maybe("b", None::<u8>).maybe("a", Some(1)).list("parts", [part]);
        let text = serde_json::to_string(&document).unwrap();
        let expected = r#"{"version":1,"a":1,"parts":[{"x":0.0,"none":null}]}"#;
        assert_eq!(text, expected);
    }
}
