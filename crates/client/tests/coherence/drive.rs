//! A scene: a server, clients of it, and programs on each that work through plans of their own at the same
//! time.

use std::sync::Arc;
use std::time::Duration;

use client::{Client, Version};

use tokio::task::JoinSet;

use crate::files::{self, Files};
use crate::ground::Ground;
use crate::names::{Names, Tree};
use crate::random::Random;
use crate::scene::{Kind, Met, Mode};

const PROGRAMS_PER_CLIENT: usize = 2;
const STEPS: usize = 50;
/// A scene takes a second or two. Who does not give a delegation back stops others for the length of a lease,
/// which is longer.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub struct Scene {
    pub mode: Mode,
    pub clients: &'static [Kind],
    pub seed: u64,
}

/// Lets all programs run to their end; then all clients must agree with what the server has.
pub async fn run(scene: Scene) -> Met {
    match tokio::time::timeout(PATIENCE, play(scene)).await {
        Ok(met) => met,
        Err(_) => panic!("{scene:?}: somebody still waits for something after {PATIENCE:?}"),
    }
}

async fn play(scene: Scene) -> Met {
    // The times of a directory's files may stand still between two changes, and NFSv3 has nothing else.
    let by_times = scene.mode != Mode::Locks && scene.clients.iter().any(|kind| kind.version == Version::V3);
    let ground = if by_times { Ground::memory().await } else { Ground::directory().await };
    let mut clients = Vec::new();
    for kind in scene.clients {
        clients.push(ground.client(kind.version, |options| kind.apply(options)).await);
    }
    let outsider = ground.client(Version::V4_1, |options| options.delegations = false).await;
    let mut met = match scene.mode {
        Mode::Names | Mode::Replacements => {
            let tree = Arc::new(Tree::plant(&outsider, scene.mode).await);
            play_all(scene, &clients, |place| Names::new(place, Arc::clone(&tree)).run()).await;
            tree.agrees(&outsider, &clients).await;
            Met::default()
        }
        mode => {
            let history = Arc::new(files::plant(&outsider).await);
            let met =
                play_all(scene, &clients, |place| Files::new(place, Arc::clone(&history)).run(mode)).await;
            files::agree(&outsider, &clients).await;
            met.into_iter().sum()
        }
    };
    for client in clients {
        client.shutdown().await.unwrap();
        met.recalls += client.tap().snapshot().callbacks.get("CB_RECALL").copied().unwrap_or(0);
    }
    outsider.shutdown().await.unwrap();
    ground.leave().await;
    met
}

/// A program's client, with its number, and the choices of its plan.
pub struct Place {
    pub client: Client,
    pub number: usize,
    pub program: usize,
    pub random: Random,
}

impl Place {
    /// Sometimes waits for some milliseconds.
    pub async fn rest(&mut self) {
        if self.random.one_in(8) {
            tokio::time::sleep(Duration::from_millis(self.random.below(4) as u64)).await;
        }
    }

    pub const fn steps() -> usize {
        STEPS
    }
}

async fn play_all<F: Future<Output: Send> + Send + 'static>(
    scene: Scene,
    clients: &[Client],
    program_of: impl Fn(Place) -> F,
) -> Vec<F::Output> {
    let mut programs = JoinSet::new();
    for (number, client) in clients.iter().enumerate() {
        for program in 0..PROGRAMS_PER_CLIENT {
            let seed = (scene.seed * 100 + number as u64) * 100 + program as u64;
            let random = Random::new(seed);
            programs.spawn(program_of(Place { client: client.clone(), number, program, random }));
        }
    }
    let mut ended = Vec::new();
    while let Some(program) = programs.join_next().await {
        match program {
            Ok(value) => ended.push(value),
            Err(error) => panic!("{scene:?}: {error}"),
        }
    }
    ended
}
