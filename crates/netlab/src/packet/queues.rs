//! The queueing disciplines: queues that take turns by deficit round robin. Pure state: packets in, packets
//! out.
//!
//! One queue is FIFO; a queue for each value of a hash is a card with several transmit queues; a queue for
//! each flow is fair queueing. Each queue may send [`QUANTUM_BYTES`] more whenever its turn comes, so that
//! busy queues send equal numbers of bytes whatever the size of their packets (Shreedhar and Varghese,
//! "Efficient Fair Queuing Using Deficit Round Robin", 1996).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::flow::Flow;
use super::options::{Discipline, QueueLimit};

/// What a queue may send more in each of its turns: a packet of the greatest size.
const QUANTUM_BYTES: u64 = super::MTU_BYTES as u64;

/// A packet that waits or travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) flow: Flow,
    pub(super) bytes: Vec<u8>,
    /// When it came, since the start of the network.
    pub(super) arrived: Duration,
}

#[derive(Debug)]
pub(super) struct Queues {
    discipline: Discipline,
    limit: QueueLimit,
    seed: u64,
    queues: Vec<Queue>,
    /// Queues that hold packets, in the order of their turns.
    busy: VecDeque<usize>,
    /// Which queue a flow has to itself, and which queues are nobody's. Used by fair queueing only.
    owners: HashMap<Flow, usize>,
    free: Vec<usize>,
    packets: usize,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Packet>,
    bytes: u64,
    /// What it may send before its turn is over.
    deficit: u64,
    owner: Option<Flow>,
}

impl Queues {
    pub(super) fn new(discipline: Discipline, limit: QueueLimit, seed: u64) -> Self {
        let count = discipline.queues() as usize;
        Self {
            discipline,
            limit,
            seed,
            queues: std::iter::repeat_with(Queue::default).take(count).collect(),
            busy: VecDeque::new(),
            owners: HashMap::new(),
            free: (0..count).rev().collect(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// The queue that a flow always waits in; none with fair queueing, where it has one to itself for as long
    /// as it waits.
    pub(super) fn fixed_queue_of(&self, flow: &Flow) -> Option<u32> {
        match self.discipline {
            Discipline::Fifo => Some(0),
            Discipline::MultiQueue { queues } => Some(flow.queue(queues, self.seed)),
            Discipline::FairQueue { .. } => None,
        }
    }

    /// Takes a packet. Gives the one that had to be dropped for it: itself or, with fair queueing, the last
    /// one of the longest queue.
    pub(super) fn put(&mut self, packet: Packet) -> Option<Packet> {
        let index = self.queue_for(&packet.flow);
        let length = packet.bytes.len() as u64;
        if self.limits_each_queue() {
            let queue = &self.queues[index];
            if self.limit.is_exceeded(queue.packets.len() + 1, queue.bytes + length) {
                return Some(packet);
            }
        }
        self.append(index, packet);
        if !self.limits_each_queue() && self.limit.is_exceeded(self.packets, self.bytes) {
            return self.drop_from_longest();
        }
        None
    }

    /// The packet whose turn it is.
    pub(super) fn take(&mut self) -> Option<Packet> {
        loop {
            let index = *self.busy.front()?;
            let queue = &mut self.queues[index];
            let length = queue.packets.front().expect("a busy queue holds a packet").bytes.len() as u64;
            if length > queue.deficit {
                queue.deficit += QUANTUM_BYTES;
                self.busy.rotate_left(1);
                continue;
            }
            queue.deficit -= length;
            queue.bytes -= length;
            let packet = queue.packets.pop_front();
            self.packets -= 1;
            self.bytes -= length;
            if queue.packets.is_empty() {
                self.busy.pop_front();
                self.retire(index);
            }
            return packet;
        }
    }

    fn limits_each_queue(&self) -> bool {
        !matches!(self.discipline, Discipline::FairQueue { .. })
    }

    fn queue_for(&mut self, flow: &Flow) -> usize {
        if let Some(fixed) = self.fixed_queue_of(flow) {
            return fixed as usize;
        }
        if let Some(own) = self.owners.get(flow) {
            return *own;
        }
        let Some(own) = self.free.pop() else {
            return flow.queue(self.discipline.queues(), self.seed) as usize;
        };
        self.owners.insert(*flow, own);
        self.queues[own].owner = Some(*flow);
        own
    }

    fn append(&mut self, index: usize, packet: Packet) {
        let length = packet.bytes.len() as u64;
        let queue = &mut self.queues[index];
        if queue.packets.is_empty() {
            queue.deficit = QUANTUM_BYTES;
            self.busy.push_back(index);
        }
        queue.bytes += length;
        queue.packets.push_back(packet);
        self.packets += 1;
        self.bytes += length;
    }

    fn drop_from_longest(&mut self) -> Option<Packet> {
        let longest = *self.busy.iter().max_by_key(|index| self.queues[**index].bytes)?;
        let queue = &mut self.queues[longest];
        let packet = queue.packets.pop_back()?;
        queue.bytes -= packet.bytes.len() as u64;
        self.packets -= 1;
        self.bytes -= packet.bytes.len() as u64;
        if queue.packets.is_empty() {
            self.busy.retain(|index| *index != longest);
            self.retire(longest);
        }
        Some(packet)
    }

    /// Makes an empty queue nobody's.
    fn retire(&mut self, index: usize) {
        if let Some(flow) = self.queues[index].owner.take() {
            self.owners.remove(&flow);
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u16) -> Flow {
        Flow::tcp("10.98.0.1:1".parse().unwrap(), format!("10.98.0.2:{number}").parse().unwrap())
    }

    fn packet(number: u16, length: usize) -> Packet {
        Packet { flow: flow(number), bytes: vec![0; length], arrived: Duration::ZERO }
    }

    fn queues(discipline: Discipline, limit: QueueLimit) -> Queues {
        Queues::new(discipline, limit, 1)
    }

    /// Bytes that each of the flows `0..flows` has sent when `count` packets were taken.
    fn sent(queues: &mut Queues, flows: usize, count: usize) -> Vec<u64> {
        let mut bytes = vec![0; flows];
        for _ in 0..count {
            let packet = queues.take().unwrap();
            bytes[usize::from(packet.flow.target.port())] += packet.bytes.len() as u64;
        }
        bytes
    }

    #[test]
    fn queue_serves_in_order_of_arrival_and_drops_when_full() {
        let mut fifo = queues(Discipline::Fifo, QueueLimit::Packets(3));
        assert!([0, 1, 0].iter().all(|number| fifo.put(packet(*number, 100)).is_none()));
        assert_eq!(fifo.put(packet(2, 100)), Some(packet(2, 100)));
        let order: Vec<u16> = std::iter::from_fn(|| fifo.take()).map(|p| p.flow.target.port()).collect();
        assert_eq!(order, [0, 1, 0]);
        assert!(fifo.is_empty());
    }

    #[test]
    fn a_limit_in_bytes_counts_bytes() {
        let mut fifo = queues(Discipline::Fifo, QueueLimit::Bytes(1500));
        assert!(fifo.put(packet(0, 1000)).is_none());
        assert!(fifo.put(packet(0, 501)).is_some());
        assert!(fifo.put(packet(0, 500)).is_none());
        assert!(fifo.take().is_some());
        assert!(fifo.put(packet(0, 1000)).is_none());
    }

    #[test]
    fn transmit_queues_share_the_link_and_flows_share_their_queue() {
        let card = Discipline::MultiQueue { queues: 4 };
        let mut card = queues(card, QueueLimit::Packets(1000));
        // One flow alone in its queue, and three that share another one.
        let alone = 0;
        let queue_of = |number| card.fixed_queue_of(&flow(number)).unwrap();
        let other = Some((1..).map(queue_of).find(|queue| *queue != queue_of(alone)).unwrap());
        let sharers: Vec<u16> =
            (1..).filter(|number| card.fixed_queue_of(&flow(*number)) == other).take(3).collect();
        for _ in 0..100 {
            for number in [alone, sharers[0], sharers[1], sharers[2]] {
                assert!(card.put(packet(number, 1500)).is_none());
            }
        }
        let bytes = sent(&mut card, 1000, 120);
        assert_eq!(bytes[usize::from(alone)], 60 * 1500);
        assert!(sharers.iter().all(|number| bytes[usize::from(*number)] == 20 * 1500), "{bytes:?}");
    }

    #[test]
    fn turns_are_counted_in_bytes_not_in_packets() {
        let mut fair = queues(Discipline::FairQueue { flows_max: 8 }, QueueLimit::Packets(10_000));
        for _ in 0..100 {
            assert!(fair.put(packet(0, 1500)).is_none());
        }
        for _ in 0..1500 {
            assert!(fair.put(packet(1, 100)).is_none());
        }
        // Sixteen packets of two turns: one large, fifteen small.
        let bytes = sent(&mut fair, 2, 16 * 50);
        assert_eq!(bytes, [50 * 1500, 50 * 1500]);
    }

    #[test]
    fn fair_queueing_gives_each_flow_the_same_however_much_it_asks() {
        let mut fair = queues(Discipline::FairQueue { flows_max: 8 }, QueueLimit::Packets(1000));
        for _ in 0..20 {
            for number in [0, 1, 1, 1, 1, 1, 2, 2] {
                assert!(fair.put(packet(number, 1500)).is_none());
            }
        }
        assert_eq!(sent(&mut fair, 3, 60), [20 * 1500, 20 * 1500, 20 * 1500]);
        // What is left is the others'; a flow that is done holds nothing up.
        assert_eq!(sent(&mut fair, 3, 100), [0, 80 * 1500, 20 * 1500]);
        assert!(fair.is_empty() && fair.owners.is_empty() && fair.free.len() == 8);
    }

    #[test]
    fn a_full_fair_queue_drops_from_the_longest() {
        let mut fair = queues(Discipline::FairQueue { flows_max: 8 }, QueueLimit::Packets(4));
        assert!([0, 0, 0, 1].iter().all(|number| fair.put(packet(*number, 1000)).is_none()));
        assert_eq!(fair.put(packet(2, 1000)), Some(packet(0, 1000)));
        assert_eq!(fair.put(packet(1, 200)).map(|dropped| dropped.flow), Some(flow(0)));
        assert_eq!(sent(&mut fair, 3, 4), [1000, 1200, 1000]);
        assert!(fair.is_empty() && fair.packets == 0 && fair.bytes == 0);
    }

    #[test]
    fn more_flows_than_queues_share_and_none_is_lost() {
        let mut fair = queues(Discipline::FairQueue { flows_max: 2 }, QueueLimit::Packets(1000));
        for number in 0..10 {
            assert!(fair.put(packet(number, 100)).is_none());
        }
        assert_eq!(sent(&mut fair, 10, 10), [100; 10]);
        assert!(fair.take().is_none());
        assert_eq!(fair.free.len(), 2);
    }

    #[test]
    fn counts_are_right_after_any_order_of_events() {
        for discipline in
            [Discipline::Fifo, Discipline::MultiQueue { queues: 3 }, Discipline::FairQueue { flows_max: 3 }]
        {
            let mut queues = queues(discipline, QueueLimit::Packets(5));
            let (mut inside, mut random) = (0_usize, 1_u64);
            for _ in 0..10_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = (random >> 40) as u16 % 7;
                if random >> 63 == 0 {
                    let dropped = queues.put(packet(number, 60 + usize::from(number) * 200)).is_some();
                    inside += usize::from(!dropped);
                } else {
                    inside -= usize::from(queues.take().is_some());
                }
                assert_eq!(queues.packets, inside);
                assert!(inside <= 15 && queues.is_empty() == (inside == 0));
            }
            while queues.take().is_some() {}
            assert_eq!((queues.packets, queues.bytes, queues.owners.len()), (0, 0, 0));
        }
    }
}
