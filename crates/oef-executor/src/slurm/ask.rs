//! Asking Slurm for jobs and nodes, in the form that is set, and in the other where that cannot be read.

use super::command::{Form, Slurm, SlurmError};
use super::json;
use super::parse::{self, JobRow, NodeRow, OtherRow};

impl Slurm {
    /// All jobs that Slurm remembers, or those of one name.
    pub(crate) fn jobs(&self, name: Option<&str>) -> Result<Vec<JobRow>, SlurmError> {
        self.either(|form| match form {
            Form::Text => {
                let mark = fresh_mark();
                let text = self.call("squeue", &parse::jobs_args(&mark, name))?;
                self.read("squeue", &text, parse::jobs(&text, &mark))
            }
            Form::Json => {
                let text = self.call("squeue", &["--all", "--states=all", "--json"])?;
                self.read("squeue-json", &text, json::jobs(&text, name))
            }
        })
    }

    /// All jobs of everybody in a partition; none: in all.
    pub(crate) fn others(&self, partition: Option<&str>) -> Result<Vec<OtherRow>, SlurmError> {
        self.either(|form| match form {
            Form::Text => {
                let mark = fresh_mark();
                let text = self.call("squeue", &parse::others_args(&mark, partition))?;
                self.read("squeue", &text, parse::others(&text, &mark))
            }
            Form::Json => {
                let text = self.call("squeue", &["--all", "--states=all", "--json"])?;
                self.read("squeue-json", &text, json::others(&text, partition))
            }
        })
    }

    /// The nodes of a partition (none: all), with or without GPUs.
    pub(crate) fn nodes(
        &self,
        partition: Option<&str>,
        names: Option<&str>,
    ) -> Result<Vec<NodeRow>, SlurmError> {
        self.either(|form| match form {
            Form::Text => {
                let mark = fresh_mark();
                let text = self.call("sinfo", &parse::nodes_args(&mark, partition, names))?;
                self.read("sinfo", &text, parse::nodes(&text, &mark))
            }
            Form::Json => {
                let text = self.call("sinfo", &["--json"])?;
                if !json::is_grouped(&text) {
                    return self.read("sinfo-json", &text, json::nodes(&text, partition, names));
                }
                let text = self.call("scontrol", &["show", "nodes", "--json"])?;
                self.read("scontrol-json", &text, json::nodes(&text, partition, names))
            }
        })
    }

    /// Asks in the form that is set. Where the reply cannot be read, or the form is not known there, the other form is
    /// tried; where that does not help either, what the first one came to is told.
    fn either<T>(&self, ask: impl Fn(Form) -> Result<T, SlurmError>) -> Result<T, SlurmError> {
        let other = match self.form {
            Form::Text => Form::Json,
            Form::Json => Form::Text,
        };
        ask(self.form).or_else(|error| match error.is_about_form() {
            true => ask(other).map_err(|_| error),
            false => Err(error),
        })
    }

    fn read<T>(&self, from: &str, text: &str, read: Result<T, String>) -> Result<T, SlurmError> {
        read.map_err(|what| self.unreadable(from, what, text))
    }
}

/// A word that no job's name can hold, because nobody knows it before.
pub(super) fn fresh_mark() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(0);
    format!("@{:016x}@", hasher.finish())
}
