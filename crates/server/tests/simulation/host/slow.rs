//! A file system that takes its time, before it does something and after: requests overtake each other
//! between any two steps.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use server::runtime::Runtime;
use vfs::memory::Memory;
use vfs::{Layer, Result};

use super::world::World;
use crate::random::Random;

/// Where the time comes from: the server that runs now.
#[derive(Clone)]
pub struct Pace(Arc<Mutex<Inner>>);

struct Inner {
    world: Weak<World>,
    random: Random,
    /// Of a thousand steps so many wait.
    slow: u64,
}

impl Pace {
    pub fn new(mut random: Random) -> Self {
        let slow = [0, 0, 100, 400][random.below(4) as usize];
        Self(Arc::new(Mutex::new(Inner { world: Weak::new(), random, slow })))
    }

    pub fn set_world(&self, world: &Arc<World>) {
        self.0.lock().world = Arc::downgrade(world);
    }

    fn pause(&self) -> impl Future<Output = ()> + Send + use<> {
        let inner = &mut *self.0.lock();
        let waits = inner.random.chance(inner.slow);
        let sleeping = inner.world.upgrade().filter(|_| waits).map(|world| {
            let longest = if inner.random.chance(50) { 2000 } else { 30 };
            world.sleep(Duration::from_millis(inner.random.between(1, longest)))
        });
        async move {
            if let Some(sleeping) = sleeping {
                sleeping.await;
            }
        }
    }
}

pub struct Slow {
    memory: Memory,
    pace: Pace,
}

impl Slow {
    pub fn new(memory: Memory, pace: Pace) -> Self {
        Self { memory, pace }
    }
}

impl Layer for Slow {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.memory
    }

    async fn around<T: Send>(
        &self,
        _name: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.pace.pause().await;
        let outcome = call.await;
        self.pace.pause().await;
        outcome
    }
}
