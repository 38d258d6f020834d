//! The parts that the services of shared state have in common: the tables, the runtime, the counters, and the
//! event that operations wait for while state is in conflict with them.

use std::sync::Arc;

use event_listener::{Event, EventListener};
use state::{Now, State};

use crate::metrics::Events;
use crate::runtime::Runtime;

/// The common part of a service. Clones share everything.
#[derive(Clone)]
pub(crate) struct ServiceCore {
    state: Arc<State>,
    world: Arc<dyn Runtime>,
    events: Arc<Events>,
    released: Arc<Event>,
}

impl ServiceCore {
    pub(crate) fn new(state: Arc<State>, world: Arc<dyn Runtime>) -> Self {
        Self { state, world, events: Arc::default(), released: Arc::default() }
    }

    pub(crate) fn now(&self) -> Now {
        Now(self.world.now_ms())
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    pub(crate) fn world(&self) -> &Arc<dyn Runtime> {
        &self.world
    }

    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Wakes the operations that wait for state to be released, so that each tries again.
    pub(crate) fn wake_held(&self) {
        self.released.notify(usize::MAX);
    }

    /// Completes with the next [`ServiceCore::wake_held`].
    pub(crate) fn released(&self) -> EventListener {
        self.released.listen()
    }
}
