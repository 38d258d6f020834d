//! What one thread of a composed workload has in its hands, and the carrying out of one step after the other.

use super::set::{Entry, Presence, Sets};
use super::steps;
use crate::experiment::Composed;
use crate::experiment::composed::{Line, Phase, Step};
use crate::seeded::Seeded;
use crate::workload::{Curve, Error, File, Pattern, Station, time};

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// It read or wrote so many bytes.
    Bytes(u64),
    /// The set has no entry for it, and will not have one.
    NothingLeft,
}

/// One thread.
pub(super) struct Hands<'a> {
    pub(super) station: &'a Station,
    pub(super) sets: &'a Sets,
    pub(super) random: Seeded,
    /// Pieces in which whole files are read and written.
    pub(super) io_bytes: u64,
    pub(super) held: Option<OpenFile<'a>>,
    /// Before the clock starts nobody waits for another: those who have something keep it.
    pub(super) at_once: bool,
}

/// An open file.
pub(super) struct OpenFile<'a> {
    pub(super) set: &'a str,
    pub(super) entry: Entry,
    pub(super) file: File,
    pub(super) content: Pattern,
    /// The size that the file has when it is written whole.
    pub(super) whole: u64,
    /// Where the next sequential piece begins.
    pub(super) next: u64,
    /// Where the last piece was.
    pub(super) last: u64,
}

impl<'a> Hands<'a> {
    pub(super) fn new(
        workload: &Composed,
        station: &'a Station,
        sets: &'a Sets,
        part: usize,
        thread: u32,
    ) -> Self {
        // Phases draw from streams of their own, far from those of other threads.
        let random = station.random(thread + ((part as u32) << 16));
        Self { station, sets, random, io_bytes: workload.io_bytes, held: None, at_once: false }
    }

    pub(super) fn holds_a_file(&self) -> bool {
        self.held.is_some()
    }

    /// Carries out what comes before the clock starts.
    pub(super) async fn get_ready(&mut self, lines: &'a [Line]) -> Result<(), Error> {
        self.at_once = true;
        for line in lines {
            for _ in 0..line.times {
                if let Done::NothingLeft = steps::carry_out(self, &line.step).await? {
                    return Err(Error::NothingLeft { step: line.step.word() });
                }
            }
        }
        self.at_once = false;
        Ok(())
    }

    /// Carries out one step of `phase` and counts it.
    pub(super) async fn carry_out(
        &mut self,
        phase: &Phase,
        step: &'a Step,
        curve: &mut Curve,
    ) -> Result<Done, Error> {
        let begun = time::now();
        let done = steps::carry_out(self, step).await?;
        if let Done::Bytes(bytes) = done {
            let now = time::now();
            if matches!(step, Step::ReadWhole | Step::ReadAt { .. }) {
                curve.read(bytes);
            }
            match phase.counts_step(step.word()) {
                true => curve.complete_since(begun, now, bytes),
                false => curve.busy_until(now),
            }
        }
        Ok(done)
    }

    /// Closes what is still open.
    pub(super) async fn put_down(&mut self) -> Result<(), Error> {
        match self.held.take() {
            Some(held) => self.close(held).await,
            None => Ok(()),
        }
    }

    pub(super) async fn close(&self, held: OpenFile<'_>) -> Result<(), Error> {
        held.file.close().await?;
        self.sets.get(held.set).give_back(held.entry, Presence::Present);
        Ok(())
    }
}
