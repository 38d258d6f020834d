//! Plain text for pipes and files, lines and colours for people at a terminal.

use std::io::{IsTerminal, stdout};

/// How to lay out text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Columns of plain text, no control characters.
    Plain,
    /// Rules between columns, and colours unless switched off.
    Terminal {
        /// Whether to colour.
        colours: bool,
    },
}

impl Style {
    /// The style that fits standard output; the variable `NO_COLOR` with any value switches colours off.
    #[must_use]
    pub fn of_stdout() -> Self {
        if stdout().is_terminal() {
            let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            Self::Terminal { colours }
        } else {
            Self::Plain
        }
    }
}
