//! The keys of the file, for "did you mean".

use super::{Config, FirstGroup, FirstTenant, Gpus, Jobs, LimitSettings, Log, Scheduling, Tls};
use crate::notify::NotifySettings;
use crate::slurm::{ExecutorSettings, SlurmSettings};
use crate::socket::SocketSettings;
use oef_executor::checkpoints::CheckpointConfig;
use serde::de::value::Error;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

type Keys = &'static [&'static str];

/// Every table with its keys; the tables of a list go by the name of the list.
pub(super) fn tables() -> [(&'static str, Keys); 14] {
    [
        ("", keys::<Config>()),
        ("tls", keys::<Tls>()),
        ("scheduling", keys::<Scheduling>()),
        ("gpus", keys::<Gpus>()),
        ("jobs", keys::<Jobs>()),
        ("checkpoints", keys::<CheckpointConfig>()),
        ("executor", keys::<ExecutorSettings>()),
        ("slurm", keys::<SlurmSettings>()),
        ("socket", keys::<SocketSettings>()),
        ("notify", keys::<NotifySettings>()),
        ("log", keys::<Log>()),
        ("limits", keys::<LimitSettings>()),
        ("group", keys::<FirstGroup>()),
        ("tenant", keys::<FirstTenant>()),
    ]
}

/// The names that the fields of a struct have in the file.
fn keys<'de, T: Deserialize<'de>>() -> Keys {
    let mut keys: Keys = &[];
    // Nothing is read: all that is wanted is what it asks for.
    let _ = T::deserialize(Asked(&mut keys));
    keys
}

/// Keeps the fields that a struct asks for.
struct Asked<'a>(&'a mut Keys);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: Keys,
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("there is nothing to read"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only a struct has fields"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// What to write instead of a key that is not known.
pub(super) fn hint(table: &str, wrong: &str) -> String {
    let tables = tables();
    let known = tables.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, keys)| keys);
    if let Some(near) = nearest(wrong, known) {
        return format!("did you mean `{near}`?");
    }
    // Right key, wrong table: the usual mistake with TOML, where a table goes on to the next one's head.
    let homes = tables.iter().filter(|(_, keys)| keys.contains(&wrong)).map(|(name, _)| *name);
    match homes.collect::<Vec<_>>()[..] {
        [""] => format!("`{wrong}` belongs at the top of the file, before the first table"),
        [home] => format!("`{wrong}` belongs into [{home}]"),
        _ => format!("known here: {}", known.join(", ")),
    }
}

fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let distance = |name: &&'a str| (strsim::osa_distance(&lower, name), *name);
    let (far, near) = known.iter().map(distance).min()?;
    (far <= 1.max(wrong.chars().count() / 3)).then_some(near)
}
