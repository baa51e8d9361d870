//! The paper's way on the same instances: a Python program beside the project.

use super::instances;
use super::reference::Reference;
use oef_core::{Mechanism, Problem};
use oef_terminal::{Complaint, Failure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How the prototype writes its envy constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One at a time.
    PerPair,
    /// As one matrix inequality.
    Vectorised,
}

impl Form {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Form::PerPair => "prototype, per pair",
            Form::Vectorised => "prototype, vectorised",
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Form::PerPair => "per-pair",
            Form::Vectorised => "vectorised",
        }
    }
}

/// The forms that are worth waiting for: beyond these sizes one run takes minutes to hours.
pub fn forms(mechanism: Mechanism, tenants: usize) -> &'static [Form] {
    match (mechanism, tenants) {
        (Mechanism::Cooperative, 0..=50) => &[Form::Vectorised, Form::PerPair],
        (Mechanism::Cooperative, 51..=200) => &[Form::Vectorised],
        (Mechanism::Noncooperative, 0..=10_000) => &[Form::Vectorised],
        _ => &[],
    }
}

/// The prototype with its environment made.
#[derive(Debug)]
pub struct Prototype {
    script: PathBuf,
    /// Where the instances are written; removed at the end.
    scratch: PathBuf,
}

#[derive(Deserialize)]
struct Answer {
    seconds: f64,
    total: Option<f64>,
    status: String,
}

impl Prototype {
    /// Finds the script and has it install what it needs.
    pub fn find(dir: &Path) -> Result<Prototype, Failure> {
        let script = dir.join("run.py");
        if !script.is_file() {
            let hint = "run this in the project's directory, or name its benches/prototype with --prototype";
            let complaint = Complaint::new("there is no run.py here");
            return Err(complaint.at(dir.display().to_string()).hint(hint).into());
        }
        let status =
            Command::new("python3").arg(&script).arg("--setup").stdout(Stdio::null()).status();
        if !status.is_ok_and(|s| s.success()) {
            let hint = "it needs python3 with venv, and a package index that can be reached";
            let complaint = Complaint::new("the prototype could not be set up");
            return Err(complaint.at(script.display().to_string()).hint(hint).into());
        }
        let scratch = std::env::temp_dir().join(format!("oef-bench-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).map_err(|error| {
            Complaint::new(format!("cannot be made: {error}")).at(scratch.display().to_string())
        })?;
        Ok(Prototype { script, scratch })
    }

    /// Runs it on one instance.
    pub fn run(
        &self,
        problem: &Problem,
        mechanism: Mechanism,
        form: Form,
    ) -> Result<Reference, Failure> {
        let file = self.scratch.join("problem.json");
        let broken =
            |message: String| Complaint::new(message).at(self.script.display().to_string());
        std::fs::write(&file, instances::to_json(problem).to_string())
            .map_err(|error| broken(format!("its instance could not be written: {error}")))?;
        let output = Command::new("python3")
            .arg(&self.script)
            .arg("--problem")
            .arg(&file)
            .args(["--mechanism", mechanism.name(), "--form", form.argument()])
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| broken(format!("could not be run: {error}")))?;
        let answer: Answer = serde_json::from_slice(&output.stdout)
            .map_err(|error| broken(format!("gave no answer that can be read: {error}")))?;
        let optimal = answer.status.starts_with("optimal");
        Ok(Reference {
            name: form.name(),
            seconds: answer.seconds,
            total: answer.total.filter(|_| optimal),
            tenants_differ: None,
        })
    }
}

impl Drop for Prototype {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
