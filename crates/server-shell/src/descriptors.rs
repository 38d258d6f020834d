//! How the process's descriptors are shared out.

/// The parts of the descriptors that a process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// The most connections.
    pub(super) connections: usize,
    /// The most files and directories of all exports together.
    pub(super) files: usize,
}

/// The fewest files of an export: a request may need some at the same time.
const FILES_MIN: usize = 12;

impl Descriptors {
    /// Shares out `limit` descriptors, of which 64 are enough. The rest is for sockets that listen, the
    /// records, commands, scrapers, the runtime, and what a request opens for a moment.
    pub(super) fn of(limit: usize) -> Self {
        let rest = (24 + limit / 16).min(256);
        let shared = limit.saturating_sub(rest);
        let connections = shared / 4;
        Self { connections, files: shared - connections }
    }

    /// The share of each of several exports.
    pub(super) fn files_of_each(self, exports: usize) -> usize {
        (self.files / exports.max(1)).max(FILES_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_from_64_up_serves_files_and_connections() {
        for limit in (64..2048).chain([1 << 20, usize::MAX]) {
            let descriptors = Descriptors::of(limit);
            let Descriptors { connections, files } = descriptors;
            assert!(connections >= 8 && files >= 2 * FILES_MIN, "{limit}: {descriptors:?}");
            assert!(connections + files + 24 <= limit, "{limit}: {descriptors:?}");
            assert!(descriptors.files_of_each(1) == files && descriptors.files_of_each(100) >= FILES_MIN);
        }
    }
}
