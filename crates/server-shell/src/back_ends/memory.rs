//! File systems in memory: a scratch space that ends with the server.

use vfs::AnyFileSystem;
use vfs::memory::{Memory, MemoryOptions};

use super::{OpenBackEnd, Opening};

/// All users may write in the root, as in `/tmp`: no administrator can change its mode before clients come.
const ROOT_MODE: u32 = 0o1777;

/// See the module. The location is a name without meaning.
pub(super) struct InMemory;

impl OpenBackEnd for InMemory {
    fn open(&self, _opening: &Opening<'_>) -> vfs::Result<AnyFileSystem> {
        let options = MemoryOptions { root_mode: ROOT_MODE, ..MemoryOptions::default() };
        Ok(AnyFileSystem::new(Memory::new(options)?))
    }
}
