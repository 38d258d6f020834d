//! The server of a scene: with files in a directory, or in memory, where each change has a time of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use client::{Options, Version};
use tokio::runtime::Runtime;

use crate::fixture::{Fixture, Mounted, mount_at, runtime};
use crate::world;

pub enum Ground {
    Directory(Box<Fixture>),
    Memory(SocketAddr, Arc<Runtime>),
}

impl Ground {
    /// Delegations come back as soon as they are recalled, so that there are many.
    pub fn directory() -> Self {
        Self::Directory(Box::new(Fixture::with(|options| options.limits.recall_pause_ms = 0)))
    }

    pub fn memory() -> Self {
        let runtime = runtime();
        let address = runtime.block_on(world::serve_with(|limits| limits.recall_pause_ms = 0));
        Self::Memory(address, runtime)
    }

    pub fn mount(&self, version: Version, change: impl FnOnce(&mut Options)) -> Mounted {
        match self {
            Self::Directory(fixture) => fixture.mount_with(version, change, |_| {}),
            Self::Memory(address, runtime) => {
                let as_owner = |options: &mut Options| {
                    (options.uid, options.gid) = (0, 0);
                    change(options);
                };
                mount_at(runtime, *address, version, as_owner, |_| {})
            }
        }
    }
}
