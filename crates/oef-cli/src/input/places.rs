//! Where each field of a problem stands in its file.

use oef_core::Field;
use std::collections::BTreeMap;

/// Offset and name of everything that the checks may complain about.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Whether the problem came from a table of rows, whose fields are columns.
    from_table: bool,
    known: BTreeMap<Field, (usize, String)>,
}

impl Places {
    /// None yet of a table of rows.
    pub fn of_table() -> Self {
        Places { from_table: true, ..Places::default() }
    }

    /// A field that is not in the file is placed at what should have it.
    pub fn set(&mut self, field: Field, at: usize, name: impl Into<String>) {
        self.known.insert(field, (at, name.into()));
    }

    /// Offset and name of a field.
    pub fn of(&self, field: &Field) -> (usize, String) {
        self.known.get(field).cloned().unwrap_or_default()
    }

    /// Whether the field was given on the command line and not in the file.
    pub fn is_argument(&self, field: &Field) -> bool {
        self.from_table && matches!(field, Field::GpuName(_) | Field::GpuCount(_))
    }
}
