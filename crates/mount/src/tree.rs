//! What all operations share, and how long the kernel may believe what it is told.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use client::{Attributes, Object};
use fuser::{Errno, FileAttr, Notifier};
use parking_lot::Mutex;

use crate::background::Background;
use crate::callers::Callers;
use crate::convert;
use crate::directories::OpenDirectory;
use crate::errno::{self, Result};
use crate::handles::{Handles, OpenFile};
use crate::inodes::{Inode, Inodes, ROOT};
use crate::pages::Pages;
use crate::pruning::Pruning;

/// As long as the kernel believes attributes without asking, under a delegation too.
const BELIEVED_MAX: Duration = Duration::from_secs(3600);
/// As long as the kernel believes a name, under a delegation too. Asking again costs no request while the
/// client believes the name, and the client learns of changes of the directory that the kernel cannot be told
/// of.
const NAME_BELIEVED_MAX: Duration = Duration::from_secs(1);

/// The most directories in one another: as many as the commands enter. Their path is longer than PATH_MAX.
const DEPTH_MAX: usize = 4096;

/// A mounted tree.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) inodes: Inodes,
    pub(crate) files: Handles<OpenFile>,
    pub(crate) directories: Handles<tokio::sync::Mutex<OpenDirectory>>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) background: Arc<Background>,
    pub(crate) callers: Callers,
    pub(crate) pages: Pages,
    /// Set when the kernel has mounted it.
    pub(crate) notifier: OnceLock<Notifier>,
    /// Objects of which the kernel is about to be told that its pages are void.
    pub(crate) notices: Mutex<std::collections::BTreeSet<u64>>,
    /// Numbers the names of files that were removed while they were open.
    pub(crate) next_hidden: AtomicU64,
    pub(crate) pruning: Pruning,
}

/// What the kernel is told of an object that it has asked for by name.
pub(crate) struct Entry {
    pub(crate) attributes: FileAttr,
    pub(crate) attributes_for: Duration,
    pub(crate) name_for: Duration,
}

impl Tree {
    pub(crate) fn new(root: Object, runtime: tokio::runtime::Handle, inodes_max: usize) -> Self {
        Self {
            inodes: Inodes::new(root),
            files: Handles::default(),
            directories: Handles::default(),
            background: Arc::new(Background::new(runtime.clone())),
            callers: Callers::default(),
            runtime,
            pages: Pages::default(),
            notifier: OnceLock::new(),
            notices: Mutex::default(),
            next_hidden: AtomicU64::new(1),
            pruning: Pruning::new(inodes_max),
        }
    }

    /// Tells the kernel of what `name` in `parent` stands for.
    pub(crate) async fn entry(&self, parent: &Inode, name: &[u8], object: &Object) -> Result<Entry> {
        // Not what is remembered: data that the server has not yet would be cut off by a length without them.
        let content = object.content();
        let attributes = object.attributes().await.map_err(errno::of)?;
        self.entry_of(parent, name, object, (&attributes, content))
    }

    /// As [`Tree::entry`], after a change of ours. What answers a question the kernel passes over when it was
    /// told meanwhile that something is void; this answer it takes for the latest in any case, so it is not
    /// to believe it.
    pub(crate) async fn changed_entry(&self, parent: &Inode, name: &[u8], object: &Object) -> Result<Entry> {
        Ok(Entry { attributes_for: Duration::ZERO, ..self.entry(parent, name, object).await? })
    }

    /// As [`Tree::entry`], with attributes that include what was written, of that content or a later one.
    ///
    /// # Errors
    /// ELOOP when the server says that the root of the mount is below itself: the kernel knows the root by a
    /// number that no entry can have. ENAMETOOLONG for a directory below more than [`DEPTH_MAX`] others: a
    /// server can make up another one for each, and the kernel keeps all that lead to an open directory.
    pub(crate) fn entry_of(
        &self,
        parent: &Inode,
        name: &[u8],
        object: &Object,
        (attributes, content): (&Attributes, u64),
    ) -> Result<Entry> {
        let depth = parent.state.lock().depth + 1;
        if attributes.is_directory() && depth > DEPTH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        if self.inodes.is_root(object.key()) {
            return Err(Errno::ELOOP);
        }
        let inode = self.inodes.remember(object, attributes.fileid);
        {
            let mut state = inode.state.lock();
            state.depth = depth;
            state.place = Some((parent.number, name.to_vec()));
            state.give(content);
        }
        Ok(Entry {
            attributes: self.present(&inode, attributes),
            attributes_for: believed_as(object, attributes),
            name_for: believed_for(&parent.object).min(NAME_BELIEVED_MAX),
        })
    }

    /// The kernel was not told of what has an inode for it.
    pub(crate) fn unknown_to_the_kernel(&self, entry: &Entry) {
        self.inodes.forget(entry.attributes.ino.0, 1);
    }

    /// Attributes as the kernel is told of them.
    pub(crate) fn present(&self, inode: &Inode, attributes: &Attributes) -> FileAttr {
        // The kernel knows the root by a number of its own, and its users by that of the server.
        let number = if inode.number == ROOT { attributes.fileid } else { inode.number };
        let mut attributes = convert::attributes(number, attributes);
        let mut state = inode.state.lock();
        state.end.told(attributes.size);
        if state.hidden.is_some() {
            // One name is only ours.
            attributes.nlink = attributes.nlink.saturating_sub(1);
        }
        attributes
    }

    /// The attributes of an object that the kernel knows, and how long it may believe them.
    pub(crate) async fn attributes(&self, inode: &Arc<Inode>) -> Result<(FileAttr, Duration)> {
        let content = inode.object.content();
        let attributes = inode.object.attributes().await.map_err(errno::of)?;
        inode.state.lock().give(content);
        Ok((self.present(inode, &attributes), believed_as(&inode.object, &attributes)))
    }
}

/// How long the kernel may believe the attributes of an object.
fn believed_for(object: &Object) -> Duration {
    object.remembered().map_or(Duration::ZERO, |remembered| remembered.believed_for.min(BELIEVED_MAX))
}

/// As [`believed_for`], of attributes that were told to whoever asked: another answer may have come
/// meanwhile.
fn believed_as(object: &Object, told: &Attributes) -> Duration {
    match object.remembered() {
        Some(remembered) if remembered.attributes == *told => believed_for(object),
        _ => Duration::ZERO,
    }
}
