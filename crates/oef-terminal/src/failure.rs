//! What goes wrong for a user: complaints with a place and a hint, and the exit code they lead to.

use crate::exit::Exit;
use oef_api::client::ClientError;
use oef_api::types::ApiError;
use oef_core::SolveError;
use oef_core::change::WhatIfError;
use oef_sim::generate::GenerateError;
use oef_sim::input::InputError;
use std::io;

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// Something to tell the user, and the exit code that goes with it.
    Said {
        /// How the process ends.
        exit: Exit,
        /// What is wrong; never empty.
        complaints: Vec<Complaint>,
    },
    /// The result could not be written. A closed pipe is no failure, and `main` treats it as none.
    Output(io::Error),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// File, line, column and field, as far as they are known.
    pub place: Option<String>,
    /// What is wrong, with the value.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Complaint {
    /// A complaint without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Complaint { place: None, message: message.into(), hint: None }
    }

    /// The same, about this place.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The same, with what would be right.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Failure {
    /// Several complaints about the input.
    pub fn input(complaints: Vec<Complaint>) -> Self {
        Failure::Said { exit: Exit::BadInput, complaints }
    }

    /// One complaint about the limits of OEF.
    pub fn limit(complaint: Complaint) -> Self {
        Failure::Said { exit: Exit::Limit, complaints: vec![complaint] }
    }
}

impl From<Complaint> for Failure {
    fn from(complaint: Complaint) -> Self {
        Failure::input(vec![complaint])
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let exit = if error.is_limit { Exit::Limit } else { Exit::BadInput };
        let complaint = |bad: oef_sim::input::BadRow| Complaint {
            place: Some(bad.place()),
            message: bad.message,
            hint: bad.hint,
        };
        Failure::Said { exit, complaints: error.problems.into_iter().map(complaint).collect() }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let place = match &error {
            ClientError::Refused(problem) => problem.field.clone(),
            _ => None,
        };
        let complaint = Complaint { place, message: error.to_string(), hint: error.hint() };
        let exit = error.problem().map_or(Exit::Server, exit_of);
        Failure::Said { exit, complaints: vec![complaint] }
    }
}

/// What a refusal of the daemon means for a script: a value that is wrong, wherever that was noticed, is bad
/// input; a limit is a limit; and what is left is the server's own no. A job that is not there may be another
/// tenant's, so that is a no.
pub fn exit_of(problem: &ApiError) -> Exit {
    match (problem.status, problem.kind.as_str()) {
        (_, "limit_reached") | (413, _) => Exit::Limit,
        (_, kind) if kind.starts_with("unknown_") => Exit::BadInput,
        (400 | 422, _) => Exit::BadInput,
        _ => Exit::Server,
    }
}

impl From<SolveError> for Failure {
    fn from(error: SolveError) -> Self {
        let hint = match &error {
            SolveError::TooLarge { .. } => {
                "merge tenants with equal profiles, or take `noncooperative`, which has no such limit"
            }
            SolveError::Numerical { .. } => {
                "check the units of the throughputs and weights; a huge range between them is the \
                 usual cause"
            }
        };
        Failure::limit(Complaint::new(error.to_string()).hint(hint))
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        Complaint::new(error.to_string()).into()
    }
}

impl From<WhatIfError> for Failure {
    fn from(error: WhatIfError) -> Self {
        match error {
            WhatIfError::Solve(error) => error.into(),
            WhatIfError::Change(error) => {
                Complaint::new(error.to_string()).at("the changes").into()
            }
            WhatIfError::Invalid(invalid) => {
                let limit = invalid.0.iter().find(|e| e.is_limit);
                let complaint = |e: &oef_core::ProblemError| {
                    Complaint::new(e.message.as_str())
                        .at("the changed problem")
                        .hint(e.hint.as_str())
                };
                match limit {
                    Some(error) => Failure::limit(complaint(error)),
                    None => Failure::input(invalid.0.iter().map(complaint).collect()),
                }
            }
        }
    }
}
