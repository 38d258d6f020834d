//! How far a benchmark is.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::live::{Live, Watched};
use crate::results::{Run, Setting};
use crate::workload::Meters;

const REDRAW: Duration = Duration::from_millis(200);

/// Progress on standard error: a bar with the time that is left on a terminal, one line for each step
/// elsewhere, or a view of the whole terminal.
///
/// The bar counts runs; a step is what they belong to, such as an experiment at a delay. Dropping it clears
/// the bar.
#[derive(Debug)]
pub struct Progress {
    shown: Shown,
    runs_total: u64,
    runs_done: u64,
    /// Comparisons that are still open, once everything was measured a first time.
    undecided: Option<usize>,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines,
    Live(Live),
}

/// A run that begins.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    /// The experiment with its levels.
    pub(crate) name: String,
    /// How the version is shown to people.
    pub(crate) arm: String,
    /// The round-trip delay asked for, in milliseconds.
    pub(crate) rtt_ms: f64,
    /// Which of the runs of this arm in this setting it is, from 1.
    pub(crate) repetition: u32,
    /// How many they are.
    pub(crate) repetitions: u32,
    /// Clients that take part.
    pub(crate) clients: u32,
    /// The most threads that one of them has at the same time.
    pub(crate) threads: u32,
    /// Whether the clients are on this machine.
    pub(crate) is_here: bool,
}

impl Progress {
    /// Progress through `runs_total` runs.
    #[must_use]
    pub fn new(runs_total: u64) -> Self {
        let shown = match stderr().is_terminal() {
            true => Shown::Bar(bar(runs_total, ProgressDrawTarget::stderr())),
            false => Shown::Lines,
        };
        Self { shown, runs_total, runs_done: 0, undecided: None }
    }

    /// The same as a view of the whole terminal, in which somebody can ask to `stop`. Where that is not
    /// possible it says so, and is what [`Progress::new`] gives.
    pub(crate) fn live(watched: Watched, stop: impl Fn() + Send + 'static) -> Self {
        let runs_total = watched.runs_total;
        match Live::open(watched, stop) {
            Ok(live) => Self { shown: Shown::Live(live), runs_total, runs_done: 0, undecided: None },
            Err(cause) => {
                say(&format!("--live needs a terminal, and {cause}; the plain progress is shown instead."));
                Self::new(runs_total)
            }
        }
    }

    /// Whether it has the whole terminal.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.shown, Shown::Live(_))
    }

    /// Begins a step.
    pub fn step(&self, name: &str) {
        let name = match self.undecided {
            None => name.to_owned(),
            Some(count) => format!("{count} undecided, more of {name}"),
        };
        match &self.shown {
            Shown::Bar(bar) => bar.set_message(name),
            Shown::Lines => say(&line(self.runs_done, self.runs_total, &name)),
            Shown::Live(live) => live.step(&name),
        }
    }

    /// From now on each step is there for the sake of `undecided` comparisons, and there are so many `runs`
    /// more.
    pub(crate) fn goes_on(&mut self, undecided: usize, runs: u64) {
        self.undecided = Some(undecided);
        self.runs_total += runs;
        match &self.shown {
            Shown::Bar(bar) => bar.inc_length(runs),
            Shown::Lines => {}
            Shown::Live(live) => live.more_runs(runs),
        }
    }

    /// A run begins. Gives what its threads are to tell of their work, where somebody looks on.
    pub(crate) fn run_begins(&self, beginning: Beginning) -> Option<Arc<Meters>> {
        match &self.shown {
            Shown::Live(live) => live.run_begins(beginning),
            Shown::Bar(_) | Shown::Lines => None,
        }
    }

    /// What a part of a run gave, before [`Progress::run_done`].
    pub(crate) fn measured(&self, setting: &Setting, run: &Run) {
        if let Shown::Live(live) = &self.shown {
            live.measured(setting, run);
        }
    }

    /// One run is done.
    pub fn run_done(&mut self) {
        self.runs_done += 1;
        match &self.shown {
            Shown::Bar(bar) => bar.inc(1),
            Shown::Lines => {}
            Shown::Live(live) => live.run_done(),
        }
    }

    /// Says something that must not be overdrawn, such as what was removed.
    pub fn note(&self, text: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.println(text),
            Shown::Lines => say(text),
            Shown::Live(live) => live.note(text),
        }
    }

    /// A doubt that the results have anyway; shown where there is room.
    pub(crate) fn doubt(&self, text: &str) {
        if let Shown::Live(live) = &self.shown {
            live.doubt(text);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
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
pub(crate) fn say(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_counts_runs() {
        let hidden = bar(4, ProgressDrawTarget::hidden());
        let mut progress =
            Progress { shown: Shown::Bar(hidden.clone()), runs_total: 4, runs_done: 0, undecided: None };
        progress.step("create at 10 ms");
        progress.run_done();
        progress.run_done();
        let told = (hidden.position(), hidden.length(), hidden.message());
        assert_eq!(told, (2, Some(4), "create at 10 ms".to_owned()));
        progress.goes_on(7, 12);
        progress.step("create at 10 ms");
        let told = (hidden.length(), hidden.message());
        assert_eq!(told, (Some(16), "7 undecided, more of create at 10 ms".to_owned()));
        drop(progress);
        assert!(hidden.is_finished());
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(line(30, 240, "create at 10 ms"), "[30/240] create at 10 ms");
    }
}
