//! Linking, removing and renaming.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{AtFlags, CWD, linkat, renameat, unlinkat};
use rustix::io::Errno;

use super::make::AtNaming;
use super::object::{Object, Purpose};
use super::open::{Location, proc_path};
use super::{Durability, Export, stat};
use crate::{Error, FileKind, Identity, RemoveKind, Request, Result};

/// Freeing a file that is longer than this is left to the pool.
pub(super) const LARGE_BYTES: u64 = 16 << 20;

/// An object and a descriptor on it.
type KnownObject = (Arc<Object>, Arc<OwnedFd>);

impl Export {
    pub(super) async fn link(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        place: Location<'_>,
    ) -> Result<()> {
        self.link_now(request.identity, object, place)?;
        // What was written to it before is no part of this promise.
        self.settle(request.line, object, AtNaming::Complete, place.0).await
    }

    pub(super) async fn remove(
        self: &Arc<Self>,
        request: Request<'_>,
        place: Location<'_>,
        kind: RemoveKind,
    ) -> Result<()> {
        self.remove_now(request.identity, place, kind)?;
        match self.durability {
            Durability::Sync => self.sync_change(request.line, place.0).await,
            Durability::Async => Ok(()),
        }
    }

    pub(super) async fn rename(
        self: &Arc<Self>,
        request: Request<'_>,
        from: Location<'_>,
        to: Location<'_>,
    ) -> Result<()> {
        self.rename_now(request.identity, from, to)?;
        if self.durability == Durability::Async {
            return Ok(());
        }
        if Arc::ptr_eq(from.0, to.0) {
            return self.sync_change(request.line, to.0).await;
        }
        // Both run at once.
        let target = self.sync_change_beside(request.line, to.0);
        self.sync_change(request.line, from.0).await?;
        target.await
    }

    fn link_now(&self, identity: &Identity, object: &Arc<Object>, place: Location<'_>) -> Result<()> {
        let dir = self.dir_path(place.0)?;
        self.check_writable()?;
        if object.kind == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        let fd = self.path(object)?;
        self.acting.become_caller(identity)?;
        // Through /proc, since a link to a bare descriptor needs a privilege that callers lack.
        let source = proc_path(fd.as_fd());
        self.with_room(|| {
            linkat(CWD, &source, &dir, place.1.as_bytes(), AtFlags::SYMLINK_FOLLOW).map_err(|errno| {
                match errno {
                    Errno::NOENT if stat::stat(fd.as_fd()).is_ok_and(|stat| stat.stx_nlink == 0) => {
                        Error::Stale
                    }
                    errno => self.explain(dir.as_fd(), errno),
                }
            })
        })?;
        self.moved(object);
        self.moved(place.0);
        Ok(())
    }

    fn remove_now(&self, identity: &Identity, place: Location<'_>, kind: RemoveKind) -> Result<()> {
        let dir = self.dir_path(place.0)?;
        self.check_writable()?;
        let victim = self.known_at(identity, dir.as_fd(), place)?;
        self.acting.become_caller(identity)?;
        let name = place.1.as_bytes();
        match kind {
            RemoveKind::NonDirectory => unlinkat(&dir, name, AtFlags::empty())?,
            RemoveKind::Directory => unlinkat(&dir, name, AtFlags::REMOVEDIR)?,
            RemoveKind::Any => match unlinkat(&dir, name, AtFlags::empty()) {
                Err(Errno::ISDIR) => unlinkat(&dir, name, AtFlags::REMOVEDIR)?,
                result => result?,
            },
        }
        self.moved(place.0);
        self.lost_name(victim);
        Ok(())
    }

    fn rename_now(&self, identity: &Identity, from: Location<'_>, to: Location<'_>) -> Result<()> {
        let from_dir = self.dir_path(from.0)?;
        let to_dir = self.dir_path(to.0)?;
        self.check_writable()?;
        let moved = self.known_at(identity, from_dir.as_fd(), from)?;
        let target = match self.known_at(identity, to_dir.as_fd(), to) {
            Err(Error::NotFound) => None,
            target => target?,
        };
        self.acting.become_caller(identity)?;
        self.with_room(|| {
            renameat(&from_dir, from.1.as_bytes(), &to_dir, to.1.as_bytes()).map_err(|errno| match errno {
                // Some file systems say so of a target directory with entries.
                Errno::EXIST => Error::NotEmpty,
                errno => self.explain(to_dir.as_fd(), errno),
            })
        })?;
        self.renamed.fetch_add(1, Relaxed);
        self.moved(from.0);
        self.moved(to.0);
        if let Some((moved, _)) = &moved {
            self.moved(moved);
            if let Some(index) = &self.index {
                index.note(moved.id.fileid, to.0.id.fileid, to.1.as_bytes());
            }
        }
        self.lost_name(target);
        Ok(())
    }

    /// The object at `place`, if it is known, with a descriptor that keeps it alive; `NotFound` where there
    /// is none.
    fn known_at(
        &self,
        identity: &Identity,
        dir: BorrowedFd<'_>,
        place: Location<'_>,
    ) -> Result<Option<KnownObject>> {
        self.acting.become_caller(identity)?;
        let (stat, known) = self.look(dir, place.1)?;
        let known = match known {
            Some(known) => known,
            // To free its space is for the pool, so it must not go with its name.
            None if stat.stx_size > LARGE_BYTES => self.open_child(dir, place)?.0,
            None => return Ok(None),
        };
        match self.path(&known) {
            Ok(fd) => Ok(Some((known, fd))),
            // An earlier inode of that number.
            Err(Error::Stale) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets go of an object that has lost its last name: our descriptors alone would keep its space.
    fn lost_name(&self, known: Option<KnownObject>) {
        let Some((object, fd)) = known else { return };
        self.moved(&object);
        let Ok(stat) = stat::stat(fd.as_fd()) else { return };
        let gone = stat.stx_nlink == 0;
        if object.kind == FileKind::Directory || gone {
            // For those who hold it; the cache may have closed it meanwhile.
            object.keep(Purpose::Path, fd, &self.cache.counts);
            self.cache.release(&object);
        }
        if gone {
            object.set_nameless();
        }
        if let Some(index) = self.index.as_ref().filter(|_| gone) {
            index.note_gone(&[object.id].into());
        }
    }
}
