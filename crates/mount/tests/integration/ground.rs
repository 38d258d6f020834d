//! A mount behind a relay.

use client::{Options, Version};

use crate::fixture::{Fixture, Mounted, mount_at};
use crate::relay::Relay;

/// A mount whose server can be made to be silent.
pub struct Ground {
    pub mounted: Mounted,
    pub relay: Relay,
    pub fixture: Fixture,
}

impl Ground {
    pub fn mounted(version: Version, change: impl FnOnce(&mut Options)) -> Self {
        let fixture = Fixture::new();
        let address = fixture.server.as_ref().unwrap().address();
        let relay = fixture.runtime.block_on(Relay::new(address));
        let mounted = mount_at(&fixture.runtime, relay.address(), version, change, |_| {});
        Self { mounted, relay, fixture }
    }

    pub fn silence(&self) {
        self.fixture.runtime.block_on(self.relay.block());
    }
}
