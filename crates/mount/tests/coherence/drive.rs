//! A scene: a server, mounts of it, and programs on each that work through plans of their own at the same
//! time.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use client::{Object, Version};

use crate::files::{self, Files};
use crate::fixture::{Mounted, can_mount};
use crate::ground::Ground;
use crate::names::{Names, Tree};
use crate::random::Random;
use crate::scene::{Kind, Met, Mode};

const PROGRAMS_PER_MOUNT: usize = 2;
const STEPS: usize = 40;
/// So many seeds do everything that a scene is about.
const SEEDS_THAT_MEET_ALL: u64 = 20;
/// A scene takes a second or two. Who does not give a delegation back stops others for the length of a lease,
/// which is longer.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
struct Scene {
    mode: Mode,
    mounts: &'static [Kind],
    seed: u64,
}

/// A program's mount, with its number, and the choices of its plan.
pub struct Place {
    /// The directory that it is mounted in.
    pub root: std::path::PathBuf,
    /// The files as the client behind the mount has them, to ask whether a delegation is held.
    pub objects: Arc<Vec<Object>>,
    pub number: usize,
    pub program: usize,
    pub random: Random,
}

impl Place {
    /// Sometimes waits for some milliseconds.
    pub fn rest(&mut self) {
        if self.random.one_in(8) {
            std::thread::sleep(Duration::from_millis(self.random.below(4) as u64));
        }
    }

    pub const fn steps() -> usize {
        STEPS
    }
}

/// Plays the scene with each of the seeds. Says why it does nothing where nothing can be mounted.
pub fn all_seeds(mode: Mode, mounts: &'static [Kind]) {
    if !can_mount() {
        return;
    }
    let (first, count) = (number("PRIMETIME_FIRST_SEED", 0), number("PRIMETIME_SEEDS", 1));
    let met = (first..first + count).map(|seed| play(Scene { mode, mounts, seed }));
    // One seed may come to its end without.
    met.sum::<Met>().check(mode, mounts, count >= SEEDS_THAT_MEET_ALL);
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Lets all programs run to their end; then all mounts must agree with what the server has.
fn play(scene: Scene) -> Met {
    // The times of a directory's files may stand still between two changes, and NFSv3 has nothing else.
    let by_times = scene.mode != Mode::Locks && scene.mounts.iter().any(|kind| kind.version == Version::V3);
    let ground = if by_times { Ground::memory() } else { Ground::directory() };
    let mounts: Vec<_> =
        scene.mounts.iter().map(|kind| ground.mount(kind.version, |options| kind.apply(options))).collect();
    let outsider = ground.mount(Version::V4_1, |options| options.delegations = false);
    let mut met = match scene.mode {
        Mode::Names | Mode::Replacements => {
            let tree = Arc::new(Tree::plant(outsider.root(), scene.mode));
            let all = Arc::clone(&tree);
            play_all(scene, &mounts, &[], move |place| Names::new(place, Arc::clone(&all)).run());
            tree.agrees(&outsider, &mounts);
            Met::default()
        }
        mode => {
            let history = Arc::new(files::plant(outsider.root()));
            let names = files::names();
            let met = play_all(scene, &mounts, &names, move |place| {
                Files::new(place, Arc::clone(&history)).run(mode)
            });
            files::agree(&outsider, &mounts);
            met.into_iter().sum()
        }
    };
    for mounted in mounts {
        met.recalls += mounted.client.tap().snapshot().callbacks.get("CB_RECALL").copied().unwrap_or(0);
        mounted.unmount().unwrap();
    }
    outsider.unmount().unwrap();
    met
}

/// Runs a program of each number on each of the mounts, and says how to play it again when one complains.
fn play_all<T: Send + 'static>(
    scene: Scene,
    mounts: &[Mounted],
    names: &[String],
    program_of: impl Fn(Place) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let (sender, ended) = mpsc::channel();
    let mut programs = Vec::new();
    for (number, mounted) in mounts.iter().enumerate() {
        let objects = Arc::new(mounted.objects(names));
        for program in 0..PROGRAMS_PER_MOUNT {
            let random = Random::new((scene.seed * 100 + number as u64) * 100 + program as u64);
            let (root, objects) = (mounted.root().to_owned(), Arc::clone(&objects));
            let place = Place { root, objects, number, program, random };
            let (program_of, sender) = (program_of.clone(), sender.clone());
            programs.push(std::thread::spawn(move || {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program_of(place)));
                // Nobody listens any more once one has complained.
                let _ = sender.send(outcome);
            }));
        }
    }
    let again = format!(
        "{scene:?}: to be played again with PRIMETIME_FIRST_SEED={} PRIMETIME_SEEDS=20, since it also \
         depends on the machine",
        scene.seed
    );
    let mut values = Vec::new();
    for _ in &programs {
        match ended.recv_timeout(PATIENCE) {
            Ok(Ok(value)) => values.push(value),
            Ok(Err(_)) => panic!("{again}"),
            Err(_) => {
                // Otherwise the process could not end, for programs that wait for an answer of it.
                mounts.iter().for_each(Mounted::abort);
                panic!("somebody still waits for something after {PATIENCE:?}: {again}");
            }
        }
    }
    values
}

impl Mounted {
    /// The files of those names as the client behind the mount has them.
    fn objects(&self, names: &[String]) -> Vec<Object> {
        let root = self.client.root_object();
        let find = |name: &String| self.block_on(root.lookup(name.as_bytes())).unwrap();
        names.iter().map(find).collect()
    }
}
