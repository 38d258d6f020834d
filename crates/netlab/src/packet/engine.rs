//! The thread of a network: it reads what the machines send, asks the switch what becomes of it, and writes
//! what arrives.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use tun_rs::SyncDevice;

use super::switch::Switch;
use crate::waker::Waker;

const EVENTS_PER_WAIT: usize = 256;
const WAKER: u64 = u64::MAX;

/// Packets read from one device before the others have their turn.
const PACKETS_PER_TURN: usize = 64;

/// What an engine shares with its network.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) switch: Mutex<Switch>,
    stopped: AtomicBool,
    waker: Waker,
}

impl Shared {
    pub(super) fn new(switch: Switch) -> io::Result<Self> {
        Ok(Self { switch: Mutex::new(switch), stopped: AtomicBool::new(false), waker: Waker::new()? })
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.waker.wake();
    }
}

pub(super) struct Engine {
    epoll: OwnedFd,
    /// By port of the switch.
    devices: Vec<SyncDevice>,
    shared: Arc<Shared>,
    start: Instant,
    /// Ports that may have packets.
    readable: Vec<usize>,
}

impl Engine {
    pub(super) fn new(devices: Vec<SyncDevice>, shared: Arc<Shared>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &shared.waker, EventData::new_u64(WAKER), EventFlags::IN)?;
        for (device, port) in devices.iter().zip(0..) {
            epoll::add(&epoll, device, EventData::new_u64(port), EventFlags::IN)?;
        }
        Ok(Self { epoll, devices, shared, start: Instant::now(), readable: Vec::new() })
    }

    /// Moves packets until told to stop.
    pub(super) fn run(mut self) {
        // The kernel may delay a thread's timers by 50 µs to save power; a short link cannot spare that.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        let mut buffer = vec![0; super::MTU_BYTES];
        while !self.shared.stopped.load(Relaxed) {
            self.wait(&mut events);
            let mut switch = self.shared.switch.lock();
            for port in self.readable.drain(..) {
                read(&self.devices[port], port, self.start, &mut switch, &mut buffer);
            }
            while let Some((port, packet)) = switch.dequeue(self.start.elapsed()) {
                // A machine that takes no packet loses it, as it would from a wire.
                let _ = self.devices[port].send(&packet);
            }
        }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) {
        events.clear();
        let timeout = self.timeout();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("epoll failed on descriptors of our own: {error}"),
        }
        for event in events.drain(..) {
            match event.data.u64() {
                WAKER => self.shared.waker.clear(),
                port => self.readable.push(port as usize),
            }
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        let due = self.shared.switch.lock().next_due()?;
        let wait = due.saturating_sub(self.start.elapsed());
        Some(Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) })
    }
}

fn read(device: &SyncDevice, port: usize, start: Instant, switch: &mut Switch, buffer: &mut [u8]) {
    for _ in 0..PACKETS_PER_TURN {
        // An error means that nothing is there any more; a device that is gone has lost its machine, which is
        // the same here.
        let Ok(length) = device.recv(buffer) else { return };
        let now: Duration = start.elapsed();
        switch.enqueue(port, &buffer[..length], now);
    }
}
