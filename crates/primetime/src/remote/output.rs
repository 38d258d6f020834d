//! Standard output, which its reader may close at any time.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write, stdout};

use super::session::{End, Work};
use crate::failure::Failure;

/// Buffered standard output.
pub(crate) struct Output {
    to: BufWriter<Stdout>,
    /// Names are made safe to look at.
    terminal: bool,
}

/// Enough for a large READ.
const BUFFER_BYTES: usize = 64 << 10;

impl Output {
    pub(crate) fn new() -> Self {
        Self { to: BufWriter::with_capacity(BUFFER_BYTES, stdout()), terminal: stdout().is_terminal() }
    }

    /// True when somebody looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Work {
        self.to.write_all(bytes).map_err(|error| ended(&error))
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: &str) -> Work {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// Hands everything on. Has to be called at the end.
    pub(crate) fn flush(&mut self) -> Work {
        self.to.flush().map_err(|error| ended(&error))
    }
}

impl Drop for Output {
    /// Where work has stopped early, what it has found is shown all the same.
    fn drop(&mut self) {
        let _ = self.to.flush();
    }
}

fn ended(error: &io::Error) -> End {
    match error.kind() {
        ErrorKind::BrokenPipe => End::ReaderGone,
        _ => Failure::refused(format_args!(
            "cannot write to standard output: {error}; name another place for it"
        ))
        .into(),
    }
}
