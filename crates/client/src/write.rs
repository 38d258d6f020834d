//! Writing files: data are taken at once up to a budget, sent in large pieces, and made stable by sync and
//! close.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, TryStreamExt};

use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Node;
use crate::read::in_flight_max;
use crate::shared::Shared;
use crate::writeback::Chunk;
use crate::writer::Writer;

impl OpenFile {
    /// Takes `data`, or writes them through when the file is open for that.
    pub(crate) async fn write(self: &Arc<Self>, offset: u64, data: Bytes) -> Result<()> {
        if offset.checked_add(data.len() as u64).is_none() {
            return Err(Error::Usage("the range ends beyond 2^64"));
        }
        if data.is_empty() {
            return Ok(());
        }
        self.shared.check_size(&self.node, "WRITE", offset + data.len() as u64)?;
        self.check_not_lost()?;
        let _gate = self.closing_gate.read().await;
        self.check(true, "")?;
        self.note_use(None);
        if self.sync {
            return self.write_through(offset, &data).await;
        }
        let writer = self.writer.as_ref().ok_or(Error::Usage("the file is not open for writing"))?;
        let mut rest = data;
        let mut at = offset;
        // In parts: one large write goes on as the budget comes free, bit by bit.
        let part_bytes = self.shared.budget_part_bytes();
        while !rest.is_empty() {
            let part = rest.split_to(rest.len().min(part_bytes));
            let length = part.len() as u64;
            let units = self.shared.reserve(part.len()).await;
            self.shared.forget_data(&self.node, at..at + length);
            writer.take(self.id, at, part, units);
            at += length;
        }
        Ok(())
    }

    /// Writes `data` at the end of the file and returns where that is.
    pub(crate) async fn append(self: &Arc<Self>, data: Bytes) -> Result<u64> {
        let _one_at_a_time = self.node.appending.lock().await;
        let end = self.end().await?;
        self.write(end, data).await?;
        Ok(end)
    }

    /// Where the file ends, with what is not at the server yet.
    async fn end(self: &Arc<Self>) -> Result<u64> {
        // In this order: what is no longer unwritten has been learned of before.
        let unwritten = self.node.unwritten_end();
        let size = match self.shared.known_attributes(&self.node) {
            Some(attributes) => attributes.size,
            None => self.shared.revalidate(&self.node).await?.size,
        };
        Ok(size.max(unwritten.unwrap_or(0)))
    }

    /// Waits until everything is on stable storage that was written to the file so far, through whichever
    /// open file; tells what went wrong with what was written through this one.
    pub(crate) async fn flush(&self) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        writer.settle().await;
        writer.told(self.id)
    }

    /// True when something is not on stable storage yet, or an error was not told yet.
    pub(crate) fn has_pending(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.has_pending() || writer.has_error(self.id))
    }

    /// See [`Writer::losses`].
    pub(crate) fn losses(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.losses())
    }

    async fn write_through(self: &Arc<Self>, offset: u64, data: &Bytes) -> Result<()> {
        // What others wrote there before must not come after, not even when the server has lost it.
        self.shared.settle(&self.node).await;
        self.shared.forget_data(&self.node, offset..offset + data.len() as u64);
        let piece_bytes = self.shared.limits().write_bytes_max as usize;
        let mut starts = (0..data.len()).step_by(piece_bytes);
        let mut writes = FuturesUnordered::new();
        loop {
            while writes.len() < in_flight_max(piece_bytes as u64)
                && let Some(at) = starts.next()
            {
                let piece = data.slice(at..data.len().min(at + piece_bytes));
                writes.push(self.write_piece_through(offset + at as u64, piece));
            }
            if writes.try_next().await?.is_none() {
                return Ok(());
            }
        }
    }

    async fn write_piece_through(self: &Arc<Self>, mut offset: u64, mut data: Bytes) -> Result<()> {
        while !data.is_empty() {
            let asked = Instant::now();
            let chunk = Chunk { offset, length: data.len() as u32, pieces: vec![data.clone()] };
            let reply = self.shared.protocol().write(self, &chunk, true).await?;
            if reply.count == 0 || reply.count > chunk.length || !reply.committed {
                return Err(Error::misbehaved("WRITE", "the data are not written as was asked"));
            }
            self.shared.learn_effect(&self.node, reply.effect, asked);
            self.shared.forget_data(&self.node, offset..offset + data.len() as u64);
            offset += u64::from(reply.count);
            data = data.slice(reply.count as usize..);
        }
        Ok(())
    }
}

impl Node {
    /// What its open files write through, made when it is not there yet.
    pub(crate) fn writer_of(self: &Arc<Self>, shared: &Arc<Shared>) -> Arc<Writer> {
        let mut state = self.state.lock();
        state.writer.upgrade().unwrap_or_else(|| {
            let writer = Arc::new(Writer::new(Arc::clone(shared), Arc::clone(self)));
            state.writer = Arc::downgrade(&writer);
            writer
        })
    }

    /// Its data on their way; `None` when no open file has written any.
    pub(crate) fn writer(&self) -> Option<Arc<Writer>> {
        self.state.lock().writer.upgrade()
    }

    /// The end of the data that the server does not have yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        self.writer().and_then(|writer| writer.unwritten_end())
    }

    /// A reader must find at the server what was written to `range` before.
    pub(crate) async fn write_out_overlapping(&self, range: &Range<u64>) {
        if let Some(writer) = self.writer().filter(|writer| writer.is_pending(range)) {
            writer.write_out().await;
        }
    }
}

impl Shared {
    /// Sends what waits in an object; true when there was anything. What goes wrong, the files tell.
    pub(crate) async fn write_out(&self, node: &Node) -> bool {
        let Some(writer) = node.writer().filter(|writer| writer.has_unwritten()) else { return false };
        writer.write_out().await;
        true
    }

    /// As [`Shared::write_out`], of every object.
    pub(crate) async fn write_out_all(&self) {
        for writer in self.dirty() {
            writer.write_out().await;
        }
    }

    /// What was written before must not arrive after a new length or new times, not even when the server has
    /// lost it.
    pub(crate) async fn settle(&self, node: &Node) {
        if let Some(writer) = node.writer() {
            writer.settle().await;
        }
    }

    /// True when something that was written to an object is not on stable storage yet.
    pub(crate) fn has_pending(&self, node: &Node) -> bool {
        node.writer().is_some_and(|writer| writer.has_pending())
    }
}
