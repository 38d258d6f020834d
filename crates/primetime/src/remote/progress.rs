//! A line on standard error that tells how far the work is, where somebody looks at it.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::time::Duration;

use client::TreeProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const REDRAW: Duration = Duration::from_millis(100);

/// Items, bytes and rate. Cleared when dropped.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Shows nothing where standard error is no terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        Self { bar: (wanted && stderr().is_terminal()).then(|| bar(ProgressDrawTarget::stderr())) }
    }

    /// What is worked on.
    pub(crate) fn begin(&self, what: impl std::fmt::Display) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(what.to_string());
            bar.enable_steady_tick(REDRAW);
        }
    }

    /// This many bytes were moved.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    /// What work on a tree calls.
    pub(crate) fn of_tree(&self) -> Option<client::Progress> {
        let bar = self.bar.clone()?;
        let before = bar.position();
        Some(Arc::new(move |done: &TreeProgress| {
            bar.set_position(before + done.bytes);
            bar.set_message(format!("{} items, {} requests", done.items, done.requests));
        }))
    }

    /// Says something that must not be overdrawn. A standard error that is closed does not stop the work.
    pub(crate) fn say(&self, line: &str) {
        let write = || {
            let _ = writeln!(stderr(), "{line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(target: ProgressDrawTarget) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {prefix}  {binary_bytes} {binary_bytes_per_sec}  {msg}")
            .expect("the template is constant and tested");
    ProgressBar::with_draw_target(None, target).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_counts_on_from_what_was_before() {
        let progress = Progress { bar: Some(bar(ProgressDrawTarget::hidden())) };
        progress.add_bytes(10);
        progress.of_tree().unwrap()(&TreeProgress { items: 3, bytes: 5, requests: 2 });
        let bar = progress.bar.as_ref().unwrap();
        assert_eq!((bar.position(), bar.message()), (15, "3 items, 2 requests".to_owned()));
        progress.clear();
        assert!(bar.is_finished());
    }
}
