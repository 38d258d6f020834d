//! The clock and the randomness of contexts.

use std::time::Instant;

use rpc::auth::gss::{BootInstance, Surroundings};

/// Those of this process.
pub(super) struct ShellSurroundings {
    started: Instant,
    boot: BootInstance,
}

impl ShellSurroundings {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), boot: BootInstance(rand::random()) }
    }
}

impl Surroundings for ShellSurroundings {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn random(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }

    fn boot_instance(&self) -> BootInstance {
        self.boot
    }
}
