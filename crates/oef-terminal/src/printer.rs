//! The one place that writes: results to stdout, talk to stderr.

use crate::ascii::shown;
use crate::names::{safe, safe_lines};
use crate::{Complaint, Exit, Failure};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::io::{self, IsTerminal as _, Write as _};

/// After so many complaints the rest is only counted: they tend to have one cause.
const COMPLAINTS_SHOWN_MAX: usize = 20;

/// Owns both streams. What writes a result answers with [`Exit::Done`], so that it can end a command. Colours reach a terminal only, and not where `NO_COLOR` is set; with `LANG=C` text is ASCII.
#[derive(Debug, Default)]
pub struct Printer {
    _private: (),
}

impl Printer {
    /// Whether somebody watches stderr, so that progress is worth showing.
    pub fn is_watched(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Writes a result for people. Names in it are already safe.
    pub fn result(&self, text: &str) -> Result<Exit, Failure> {
        let mut out = anstream::AutoStream::auto(io::stdout().lock());
        out.write_all(shown(text).as_bytes())?;
        out.flush()?;
        Ok(Exit::Done)
    }

    /// Writes a result over the one before, where a terminal is watched; else below it.
    pub fn redraw(&self, text: &str) -> Result<Exit, Failure> {
        // Home, then each line up to its end, then what is left of the screen: nothing flickers.
        let over = format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"));
        let is_watched = io::stdout().is_terminal();
        self.result(if is_watched { &over } else { text })
    }

    /// Clears the screen, where a terminal is watched.
    pub fn clear(&self) -> Result<Exit, Failure> {
        if io::stdout().is_terminal() { self.result("\x1b[2J\x1b[H") } else { Ok(Exit::Done) }
    }

    /// Writes a result for machines: one JSON document and a line break.
    pub fn json(&self, document: &impl Serialize) -> Result<Exit, Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        serde_json::to_writer(&mut out, document).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(Exit::Done)
    }

    /// Writes a result for machines where they asked for it, else for people.
    pub fn show<D: Serialize>(
        &self,
        for_machines: bool,
        document: impl FnOnce() -> D,
        text: impl FnOnce() -> String,
    ) -> Result<Exit, Failure> {
        if for_machines { self.json(&document()) } else { self.result(&text()) }
    }

    /// Writes a result byte by byte as it is: a script, a man page.
    pub fn raw(&self, bytes: &[u8]) -> Result<Exit, Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(Exit::Done)
    }

    /// Says something beside the result.
    pub fn note(&self, text: &str) {
        self.talk(&format!("{} {}", "note:".cyan().bold(), safe_lines(text)));
    }

    /// Says something that the user may have meant otherwise.
    pub fn warn(&self, text: &str) {
        self.talk(&format!("{} {}", "warning:".yellow().bold(), safe_lines(text)));
    }

    /// Says what is wrong, one complaint after the other.
    pub fn complain(&self, complaints: &[Complaint]) {
        for complaint in complaints.iter().take(COMPLAINTS_SHOWN_MAX) {
            let place = complaint.place.as_deref().map(|p| format!("{}: ", safe(p).bold()));
            let (place, message) = (place.unwrap_or_default(), safe_lines(&complaint.message));
            self.talk(&format!("{} {place}{message}", "error:".red().bold()));
            if let Some(hint) = &complaint.hint {
                self.talk(&format!("  {} {}", "hint:".cyan(), safe_lines(hint)));
            }
        }
        let hidden = complaints.len().saturating_sub(COMPLAINTS_SHOWN_MAX);
        if hidden > 0 {
            self.talk(&format!("... and {hidden} more"));
        }
    }

    /// Stderr that cannot be written to leaves nobody to tell.
    fn talk(&self, line: &str) {
        let mut err = anstream::AutoStream::auto(io::stderr().lock());
        let _ = writeln!(err, "{}", shown(line));
    }
}
