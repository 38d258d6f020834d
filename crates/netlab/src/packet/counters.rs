//! What became of packets: in all, and for each flow.

use std::collections::BTreeMap;
use std::time::Duration;

use super::flow::Flow;
use super::queues::{Packet, Queues};

/// Flows that are counted by themselves; those that come later are in the sums only.
const FLOWS_MAX: usize = 4096;

/// What became of the packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounters {
    /// Packets that arrived, and their bytes.
    pub delivered: Traffic,
    /// Packets that a full queue, or a full way, did not take.
    pub dropped_packets: u64,
    /// Packets that were lost because the options ask for it.
    pub lost_packets: u64,
    /// The longest time that a packet waited in a queue.
    pub longest_wait: Duration,
    /// The same for each of the first 4,096 flows.
    pub flows: BTreeMap<Flow, FlowCounters>,
}

/// Packets, and bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// IP packets.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

/// What became of the packets of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// The queue that it waits in; none with fair queueing, or before its first packet was queued.
    pub queue: Option<u32>,
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Packets that a full queue did not take.
    pub dropped_packets: u64,
}

#[derive(Clone, Copy)]
pub(super) enum Fate {
    Delivered,
    Dropped,
    Lost,
}

impl DirectionCounters {
    /// Notes which queue a packet is about to be put into.
    pub(super) fn place(&mut self, packet: &Packet, queues: &Queues) {
        let queue = queues.fixed_queue_of(&packet.flow);
        if let Some(flow) = self.flow(packet) {
            flow.queue = queue;
        }
    }

    pub(super) fn waited(&mut self, wait: Duration) {
        self.longest_wait = self.longest_wait.max(wait);
    }

    pub(super) fn count(&mut self, packet: &Packet, fate: Fate) {
        let bytes = packet.bytes.len() as u64;
        match fate {
            Fate::Delivered => {
                self.delivered.packets += 1;
                self.delivered.bytes += bytes;
            }
            Fate::Dropped => self.dropped_packets += 1,
            Fate::Lost => self.lost_packets += 1,
        }
        let Some(flow) = self.flow(packet) else { return };
        match fate {
            Fate::Delivered => {
                flow.packets += 1;
                flow.bytes += bytes;
            }
            Fate::Dropped => flow.dropped_packets += 1,
            Fate::Lost => {}
        }
    }

    fn flow(&mut self, packet: &Packet) -> Option<&mut FlowCounters> {
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&packet.flow) {
            return None;
        }
        Some(self.flows.entry(packet.flow).or_default())
    }
}
