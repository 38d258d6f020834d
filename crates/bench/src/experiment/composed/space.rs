//! How much room the files of a composed workload take: what is there at the start, and what its phases make.

use super::{Composed, FileSet, Line, Phase, Step};
use crate::experiment::Space;

impl Composed {
    /// What it has on the server for `clients` clients: the files that are there before the first phase and
    /// those that phases make, each in the mean size of its set, and what they append.
    #[must_use]
    pub fn space(&self, clients: u32) -> Space {
        let mut space = Space::default();
        for (name, set) in &self.sets {
            let bytes = self.files_of(name, set, clients) * set.size.mean();
            if self.is_made_anew(name) { space.passing += bytes } else { space.lasting += bytes }
        }
        for phase in &self.phases {
            match self.at_most(phase, clients, appended) {
                Some(bytes) => space.passing += bytes,
                None => space.grows = true,
            }
        }
        space
    }

    /// Files of a set that are there at the same time, of all clients together.
    fn files_of(&self, name: &str, set: &FileSet, clients: u32) -> f64 {
        let names = set.entries as f64 * if set.shared { 1.0 } else { f64::from(clients) };
        let creates = |step: &Step| f64::from(matches!(step, Step::Create { set, .. } if set == name));
        let made: Option<f64> = self.phases.iter().map(|phase| self.at_most(phase, clients, creates)).sum();
        made.map_or(names, |made| (names * set.preallocated + made).min(names))
    }

    /// The sum over all that `clients` clients do in a phase, where `each` is what one step adds; none where
    /// only the time limits it.
    fn at_most(&self, phase: &Phase, clients: u32, each: impl Fn(&Step) -> f64) -> Option<f64> {
        let once = |lines: &[Line]| -> f64 {
            lines.iter().map(|line| f64::from(line.times) * each(&line.step)).sum()
        };
        let taking_part = (0..clients).filter(|client| phase.clients.includes(*client)).count() as f64;
        let around = (once(&phase.first) + once(&phase.last)) * f64::from(self.threads_of(phase));
        let body = once(&phase.body);
        let passes = if body > 0.0 { phase.passes? as f64 } else { 0.0 };
        Some((around + body * passes) * taking_part)
    }
}

/// Bytes that a step adds to a file, at the most.
fn appended(step: &Step) -> f64 {
    match step {
        Step::Append { bytes, .. } => *bytes as f64,
        _ => 0.0,
    }
}
