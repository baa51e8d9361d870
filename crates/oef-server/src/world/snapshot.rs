//! The world as one text, and back.

use super::{Index, MEANING, World};
use std::io;
use thiserror::Error;

/// The form of the text. A change that an older program would read wrongly needs another number.
const VERSION: u32 = 2;
/// The oldest that is still read: before [`meaning`](World::meaning) was part of it.
const OLDEST: u32 = 1;

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

#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}

#[derive(serde::Deserialize)]
struct Read {
    world: World,
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
        let Version { version } = serde_json::from_str(text)?;
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(SnapshotError::Version(version));
        }
        let Read { mut world } = serde_json::from_str(text)?;
        if !(1..=MEANING).contains(&world.meaning) {
            return Err(SnapshotError::Meaning(world.meaning));
        }
        world.index = Index::of(&world);
        Ok(world)
    }
}
