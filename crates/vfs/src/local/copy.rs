//! Copying and cloning ranges between files of one export.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::copy_file_range;
use rustix::io::Errno;

use super::data::check_kind;
use super::object::{Object, Purpose};
use super::{Durability, Export, stat, sys};
use crate::permissions::READ;
use crate::{Error, Identity, Request, Result, Span, Stability, Written};

/// Source and target, open for reading and writing.
type Pair = (Arc<OwnedFd>, Arc<OwnedFd>);

impl Export {
    pub(super) async fn copy(
        self: &Arc<Self>,
        request: Request<'_>,
        source: &Arc<Object>,
        target: &Arc<Object>,
        span: Span,
    ) -> Result<Written> {
        let fds = self.open_pair(request.identity, source, target)?;
        self.check_end(span)?;
        let (export, caller, changed) = (Arc::clone(self), request.identity.clone(), Arc::clone(target));
        let copied = move || {
            export.acting.become_caller(&caller)?;
            export.change_data(&changed, || export.with_room(|| copy_all(&fds, span)))
        };
        let count = self.pool.run(request.line.number, copied).await?;
        Ok(Written { count, stability: Stability::Unstable })
    }

    pub(super) async fn clone_range(
        self: &Arc<Self>,
        request: Request<'_>,
        source: &Arc<Object>,
        target: &Arc<Object>,
        span: Span,
    ) -> Result<()> {
        let (from, to) = self.open_pair(request.identity, source, target)?;
        self.check_end(span)?;
        let (export, caller, changed) = (Arc::clone(self), request.identity.clone(), Arc::clone(target));
        let cloned = move || {
            export.acting.become_caller(&caller)?;
            export.change_data(&changed, || Ok(sys::clone_range(from.as_fd(), to.as_fd(), span)?))
        };
        self.wait_for(request.line, cloned).await?;
        match self.durability {
            Durability::Sync => self.sync_change(request.line, target).await,
            Durability::Async => Ok(()),
        }
    }

    fn open_pair(&self, identity: &Identity, source: &Arc<Object>, target: &Arc<Object>) -> Result<Pair> {
        check_kind(source)?;
        check_kind(target)?;
        self.check_writable()?;
        let path = self.path(source)?;
        let (owner, _) = stat::owner_and_size(path.as_fd())?;
        self.authorise(identity, source, &path, owner, READ)?;
        self.check_may_write(identity, target)?;
        Ok((self.read_descriptor(source)?, self.data_descriptor(target, Purpose::Write)?))
    }

    fn check_end(&self, span: Span) -> Result<()> {
        let fits = |start: u64| start.checked_add(span.count).is_some_and(|end| end <= i64::MAX as u64);
        if !fits(span.from) {
            return Err(Error::Invalid);
        }
        if fits(span.to) { Ok(()) } else { Err(Error::FileTooBig) }
    }
}

/// Copies until all is copied, the source ends, or something is in the way; an error only when nothing was
/// copied.
fn copy_all((from, to): &Pair, span: Span) -> Result<usize> {
    let (mut at, mut out) = (span.from, span.to);
    let (mut done, count) = (0, usize::try_from(span.count).unwrap_or(usize::MAX));
    while done < count {
        match copy_file_range(from, Some(&mut at), to, Some(&mut out), count - done) {
            Ok(0) => break,
            Ok(copied) => done += copied,
            Err(Errno::INTR) => {}
            // What one of the two file systems cannot do, reading and writing can.
            Err(Errno::XDEV | Errno::NOSYS) if done == 0 => return Err(Error::NotSupported),
            Err(errno) if done == 0 => return Err(errno.into()),
            Err(_) => break,
        }
    }
    Ok(done)
}
