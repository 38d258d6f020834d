//! A stream of items, each with what is to be done when it has a result; counts, progress and failures.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::{FAILURES_MAX, TreeFailure, TreeOptions, TreeProgress, TreeReport};
use crate::batch::Engine;
use crate::error::{Error, Result};
use crate::items::{Ground, Item, ItemId, Names, Output};

/// The items of one tree. `T` is what an item's result is awaited with.
pub(super) struct Flow<T> {
    ground: Arc<Ground>,
    engine: Engine,
    waiting: HashMap<ItemId, T>,
    options: TreeOptions,
    report: TreeReport,
    requests_before: u64,
    entries: u64,
    stopped: bool,
}

impl<T> Flow<T> {
    pub(super) fn new(ground: Arc<Ground>, options: &TreeOptions) -> Self {
        Self {
            // Whether a failure is one is decided here: a directory that is there already is none.
            engine: Engine::new(Arc::clone(&ground), false),
            waiting: HashMap::new(),
            options: options.clone(),
            report: TreeReport::default(),
            requests_before: ground.shared.tap.requests(),
            entries: 0,
            stopped: false,
            ground,
        }
    }

    pub(super) fn options(&self) -> &TreeOptions {
        &self.options
    }

    pub(super) fn has_room(&self) -> bool {
        self.engine.has_room()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.engine.is_idle()
    }

    /// True after a failure where that is the end.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped
    }

    /// True after any failure.
    pub(super) fn has_failed(&self) -> bool {
        self.report.failures_total > 0
    }

    pub(super) fn push(&mut self, item: Item, then: T) {
        let id = self.engine.push(item);
        self.waiting.insert(id, then);
    }

    /// The next result. `None` when there is none to be waited for.
    pub(super) async fn next(&mut self) -> Option<(T, Result<Output>)> {
        let (id, result) = self.engine.next().await?;
        let then = self.waiting.remove(&id)?;
        Some((then, result))
    }

    /// Entries of a list have come. False when a tree has more than the options allow: then nothing more is
    /// sent.
    pub(super) fn takes(&mut self, entries: usize) -> bool {
        self.entries += entries as u64;
        if self.entries <= self.options.entries_max {
            return true;
        }
        if !std::mem::replace(&mut self.stopped, true) {
            self.report.failures_total += 1;
            let error = Error::Usage("the tree has more objects than one command takes; name parts of it");
            self.report.failures.push(TreeFailure { path: Bytes::new(), error });
            self.engine.stop();
        }
        false
    }

    /// An object is done.
    pub(super) fn done(&mut self, bytes: u64) {
        self.report.done.items += 1;
        self.report.done.bytes += bytes;
        self.tell();
    }

    /// An object could not be worked on.
    pub(super) fn failed(&mut self, path: Bytes, error: Error) {
        if self.options.stop_on_error && !self.stopped {
            self.stopped = true;
            self.engine.stop();
        }
        if matches!(error, Error::Skipped) {
            return;
        }
        self.report.failures_total += 1;
        if self.report.failures.len() < FAILURES_MAX {
            self.report.failures.push(TreeFailure { path, error });
        }
    }

    /// An object is done or not.
    pub(super) fn ended<R>(&mut self, at: &Names, bytes: u64, result: Result<R>) {
        match result {
            Ok(_) => self.done(bytes),
            Err(error) => self.failed(at.to_path(), error),
        }
    }

    pub(super) fn report(mut self) -> TreeReport {
        self.report.done.requests = self.requests();
        self.report
    }

    fn requests(&self) -> u64 {
        self.ground.shared.tap.requests() - self.requests_before
    }

    fn tell(&self) {
        if let Some(progress) = &self.options.progress {
            progress(&TreeProgress { requests: self.requests(), ..self.report.done });
        }
    }
}
