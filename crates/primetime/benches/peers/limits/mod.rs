//! What the machine itself allows.

mod echo;
mod local;
mod receiver;
mod stream;

use std::path::Path;
use std::time::Duration;

pub use echo::with_echo;

use crate::load::Load;
use crate::rows::Row;

#[derive(Clone, Copy)]
pub enum Limit {
    /// One TCP stream over loopback from memory, read as it comes.
    MemoryStream,
    /// The same, not paced, and read in pieces as large as the generator of load reads them.
    MemoryStreamInPieces,
    /// One TCP stream of a cached file that is read before it is sent: what a server that copies can do at
    /// most.
    FileStream,
    /// One TCP stream that is written to a cached file as it comes: what a server that copies can do at most.
    StreamToFile,
    /// 128 bytes sent back after one stat(2), under the same load.
    Echo,
    /// Files made one after the other in a local directory.
    LocalCreate,
    /// As [`Limit::LocalCreate`], each with fsync(2).
    LocalCreateSync,
    /// 64 KiB at places of a local file that follow on each other, each on the disk before the next.
    LocalWriteSync,
    /// The same blocks received over loopback, each answered when it is on the disk: what a server can do at
    /// most.
    ReceivedWriteSync,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryStream => "one TCP stream",
            Self::MemoryStreamInPieces => "one unpaced in large pieces",
            Self::FileStream => "one of a cached file",
            Self::StreamToFile => "one into a cached file",
            Self::Echo => "echo with stat(2)",
            Self::LocalCreate => "local create",
            Self::LocalCreateSync => "local create and fsync",
            Self::LocalWriteSync => "local write with O_SYNC",
            Self::ReceivedWriteSync => "the same of what came over TCP",
        }
    }

    /// In the unit of the row, with files in a directory of its own in `folder`. They stay there until that
    /// goes: for minutes ext4 avoids the numbers of files that were removed, and looks through them for each
    /// that is made after.
    pub fn run(self, row: &Row, folder: &Path, duration: Duration) -> f64 {
        let place = tempfile::tempdir_in(folder).expect("temporary directory").keep();
        match self {
            Self::MemoryStream => stream::of_memory(duration),
            Self::MemoryStreamInPieces => stream::of_memory_in_pieces(duration),
            Self::FileStream => stream::of_file(&place, duration),
            Self::StreamToFile => stream::to_file(&place, duration),
            Self::Echo => {
                let load = Load { connections: row.connections, in_flight: row.in_flight };
                echo::per_second(&load, &place, duration)
            }
            Self::LocalCreate => local::creates_per_second(&place, false, duration),
            Self::LocalCreateSync => local::creates_per_second(&place, true, duration),
            Self::LocalWriteSync => local::synced_writes_per_second(&place, duration),
            Self::ReceivedWriteSync => receiver::synced_writes_per_second(&place, duration),
        }
    }
}
