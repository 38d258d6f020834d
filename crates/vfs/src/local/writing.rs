//! Changes of data under way, and who looked at the file meanwhile.
//!
//! The kernel gives a file its new times before the new data are in: who looks in the middle of a write gets
//! the times that the file will have, and may then read the data of before. A client would keep those as the
//! file's latest, since nothing tells it otherwise afterwards. So a change that was looked at in its middle
//! is given times of its own at its end, before it is answered. Nothing else pays for that; a look costs one
//! load from memory.
//!
//! Where changes are counted the count goes on at the end of each change, and nothing of this is needed.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::Export;
use super::attributes::set_times;
use super::object::{Object, Purpose};
use crate::{Error, Result, SetAttributes, SetTime};

/// Beside the number of changes under way: somebody has looked.
const LOOKED: u32 = 1 << 31;

/// The changes of a file's data that are under way.
#[derive(Default)]
pub(super) struct Writing(AtomicU32);

impl Writing {
    /// Notes that the times were looked at. To be called after the look: a change that has ended by now has
    /// its data in.
    pub(super) fn note_look(&self) {
        if self.0.load(SeqCst) != 0 {
            let looked = |now| (now & !LOOKED != 0).then_some(now | LOOKED);
            // Refused when the last change has ended since, and then there is nothing to note.
            let _ = self.0.fetch_update(SeqCst, SeqCst, looked);
        }
    }

    /// True while a change is. To be asked after a look, as with [`Writing::note_look`].
    pub(super) fn is_under_way(&self) -> bool {
        self.0.load(SeqCst) != 0
    }

    fn begin(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// Ends a change, of which `renew` renews the times if somebody has looked. The note stays until the last
    /// change ends: what was looked at may be the middle of several.
    fn end(&self, renew: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut renew = Some(renew);
        let mut renewed = Ok(());
        let mut now = self.0.load(SeqCst);
        loop {
            if now & LOOKED != 0
                && let Some(renew) = renew.take()
            {
                renewed = renew();
            }
            let left = (now & !LOOKED) - 1;
            let then = if left == 0 { 0 } else { left | (now & LOOKED) };
            match self.0.compare_exchange(now, then, SeqCst, SeqCst) {
                Ok(_) => return renewed,
                Err(other) => now = other,
            }
        }
    }
}

impl Export {
    /// Carries out a change of the data or the length of `object`, and notes it.
    ///
    /// # Errors
    /// Those of `change`, and of renewing the times where that is needed: the data may have changed then.
    pub(super) fn change_data<T>(
        &self,
        object: &Arc<Object>,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        object.writing.begin();
        let changed = change();
        self.moved(object);
        let renewed = object.writing.end(|| self.renew_times(object));
        changed.and_then(|value| renewed.map(|()| value))
    }

    /// Gives a file that was looked at new times.
    fn renew_times(&self, object: &Arc<Object>) -> Result<()> {
        if self.changes.is_counted() {
            return Ok(());
        }
        let fd = self.data_descriptor(object, Purpose::Write)?;
        self.acting.become_self()?;
        let modified = SetAttributes { modified: Some(SetTime::Now), ..Default::default() };
        match set_times(&fd, &modified) {
            // Of a file of somebody else's who lets us write, the kernel sets no less than both.
            Err(Error::NotPermitted) => touch(&fd),
            set => set,
        }
    }
}

fn touch(fd: &OwnedFd) -> Result<()> {
    let now =
        SetAttributes { accessed: Some(SetTime::Now), modified: Some(SetTime::Now), ..Default::default() };
    set_times(fd, &now)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::local::{Local, LocalOptions, Node, restore_thread_identity};
    use crate::{FileSystem, Name, Request};

    struct Scene {
        local: Local,
        file: Node,
        _dir: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory");
            std::fs::write(dir.path().join("file"), "data").expect("writes");
            let local = Local::open(dir.path(), &LocalOptions::default()).expect("opens");
            let name = Name::new(b"file").expect("a name");
            let (file, _) =
                block_on(local.lookup(Request::of_server(), &local.root(), name)).expect("exists");
            Self { local, file, _dir: dir }
        }

        fn change_data<T>(&self, change: impl FnOnce() -> Result<T>) -> T {
            self.local.export.change_data(&self.file.0, change).expect("changes")
        }

        /// What the kernel does before it takes the data.
        fn stamp(&self) -> Result<()> {
            let export = &self.local.export;
            export.acting.become_self()?;
            let fd = export.data_descriptor(&self.file.0, Purpose::Write)?;
            touch(&fd)
        }

        fn look(&self) -> Result<u64> {
            Ok(self.local.export.attributes(&self.file.0)?.change)
        }
    }

    #[test]
    fn look_within_a_change_renews_the_times_at_its_end() {
        let scene = Scene::new();
        let middle = scene.change_data(|| {
            scene.stamp()?;
            scene.look()
        });
        let after = scene.look().unwrap();
        assert!(middle < after, "{middle} {after}");
        assert_eq!(scene.look().unwrap(), after, "the same without a change");
        assert_eq!(scene.file.0.writing.0.load(SeqCst), 0);
        restore_thread_identity().unwrap();
    }

    #[test]
    fn settled_attributes_are_none_during_a_change() {
        let scene = Scene::new();
        let settled = || scene.local.export.settled_attributes(&scene.file.0);
        let (seen, state) = scene.change_data(|| Ok((settled()?, scene.file.0.writing.0.load(SeqCst))));
        match scene.local.export.changes.is_counted() {
            false => assert_eq!((seen, state), (None, 1), "one change under way, and nobody has looked"),
            true => assert!(seen.is_some(), "a look costs nothing"),
        }
        assert_eq!(settled().unwrap().map(|seen| seen.change), Some(scene.look().unwrap()));
        restore_thread_identity().unwrap();
    }

    #[test]
    fn the_end_of_each_of_several_changes_is_seen() {
        let scene = Scene::new();
        let (middle, between) = scene.change_data(|| {
            scene.stamp()?;
            let middle = scene.change_data(|| scene.look());
            Ok((middle, scene.look()?))
        });
        let after = scene.look().unwrap();
        assert!(middle < between && between < after, "{middle} {between} {after}");
        restore_thread_identity().unwrap();
    }

    #[test]
    fn a_change_that_nobody_looked_at_keeps_its_times() {
        let renewed = std::cell::Cell::new(false);
        let writing = Writing::default();
        let renew = || {
            renewed.set(true);
            Ok(())
        };
        writing.note_look();
        writing.begin();
        writing.end(renew).unwrap();
        writing.note_look();
        assert!(!renewed.get() && writing.0.load(SeqCst) == 0);
        writing.begin();
        writing.note_look();
        writing.end(renew).unwrap();
        assert!(renewed.get() && writing.0.load(SeqCst) == 0);
    }
}
