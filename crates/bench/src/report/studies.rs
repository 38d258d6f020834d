//! The rows of the figures that show each experiment in the form in which its study drew it.

use serde::Serialize;

use crate::results::{Asked, Cell, Form, Results, Timeline};
use crate::text::{number, percent};

/// One experiment's figure.
#[derive(Debug, Serialize)]
pub(super) struct Study {
    pub(super) name: String,
    pub(super) question: String,
    pub(super) study: String,
    pub(super) form: &'static str,
    /// What the axis across is called.
    pub(super) x: String,
    /// The unit; empty where the panels have units of their own.
    pub(super) unit: String,
    pub(super) points: Vec<Point>,
    pub(super) marks: Vec<Published>,
    pub(super) shares: Vec<Share>,
    pub(super) rates: Vec<Rate>,
}

/// A mean with its interval.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) panel: String,
    pub(super) x: String,
    pub(super) version: String,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) shown: String,
}

/// A published value in the place of ours.
#[derive(Debug, Serialize)]
pub(super) struct Published {
    pub(super) panel: String,
    pub(super) x: String,
    pub(super) version: String,
    pub(super) value: f64,
    pub(super) label: String,
}

/// The share of one kind of request.
#[derive(Debug, Serialize)]
pub(super) struct Share {
    pub(super) panel: String,
    pub(super) version: String,
    pub(super) operation: String,
    pub(super) share: f64,
}

/// What one client did in one slice of time.
#[derive(Debug, Serialize)]
pub(super) struct Rate {
    pub(super) panel: String,
    pub(super) client: String,
    pub(super) seconds: f64,
    pub(super) rate: f64,
}

/// The figures of the experiments that have a form of their own, factors, or published values.
pub(super) fn studies(results: &Results) -> Vec<Study> {
    results.experiments.iter().filter_map(|asked| study(asked, results)).collect()
}

fn study(asked: &Asked, results: &Results) -> Option<Study> {
    let cells: Vec<&Cell> =
        results.cells.iter().filter(|cell| cell.setting.experiment == asked.name).collect();
    let is_plain = cells.iter().all(|cell| cell.setting.levels.is_empty())
        && asked.figure.form == Form::Bars
        && asked.published.is_empty();
    if cells.is_empty() || is_plain {
        return None;
    }
    let panels = Panels::of(asked, &cells);
    let points = cells.iter().map(|cell| panels.point(cell)).collect();
    let is_mix = asked.figure.form == Form::Mix;
    let is_timeline = asked.figure.form == Form::Timeline;
    Some(Study {
        name: asked.name.clone(),
        question: asked.question.clone(),
        study: asked.study.clone(),
        form: asked.figure.form.as_str(),
        x: axis_title(&asked.figure.x),
        unit: panels.unit(&cells),
        points,
        marks: marks(asked, results, &panels),
        shares: if is_mix { cells.iter().flat_map(|cell| panels.shares(cell)).collect() } else { Vec::new() },
        rates: if is_timeline {
            cells.iter().flat_map(|cell| panels.rates(cell)).collect()
        } else {
            Vec::new()
        },
    })
}

fn axis_title(x: &str) -> String {
    let last = x.rsplit('.').next().unwrap_or(x);
    match last {
        "delay" => "round-trip delay".to_owned(),
        "clients" => "clients".to_owned(),
        "threads" => "threads of each client".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Which part of a figure a cell belongs to.
struct Panels<'a> {
    asked: &'a Asked,
    /// Phases may have units of their own, which cannot share a scale.
    with_units: bool,
}

impl<'a> Panels<'a> {
    fn of(asked: &'a Asked, cells: &[&Cell]) -> Self {
        let first = cells.first().map(|cell| &cell.setting.metric.unit);
        Self { asked, with_units: cells.iter().any(|cell| Some(&cell.setting.metric.unit) != first) }
    }

    fn panel(&self, cell: &Cell) -> String {
        let panel = self.asked.panel(&cell.setting.levels, cell.setting.rtt_ms);
        match (self.with_units, panel.is_empty()) {
            (false, _) => panel,
            (true, true) => cell.setting.metric.unit.clone(),
            (true, false) => format!("{} · {panel}", cell.setting.metric.unit),
        }
    }

    fn unit(&self, cells: &[&Cell]) -> String {
        match (self.asked.figure.form, self.with_units) {
            (Form::Mix, _) => "shares of the requests".to_owned(),
            (_, true) => String::new(),
            (_, false) => cells.first().map(|cell| cell.setting.metric.unit.clone()).unwrap_or_default(),
        }
    }

    fn place(&self, cell: &Cell) -> String {
        self.asked.place(&cell.setting.levels, cell.setting.rtt_ms)
    }

    fn point(&self, cell: &Cell) -> Point {
        let [low, high] = cell.ci95.unwrap_or([cell.mean; 2]);
        Point {
            panel: self.panel(cell),
            x: self.place(cell),
            version: cell.version_name(),
            mean: cell.mean,
            low: low.max(0.0),
            high,
            shown: format!("{} {}", number(cell.mean), cell.setting.metric.unit),
        }
    }

    /// Where a cell is, whatever the axis across is.
    fn setting(&self, cell: &Cell) -> String {
        let parts = [self.place(cell), self.asked.panel(&cell.setting.levels, cell.setting.rtt_ms)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn shares(&self, cell: &Cell) -> Vec<Share> {
        let share = |(operation, count): (&String, &u64)| Share {
            panel: self.setting(cell),
            version: cell.version_name(),
            operation: operation.clone(),
            share: *count as f64 / cell.rpcs_total.max(1) as f64,
        };
        cell.rpcs.iter().map(share).collect()
    }

    fn rates(&self, cell: &Cell) -> Vec<Rate> {
        let Some(timeline) = cell.median_run().and_then(|run| run.timeline.as_ref()) else {
            return Vec::new();
        };
        let of_client = |(client, values): (usize, &Vec<f64>)| {
            let panel =
                format!("{} · {}{}", cell.version_name(), self.setting(cell), remarks(timeline, cell));
            let rate = move |(nth, rate): (usize, &f64)| Rate {
                panel: panel.clone(),
                client: format!("client {}", client + 1),
                seconds: nth as f64 * timeline.slice_seconds,
                rate: *rate,
            };
            values.iter().enumerate().map(rate).collect::<Vec<_>>()
        };
        timeline.clients.iter().enumerate().flat_map(of_client).collect()
    }
}

/// What a timeline says in numbers.
fn remarks(timeline: &Timeline, cell: &Cell) -> String {
    let slow = timeline
        .slow_share()
        .map(|share| format!(" · {} of the time below half of the mean", percent(share)));
    let fairness = cell.fairness.map(|index| format!(" · fairness {}", number(index)));
    [slow, fairness].into_iter().flatten().collect()
}

/// The published values that have a place beside ours: of the same unit, for a setting that was measured.
fn marks(asked: &Asked, results: &Results, panels: &Panels<'_>) -> Vec<Published> {
    let mark = |mark: &crate::results::Mark| {
        let cell = mark.cell(&asked.name, results)?;
        (mark.unit == cell.setting.metric.unit).then(|| Published {
            panel: panels.panel(cell),
            x: panels.place(cell),
            version: cell.version_name(),
            value: mark.value,
            label: format!("{}: {} {} ({})", mark.label, number(mark.value), mark.unit, mark.source),
        })
    };
    asked.published.iter().filter_map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Figure;
    use crate::samples;

    #[test]
    fn published_values_of_the_same_unit_stand_beside_ours() {
        let results = samples::results();
        let studies = studies(&results);
        let scan = studies.iter().find(|study| study.name == "sequential-read").unwrap();
        assert_eq!((scan.form, scan.points.len()), ("bars", 6));
        let marks: Vec<(&str, f64)> = scan.marks.iter().map(|mark| (mark.x.as_str(), mark.value)).collect();
        assert_eq!(marks, [("10 ms", 1177.0), ("0 ms", 112.0)]);
        assert!(!studies.iter().any(|study| study.name == "create"), "it has nothing of its own to show");
        let locked = studies.iter().find(|study| study.name == "locked-read").unwrap();
        assert!(locked.marks.is_empty(), "ratios have no place among rates");
    }

    #[test]
    fn each_form_has_its_rows() {
        let mut results = samples::results();
        let asked =
            |form| Asked { figure: Figure { form, x: "delay".to_owned() }, ..results.experiments[0].clone() };
        let (mix, timeline) = (asked(Form::Mix), asked(Form::Timeline));
        let shares = study(&mix, &results).unwrap().shares;
        let sum: f64 = shares
            .iter()
            .filter(|share| share.version == "v3" && share.panel == "0 ms")
            .map(|share| share.share)
            .sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        assert!(study(&timeline, &results).unwrap().rates.is_empty(), "no run has a timeline");
        let rates = Timeline {
            slice_seconds: 0.5,
            values: vec![3.0; 2],
            clients: vec![vec![1.0; 2], vec![2.0; 2]],
            client_reads: Vec::new(),
        };
        for run in &mut results.cells[0].run_details {
            run.timeline = Some(rates.clone());
        }
        let rates = study(&timeline, &results).unwrap().rates;
        assert_eq!(rates.len(), 4);
        assert!(rates[3].panel.contains("0 % of the time below half of the mean"), "{}", rates[3].panel);
        assert_eq!((rates[3].client.as_str(), rates[3].seconds, rates[3].rate), ("client 2", 0.5, 2.0));
    }
}
