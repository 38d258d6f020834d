//! The bytes of one direction of one connection, each with the time at which it may leave. Knows no sockets
//! and no clock: reading, writing and the time are handed in.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::Instant;

use super::block::{Block, BlockPool};

/// Slices handed to one vectored write.
const SLICES_MAX: usize = 16;

/// How a direction ends, after its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The sender will send no more.
    Finish,
    /// The sender is gone.
    Reset,
}

#[derive(Debug, Default)]
pub(super) struct DelayQueue {
    blocks: VecDeque<Block>,
    /// Pieces that are not due yet, in order of arrival and of time.
    marks: VecDeque<Mark>,
    /// Bytes that are due and not yet written.
    due_bytes: usize,
    held_bytes: usize,
    end: Option<(Instant, End)>,
}

#[derive(Debug)]
struct Mark {
    due: Instant,
    bytes: usize,
}

impl DelayQueue {
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(super) fn due_bytes(&self) -> usize {
        self.due_bytes
    }

    /// Lets `read` fill at most `limit` bytes and returns how many it was offered and how many it took.
    /// Bytes that it took must be given times with [`Self::mark`].
    pub(super) fn fill(
        &mut self,
        pool: &mut BlockPool,
        limit: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<(usize, usize)> {
        if !self.blocks.back().is_some_and(Block::has_room) {
            self.blocks.push_back(pool.take());
        }
        let block = self.blocks.back_mut().expect("pushed above if there was none");
        let room = block.room(limit);
        let offered = room.len();
        let result = read(room);
        let taken = *result.as_ref().unwrap_or(&0);
        block.fill(taken);
        self.held_bytes += taken;
        if block.content().is_empty() {
            pool.give(self.blocks.pop_back().expect("looked at above"));
        }
        result.map(|taken| (offered, taken))
    }

    /// Says when the next `bytes` of those read may leave. Times must not decrease.
    pub(super) fn mark(&mut self, due: Instant, bytes: usize) {
        match self.marks.back_mut() {
            Some(last) if last.due == due => last.bytes += bytes,
            _ => self.marks.push_back(Mark { due, bytes }),
        }
    }

    /// Says how and when the direction ends. A reset replaces a finish; nothing replaces a reset.
    pub(super) fn finish(&mut self, due: Instant, end: End) {
        if !matches!(self.end, Some((_, End::Reset))) {
            self.end = Some((due, end));
        }
    }

    /// Makes the bytes due whose time has come.
    pub(super) fn release(&mut self, now: Instant) {
        while let Some(mark) = self.marks.pop_front_if(|mark| mark.due <= now) {
            self.due_bytes += mark.bytes;
        }
    }

    /// Lets `write` take bytes that are due; returns how many were offered and how many it took.
    pub(super) fn drain(
        &mut self,
        pool: &mut BlockPool,
        write: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<(usize, usize)> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut offered = 0;
        let mut count = 0;
        for (slice, block) in slices.iter_mut().zip(&self.blocks) {
            let content = block.content();
            let content = &content[..content.len().min(self.due_bytes - offered)];
            if content.is_empty() {
                break;
            }
            *slice = IoSlice::new(content);
            offered += content.len();
            count += 1;
        }
        let taken = write(&slices[..count])?;
        self.remove(pool, taken);
        Ok((offered, taken))
    }

    /// The time at which this queue has something to do that it cannot do yet, given whether its bytes can be
    /// written at all.
    pub(super) fn next_due(&self, writable: bool) -> Option<Instant> {
        match (self.marks.front(), self.end) {
            (Some(mark), _) if writable => Some(mark.due),
            (_, Some((due, End::Reset))) => Some(due),
            (None, Some((due, End::Finish))) if writable && self.held_bytes == 0 => Some(due),
            _ => None,
        }
    }

    /// The end, once its time has come. A finish waits for every byte before it; a reset overtakes those that
    /// the receiver does not take.
    pub(super) fn ended(&self, now: Instant) -> Option<End> {
        let (due, end) = self.end?;
        (due <= now && (end == End::Reset || self.held_bytes == 0)).then_some(end)
    }

    /// Forgets all bytes.
    pub(super) fn clear(&mut self, pool: &mut BlockPool) {
        self.marks.clear();
        (self.due_bytes, self.held_bytes) = (0, 0);
        self.give_back(pool);
    }

    fn remove(&mut self, pool: &mut BlockPool, mut count: usize) {
        self.due_bytes -= count;
        self.held_bytes -= count;
        while let Some(block) = self.blocks.front_mut().filter(|_| count > 0) {
            let part = count.min(block.content().len());
            block.drain(part);
            count -= part;
            if !block.content().is_empty() {
                return;
            }
            pool.give(self.blocks.pop_front().expect("looked at above"));
        }
    }

    fn give_back(&mut self, pool: &mut BlockPool) {
        while let Some(block) = self.blocks.pop_front() {
            pool.give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn put(queue: &mut DelayQueue, pool: &mut BlockPool, due: Instant, bytes: &[u8]) {
        let (_, taken) = queue
            .fill(pool, usize::MAX, |room| {
                room[..bytes.len()].copy_from_slice(bytes);
                Ok(bytes.len())
            })
            .unwrap();
        assert_eq!(taken, bytes.len());
        queue.mark(due, taken);
    }

    fn take(queue: &mut DelayQueue, pool: &mut BlockPool, limit: usize) -> Vec<u8> {
        let mut out = Vec::new();
        queue
            .drain(pool, |slices| {
                out = slices.iter().flat_map(|slice| slice.iter().copied()).take(limit).collect();
                Ok(out.len())
            })
            .unwrap();
        out
    }

    #[test]
    fn bytes_leave_in_order_and_not_before_their_time() {
        let (mut queue, mut pool, start) = (DelayQueue::default(), BlockPool::default(), Instant::now());
        let later = start + Duration::from_millis(1);
        put(&mut queue, &mut pool, start, b"now");
        put(&mut queue, &mut pool, later, b"later");
        queue.release(start);
        assert_eq!(take(&mut queue, &mut pool, 2), b"no");
        assert_eq!(take(&mut queue, &mut pool, usize::MAX), b"w");
        assert_eq!(queue.next_due(true), Some(later));
        assert_eq!(take(&mut queue, &mut pool, usize::MAX), b"");
        queue.release(later);
        assert_eq!(take(&mut queue, &mut pool, usize::MAX), b"later");
        assert_eq!((queue.held_bytes(), queue.next_due(true)), (0, None));
    }

    #[test]
    fn bytes_of_many_blocks_come_out_as_they_went_in() {
        let (mut queue, mut pool, start) = (DelayQueue::default(), BlockPool::default(), Instant::now());
        let piece: Vec<u8> = (0..60_000_u32).map(|byte| (byte % 251) as u8).collect();
        for _ in 0..100 {
            put(&mut queue, &mut pool, start, &piece);
        }
        queue.release(start);
        let mut out = Vec::new();
        while queue.held_bytes() > 0 {
            out.extend(take(&mut queue, &mut pool, 77_777));
        }
        assert!(out.chunks(piece.len()).all(|chunk| chunk == piece) && out.len() == 100 * piece.len());
        assert!(queue.blocks.is_empty(), "an empty queue holds no memory");
    }

    #[test]
    fn a_read_is_offered_no_more_than_its_limit() {
        let (mut queue, mut pool) = (DelayQueue::default(), BlockPool::default());
        assert_eq!(queue.fill(&mut pool, 7, |room| Ok(room.len())).unwrap(), (7, 7));
        assert_eq!(queue.held_bytes(), 7);
    }

    #[test]
    fn the_end_waits_for_the_last_byte_and_for_its_time() {
        let (mut queue, mut pool, start) = (DelayQueue::default(), BlockPool::default(), Instant::now());
        let later = start + Duration::from_millis(1);
        put(&mut queue, &mut pool, start, b"x");
        queue.finish(later, End::Finish);
        assert_eq!(queue.ended(later), None);
        queue.release(start);
        take(&mut queue, &mut pool, 1);
        assert_eq!((queue.ended(start), queue.next_due(true)), (None, Some(later)));
        assert_eq!(queue.ended(later), Some(End::Finish));
    }

    #[test]
    fn a_reset_does_not_wait_for_bytes_that_the_receiver_does_not_take() {
        let (mut queue, mut pool, start) = (DelayQueue::default(), BlockPool::default(), Instant::now());
        let later = start + Duration::from_millis(1);
        put(&mut queue, &mut pool, start, b"x");
        queue.finish(later, End::Reset);
        assert_eq!((queue.ended(start), queue.next_due(false)), (None, Some(later)));
        assert_eq!(queue.ended(later), Some(End::Reset));
    }

    #[test]
    fn a_reset_replaces_a_finish_but_is_never_replaced() {
        let (mut queue, start) = (DelayQueue::default(), Instant::now());
        queue.finish(start, End::Finish);
        queue.finish(start, End::Reset);
        queue.finish(start, End::Finish);
        assert_eq!(queue.ended(start), Some(End::Reset));
    }
}
