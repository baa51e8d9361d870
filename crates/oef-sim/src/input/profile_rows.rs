//! Collects the rows of a profile table: no two the same, precisions told apart.

use super::limits;
use super::profile::{Placement, ProfileRow, ProfileTable};
use super::read::{BadRow, BadRows, InputError, Read, Source};
use std::collections::BTreeMap;

/// A row with what is not part of the table.
pub(crate) struct Draft {
    /// The row.
    pub row: ProfileRow,
    /// In which arithmetic it was measured, where the file has a column for it.
    pub precision: Option<String>,
    /// The line of the file.
    pub line: usize,
}

/// What no two rows may have in common.
type Key = (String, Option<String>, Option<u32>, u32, Placement);

/// The rows so far.
pub(crate) struct Rows<'a> {
    source: Source<'a>,
    types: Vec<String>,
    drafts: Vec<Draft>,
    known: BTreeMap<Key, usize>,
    /// Figures of a long table that came a second time.
    repeated: usize,
}

impl<'a> Rows<'a> {
    /// None yet, of these types.
    pub fn new(source: Source<'a>, types: Vec<String>) -> Self {
        Rows { source, types, drafts: Vec::new(), known: BTreeMap::new(), repeated: 0 }
    }

    /// Adds a whole row.
    pub fn add(&mut self, draft: Draft) -> Result<(), BadRow> {
        if let Some(&first) = self.known.get(&key(&draft)) {
            let message =
                format!("`{}` is on line {} already", draft.row.model, self.drafts[first].line);
            let bad = self.source.at(draft.line, "model", message);
            return Err(bad.hint(
                "rows of a model differ in batch_size, scale_factor, placement or precision",
            ));
        }
        self.known.insert(key(&draft), self.drafts.len());
        self.drafts.push(draft);
        Ok(())
    }

    /// Adds one figure to its row. The first figure of a cell counts; a file may repeat a measurement.
    pub fn add_figure(
        &mut self,
        draft: Draft,
        gpu_type: String,
        rate: f64,
        too_many: impl FnOnce() -> BadRow,
    ) -> Result<(), BadRow> {
        let position = self.types.iter().position(|t| t.eq_ignore_ascii_case(&gpu_type));
        let column = match position {
            Some(column) => column,
            None if self.types.len() >= limits::TYPES_MAX => return Err(too_many()),
            None => {
                self.types.push(gpu_type);
                self.types.len() - 1
            }
        };
        let next = self.drafts.len();
        let index = *self.known.entry(key(&draft)).or_insert(next);
        if index == next {
            self.drafts.push(draft);
        }
        let cells = &mut self.drafts[index].row.throughput;
        if cells.len() <= column {
            cells.resize(column + 1, None);
        }
        match &cells[column] {
            Some(_) => self.repeated += 1,
            None => cells[column] = Some(rate),
        }
        Ok(())
    }

    /// The table. A precision becomes part of the model's name where the same model came in several.
    pub fn finish(mut self, bad: BadRows) -> Result<Read<ProfileTable>, InputError> {
        let mut precisions: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
        for draft in &self.drafts {
            let list = precisions.entry(draft.row.model.to_lowercase()).or_default();
            if !list.contains(&draft.precision) {
                list.push(draft.precision.clone());
            }
        }
        for draft in &mut self.drafts {
            draft.row.throughput.resize(self.types.len(), None);
            let several =
                precisions.get(&draft.row.model.to_lowercase()).is_some_and(|p| p.len() > 1);
            if let Some(precision) = draft.precision.as_ref().filter(|_| several) {
                draft.row.model = format!("{}/{precision}", draft.row.model);
            }
        }
        let mut notes = Vec::new();
        if self.repeated > 0 {
            notes.push(format!(
                "figures that came again, of which the first counts: {}",
                self.repeated
            ));
        }
        let rows: Vec<ProfileRow> = self.drafts.into_iter().map(|d| d.row).collect();
        let read = bad.finish(ProfileTable { types: self.types, rows }, notes)?;
        if read.value.rows.is_empty() {
            let bad = self.source.whole("there is no profile in it");
            return Err(InputError::one(bad.hint("below the header goes one row per model")));
        }
        Ok(read)
    }
}

fn key(draft: &Draft) -> Key {
    let row = &draft.row;
    (
        row.model.to_lowercase(),
        draft.precision.clone(),
        row.batch_size,
        row.scale_factor,
        row.placement,
    )
}
