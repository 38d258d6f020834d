//! Handle and attributes of an entry, without opening it.
//!
//! The kernel is asked twice, for the handle and for the attributes, each time by the name, which may have
//! gone to another object in between. Both answers are of one object when the handle holds the number that
//! the attributes tell, and the object was born before the handle was asked for: then it had that number
//! already, and nobody else did. Whatever cannot be told so is left to be opened.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{Statx, StatxFlags};

use super::object::{Descriptors, Object};
use super::open::Location;
use super::persistent::{Persistent, Proof};
use super::sys::{self, FoundHandle};
use super::{Export, change, stat};

/// A moment, before which an object was born or was not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    now_ns: i64,
}

impl Moment {
    /// By the clock that files get their times from.
    pub(super) fn now() -> Self {
        Self { now_ns: change::now_ns() }
    }
}

impl Export {
    /// The object at `place` and its attributes, with the thread's ids; `None` where it is known already, and
    /// where it must be opened. `since` is a moment before.
    pub(super) fn glance(
        &self,
        dir: BorrowedFd<'_>,
        place: Location<'_>,
        since: Moment,
    ) -> Option<(Arc<Object>, Statx)> {
        let found = sys::name_to_handle_in(dir, place.1.as_bytes()).ok()?;
        let stat = stat::stat_name(dir, place.1).ok()?;
        let id = self.agreed(&found, &stat, since)?;
        // Whoever writes to it has it in the cache, and must be told that somebody looks. One who comes later
        // writes later.
        if self.cache.get(id.fileid).is_some() {
            return None;
        }
        Some((Arc::new(self.object(id, Descriptors::default(), &stat, Some(place))), stat))
    }

    /// What names the object that both are of, if they are of one.
    fn agreed(&self, found: &FoundHandle, stat: &Statx, since: Moment) -> Option<Persistent> {
        let fid = found.fid.filter(|_| self.glances)?;
        let has_mount = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let is_ours = has_mount
            && stat.stx_mnt_id == self.mount_id
            && found.mount_id == self.mount_id
            && stat::device(stat) == self.root.device;
        let is_same = fid.fileid() == Some(stat.stx_ino)
            && stat::birth_ns(stat).is_some_and(|birth_ns| birth_ns < since.now_ns);
        (is_ours && is_same).then_some(Persistent { fileid: stat.stx_ino, proof: Proof::Fid(fid) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::Name;
    use crate::local::object::Purpose;
    use crate::local::{Local, LocalOptions};

    /// Times of files stand still for so long at most on the file systems that are glanced at.
    const TICK: Duration = Duration::from_millis(20);

    struct Scene {
        local: Local,
        dir: tempfile::TempDir,
    }

    impl Scene {
        /// `None` where the file system is not one that is glanced at.
        fn new(below: &Path) -> Option<Self> {
            let dir = tempfile::tempdir_in(below).ok()?;
            for name in ["one", "other"] {
                std::fs::write(dir.path().join(name), name).unwrap();
            }
            let local = Local::open(dir.path(), &LocalOptions::default()).unwrap();
            local.export.glances.then_some(Self { local, dir })
        }

        fn all() -> Vec<Self> {
            ["/var/tmp", "/dev/shm"].iter().filter_map(|below| Self::new(Path::new(below))).collect()
        }

        fn glance(&self, name: &str, since: Moment) -> Option<(Arc<Object>, Statx)> {
            let export = &self.local.export;
            let root = export.root.descriptor(Purpose::Path).unwrap();
            export.glance(root.as_fd(), (&export.root, Name::new(name.as_bytes()).unwrap()), since)
        }

        fn parts(&self, name: &str) -> (FoundHandle, Statx) {
            let root = self.local.export.root.descriptor(Purpose::Path).unwrap();
            let found = sys::name_to_handle_in(root.as_fd(), name.as_bytes()).unwrap();
            (found, stat::stat_name(root.as_fd(), Name::new(name.as_bytes()).unwrap()).unwrap())
        }

        fn open(&self, name: &str) -> Arc<Object> {
            let export = &self.local.export;
            let root = export.root.descriptor(Purpose::Path).unwrap();
            export.child(root.as_fd(), (&export.root, Name::new(name.as_bytes()).unwrap())).unwrap().0
        }
    }

    #[test]
    fn glance_equals_open() {
        for scene in Scene::all() {
            std::thread::sleep(TICK);
            let (glanced, stat) = scene.glance("one", Moment::now()).unwrap();
            assert!(!glanced.is_open());
            let opened = scene.open("one");
            assert_eq!((glanced.id, glanced.kind, stat.stx_size), (opened.id, opened.kind, 3));
            assert_eq!((glanced.handle, glanced.object_id), (opened.handle, opened.object_id));
            // Known now.
            assert!(scene.glance("one", Moment::now()).is_none());
        }
    }

    #[test]
    fn the_handle_of_one_object_and_attributes_of_another_do_not_agree() {
        for scene in Scene::all() {
            std::thread::sleep(TICK);
            let since = Moment::now();
            let ((handle, stat), (other_handle, other_stat)) = (scene.parts("one"), scene.parts("other"));
            let agreed = |handle, stat| scene.local.export.agreed(handle, stat, since);
            assert!(agreed(&handle, &stat).is_some() && agreed(&other_handle, &other_stat).is_some());
            assert!(agreed(&handle, &other_stat).is_none() && agreed(&other_handle, &stat).is_none());
            let elsewhere = FoundHandle { mount_id: handle.mount_id + 1, ..handle };
            assert!(agreed(&elsewhere, &stat).is_none(), "of another mount");
        }
    }

    #[test]
    fn the_number_stands_in_the_handles_of_four_file_systems() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        let long =
            |rest: &[u32]| [7_u64 << 32 | 5].map(u64::to_ne_bytes).concat().into_iter().chain(words(rest));
        let of = |kind, bytes: Vec<u8>| sys::Fid::new(kind, &bytes).unwrap().fileid();
        assert_eq!(of(1, words(&[5, 9])), Some(5));
        assert_eq!(of(1, words(&[9, 5, 7])), Some(7 << 32 | 5));
        assert_eq!(of(0x81, long(&[9]).collect()), Some(7 << 32 | 5));
        assert_eq!(of(0x4d, long(&[256, 0, 9]).collect()), Some(7 << 32 | 5));
        assert_eq!(of(2, words(&[5, 9, 2, 3])), None);
    }

    #[test]
    fn reused_inode_number_is_opened_not_glanced_at() {
        for scene in Scene::all() {
            let since = Moment::now();
            std::fs::write(scene.dir.path().join("new"), "").unwrap();
            assert!(scene.glance("new", since).is_none());
            std::thread::sleep(TICK);
            assert!(scene.glance("new", Moment::now()).is_some());
        }
    }
}
