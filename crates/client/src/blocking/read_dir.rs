//! The entries of a directory for plain threads.

use super::driver::Driver;
use crate::attributes::DirEntry;
use crate::error::Result;

/// The entries of a directory, as they come; with the promises of [`crate::ReadDir`].
#[derive(Debug)]
pub struct ReadDir {
    inner: crate::ReadDir,
    driver: Driver,
}

impl ReadDir {
    pub(super) fn new(inner: crate::ReadDir, driver: Driver) -> Self {
        Self { inner, driver }
    }
}

impl Iterator for ReadDir {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.driver.wait(self.inner.next_entry()).transpose()
    }
}
