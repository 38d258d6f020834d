//! What the live view knows: folded from what the runner tells and from readings of the meters.
//!
//! Owns no clock and no terminal: times are arguments, counted from the moment when the view was opened.

use std::collections::VecDeque;
use std::time::Duration;

use super::window::Window;
use crate::results::{Run, Setting};
use crate::statistics::percentile;
use crate::terminal::progress::Beginning;
use crate::workload::Reading;

/// More notes than this are on no screen.
const NOTES_MAX: usize = 100;

/// What does not change while it is measured.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    /// "builtin" or the server's address.
    pub(crate) server: String,
    /// The kind of client.
    pub(crate) client: String,
    /// All runs of the plan.
    pub(crate) runs_total: u64,
}

/// What the runner tells.
#[derive(Debug)]
pub(super) enum Event {
    /// There are so many runs more than was known.
    MoreRuns(u64),
    Step(String),
    RunBegins(Beginning),
    /// A part of the run that is just over, or of one that an earlier benchmark made.
    Measured(Measured),
    RunDone,
    /// Something that must also be said when the view is closed.
    Note(String),
    /// Something that the results say anyway.
    Doubt(String),
    /// Somebody has asked to stop.
    Stopping,
}

/// What was measured, as the view has it.
#[derive(Debug)]
pub(super) struct Measured {
    row: Row,
    doubts: Vec<String>,
}

impl Measured {
    pub(super) fn of(setting: &Setting, run: &Run) -> Self {
        let name = setting.name();
        let what = name.strip_prefix(&setting.experiment).unwrap_or(&name);
        let row = Row {
            experiment: setting.experiment.clone(),
            what: what.trim_start_matches(" · ").to_owned(),
            arm: setting.arm_id().name(),
            rtt_ms: setting.rtt_ms,
            unit: setting.metric.unit.clone(),
            values: vec![run.value],
            requests: run.rpcs.values().sum(),
            operations: run.operations,
        };
        Self { row, doubts: run.doubts.clone() }
    }
}

/// All runs of one arm in one setting.
#[derive(Debug, Clone)]
pub(super) struct Row {
    experiment: String,
    /// Levels and phase, where the experiment has several.
    pub(super) what: String,
    pub(super) arm: String,
    pub(super) rtt_ms: f64,
    pub(super) unit: String,
    values: Vec<f64>,
    requests: u64,
    operations: u64,
}

impl Row {
    fn is_of(&self, other: &Self) -> bool {
        (&self.what, &self.arm, self.rtt_ms) == (&other.what, &other.arm, other.rtt_ms)
    }

    pub(super) fn runs(&self) -> usize {
        self.values.len()
    }

    pub(super) fn median(&self) -> f64 {
        percentile(&self.values, 50.0).unwrap_or(f64::NAN)
    }

    /// From the lowest to the highest value, as a share of the median; none of one run.
    pub(super) fn spread(&self) -> Option<f64> {
        let lowest = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (self.values.len() > 1 && self.median() != 0.0).then(|| (highest - lowest) / self.median())
    }

    /// None without operations.
    pub(super) fn requests_per_operation(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.requests as f64 / self.operations as f64)
    }
}

/// A run that is under way, or the last one.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) beginning: Beginning,
    pub(super) since: Duration,
    pub(super) is_over: bool,
    pub(super) window: Window,
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) watched: Watched,
    pub(super) step: String,
    pub(super) runs_done: u64,
    /// Those of them that were made now, and the time from the begin of the first to the end of the last.
    measured: u64,
    first_began: Option<Duration>,
    last_ended: Duration,
    pub(super) rows: Vec<Row>,
    pub(super) running: Option<Running>,
    /// The latest last.
    pub(super) notes: VecDeque<String>,
    pub(super) is_stopping: bool,
    to_say: Vec<String>,
}

impl Model {
    pub(super) fn new(watched: Watched) -> Self {
        Self {
            watched,
            step: String::new(),
            runs_done: 0,
            measured: 0,
            first_began: None,
            last_ended: Duration::ZERO,
            rows: Vec::new(),
            running: None,
            notes: VecDeque::new(),
            is_stopping: false,
            to_say: Vec::new(),
        }
    }

    /// Takes in what happened at `at`.
    pub(super) fn apply(&mut self, event: Event, at: Duration) {
        match event {
            Event::MoreRuns(runs) => self.watched.runs_total += runs,
            Event::Step(name) => self.step = name,
            Event::RunBegins(beginning) => {
                self.first_began.get_or_insert(at);
                let window = Window::default();
                self.running = Some(Running { beginning, since: at, is_over: false, window });
            }
            Event::Measured(measured) => self.measured(measured),
            Event::RunDone => self.run_done(at),
            Event::Note(text) => {
                self.to_say.push(text.clone());
                self.note(text);
            }
            Event::Doubt(text) => self.note(text),
            Event::Stopping => self.is_stopping = true,
        }
    }

    /// Takes in what the meters of the run under way showed at `at`.
    pub(super) fn sample(&mut self, reading: Reading, at: Duration) {
        if let Some(running) = self.running.as_mut().filter(|running| !running.is_over) {
            running.window.push(at, reading);
        }
    }

    /// How long the rest takes at the pace of the runs so far; none before the first is over.
    pub(super) fn time_left(&self, at: Duration) -> Option<Duration> {
        let left = self.watched.runs_total.saturating_sub(self.runs_done);
        if left == 0 {
            return Some(Duration::ZERO);
        }
        let taken = self.last_ended.saturating_sub(self.first_began?);
        let each = taken.checked_div(u32::try_from(self.measured).ok()?)?;
        let all = each.saturating_mul(u32::try_from(left).unwrap_or(u32::MAX));
        Some(all.saturating_sub(at.saturating_sub(self.last_ended)))
    }

    /// What is to be said when the view is closed.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.to_say
    }

    /// The experiment that the rows are of.
    pub(super) fn experiment(&self) -> Option<&str> {
        self.rows.first().map(|row| row.experiment.as_str())
    }

    fn measured(&mut self, Measured { row, doubts }: Measured) {
        if self.experiment().is_some_and(|experiment| experiment != row.experiment) {
            self.rows.clear();
        }
        for doubt in doubts {
            self.note(format!("{} {} at {} ms: {doubt}", row.experiment, row.arm, row.rtt_ms));
        }
        match self.rows.iter_mut().find(|known| known.is_of(&row)) {
            Some(known) => {
                known.values.extend(row.values);
                known.requests += row.requests;
                known.operations += row.operations;
            }
            None => self.rows.push(row),
        }
    }

    fn run_done(&mut self, at: Duration) {
        self.runs_done += 1;
        if let Some(running) = self.running.as_mut().filter(|running| !running.is_over) {
            running.is_over = true;
            self.measured += 1;
            self.last_ended = at;
        }
    }

    fn note(&mut self, text: String) {
        self.notes.push_back(text);
        if self.notes.len() > NOTES_MAX {
            self.notes.pop_front();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::samples;

    pub(in super::super) fn watched(runs_total: u64) -> Watched {
        Watched { server: "builtin".to_owned(), client: "builtin".to_owned(), runs_total }
    }

    pub(in super::super) fn beginning(arm: &str, clients: u32) -> Beginning {
        Beginning {
            name: "locked-read".to_owned(),
            arm: arm.to_owned(),
            rtt_ms: 10.0,
            repetition: 2,
            repetitions: 5,
            clients,
            threads: 4,
            is_here: true,
        }
    }

    pub(in super::super) fn measured(version: &str, value: f64, doubts: &[&str]) -> Event {
        let run = Run {
            value,
            operations: 100,
            rpcs: [("READ".to_owned(), 150), ("LOCK".to_owned(), 50)].into(),
            doubts: doubts.iter().map(|doubt| (*doubt).to_owned()).collect(),
            ..Run::default()
        };
        Event::Measured(Measured::of(&samples::setting(version, 10.0), &run))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn runs_of_one_setting_are_one_row_and_another_experiment_begins_anew() {
        let mut model = Model::new(watched(8));
        for (version, value) in [("3", 100.0), ("4.1", 300.0), ("4.1", 330.0), ("3", 90.0), ("3", 110.0)] {
            model.apply(measured(version, value, &[]), seconds(1));
            model.apply(Event::RunDone, seconds(1));
        }
        let rows: Vec<_> =
            model.rows.iter().map(|row| (row.arm.as_str(), row.runs(), row.median())).collect();
        assert_eq!(rows, [("v3", 3, 100.0), ("v4.1", 2, 315.0)]);
        assert!((model.rows[0].spread().unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(model.rows[0].requests_per_operation(), Some(2.0));
        assert_eq!((model.runs_done, model.experiment()), (5, Some("locked-read")));
        let other = Setting { experiment: "create".to_owned(), ..samples::setting("3", 10.0) };
        model.apply(Event::Measured(Measured::of(&other, &Run::default())), seconds(2));
        assert_eq!((model.rows.len(), model.experiment()), (1, Some("create")));
        assert_eq!((model.rows[0].spread(), model.rows[0].requests_per_operation()), (None, None));
    }

    #[test]
    fn a_row_is_named_by_what_tells_it_from_the_others() {
        let levels = [("phase".to_owned(), "find".to_owned())].into();
        let setting = Setting { levels, ..samples::setting("4.1", 0.0) };
        assert_eq!(Measured::of(&setting, &Run::default()).row.what, "find");
        assert_eq!(Measured::of(&samples::setting("4.1", 0.0), &Run::default()).row.what, "");
    }

    #[test]
    fn the_time_left_follows_from_runs_that_were_made_now() {
        let mut model = Model::new(watched(10));
        // Of an earlier benchmark.
        for _ in 0..2 {
            model.apply(Event::RunDone, seconds(1));
        }
        assert_eq!(model.time_left(seconds(1)), None);
        for run in 0..4 {
            model.apply(Event::RunBegins(beginning("v3", 1)), seconds(10 + run * 5));
            model.apply(Event::RunDone, seconds(15 + run * 5));
        }
        assert_eq!((model.runs_done, model.time_left(seconds(30))), (6, Some(seconds(20))));
        assert_eq!(model.time_left(seconds(33)), Some(seconds(17)));
        assert_eq!(model.time_left(seconds(300)), Some(Duration::ZERO));
    }

    #[test]
    fn readings_count_for_the_run_under_way_and_stay_until_the_next() {
        let reading = |done| Reading {
            began: Some(seconds(1)),
            clients: vec![done],
            calls: vec![done],
            ..Reading::default()
        };
        let mut model = Model::new(watched(2));
        model.sample(reading(1), seconds(2));
        assert!(model.running.is_none());
        model.apply(Event::RunBegins(beginning("v3", 1)), seconds(1));
        model.sample(reading(50), seconds(2));
        model.apply(Event::RunDone, seconds(3));
        model.sample(reading(5000), seconds(4));
        let running = model.running.as_ref().unwrap();
        assert!(running.is_over && running.since == seconds(1));
        assert_eq!(running.window.figures().unwrap().rate, 50.0);
        model.apply(Event::RunBegins(beginning("v4.1", 1)), seconds(5));
        assert_eq!(model.running.unwrap().window.figures(), None);
    }

    #[test]
    fn notes_are_said_again_and_doubts_are_shown_only() {
        let mut model = Model::new(watched(1));
        model.apply(Event::Note("Removed /old.".to_owned()), seconds(0));
        model.apply(measured("3", 1.0, &["The skew is large."]), seconds(1));
        for nth in 0..NOTES_MAX {
            model.apply(Event::Doubt(format!("doubt {nth}")), seconds(2));
        }
        assert_eq!((model.notes.len(), model.notes[0].as_str()), (NOTES_MAX, "doubt 0"));
        assert_eq!(model.into_notes(), ["Removed /old."]);
    }
}
