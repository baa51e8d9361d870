//! The world as one text, and back.

use super::{Index, World};
use thiserror::Error;

/// The form of the text. A change that an older program would read wrongly needs another number.
const VERSION: u32 = 1;

/// Why a text is no world.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// It is no such text.
    #[error("the snapshot cannot be read")]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error("the snapshot has version {0}; this program reads version {VERSION}")]
    Version(u32),
}

#[derive(serde::Serialize)]
struct Written<'a> {
    version: u32,
    world: &'a World,
}

#[derive(serde::Deserialize)]
struct Read {
    version: u32,
    world: World,
}

impl World {
    /// As JSON.
    pub fn to_snapshot(&self) -> Result<String, SnapshotError> {
        Ok(serde_json::to_string(&Written { version: VERSION, world: self })?)
    }

    /// From JSON.
    pub fn from_snapshot(text: &str) -> Result<World, SnapshotError> {
        let Read { version, mut world } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(SnapshotError::Version(version));
        }
        world.index = Index::of(&world);
        Ok(world)
    }
}
