//! The server of a scene: with files in a directory, or in memory, where each change has a time of its own.

use std::net::SocketAddr;

use client::{Client, Options, Version};

use crate::fixture::{Fixture, connect};
use crate::world;

pub enum Ground {
    Directory(Box<Fixture>),
    Memory(SocketAddr),
}

impl Ground {
    /// Delegations come back as soon as they are recalled, so that there are many.
    pub async fn directory() -> Self {
        Self::Directory(Box::new(Fixture::with(|options| options.limits.recall_pause_ms = 0).await))
    }

    pub async fn memory() -> Self {
        Self::Memory(world::serve_with(|limits| limits.recall_pause_ms = 0).await)
    }

    pub async fn client(&self, version: Version, change: impl FnOnce(&mut Options)) -> Client {
        match self {
            Self::Directory(fixture) => fixture.client_with(version, change).await,
            Self::Memory(address) => {
                let as_owner = |options: &mut Options| {
                    (options.uid, options.gid) = (0, 0);
                    change(options);
                };
                connect(*address, version, as_owner).await
            }
        }
    }

    /// A server in memory ends with the runtime.
    pub async fn leave(self) {
        if let Self::Directory(fixture) = self {
            fixture.stop().await;
        }
    }
}
