//! Which cases are measured.

use oef_terminal::{Complaint, Failure};

/// What every case has.
pub trait Case: Copy {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Whether it is quick enough for a first look.
    fn is_quick(&self) -> bool;
}

/// The cases that were asked for: by their whole names, or else by a part of them.
pub fn choose<C: Case>(all: &[C], quick: bool, names: &[String]) -> Result<Vec<C>, Failure> {
    if names.is_empty() {
        return Ok(all.iter().copied().filter(|c| c.is_quick() || !quick).collect());
    }
    let exact = |name: &str| all.iter().any(|c| c.name() == name);
    let means = |case: &C, name: &str| {
        if exact(name) { case.name() == name } else { case.name().contains(name) }
    };
    // Naming a case is asking for it, however long it takes.
    let chosen: Vec<C> =
        all.iter().copied().filter(|c| names.iter().any(|n| means(c, n))).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = all.iter().map(Case::name).collect();
        let complaint = Complaint::new(format!("no case is called {}", names.join(" or ")));
        return Err(complaint.at("--cases").hint(format!("cases: {}", known.join(", "))).into());
    }
    Ok(chosen)
}
