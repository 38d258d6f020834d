//! A server of others is killed and started again under mounts whose files are open, read, written and
//! locked.

use std::fs;

use client::Version;
use nix::errno::Errno;
use nix::libc::{F_UNLCK, F_WRLCK};

use crate::Foreign;
use crate::mounted::Mounted;
use crate::mounts::nothing_is_left_of_removed_files;
use crate::other_process::OtherProcess;
use crate::steps::Orders;
use crate::walk::Walk;

/// Of each thread.
const STEPS: usize = 200;
const KILLS: usize = 3;
const LOCK: (i32, i64, i64) = (F_WRLCK, 10, 10);

/// What goes on over one version.
struct Scene {
    version: Version,
    mounted: Mounted,
    /// Another mount of the same, which shows what is on the server.
    other: Mounted,
    walk: Walk,
    /// Has a file of the one mount open and, over NFSv4, locked.
    holder: OtherProcess,
    /// Has the same of the other mount.
    rival: OtherProcess,
}

impl Scene {
    fn start(server: Foreign, version: Version, seed: u64) -> Self {
        // They wait for the server as long as it takes.
        let mount = || Mounted::start(&server.place.url("", version), "hard");
        let (mounted, other) = (mount(), mount());
        let top = format!("restarted-{version}");
        fs::create_dir(mounted.root().join(&top)).unwrap();
        let (here, there) = (mounted.root().join(&top), other.root().join(&top));
        fs::write(here.join("locked"), "x").unwrap();
        let mut holder = OtherProcess::start(&here.join("locked"));
        let mut rival = OtherProcess::start(&there.join("locked"));
        holder.lock(LOCK).unwrap();
        assert_eq!(rival.lock(LOCK), Err(Errno::EAGAIN));
        // Both have it open.
        fs::remove_file(here.join("locked")).unwrap();
        let sparse = version == Version::V4_2;
        let walk = Walk::start(&Orders { mount: here, export: there, seed, steps: STEPS, sparse });
        Self { version, mounted, other, walk, holder, rival }
    }

    fn end(mut self) {
        self.walk.until(&self.mounted, STEPS - 1);
        self.walk.end(&self.mounted);
        // A lock of NFSv3 is taken back when the host's lock service has heard of the restart, which nobody
        // tells it here.
        if self.version != Version::V3 {
            assert_eq!(self.rival.lock(LOCK), Err(Errno::EAGAIN), "it was taken back, {}", self.version);
        }
        self.holder.lock((F_UNLCK, 0, 0)).unwrap();
        self.rival.lock(LOCK).unwrap();
        drop((self.holder, self.rival));
        let top = format!("restarted-{}", self.version);
        nothing_is_left_of_removed_files(&self.other.root().join(top));
        assert!(self.mounted.unmount() && self.other.unmount(), "not everything arrived");
    }
}

/// All versions at once. `PRIMETIME_FIRST_SEED=7` takes other steps, and `PRIMETIME_TELL_STEPS=1` tells of
/// each.
pub(crate) fn every_byte_is_right(server: Foreign, kill_and_restart: impl Fn()) {
    let seed = std::env::var("PRIMETIME_FIRST_SEED").map_or(1, |text| text.parse().unwrap());
    let mut scenes = Version::ALL.map(|version| Scene::start(server, version, seed));
    for kill in 0..KILLS {
        for scene in &mut scenes {
            scene.walk.until(&scene.mounted, STEPS / (KILLS + 1) * (kill + 1));
        }
        kill_and_restart();
    }
    scenes.into_iter().for_each(Scene::end);
}
