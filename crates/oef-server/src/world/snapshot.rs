//! The world as one text, and back.

use super::{Index, MEANING, World};
use oef_api::parsed::recorded;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Deserializer;
use std::fmt;
use std::io::{self, BufReader};
use thiserror::Error;

/// The form of the text. A change that an older program would read wrongly needs another number: from 3 on, reasons are data.
const VERSION: u32 = 3;
/// The oldest that is still read: before [`meaning`](World::meaning) was part of it.
const OLDEST: u32 = 1;
/// Bytes that are asked for at once: the reader takes them one by one.
const READ_BYTES: usize = 64 << 10;

/// Why a text is no world.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// It is no such text.
    #[error("the snapshot cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error(
        "the snapshot has version {0}, and this program reads {OLDEST} to {VERSION}: open the folder with the version of oef that wrote it, or a newer one"
    )]
    Version(u32),
    /// What comes after it means something that this program does not know.
    #[error(
        "the snapshot is of a journal whose records have version {0}, and this program knows them up to version \
         {MEANING}: open the folder with the version of oef that wrote it, or a newer one"
    )]
    Meaning(u32),
}

#[derive(serde::Serialize)]
struct Written<'a> {
    version: u32,
    world: &'a World,
}

impl World {
    /// As JSON.
    pub fn to_snapshot(&self) -> Result<String, SnapshotError> {
        Ok(serde_json::to_string(&Written { version: VERSION, world: self })?)
    }

    /// The same, piece by piece.
    pub fn write_snapshot(&self, to: &mut dyn io::Write) -> Result<(), SnapshotError> {
        Ok(serde_json::to_writer(to, &Written { version: VERSION, world: self })?)
    }

    /// From JSON.
    pub fn from_snapshot(text: &str) -> Result<World, SnapshotError> {
        World::read_snapshot(&mut text.as_bytes())
    }

    /// The same, piece by piece: the text is never in memory as a whole. One kind of reader for all: each is a
    /// megabyte of code.
    pub fn read_snapshot(text: &mut dyn io::Read) -> Result<World, SnapshotError> {
        let mut text = Deserializer::from_reader(BufReader::with_capacity(READ_BYTES, text));
        let mut version = None;
        let read = recorded(|| Document { version: &mut version }.deserialize(&mut text));
        // A newer version may have anything in it: its number is the reason, whatever could not be read.
        if let Some(other) = version.filter(|version| !is_known(*version)) {
            return Err(SnapshotError::Version(other));
        }
        let mut world = read?;
        text.end()?;
        if !(1..=MEANING).contains(&world.meaning) {
            return Err(SnapshotError::Meaning(world.meaning));
        }
        world.index = Index::of(&world);
        Ok(world)
    }
}

fn is_known(version: u32) -> bool {
    (OLDEST..=VERSION).contains(&version)
}

/// What [`Written`] wrote. The version comes first, and nothing after it is read if it is not known.
struct Document<'a> {
    version: &'a mut Option<u32>,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = World;

    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<World, D::Error> {
        text.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = World;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a snapshot")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<World, A::Error> {
        let mut world = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => {
                    let version = *self.version.insert(map.next_value()?);
                    if !is_known(version) {
                        return Err(A::Error::custom("its version is not known"));
                    }
                }
                "world" if self.version.is_some() => world = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let missing = if self.version.is_none() { "version" } else { "world" };
        world.ok_or_else(|| A::Error::missing_field(missing))
    }
}
