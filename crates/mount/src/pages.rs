//! Which open files the kernel keeps pages of.
//!
//! What it keeps it cannot always be told to be void in time: it guesses where a file ends, and fills pages
//! from answers that have crossed. So it keeps pages only of what is read under a delegation, while nobody
//! changes it. Everything else that programs read or write it asks for, each time, and the client's cache
//! answers.

use std::sync::atomic::{AtomicBool, Ordering};

use client::Object;
use fuser::{FopenFlags, InitFlags, KernelConfig};

/// What the kernel can do without its pages.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// A file without them can be mapped all the same. Where not, each has them.
    dispensable: AtomicBool,
}

impl Pages {
    pub(crate) fn ask(&self, config: &mut KernelConfig) {
        let mapped = config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        self.dispensable.store(mapped.is_ok(), Ordering::Relaxed);
    }

    /// What the kernel is told of a file that is opened, for writing or not. Under a delegation for writing
    /// the mount changes it itself.
    pub(crate) fn of(&self, object: &Object, writable: bool) -> FopenFlags {
        let delegated = object.remembered().is_some_and(|known| known.delegated && !known.write_delegated);
        match self.dispensable.load(Ordering::Relaxed) && (writable || !delegated) {
            true => FopenFlags::FOPEN_DIRECT_IO,
            false => FopenFlags::FOPEN_KEEP_CACHE,
        }
    }
}
