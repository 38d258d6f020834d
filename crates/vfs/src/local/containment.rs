//! Whether a directory is in the export.
//!
//! A directory that was opened by its handle, or as a parent, may have been moved out of the export by a
//! local process. It is inside when the root is found by climbing. Directories that a climb has passed are
//! remembered for [`REMEMBERED_FOR`] and until a rename through us, so that a client that climbs a deep
//! tree costs a step for each LOOKUPP and not one for each level. A directory that a local process has
//! moved out with all that is below it may be entered for that long; nothing else outside can be.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, openat};

use super::{Export, stat};
use crate::{Error, Line, Result};

/// How long a directory that was inside is taken to be.
const REMEMBERED_FOR: Duration = Duration::from_secs(1);
/// The most directories that are remembered.
const REMEMBERED_MAX: usize = 1 << 16;
/// No path leads further up than this.
const DEPTH_MAX: usize = 1 << 16;
/// Levels that are climbed on a thread that serves others; a longer climb is the pool's.
const LEVELS_IN_PLACE_MAX: usize = 64;

/// The directories of an export that were found to be inside.
#[derive(Default)]
pub(super) struct Containment {
    known: Mutex<KnownDirectories>,
    /// Levels that were climbed.
    #[cfg(test)]
    climbed: std::sync::atomic::AtomicUsize,
}

#[derive(Default)]
struct KnownDirectories {
    inodes: HashSet<u64>,
    /// When the first of them was found, and how many renames there had been.
    since: Option<(Instant, u64)>,
}

impl KnownDirectories {
    /// Forgets all if they are too old or too many, or a name was moved.
    fn refresh(&mut self, renames: u64) {
        let is_fresh =
            self.since.is_some_and(|(at, before)| before == renames && at.elapsed() < REMEMBERED_FOR);
        if !is_fresh || self.inodes.len() >= REMEMBERED_MAX {
            self.inodes.clear();
            self.since = Some((Instant::now(), renames));
        }
    }
}

/// A climb that is not at its end.
struct Climb {
    at: OwnedFd,
    /// The number of renames before it.
    renames: u64,
    passed: Vec<u64>,
}

impl Export {
    /// Checks that a directory is the root or below it. A long climb waits for the pool.
    pub(super) async fn check_inside(self: &Arc<Self>, line: Line<'_>, dir: &Arc<OwnedFd>) -> Result<()> {
        match self.climb(dir.as_fd(), None, LEVELS_IN_PLACE_MAX)? {
            None => Ok(()),
            Some(climb) => {
                let export = self.clone();
                self.pool.run(line.number, move || export.climb_to_the_end(Some(climb))).await
            }
        }
    }

    /// As [`Export::check_inside`], however long it takes.
    pub(super) fn check_inside_now(&self, dir: BorrowedFd<'_>) -> Result<()> {
        match self.climb(dir, None, LEVELS_IN_PLACE_MAX)? {
            None => Ok(()),
            some => self.climb_to_the_end(some),
        }
    }

    fn climb_to_the_end(&self, climb: Option<Climb>) -> Result<()> {
        let Some(Climb { at, renames, passed }) = climb else { return Ok(()) };
        let rest = self.climb(at.as_fd(), Some((renames, passed)), DEPTH_MAX)?;
        if rest.is_none() { Ok(()) } else { Err(Error::Stale) }
    }

    /// Climbs from `dir` to the root or to a directory that is known to be inside; so many levels at most,
    /// and what is left then.
    fn climb(
        &self,
        dir: BorrowedFd<'_>,
        before: Option<(u64, Vec<u64>)>,
        levels_max: usize,
    ) -> Result<Option<Climb>> {
        self.acting.become_self()?;
        let (renames, mut passed) = before.unwrap_or_else(|| (self.renames(), Vec::new()));
        let mut at: Option<OwnedFd> = None;
        for _ in 0..levels_max {
            let fd = at.as_ref().map_or(dir, AsFd::as_fd);
            let here = stat::stat(fd)?;
            if stat::device(&here) == self.root.device {
                if here.stx_ino == self.root.id.fileid || self.is_known_inside(here.stx_ino) {
                    self.note_inside(renames, passed);
                    return Ok(None);
                }
                passed.push(here.stx_ino);
            }
            #[cfg(test)]
            self.containment.climbed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let up = openat(fd, c"..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            let above = stat::stat(up.as_fd())?;
            if (above.stx_ino, stat::device(&above)) == (here.stx_ino, stat::device(&here)) {
                return Err(Error::Stale);
            }
            at = Some(up);
        }
        let at = at.ok_or(Error::Stale)?;
        Ok(Some(Climb { at, renames, passed }))
    }

    fn is_known_inside(&self, inode: u64) -> bool {
        let mut known = self.containment.known.lock();
        known.refresh(self.renames());
        known.inodes.contains(&inode)
    }

    /// Notes what a climb has passed on its way to the root, unless a name was moved meanwhile.
    fn note_inside(&self, renames: u64, passed: Vec<u64>) {
        if self.renames() == renames {
            let mut known = self.containment.known.lock();
            known.refresh(renames);
            let room = REMEMBERED_MAX.saturating_sub(known.inodes.len());
            // Those at the top are on the way of more climbs.
            known.inodes.extend(passed.into_iter().rev().take(room));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use pollster::block_on;
    use rustix::fs::{AtFlags, CWD, mkdirat, renameat, unlinkat};

    use super::*;
    use crate::local::{Local, LocalOptions, restore_thread_identity};
    use crate::{FileSystem, Name, Request};

    /// A chain of directories called `d`, too deep for a path and for a recursive removal.
    struct Chain {
        dir: tempfile::TempDir,
        depth: usize,
    }

    impl Chain {
        fn new(depth: usize) -> (Self, Local) {
            let chain = Self { dir: tempfile::tempdir().unwrap(), depth };
            let mut at = chain.open_top();
            for _ in 0..depth {
                mkdirat(&at, c"d", Mode::RWXU).unwrap();
                at = openat(&at, c"d", OFlags::PATH, Mode::empty()).unwrap();
            }
            let local = Local::open(chain.dir.path(), &LocalOptions::default()).unwrap();
            (chain, local)
        }

        fn open_top(&self) -> OwnedFd {
            openat(CWD, self.dir.path(), OFlags::PATH, Mode::empty()).unwrap()
        }
    }

    impl Drop for Chain {
        fn drop(&mut self) {
            // The second directory takes the place of the first, until one is left.
            let top = self.open_top();
            for _ in 1..self.depth {
                let _ = renameat(&top, c"d/d", &top, c"e");
                let _ = unlinkat(&top, c"d", AtFlags::REMOVEDIR);
                let _ = renameat(&top, c"e", &top, c"d");
            }
        }
    }

    fn bottom(local: &Local, depth: usize) -> crate::local::Node {
        let name = Name::new(b"d").unwrap();
        let down = |dir, _| block_on(local.lookup(Request::of_server(), &dir, name)).unwrap().0;
        (0..depth).fold(local.root(), down)
    }

    #[test]
    fn lookups_of_parents_in_a_chain_climb_each_level_once() {
        const DEPTH: usize = 30_000;
        let (_chain, local) = Chain::new(DEPTH);
        let at = bottom(&local, DEPTH);
        // Should the machine be so slow that a second passes, the rest is climbed once more.
        let began = Instant::now();
        for _ in 0..120 {
            block_on(local.lookup_parent(Request::of_server(), &at)).unwrap();
        }
        let climbed = local.export.containment.climbed.load(Relaxed);
        let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
        assert!(climbed <= DEPTH * (seconds + 2), "{climbed} levels");
        restore_thread_identity().unwrap();
    }

    #[test]
    fn rename_through_us_ends_what_is_remembered() {
        let (chain, local) = Chain::new(8);
        let at = bottom(&local, 8);
        block_on(local.lookup_parent(Request::of_server(), &at)).unwrap();
        std::fs::write(chain.dir.path().join("one"), "").unwrap();
        let (one, other) = (Name::new(b"one").unwrap(), Name::new(b"other").unwrap());
        let before = local.export.containment.climbed.load(Relaxed);
        block_on(local.rename(Request::of_server(), &local.root(), one, &local.root(), other)).unwrap();
        block_on(local.lookup_parent(Request::of_server(), &at)).unwrap();
        assert_eq!(local.export.containment.climbed.load(Relaxed) - before, 7, "every level again");
        restore_thread_identity().unwrap();
    }
}
