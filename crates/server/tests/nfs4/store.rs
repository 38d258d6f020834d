//! Servers that are started one after the other over the same files and records.

use std::sync::Arc;

use server::exports::Exports;
use state::Limits;
use testkit::records::MemoryRecords;
use vfs::memory::{Memory, MemoryOptions};

use crate::peer::{Life, TestServer, exports, test_options};

/// A machine whose files and records outlive its servers.
pub struct Machine {
    exports: Arc<Exports<Memory>>,
    pub store: MemoryRecords,
    lives: u32,
}

impl Machine {
    pub fn new() -> Self {
        let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
        Self { exports: exports(memory), store: MemoryRecords::with_sessions(), lives: 0 }
    }

    /// Starts a server; the one before is dead.
    pub fn start(&mut self) -> Arc<TestServer> {
        self.lives += 20;
        let (owners, sessions) = self.store.restart();
        let life = Life { boot: self.lives, stable: Arc::new(self.store.clone()), owners, sessions };
        let exports = Arc::clone(&self.exports);
        Arc::new(TestServer::live(exports, test_options(), None, Limits::default(), life))
    }
}
