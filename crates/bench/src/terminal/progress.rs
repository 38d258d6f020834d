//! How far a benchmark is.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const REDRAW: Duration = Duration::from_millis(200);

/// Progress on standard error: a bar with the time that is left on a terminal, one line for each step elsewhere.
///
/// The bar counts runs; a step is what they belong to, such as an experiment at a delay. Dropping it clears the bar.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    runs_total: u64,
    runs_done: u64,
}

impl Progress {
    /// Progress through `runs_total` runs.
    #[must_use]
    pub fn new(runs_total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| bar(runs_total, ProgressDrawTarget::stderr()));
        Self { bar, runs_total, runs_done: 0 }
    }

    /// Begins a step.
    pub fn step(&self, name: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(name.to_owned()),
            None => say(&line(self.runs_done, self.runs_total, name)),
        }
    }

    /// One run is done.
    pub fn run_done(&mut self) {
        self.runs_done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Says something that must not be overdrawn, such as a doubt.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(runs_total: u64, target: ProgressDrawTarget) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left  {msg}")
        .expect("the template is constant and tested");
    let bar = ProgressBar::with_draw_target(Some(runs_total), target).with_style(style);
    bar.enable_steady_tick(REDRAW);
    bar
}

fn line(runs_done: u64, runs_total: u64, name: &str) -> String {
    format!("[{runs_done}/{runs_total}] {name}")
}

/// Writes a line; a standard error that is closed must not stop a benchmark.
fn say(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_counts_runs() {
        let mut progress =
            Progress { bar: Some(bar(4, ProgressDrawTarget::hidden())), runs_total: 4, runs_done: 0 };
        progress.step("create at 10 ms");
        progress.run_done();
        progress.run_done();
        let bar = progress.bar.clone().unwrap();
        assert_eq!((bar.position(), bar.length(), bar.message()), (2, Some(4), "create at 10 ms".to_owned()));
        drop(progress);
        assert!(bar.is_finished());
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(line(30, 240, "create at 10 ms"), "[30/240] create at 10 ms");
    }
}
