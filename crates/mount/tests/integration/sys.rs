//! What is unsafe: files as memory.

use std::fs::File;

use memmap2::{Mmap, MmapMut, MmapOptions};

/// The first `length` bytes of a file, to be read.
#[expect(unsafe_code, reason = "a mapping changes with its file, which is what the tests are about")]
pub fn map_readable(file: &File, length: usize) -> Mmap {
    // SAFETY: who uses it reads bytes, of which any value is one, and nobody shortens the file meanwhile.
    unsafe { MmapOptions::new().len(length).map(file) }.unwrap()
}

/// The first `length` bytes of a file, to be read and written, for all who have it mapped.
#[expect(unsafe_code, reason = "a mapping changes with its file, which is what the tests are about")]
pub fn map_writable(file: &File, length: usize) -> MmapMut {
    // SAFETY: as above.
    unsafe { MmapOptions::new().len(length).map_mut(file) }.unwrap()
}
