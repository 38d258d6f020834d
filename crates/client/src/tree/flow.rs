//! A stream of items, each with what is to be done when it has a result; counts, progress and failures.

use std::collections::HashMap;
use std::sync::Arc;

use super::{FAILURES_MAX, TreeFailure, TreeOptions, TreeProgress, TreeReport};
use crate::batch::{Engine, Ground, Item, ItemId, Names, Output};
use crate::error::{Error, Result};

/// The items of one tree. `T` is what an item's result is awaited with.
pub(super) struct Flow<T> {
    ground: Arc<Ground>,
    engine: Engine,
    waiting: HashMap<ItemId, T>,
    options: TreeOptions,
    report: TreeReport,
    requests_before: u64,
    stopped: bool,
}

impl<T> Flow<T> {
    pub(super) fn new(ground: Arc<Ground>, options: &TreeOptions) -> Self {
        Self {
            engine: Engine::new(Arc::clone(&ground), options.stop_on_error),
            waiting: HashMap::new(),
            options: options.clone(),
            report: TreeReport::default(),
            requests_before: ground.shared.tap.requests(),
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

    /// An object is done.
    pub(super) fn done(&mut self, bytes: u64) {
        self.report.done.items += 1;
        self.report.done.bytes += bytes;
        self.tell();
    }

    /// An object could not be worked on.
    pub(super) fn failed(&mut self, at: &Names, error: Error) {
        self.stopped |= self.options.stop_on_error;
        if matches!(error, Error::Skipped) {
            return;
        }
        self.report.failures_total += 1;
        if self.report.failures.len() < FAILURES_MAX {
            self.report.failures.push(TreeFailure { path: at.to_path(), error });
        }
    }

    /// An object is done or not.
    pub(super) fn ended<R>(&mut self, at: &Names, bytes: u64, result: Result<R>) {
        match result {
            Ok(_) => self.done(bytes),
            Err(error) => self.failed(at, error),
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
