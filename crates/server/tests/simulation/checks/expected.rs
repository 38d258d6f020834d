//! No client was told what cannot be: a status that its request does not allow, or the loss of what it holds.

use crate::history::{History, Violation, What};

pub fn check(history: &History) -> Result<(), Violation> {
    for entry in &history.entries {
        if let What::Unexpected(what) = &entry.what {
            return Err(Violation(format!("at {} ms: unexpected: {what}", entry.at_ms)));
        }
    }
    Ok(())
}
