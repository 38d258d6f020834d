//! What the machine itself allows.

mod echo;
mod local;
mod stream;

use std::path::Path;
use std::time::Duration;

use crate::load::Load;
use crate::rows::Row;

#[derive(Clone, Copy)]
pub enum Limit {
    /// One TCP stream over loopback from memory.
    MemoryStream,
    /// One TCP stream of a cached file that is read before it is sent: what a server that copies can do at most.
    FileStream,
    /// 128 bytes sent back after one stat(2), under the same load.
    Echo,
    /// Files made one after the other in a local directory.
    LocalCreate,
    /// As [`Limit::LocalCreate`], each with fsync(2).
    LocalCreateSync,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryStream => "one TCP stream",
            Self::FileStream => "one of a cached file",
            Self::Echo => "echo with stat(2)",
            Self::LocalCreate => "local create",
            Self::LocalCreateSync => "local create and fsync",
        }
    }

    /// In the unit of the row, with files in a directory of its own in `folder`.
    pub fn run(self, row: &Row, folder: &Path, duration: Duration) -> f64 {
        let place = tempfile::tempdir_in(folder).expect("temporary directory");
        match self {
            Self::MemoryStream => stream::of_memory(duration),
            Self::FileStream => stream::of_file(place.path(), duration),
            Self::Echo => {
                let load = Load { connections: row.connections, in_flight: row.in_flight };
                echo::per_second(&load, place.path(), duration)
            }
            Self::LocalCreate => local::creates_per_second(place.path(), false, duration),
            Self::LocalCreateSync => local::creates_per_second(place.path(), true, duration),
        }
    }
}
