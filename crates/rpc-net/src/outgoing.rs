//! Frames on their way to the socket. Whoever finds nobody writing writes; the others' frames ride along.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::Waker;

use bytes::{Buf, Bytes};
use parking_lot::Mutex;

use crate::upgrade::CurrentStream;

/// The most frames in one system call.
const BATCH_FRAMES: usize = 64;
/// Frames up to this size are gathered into one buffer: cheaper than an entry in the vector each, in bytes.
const GATHER_BYTES: usize = 4096;

/// The queue of one connection.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// Bytes that the socket has taken, as far as it was full afterwards.
    written: u64,
    writing: bool,
    /// The socket took no more; the driver waits for it to.
    blocked: bool,
    /// The driver has answered several callers at once, and writes for all of them when they have had their
    /// turn.
    corked: bool,
    /// The stream is being replaced: nothing is written until then.
    held: bool,
    closed: bool,
    driver: Option<Waker>,
}

/// Where a flush ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// Everything is in the socket, or somebody else is seeing to it.
    Done,
    /// The socket takes no more for now.
    Blocked,
}

impl Outgoing {
    /// Queues a frame. False when the connection is closed.
    pub(crate) fn push(&self, frame: Bytes) -> bool {
        let mut queue = self.queue.lock();
        if queue.closed {
            return false;
        }
        queue.bytes += frame.len();
        queue.frames.push_back(frame);
        true
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Grows whenever the socket takes something and is full again.
    pub(crate) fn written(&self) -> u64 {
        self.queue.lock().written
    }

    /// Whom to wake when the socket blocks or fails in another task's hands.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut queue = self.queue.lock();
        if !queue.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            queue.driver = Some(waker.clone());
        }
    }

    /// The driver is to look at what there is for it.
    pub(crate) fn wake_driver(&self) {
        if let Some(driver) = &self.queue.lock().driver {
            driver.wake_by_ref();
        }
    }

    /// True while the driver must wait for the socket.
    pub(crate) fn is_blocked(&self) -> bool {
        self.queue.lock().blocked
    }

    /// No frame is taken any more; the driver is woken to end.
    pub(crate) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        queue.frames.clear();
        queue.bytes = 0;
        if let Some(driver) = queue.driver.take() {
            driver.wake();
        }
    }

    /// True after [`Outgoing::close`].
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.lock().closed
    }

    /// Callers leave their frames here until [`Outgoing::uncork`]: the driver, which calls this, will have
    /// its turn behind them and write all at once.
    pub(crate) fn cork(&self) {
        self.queue.lock().corked = true;
    }

    /// Callers write again themselves.
    pub(crate) fn uncork(&self) {
        self.queue.lock().corked = false;
    }

    /// Lets no task write until [`Outgoing::release`]: frames are only queued. Returns false, without effect,
    /// when something is queued or being written already.
    pub(crate) fn hold(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.held |= !queue.writing && !queue.closed && queue.frames.is_empty();
        queue.held
    }

    /// Ends [`Outgoing::hold`]; the driver writes what was queued meanwhile.
    pub(crate) fn release(&self) {
        self.queue.lock().held = false;
    }

    /// Writes what is queued, from the calling task, unless another task is at it or will be, or the socket
    /// is known to be full.
    pub(crate) fn flush_from_caller(&self, stream: &CurrentStream) {
        {
            let queue = self.queue.lock();
            if queue.blocked || queue.corked {
                return;
            }
        }
        match self.flush(stream) {
            Ok(Flushed::Done) => {}
            Ok(Flushed::Blocked) | Err(_) => {
                // The driver waits for the socket, or finds the error itself.
                self.wake_driver();
            }
        }
    }

    /// Writes what is queued.
    pub(crate) fn flush(&self, stream: &CurrentStream) -> io::Result<Flushed> {
        {
            let mut queue = self.queue.lock();
            if queue.writing || queue.held {
                return Ok(Flushed::Done);
            }
            queue.writing = true;
        }
        loop {
            let outcome = self.write_all(stream);
            let mut queue = self.queue.lock();
            // A frame that came after the last look relied on us to write it.
            if matches!(outcome, Ok(Flushed::Done)) && !queue.frames.is_empty() {
                continue;
            }
            queue.writing = false;
            queue.blocked = matches!(outcome, Ok(Flushed::Blocked));
            return outcome;
        }
    }

    fn write_all(&self, stream: &CurrentStream) -> io::Result<Flushed> {
        let mut batch = VecDeque::new();
        let mut written_bytes = 0;
        loop {
            self.take(&mut batch);
            if batch.is_empty() {
                return Ok(Flushed::Done);
            }
            while !batch.is_empty() {
                let written = {
                    let slices: Vec<IoSlice<'_>> = batch.iter().map(|frame| IoSlice::new(frame)).collect();
                    stream.try_write(&slices)
                };
                match written {
                    Ok(count) => {
                        written_bytes += count as u64;
                        advance(&mut batch, count);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.put_back(batch, written_bytes);
                        return Ok(Flushed::Blocked);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    fn take(&self, batch: &mut VecDeque<Bytes>) {
        let mut queue = self.queue.lock();
        let mut gathered = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_FRAMES
            && let Some(frame) = queue.frames.pop_front()
        {
            bytes += frame.len();
            if frame.len() > GATHER_BYTES || (gathered.is_empty() && queue.frames.is_empty()) {
                push_gathered(batch, &mut gathered);
                batch.push_back(frame);
            } else {
                gathered.extend_from_slice(&frame);
                if gathered.len() > 16 * GATHER_BYTES {
                    push_gathered(batch, &mut gathered);
                }
            }
        }
        push_gathered(batch, &mut gathered);
        queue.bytes = queue.bytes.saturating_sub(bytes);
    }

    fn put_back(&self, batch: VecDeque<Bytes>, written_bytes: u64) {
        let mut queue = self.queue.lock();
        queue.written += written_bytes;
        for frame in batch.into_iter().rev() {
            queue.bytes += frame.len();
            queue.frames.push_front(frame);
        }
    }
}

fn push_gathered(batch: &mut VecDeque<Bytes>, gathered: &mut Vec<u8>) {
    if !gathered.is_empty() {
        batch.push_back(std::mem::take(gathered).into());
    }
}

fn advance(batch: &mut VecDeque<Bytes>, mut count: usize) {
    while count > 0 {
        let Some(first) = batch.front_mut() else { return };
        if count < first.len() {
            first.advance(count);
            return;
        }
        count -= first.len();
        batch.pop_front();
    }
}
