//! One direction of the bottleneck: loss, queues, a transmitter and a way. Pure state: the time is an
//! argument, counted from the start of the network, and must not go back.

use std::collections::VecDeque;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::counters::{DirectionCounters, Fate};
use super::options::DirectionOptions;
use super::queues::{Packet, Queues};

/// The most bytes that travel at once: what comes to a way that is full is dropped. At 10 Gbit/s it is 200
/// ms.
const TRAVELLING_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Direction {
    delay: Duration,
    jitter: Duration,
    rate_bytes_per_second: Option<u64>,
    loss: f64,
    queues: Queues,
    /// When the transmitter has sent what it was given, or the queues were empty and are not any more.
    free_at: Duration,
    /// Packets on their way, with the time of their arrival, in order.
    travelling: VecDeque<(Duration, Packet)>,
    travelling_bytes: u64,
    random: SmallRng,
    counters: DirectionCounters,
}

impl Direction {
    pub(super) fn new(options: &DirectionOptions) -> Self {
        Self {
            delay: options.delay,
            jitter: options.jitter,
            rate_bytes_per_second: options.rate_bytes_per_second,
            loss: options.loss,
            queues: Queues::new(options.discipline, options.limit, options.seed),
            free_at: Duration::ZERO,
            travelling: VecDeque::new(),
            travelling_bytes: 0,
            random: SmallRng::seed_from_u64(options.seed),
            counters: DirectionCounters::default(),
        }
    }

    /// Takes a packet at its time of arrival.
    pub(super) fn enqueue(&mut self, packet: Packet) {
        let now = packet.arrived;
        // What was sent before it came must not find it in its way, or make way for it.
        self.transmit(now);
        if self.loss > 0.0 && self.random.random_bool(self.loss) {
            self.counters.count(&packet, Fate::Lost);
            return;
        }
        if self.queues.is_empty() {
            self.free_at = self.free_at.max(now);
        }
        self.counters.place(&packet, &self.queues);
        if let Some(dropped) = self.queues.put(packet) {
            self.counters.count(&dropped, Fate::Dropped);
        }
        self.transmit(now);
    }

    /// The next packet that has arrived by `now`.
    pub(super) fn dequeue(&mut self, now: Duration) -> Option<Packet> {
        self.transmit(now);
        let (_, packet) = self.travelling.pop_front_if(|(arrival, _)| *arrival <= now)?;
        self.travelling_bytes -= packet.bytes.len() as u64;
        self.counters.count(&packet, Fate::Delivered);
        Some(packet)
    }

    /// When to ask again; none while there is nothing to wait for.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match self.travelling.front() {
            Some((arrival, _)) => Some(*arrival),
            None => (!self.queues.is_empty()).then_some(self.free_at),
        }
    }

    pub(super) fn counters(&self) -> &DirectionCounters {
        &self.counters
    }

    /// Sends what is to be sent up to `now`, each packet at its own time.
    fn transmit(&mut self, now: Duration) {
        while self.free_at <= now {
            let Some(packet) = self.queues.take() else { return };
            self.counters.waited(self.free_at.saturating_sub(packet.arrived));
            self.free_at += self.serialisation(packet.bytes.len());
            self.travel(packet);
        }
    }

    fn serialisation(&self, bytes: usize) -> Duration {
        let Some(rate) = self.rate_bytes_per_second else { return Duration::ZERO };
        // At most 64 KiB at 1,000 bytes each second: far below what fits.
        Duration::from_nanos((bytes as u128 * 1_000_000_000 / u128::from(rate)) as u64)
    }

    fn travel(&mut self, packet: Packet) {
        let length = packet.bytes.len() as u64;
        if self.travelling_bytes + length > TRAVELLING_BYTES_MAX {
            self.counters.count(&packet, Fate::Dropped);
            return;
        }
        let way = self.delay - self.jitter + self.jitter.mul_f64(2.0 * self.share());
        let last = self.travelling.back().map_or(Duration::ZERO, |(arrival, _)| *arrival);
        self.travelling.push_back(((self.free_at + way).max(last), packet));
        self.travelling_bytes += length;
    }

    /// Uniform from 0 to 1; not drawn where nothing depends on it.
    fn share(&mut self) -> f64 {
        if self.jitter.is_zero() { 0.0 } else { self.random.random_range(0.0..=1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flow::Flow;
    use crate::packet::options::{Discipline, QueueLimit};

    const MS: Duration = Duration::from_millis(1);

    fn packet(number: u16, length: usize, arrived: Duration) -> Packet {
        let target = format!("10.98.0.2:{number}").parse().unwrap();
        Packet { flow: Flow::tcp("10.98.0.1:1".parse().unwrap(), target), bytes: vec![0; length], arrived }
    }

    /// Everything that arrives, as (port, time), found by asking when the direction says so.
    fn arrivals(direction: &mut Direction) -> Vec<(u16, Duration)> {
        let mut found = Vec::new();
        while let Some(now) = direction.next_due() {
            while let Some(packet) = direction.dequeue(now) {
                found.push((packet.flow.target.port(), now));
            }
        }
        found
    }

    #[test]
    fn without_rate_and_delay_packets_arrive_when_they_come() {
        let mut direction = Direction::new(&DirectionOptions::default());
        direction.enqueue(packet(1, 1500, MS));
        assert_eq!(direction.next_due(), Some(MS));
        assert_eq!(direction.dequeue(MS).unwrap().flow.target.port(), 1);
        assert_eq!((direction.dequeue(MS), direction.next_due()), (None, None));
    }

    #[test]
    fn a_packet_arrives_when_it_was_sent_whole_and_has_travelled() {
        let options =
            DirectionOptions { delay: MS * 10, rate_bytes_per_second: Some(1_000_000), ..Default::default() };
        let mut direction = Direction::new(&options);
        direction.enqueue(packet(1, 1000, MS));
        direction.enqueue(packet(2, 500, MS));
        // An idle transmitter saves nothing up.
        direction.enqueue(packet(3, 1000, MS * 20));
        assert_eq!(direction.dequeue(MS * 12 - Duration::from_nanos(1)), None);
        let expected = [(1, MS * 12), (2, MS * 12 + MS / 2), (3, MS * 31)];
        assert_eq!(arrivals(&mut direction), expected);
    }

    #[test]
    fn asking_late_changes_no_arrival_and_no_turn() {
        let options = DirectionOptions {
            delay: MS,
            rate_bytes_per_second: Some(1_500_000),
            discipline: Discipline::FairQueue { flows_max: 4 },
            ..Default::default()
        };
        let fill = |direction: &mut Direction| {
            for number in [1, 1, 1, 1, 2, 2] {
                direction.enqueue(packet(number, 1500, MS));
            }
        };
        let mut asked = Direction::new(&options);
        fill(&mut asked);
        let punctual = arrivals(&mut asked);
        assert_eq!(punctual.iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), [1, 1, 2, 1, 2, 1]);
        let mut late = Direction::new(&options);
        fill(&mut late);
        // It finds the transmitter at rest, not one that still has everything before it.
        late.enqueue(packet(3, 1500, MS * 100));
        let order: Vec<u16> =
            std::iter::from_fn(|| late.dequeue(MS * 200)).map(|p| p.flow.target.port()).collect();
        assert_eq!(order, [1, 1, 2, 1, 2, 1, 3]);
        assert_eq!(late.counters().longest_wait, MS * 5);
    }

    #[test]
    fn a_full_queue_drops_and_what_is_being_sent_is_not_in_it() {
        let options = DirectionOptions {
            rate_bytes_per_second: Some(1_500_000),
            limit: QueueLimit::Packets(2),
            ..Default::default()
        };
        let mut direction = Direction::new(&options);
        for number in 1..=5 {
            direction.enqueue(packet(number, 1500, Duration::ZERO));
        }
        assert_eq!(arrivals(&mut direction), [(1, MS), (2, MS * 2), (3, MS * 3)]);
        let counters = direction.counters();
        assert_eq!((counters.delivered.packets, counters.dropped_packets, counters.lost_packets), (3, 2, 0));
        assert_eq!(counters.delivered.bytes, 4500);
    }

    #[test]
    fn jitter_spreads_arrivals_around_the_delay_and_keeps_the_order() {
        let options = DirectionOptions { delay: MS * 10, jitter: MS * 4, ..Default::default() };
        let mut direction = Direction::new(&options);
        for number in 0..1000 {
            direction.enqueue(packet(number, 100, MS * 100 * u32::from(number)));
        }
        let found = arrivals(&mut direction);
        let ways: Vec<Duration> =
            found.iter().map(|(number, arrival)| *arrival - MS * 100 * u32::from(*number)).collect();
        assert!(ways.iter().all(|way| (MS * 6..=MS * 14).contains(way)));
        assert!(ways.iter().any(|way| *way < MS * 7) && ways.iter().any(|way| *way > MS * 13));
        let mut crowded = Direction::new(&options);
        (0..1000).for_each(|number| crowded.enqueue(packet(number, 100, MS)));
        assert!(arrivals(&mut crowded).iter().map(|(number, _)| *number).eq(0..1000));
    }

    #[test]
    fn so_many_packets_are_lost_as_asked_for_and_the_seed_says_which() {
        let lost = |seed| {
            let mut direction = Direction::new(&DirectionOptions { loss: 0.1, seed, ..Default::default() });
            (0..10_000).for_each(|number| direction.enqueue(packet(number, 100, MS)));
            let found: Vec<u16> = arrivals(&mut direction).iter().map(|(number, _)| *number).collect();
            assert_eq!(direction.counters().lost_packets as usize + found.len(), 10_000);
            found
        };
        // Seven standard deviations of a thousand lost ones.
        assert!((9000_i32 - lost(1).len() as i32).abs() < 210);
        assert_eq!(lost(1), lost(1));
        assert_ne!(lost(1), lost(2));
        let mut all = Direction::new(&DirectionOptions { loss: 1.0, ..Default::default() });
        all.enqueue(packet(1, 100, MS));
        assert_eq!(all.next_due(), None);
    }

    #[test]
    fn bytes_of_a_flow_are_counted_with_its_queue() {
        let options = DirectionOptions {
            rate_bytes_per_second: Some(1_500_000),
            discipline: Discipline::MultiQueue { queues: 8 },
            limit: QueueLimit::Packets(10),
            ..Default::default()
        };
        let mut direction = Direction::new(&options);
        for number in (1..=4).flat_map(|number| [number; 10]) {
            direction.enqueue(packet(number, 1500, Duration::ZERO));
        }
        assert_eq!(arrivals(&mut direction).len() as u64 + direction.counters().dropped_packets, 40);
        for number in 1..=4 {
            let flow = packet(number, 0, MS).flow;
            let counts = &direction.counters().flows[&flow];
            assert_eq!(counts.queue, Some(flow.queue(8, options.seed)));
            assert_eq!(counts.packets + counts.dropped_packets, 10);
            assert_eq!(counts.bytes, counts.packets * 1500);
        }
    }
}
