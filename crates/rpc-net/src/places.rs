//! The places that connections take, and which connection gives way when there is no place left.
//!
//! Owned by the task that accepts connections. Knows no clock: time passes in ticks.

use std::collections::HashMap;

use crate::memory::ClientAddress;

/// How active a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Records that have come on it.
    pub(crate) records: u64,
    /// Calls are under way, or replies wait for the socket.
    pub(crate) is_busy: bool,
}

/// A connection as it is seen from here.
pub(crate) trait Occupant {
    /// How active it is now.
    fn activity(&self) -> Activity;
    /// True while it is the only one that carries the callbacks of a client.
    fn is_only_backchannel(&self) -> bool;
    /// Closes it, soon.
    fn close(&self);
}

struct Slot<O> {
    client: ClientAddress,
    occupant: O,
    seen: Activity,
    idle_ticks: u32,
}

impl<O: Occupant> Slot<O> {
    fn is_idle(&self) -> bool {
        let activity = self.occupant.activity();
        !activity.is_busy && activity.records == self.seen.records
    }
}

/// Whether a connection that was accepted may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// A place is free.
    Free,
    /// Another connection was closed for it.
    Instead,
    /// There is no place.
    Refused,
}

/// See the module.
pub(crate) struct Places<O> {
    max: usize,
    places: HashMap<u64, Slot<O>>,
    clients: HashMap<ClientAddress, usize>,
}

impl<O: Occupant> Places<O> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, places: HashMap::new(), clients: HashMap::new() }
    }

    /// Makes a place for a connection of `client`. When all are taken, a connection of a client with the
    /// most gives way:
    ///
    /// - to a client that has at least two fewer, whatever the connection does;
    /// - to any other only if it has been idle for a tick, and is not its client's only way for callbacks.
    ///
    /// Of several the one goes that is not busy, carries no callbacks, was never used, or was idle the
    /// longest, in this order.
    pub(crate) fn admit(&mut self, client: ClientAddress) -> Admission {
        if self.places.len() < self.max {
            return Admission::Free;
        }
        let own = self.clients.get(&client).copied().unwrap_or(0);
        let most = self.clients.values().copied().max().unwrap_or(0);
        if self.close_one(own + 1 < most) { Admission::Instead } else { Admission::Refused }
    }

    /// Closes a connection of a client with the most, see [`Places::admit`]: one that has been idle for a
    /// tick, or any.
    pub(crate) fn close_one(&mut self, any: bool) -> bool {
        let most = self.clients.values().copied().max();
        let rank = |place: &Slot<O>| {
            let is_used = place.occupant.activity().records > 0;
            let is_only_backchannel = place.occupant.is_only_backchannel();
            (!place.is_idle(), is_only_backchannel, is_used, u32::MAX - place.idle_ticks)
        };
        let candidates =
            self.places.iter().filter(|(_, place)| self.clients.get(&place.client).copied() == most);
        let Some((rank, id)) = candidates.map(|(id, place)| (rank(place), *id)).min() else { return false };
        let (is_active, is_only_backchannel, _, not_idle) = rank;
        let has_idled = !is_active && !is_only_backchannel && not_idle < u32::MAX;
        if !any && !has_idled {
            return false;
        }
        if let Some(place) = self.remove(id) {
            place.occupant.close();
        }
        true
    }

    pub(crate) fn insert(&mut self, id: u64, client: ClientAddress, occupant: O) {
        *self.clients.entry(client).or_default() += 1;
        let seen = occupant.activity();
        self.places.insert(id, Slot { client, occupant, seen, idle_ticks: 0 });
    }

    /// A connection is gone.
    pub(crate) fn forget(&mut self, id: u64) {
        self.remove(id);
    }

    fn remove(&mut self, id: u64) -> Option<Slot<O>> {
        let place = self.places.remove(&id)?;
        if let Some(count) = self.clients.get_mut(&place.client) {
            *count -= 1;
            if *count == 0 {
                self.clients.remove(&place.client);
            }
        }
        Some(place)
    }

    /// A tick has passed: closes connections that were idle for `ticks_max`, except those that alone carry
    /// the callbacks of a client.
    pub(crate) fn tick(&mut self, ticks_max: u32) {
        let mut closed = Vec::new();
        for (id, place) in &mut self.places {
            place.idle_ticks = if place.is_idle() { place.idle_ticks.saturating_add(1) } else { 0 };
            place.seen = place.occupant.activity();
            if place.idle_ticks >= ticks_max && !place.occupant.is_only_backchannel() {
                place.occupant.close();
                closed.push(*id);
            }
        }
        closed.into_iter().for_each(|id| self.forget(id));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::IpAddr;
    use std::rc::Rc;

    use super::*;

    #[derive(Default)]
    struct Fake {
        activity: Cell<Activity>,
        is_only_backchannel: Cell<bool>,
        is_closed: Cell<bool>,
    }

    impl Occupant for Rc<Fake> {
        fn activity(&self) -> Activity {
            self.activity.get()
        }

        fn is_only_backchannel(&self) -> bool {
            self.is_only_backchannel.get()
        }

        fn close(&self) {
            self.is_closed.set(true);
        }
    }

    impl Fake {
        fn use_once(&self) {
            let activity = self.activity.get();
            self.activity.set(Activity { records: activity.records + 1, ..activity });
        }

        fn set_busy(&self, is_busy: bool) {
            self.activity.set(Activity { is_busy, ..self.activity.get() });
        }
    }

    fn client(last: u8) -> ClientAddress {
        ClientAddress::of(IpAddr::from([10, 0, 0, last]))
    }

    struct World {
        places: Places<Rc<Fake>>,
        connections: Vec<Rc<Fake>>,
    }

    impl World {
        fn new(max: usize) -> Self {
            Self { places: Places::new(max), connections: Vec::new() }
        }

        fn connect(&mut self, last: u8) -> Admission {
            let admission = self.places.admit(client(last));
            if admission != Admission::Refused {
                let connection = Rc::new(Fake::default());
                self.places.insert(self.connections.len() as u64, client(last), Rc::clone(&connection));
                self.connections.push(connection);
            }
            admission
        }

        fn closed(&self) -> Vec<usize> {
            (0..self.connections.len()).filter(|number| self.connections[*number].is_closed.get()).collect()
        }
    }

    #[test]
    fn newcomer_takes_the_place_of_the_client_with_the_most() {
        let mut world = World::new(4);
        for _ in 0..4 {
            assert_eq!(world.connect(1), Admission::Free);
        }
        for connection in &world.connections {
            connection.set_busy(true);
        }
        assert_eq!(world.connect(1), Admission::Refused, "its own are all busy");
        assert_eq!(world.connect(2), Admission::Instead);
        assert_eq!(world.connect(2), Admission::Instead);
        world.connections[4..].iter().for_each(|connection| connection.set_busy(true));
        assert_eq!(world.connect(2), Admission::Refused, "it would have more than the other");
        assert_eq!((world.closed().len(), world.places.places.len()), (2, 4));
        assert!(world.closed().iter().all(|number| *number < 4));
        assert_eq!(world.connect(3), Admission::Instead);
    }

    #[test]
    fn idle_and_unused_connections_give_way_first() {
        let mut world = World::new(5);
        for _ in 0..5 {
            world.connect(1);
        }
        let [busy, used, late, callbacks, _unused] = &world.connections[..] else { panic!() };
        for connection in [busy, used, late, callbacks] {
            connection.use_once();
        }
        busy.set_busy(true);
        callbacks.is_only_backchannel.set(true);
        world.places.tick(100);
        late.use_once();
        world.places.tick(100);
        for (last, expected) in [(2, 4), (3, 1), (4, 2)] {
            let before = world.closed();
            assert_eq!(world.connect(last), Admission::Instead);
            let closed: Vec<_> = world.closed().into_iter().filter(|id| !before.contains(id)).collect();
            assert_eq!(closed, [expected]);
        }
    }

    #[test]
    fn client_with_the_most_replaces_its_own_idle_connections() {
        let mut world = World::new(2);
        world.connect(1);
        world.connect(1);
        assert_eq!(world.connect(1), Admission::Refused, "none has been idle for a tick");
        world.places.tick(100);
        assert_eq!(world.connect(1), Admission::Instead);
        world.connections.iter().for_each(|connection| connection.is_only_backchannel.set(true));
        world.places.tick(100);
        assert_eq!(world.connect(1), Admission::Refused);
    }

    #[test]
    fn idle_connections_are_closed_unless_they_alone_carry_callbacks() {
        let mut world = World::new(9);
        for last in 1..=4 {
            world.connect(last);
        }
        world.connections[1].set_busy(true);
        world.connections[2].is_only_backchannel.set(true);
        world.places.tick(2);
        assert_eq!(world.closed(), []);
        world.connections[3].use_once();
        world.places.tick(2);
        assert_eq!(world.closed(), [0]);
        world.connections[1].set_busy(false);
        world.places.tick(2);
        assert_eq!(world.closed(), [0], "the tick before saw the others at work");
        world.places.tick(2);
        assert_eq!(world.closed(), [0, 1, 3]);
        assert_eq!(world.places.places.len(), 1);
    }
}
