//! Whether something holds, at a glance.

use owo_colors::Style;

/// What a line about a property begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// Neither is proven.
    Open,
}

impl Mark {
    /// From whether it holds.
    pub fn of(holds: bool) -> Mark {
        if holds { Mark::Holds } else { Mark::Fails }
    }

    /// One character.
    pub fn symbol(self) -> &'static str {
        match self {
            Mark::Holds => "✓",
            Mark::Fails => "✗",
            Mark::Open => "?",
        }
    }

    /// The character in its colour.
    pub fn styled(self) -> String {
        self.style().style(self.symbol()).to_string()
    }

    /// Its colour.
    pub fn style(self) -> Style {
        match self {
            Mark::Holds => Style::new().green(),
            Mark::Fails => Style::new().red(),
            Mark::Open => Style::new().yellow(),
        }
    }
}
