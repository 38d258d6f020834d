//! The work of an agent as it sees it: a job in, portions of the result out. The runner does it.

use std::future::Future;

use super::line::Line;
use super::message::{Job, Portion};
use crate::workload;

/// Carries out the part of a run that falls to an agent.
pub(crate) trait Worker: Copy + Send + 'static {
    /// Carries out a job. Returns the portion of each part, or `None` once the line has ended.
    ///
    /// # Errors
    /// When the job asks for something that does not exist, or a workload fails.
    fn work(
        self,
        job: &Job,
        line: &mut Line<'_>,
    ) -> impl Future<Output = Result<Option<Vec<Portion>>, Failure>> + Send;
}

/// The reason that a job has no result.
pub(crate) struct Failure {
    pub(super) cause: String,
    pub(super) wrong_data: bool,
}

impl Failure {
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), wrong_data: false }
    }

    /// The failure that an error says.
    pub(crate) fn of(error: &impl ToString) -> Self {
        Self::new(error.to_string())
    }
}

impl From<workload::Error> for Failure {
    fn from(error: workload::Error) -> Self {
        Self { cause: error.to_string(), wrong_data: matches!(error, workload::Error::Content { .. }) }
    }
}
