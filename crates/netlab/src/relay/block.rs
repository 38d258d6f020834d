//! Blocks of bytes that wait in a link, and the pool that lends them. A block is filled at its end and
//! drained at its front.

/// One block takes what a large read returns, so a busy connection needs few system calls.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// A block with less room than this is not read into again: small reads cost more than the memory saved.
const ROOM_BYTES_MIN: usize = 64 << 10;

/// Blocks the pool keeps for reuse; more are given back to the allocator.
const POOL_BLOCKS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Block {
    bytes: Box<[u8]>,
    drained: usize,
    filled: usize,
}

impl Block {
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.filled >= ROOM_BYTES_MIN
    }

    /// The free part, at most `limit` bytes of it.
    pub(super) fn room(&mut self, limit: usize) -> &mut [u8] {
        let end = self.bytes.len().min(self.filled.saturating_add(limit));
        &mut self.bytes[self.filled..end]
    }

    pub(super) fn fill(&mut self, count: usize) {
        self.filled += count;
        assert!(self.filled <= self.bytes.len(), "a read returned more than it was given room for");
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.drained..self.filled]
    }

    pub(super) fn drain(&mut self, count: usize) {
        self.drained += count;
        assert!(self.drained <= self.filled, "a write took more than it was given");
    }
}

#[derive(Debug, Default)]
pub(super) struct BlockPool {
    free: Vec<Block>,
}

impl BlockPool {
    pub(super) fn take(&mut self) -> Block {
        self.free.pop().unwrap_or_else(|| Block {
            bytes: vec![0; BLOCK_BYTES].into_boxed_slice(),
            drained: 0,
            filled: 0,
        })
    }

    pub(super) fn give(&mut self, mut block: Block) {
        if self.free.len() < POOL_BLOCKS_MAX {
            (block.drained, block.filled) = (0, 0);
            self.free.push(block);
        }
    }
}
