//! How a command ends when it does not end well: one sentence with the cause and the mend, and an exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    sentence: String,
}

impl Failure {
    /// Something that was asked for and cannot be done (exit code 1).
    pub(crate) fn refused(sentence: impl fmt::Display) -> Self {
        Self { code: 1, sentence: sentence.to_string() }
    }

    /// A measurement that cannot be trusted (exit code 2).
    pub(crate) fn invalid_run(sentence: impl fmt::Display) -> Self {
        Self { code: 2, sentence: sentence.to_string() }
    }

    /// Something that must be put right before the command can work (exit code 3).
    pub(crate) fn set_up(sentence: impl fmt::Display) -> Self {
        Self { code: 3, sentence: sentence.to_string() }
    }

    /// As [`Failure::set_up`], when the sentence was printed already.
    pub(crate) fn said() -> Self {
        Self { code: 3, sentence: String::new() }
    }

    /// Something that could not be done and was told already (exit code 1).
    pub(crate) fn told() -> Self {
        Self { code: 1, sentence: String::new() }
    }

    /// A server sent names that no file can have. The warning was printed already (exit code 4).
    pub(crate) fn names_refused() -> Self {
        Self { code: 4, sentence: String::new() }
    }

    /// The user has ended it (exit code 130, as shells have it of SIGINT).
    pub(crate) fn interrupted(sentence: impl fmt::Display) -> Self {
        Self { code: 130, sentence: sentence.to_string() }
    }

    /// Prints the sentence and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.sentence.is_empty() {
            // A standard error that is closed is nobody's to be told of.
            let _ = writeln!(std::io::stderr(), "primetime: {}", self.sentence);
        }
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Prints what clap has to say: help and version are no failure, wrong usage is exit code 3.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let failed = error.use_stderr();
    // A closed pipe is the reader's choice, not ours to report.
    let _ = error.print();
    if failed { ExitCode::from(3) } else { ExitCode::SUCCESS }
}
