//! Copying between files: by the server itself where it can, else by reading and writing.

use std::ops::{Range, RangeBounds};
use std::sync::Arc;
use std::time::Instant;

use proto::nfs4;

use crate::error::{Error, Result, Status};
use crate::file::OpenFile;
use crate::lock::absolute;
use crate::protocol::Effect;
use crate::writeback::Verifier;

/// How much is read and written at a time where the server does not copy, in bytes.
const PIECE_BYTES: u64 = 4 << 20;
/// How often a server may lose what it copied before that is an error.
const ATTEMPTS_MAX: u32 = 5;

/// Bytes of one file and their place in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) count: u64,
}

/// What one COPY did.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) count: u64,
    /// What COMMIT must answer, when it is not on stable storage yet.
    pub(crate) unstable: Option<Verifier>,
    pub(crate) effect: Effect,
}

impl OpenFile {
    /// Copies a range of this file into `target` and returns how many bytes that were.
    pub(crate) async fn copy_range(
        self: &Arc<Self>,
        range: &impl RangeBounds<u64>,
        target: &Arc<Self>,
        to: u64,
    ) -> Result<u64> {
        target.shared.check_writable()?;
        let range = absolute(range)?;
        let Some(span) = self.span(&range, to).await? else { return Ok(0) };
        let same = self.is_same_file(target);
        if same && span.from < to + span.count && to < span.from + span.count {
            return Err(Error::Usage("a range is not copied onto itself"));
        }
        if !same && self.copies_at_server(target) {
            match self.copy_at_server(target, span).await {
                Err(error) if is_beyond_server(&error) => {}
                done => return done,
            }
        }
        self.copy_through(target, span).await
    }

    /// Lets `target` share a range of this file.
    pub(crate) async fn clone_range(
        self: &Arc<Self>,
        range: &impl RangeBounds<u64>,
        target: &Arc<Self>,
        to: u64,
    ) -> Result<()> {
        target.shared.check_writable()?;
        let mount = self.shared.minor_version_2("CLONE")?;
        if !Arc::ptr_eq(&self.shared, &target.shared) {
            return Err(Error::Usage("two files of different clients cannot share anything"));
        }
        let range = absolute(range)?;
        let whole = range.end == u64::MAX;
        let span = Span { from: range.start, to, count: if whole { 0 } else { range.end - range.start } };
        self.shared.write_out(&self.node).await;
        target.flush().await?;
        let asked = Instant::now();
        let effect = mount.clone_range(self, target, span).await?;
        target.settle_after_copy(effect, asked, to..if whole { u64::MAX } else { to + span.count });
        Ok(())
    }

    /// What there is to copy; `None` when the source ends before it.
    async fn span(self: &Arc<Self>, range: &Range<u64>, to: u64) -> Result<Option<Span>> {
        self.shared.write_out(&self.node).await;
        let size = match self.shared.known_attributes(&self.node) {
            Some(known) => known.size,
            None => self.shared.revalidate(&self.node).await?.size,
        };
        let end = range.end.min(size);
        if end <= range.start {
            return Ok(None);
        }
        let count = end - range.start;
        if to.checked_add(count).is_none() {
            return Err(Error::Usage("the range ends beyond 2^64"));
        }
        Ok(Some(Span { from: range.start, to, count }))
    }

    fn is_same_file(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && Arc::ptr_eq(&self.node, &other.node)
    }

    fn copies_at_server(&self, target: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &target.shared) && self.shared.minor_version_2("COPY").is_ok()
    }

    /// The server may lose what it copied before it was made stable: it is copied again then.
    async fn copy_at_server(self: &Arc<Self>, target: &Arc<Self>, span: Span) -> Result<u64> {
        target.flush().await?;
        for _ in 0..ATTEMPTS_MAX {
            if let Some(count) = self.copy_once(target, span).await? {
                return Ok(count);
            }
        }
        Err(Error::misbehaved("COPY", "what was copied is lost again and again"))
    }

    /// `None` when it was lost.
    async fn copy_once(self: &Arc<Self>, target: &Arc<Self>, span: Span) -> Result<Option<u64>> {
        let mount = self.shared.minor_version_2("COPY")?;
        let mut left = span;
        let mut unstable: Option<Verifier> = None;
        while left.count > 0 {
            let asked = Instant::now();
            let copied = mount.copy(self, target, left).await?;
            target.settle_after_copy(copied.effect, asked, left.to..left.to + left.count);
            if copied.count == 0 {
                // Only where the source has become shorter.
                if self.shared.revalidate(&self.node).await?.size > left.from {
                    return Err(Error::misbehaved("COPY", "no bytes are copied before the end of the file"));
                }
                break;
            }
            if let Some(verifier) = copied.unstable {
                if unstable.is_some_and(|before| before != verifier) {
                    return Ok(None);
                }
                unstable = Some(verifier);
            }
            left.from += copied.count;
            left.to += copied.count;
            left.count -= copied.count;
        }
        match unstable {
            Some(verifier) => {
                let made_stable =
                    self.shared.protocol().commit(&target.node.handle, &(span.to..left.to)).await?;
                Ok((made_stable == verifier).then_some(span.count - left.count))
            }
            None => Ok(Some(span.count - left.count)),
        }
    }

    async fn copy_through(self: &Arc<Self>, target: &Arc<Self>, span: Span) -> Result<u64> {
        let mut done = 0;
        while done < span.count {
            let wanted = (span.count - done).min(PIECE_BYTES);
            let data = self.read(span.from + done, wanted as usize).await?;
            if data.is_empty() {
                break;
            }
            let count = data.len() as u64;
            target.write(span.to + done, data).await?;
            done += count;
        }
        Ok(done)
    }

    /// What was written before must not arrive after what is copied, or arrive again.
    fn settle_after_copy(&self, effect: Effect, asked: Instant, range: Range<u64>) {
        self.shared.learn_effect(&self.node, effect, asked);
        self.shared.forget_data(&self.node, range);
    }
}

/// True when the server cannot, or will not, copy these files itself.
fn is_beyond_server(error: &Error) -> bool {
    use nfs4::Status as S;
    matches!(
        error,
        Error::Server {
            status: Status::Nfs4(
                S::NotSupported
                    | S::CrossDevice
                    | S::OffloadDenied
                    | S::OffloadNoRequests
                    | S::PartnerNotSupported
                    | S::PartnerNoAuthentication
            ),
            ..
        }
    )
}
