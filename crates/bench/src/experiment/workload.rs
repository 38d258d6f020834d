//! What a client does, in kinds with parameters.

use serde::Deserialize;

use super::Space;
use super::byte_size::byte_size;
use super::composed::Composed;

/// A workload, carried out by every client on files of its own unless said otherwise.
///
/// A workload with `seconds` stops then, at the end of the operation under way; one with counts stops when
/// they are done; one with both at whichever comes first. In a file it is a table named after its kind:
/// `[default.workload.random-read]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// Scans one file from its beginning, again and again, with a cold cache each time. All clients scan the
    /// same file.
    SequentialRead {
        /// Size of the file.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Size of each read.
        #[serde(deserialize_with = "byte_size")]
        io_bytes: u64,
        /// How long.
        seconds: f64,
    },
    /// Writes one file from its beginning, starting over at its end.
    SequentialWrite {
        /// Size of the file.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Size of each write.
        #[serde(deserialize_with = "byte_size")]
        io_bytes: u64,
        /// Whether each write is on stable storage before the next (O_SYNC).
        sync: bool,
        /// How long.
        seconds: f64,
    },
    /// Reads aligned pieces at random places of one file, with a cold cache at the start. All clients read
    /// the same file.
    RandomRead {
        /// Size of the file.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Size of each read.
        #[serde(deserialize_with = "byte_size")]
        io_bytes: u64,
        /// Readers in each client.
        threads: u32,
        /// How long.
        seconds: f64,
    },
    /// Writes aligned pieces in place at random places of one file.
    RandomWrite {
        /// Size of the file.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Size of each write.
        #[serde(deserialize_with = "byte_size")]
        io_bytes: u64,
        /// Writers in each client.
        threads: u32,
        /// Whether each write is on stable storage before the next (O_SYNC).
        sync: bool,
        /// How long.
        seconds: f64,
    },
    /// Creates new files, each thread in a directory of its own: open, write `file_bytes`, close; empty files
    /// without keeping them open, which takes one request in each version.
    Create {
        /// Threads of each client.
        threads: u32,
        /// Size of each file; 0 writes nothing.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Files of each client in all; none for no limit but the time.
        files: Option<u64>,
        /// How long; none for no limit but the files.
        seconds: Option<f64>,
    },
    /// Opens, reads and closes whole small files, again and again, in random order.
    SmallFileRead {
        /// Files of each client.
        files: u64,
        /// Size of each file; of a composed workload the mean of the set with the largest ones.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Threads of each client.
        threads: u32,
        /// Whether every file is read once before the clock starts.
        #[serde(default)]
        warm: bool,
        /// How long.
        seconds: f64,
    },
    /// For each file `rounds` times: lock it, read it, unlock it. One operation is one such round. Threads
    /// share the files out among themselves, and a file that was begun is finished.
    LockedRead {
        /// Files of each client.
        files: u64,
        /// Rounds for each file.
        rounds: u32,
        /// Size of each file; of a composed workload the mean of the set with the largest ones.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Threads of each client.
        threads: u32,
        /// Whether each round opens and closes the file, or all rounds share one open.
        reopen: bool,
        /// No new file after this time; none to do all of them.
        seconds: Option<f64>,
    },
    /// Unpacks a tree of source files, lists it, and removes it.
    SourceTree {
        /// Directories, all in the top one.
        directories: u64,
        /// Files of each client, in these directories.
        files: u64,
        /// Their size in the mean; many are far smaller.
        #[serde(deserialize_with = "byte_size")]
        file_bytes: u64,
        /// Whether one call does one thing, or one call all.
        way: TreeMethod,
    },
    /// Put together from single operations.
    Composed(Composed),
}

/// How a tree is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeMethod {
    /// One after the other, each with calls of its own, as tar, find and rm do it.
    Calls,
    /// With the client's operations on whole trees, which send many in a request and many requests at a time.
    Batch,
}

impl Workload {
    /// The kind's name as it stands in experiment files.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SequentialRead { .. } => "sequential-read",
            Self::SequentialWrite { .. } => "sequential-write",
            Self::RandomRead { .. } => "random-read",
            Self::RandomWrite { .. } => "random-write",
            Self::Create { .. } => "create",
            Self::SmallFileRead { .. } => "small-file-read",
            Self::LockedRead { .. } => "locked-read",
            Self::SourceTree { .. } => "source-tree",
            Self::Composed(_) => "composed",
        }
    }

    /// Whether it is carried out by operations on whole trees, which only some clients have.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        matches!(self, Self::SourceTree { way: TreeMethod::Batch, .. })
    }

    /// Threads of each client.
    #[must_use]
    pub fn threads(&self) -> u32 {
        match self {
            Self::SequentialRead { .. } | Self::SequentialWrite { .. } | Self::SourceTree { .. } => 1,
            Self::RandomRead { threads, .. }
            | Self::RandomWrite { threads, .. }
            | Self::Create { threads, .. }
            | Self::SmallFileRead { threads, .. }
            | Self::LockedRead { threads, .. } => *threads,
            Self::Composed(composed) => {
                composed.measured().map(|phase| composed.threads_of(phase)).max().unwrap_or(composed.threads)
            }
        }
    }

    /// Size of one read or write of the application.
    #[must_use]
    pub fn io_bytes(&self) -> u64 {
        match self {
            Self::SequentialRead { io_bytes, .. }
            | Self::SequentialWrite { io_bytes, .. }
            | Self::RandomRead { io_bytes, .. }
            | Self::RandomWrite { io_bytes, .. } => *io_bytes,
            Self::Create { file_bytes, .. }
            | Self::SmallFileRead { file_bytes, .. }
            | Self::SourceTree { file_bytes, .. }
            | Self::LockedRead { file_bytes, .. } => *file_bytes,
            Self::Composed(composed) => composed.io_bytes,
        }
    }

    /// Size of each file; of a composed workload the mean of the set with the largest ones.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        match self {
            Self::SequentialRead { file_bytes, .. }
            | Self::SequentialWrite { file_bytes, .. }
            | Self::RandomRead { file_bytes, .. }
            | Self::RandomWrite { file_bytes, .. }
            | Self::Create { file_bytes, .. }
            | Self::SmallFileRead { file_bytes, .. }
            | Self::SourceTree { file_bytes, .. }
            | Self::LockedRead { file_bytes, .. } => *file_bytes,
            Self::Composed(composed) => {
                composed.sets.values().map(|set| set.size.mean() as u64).max().unwrap_or_default()
            }
        }
    }

    /// Files of each client; none where only the time limits them.
    #[must_use]
    pub fn files(&self) -> Option<u64> {
        match self {
            Self::SequentialRead { .. }
            | Self::SequentialWrite { .. }
            | Self::RandomRead { .. }
            | Self::RandomWrite { .. } => Some(1),
            Self::SmallFileRead { files, .. }
            | Self::LockedRead { files, .. }
            | Self::SourceTree { files, .. } => Some(*files),
            Self::Create { files, .. } => *files,
            Self::Composed(composed) => {
                Some(composed.sets.values().fold(0, |sum, set| sum.saturating_add(set.entries)))
            }
        }
    }

    /// How long it runs at most, apart from what is under way then; none where only counts limit it.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        match self {
            Self::SequentialRead { seconds, .. }
            | Self::SequentialWrite { seconds, .. }
            | Self::RandomRead { seconds, .. }
            | Self::RandomWrite { seconds, .. }
            | Self::SmallFileRead { seconds, .. } => Some(*seconds),
            Self::Create { seconds, .. } | Self::LockedRead { seconds, .. } => *seconds,
            Self::SourceTree { .. } => None,
            Self::Composed(composed) => composed.seconds(),
        }
    }

    /// The same, running for at least so many seconds wherever a time limits it.
    #[must_use]
    pub fn lasting(mut self, at_least: f64) -> Self {
        match &mut self {
            Self::SequentialRead { seconds, .. }
            | Self::SequentialWrite { seconds, .. }
            | Self::RandomRead { seconds, .. }
            | Self::RandomWrite { seconds, .. }
            | Self::SmallFileRead { seconds, .. }
            | Self::Create { seconds: Some(seconds), .. }
            | Self::LockedRead { seconds: Some(seconds), .. } => *seconds = seconds.max(at_least),
            Self::Composed(composed) => {
                let phases = composed.phases.iter_mut().filter_map(|phase| phase.seconds.as_mut());
                phases.for_each(|seconds| *seconds = seconds.max(at_least));
            }
            Self::Create { .. } | Self::LockedRead { .. } | Self::SourceTree { .. } => {}
        }
        self
    }

    /// What it has on the server at the most, for `clients` clients.
    #[must_use]
    pub fn space(&self, clients: u32) -> Space {
        let (one, each) = (self.file_bytes() as f64, f64::from(clients));
        let of_files = |files: Option<u64>| one * files.unwrap_or(1) as f64 * each;
        match self {
            Self::Composed(composed) => composed.space(clients),
            Self::SequentialRead { .. } | Self::RandomRead { .. } => {
                Space { lasting: one, ..Space::default() }
            }
            Self::SequentialWrite { .. }
            | Self::RandomWrite { .. }
            | Self::SmallFileRead { .. }
            | Self::LockedRead { .. } => Space { lasting: of_files(self.files()), ..Space::default() },
            Self::SourceTree { files, .. } => Space { passing: of_files(Some(*files)), ..Space::default() },
            Self::Create { files, file_bytes, .. } => Space {
                passing: of_files(*files),
                grows: files.is_none() && *file_bytes > 0,
                ..Space::default()
            },
        }
    }
}
