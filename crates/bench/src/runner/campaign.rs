//! Which blocks are measured, and when it is enough: first a few of everything, then more of what they left
//! open.

use std::time::{Duration, Instant};

use super::Error;
use super::journal::Journal;
use super::measure::Trial;
use super::network::Delay;
use super::unit::{Common, Unit};
use crate::compare::forecast::forecasts;
use crate::compare::outlook::{Open, open};
use crate::results::Cell;
use crate::statistics::PLANNED_POWER;
use crate::terminal::Progress;
use crate::text::percent;

/// How much longer than planned a search may take: the spread of a few runs is known roughly, and the look
/// after the planned one takes twice as many.
const PLAN_SLACK: f64 = 2.2;

/// How long a benchmark may go on after the first look at everything.
pub(crate) struct Limits {
    /// When it ends.
    pub(crate) until: Instant,
    /// Ratios within this share of 1 count as the same.
    pub(crate) same_within: f64,
    /// Whether it ends when what the first look planned is done.
    pub(crate) is_planned: bool,
}

/// A point of an experiment with its delays.
pub(crate) struct Measured<'a> {
    units: Vec<Unit<'a>>,
    is_prepared: bool,
}

impl<'a> Measured<'a> {
    /// The point of `trials`, one for each of `delays`.
    pub(crate) fn new(trials: &'a [Trial<'a>], delays: &'a [Delay]) -> Self {
        let units = trials.iter().zip(delays.iter().zip(0..)).map(|(trial, delay)| Unit::new(trial, delay));
        Self { units: units.collect(), is_prepared: false }
    }

    /// Measures one unit until it has `blocks`, and prepares what it needs unless the journal has them all.
    async fn measure(
        &mut self,
        index: usize,
        blocks: u32,
        common: &Common<'_>,
        (journal, progress): (&mut Journal, &mut Progress),
    ) -> Result<(), Error> {
        let unit = &mut self.units[index];
        if !self.is_prepared && !unit.all_known(common, journal, blocks) {
            let trial = unit.trial();
            progress.step(&format!("{}: preparing", trial.name()));
            trial.stop.or(trial.prepare(common.arms)).await?;
            if trial.hosts.is_none() {
                let waiting = common.delegating.wait(trial, common.arms, progress);
                trial.stop.or(Box::pin(waiting)).await?;
            }
            self.is_prepared = true;
        }
        progress.step(&unit.name());
        unit.measure(common, blocks, journal, progress).await
    }
}

/// Looks at everything once, and then measures what is open until all is decided or the time is used up.
/// Gives the cells of all points, in their order.
pub(crate) async fn measure(
    points: &mut [Measured<'_>],
    common: &Common<'_>,
    limits: &Limits,
    (journal, progress): (&mut Journal, &mut Progress),
) -> Result<Vec<Cell>, Error> {
    let first = common.looks.first().map_or(0, |look| look.blocks);
    for point in points.iter_mut() {
        for index in 0..point.units.len() {
            point.measure(index, first, common, (journal, progress)).await?;
        }
    }
    let mut until = limits.until;
    if limits.is_planned {
        let forecast = plan(points, common, limits.same_within);
        progress.note(&forecast.sentence);
        until = until.min(Instant::now() + Duration::from_secs_f64(forecast.seconds * PLAN_SLACK));
    }
    loop {
        let cells = cells(points, common);
        let left = until.saturating_duration_since(Instant::now());
        let open = open(&cells, limits.same_within);
        let Some(chosen) = next(points, common, &open, left) else { return Ok(cells) };
        let point = &mut points[chosen.point];
        let more = chosen.blocks - point.units[chosen.unit].blocks();
        progress.goes_on(open.len(), u64::from(more) * common.arms.len() as u64);
        point.measure(chosen.unit, chosen.blocks, common, (journal, progress)).await?;
    }
}

/// What is left to do until a difference of a given size is found.
struct Planned {
    sentence: String,
    seconds: f64,
}

/// Plans from the spread of the first look how long finding a difference of `share` takes.
fn plan(points: &[Measured<'_>], common: &Common<'_>, share: f64) -> Planned {
    let cells = cells(points, common);
    let forecasts = forecasts(&cells, share);
    let blocks_of = |unit: &Unit<'_>| {
        let own = forecasts.iter().filter(|forecast| unit.has(common, forecast.candidate));
        own.filter_map(|forecast| forecast.blocks).max().unwrap_or_else(|| unit.blocks())
    };
    let units = || points.iter().flat_map(|point| &point.units);
    let more = |unit: &Unit<'_>| f64::from(blocks_of(unit).saturating_sub(unit.blocks()));
    let seconds = units().map(|unit| more(unit) * unit.block_seconds().unwrap_or_default()).sum();
    let runs: f64 = units().map(|unit| more(unit) * common.arms.len() as f64).sum();
    let found = forecasts.iter().filter(|forecast| forecast.blocks.is_some()).count();
    let sentence = format!(
        "A difference of {} is found with a chance of {} in {found} of {} comparisons: about {runs} \
         more runs, {}.",
        percent(share),
        percent(PLANNED_POWER),
        forecasts.len(),
        duration(seconds),
    );
    Planned { sentence, seconds }
}

/// "45 s" or "3 min".
fn duration(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

/// The cells of each point: part by part, with the delays of each one after the other.
fn cells(points: &[Measured<'_>], common: &Common<'_>) -> Vec<Cell> {
    points.iter().flat_map(|point| &point.units).flat_map(|unit| unit.cells(common)).collect()
}

/// The unit that gets more blocks: the one whose open comparisons will be decided soonest. None when nothing
/// is open, or when there is no time for the next look at any of them.
fn next(
    points: &[Measured<'_>],
    common: &Common<'_>,
    open: &[Open<'_>],
    left: Duration,
) -> Option<Candidate> {
    let places = points.iter().enumerate().flat_map(|(point, measured)| {
        measured.units.iter().enumerate().map(move |(unit, measured)| ((point, unit), measured))
    });
    let costs = places.filter_map(|((point, nth), unit)| {
        let own = || open.iter().filter(|open| unit.has(common, open.candidate));
        own().next()?;
        let look = common.looks.iter().find(|look| look.blocks > unit.blocks())?;
        let seconds = unit.block_seconds().unwrap_or_default();
        let of = |blocks: u32| f64::from(blocks - unit.blocks()) * seconds;
        let soonest = own().filter_map(|open| open.blocks).filter(|blocks| *blocks > unit.blocks()).min();
        let to_next = of(look.blocks);
        let to_decision = soonest.map(of);
        let candidate = Candidate { point, unit: nth, blocks: look.blocks, to_next, to_decision };
        (to_next <= left.as_secs_f64()).then_some(candidate)
    });
    cheapest(costs, left.as_secs_f64())
}

/// A unit that may get more blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    point: usize,
    unit: usize,
    /// Of its next look.
    blocks: u32,
    /// Seconds to that look.
    to_next: f64,
    /// Seconds to the look that will probably decide one of its comparisons; none where none will.
    to_decision: Option<f64>,
}

/// The one that will be decided soonest; those that will not be decided in the seconds that are left come
/// last.
fn cheapest(candidates: impl Iterator<Item = Candidate>, left: f64) -> Option<Candidate> {
    let rank = |candidate: &Candidate| match candidate.to_decision {
        Some(seconds) if seconds <= left => (false, seconds),
        _ => (true, candidate.to_next),
    };
    candidates.min_by(|one, other| {
        let ((late, seconds), (other_late, other_seconds)) = (rank(one), rank(other));
        late.cmp(&other_late).then(seconds.total_cmp(&other_seconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_that_needs_fewest_runs_comes_first() {
        let candidate =
            |unit, to_next, to_decision| Candidate { point: 0, unit, blocks: 12, to_next, to_decision };
        let three = [candidate(0, 1.0, None), candidate(1, 3.0, Some(9.0)), candidate(2, 2.0, Some(30.0))];
        let chosen = |left| cheapest(three.into_iter(), left).unwrap().unit;
        assert_eq!(chosen(60.0), 1);
        assert_eq!(chosen(20.0), 1);
        assert_eq!(chosen(5.0), 0, "none will be decided in time, and the first costs least");
        assert_eq!(cheapest([].into_iter(), 60.0), None);
    }
}
