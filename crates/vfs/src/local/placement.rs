//! Where the calls of the file system are made: in place, or by the pool where they may hang.

use std::future::{Future, poll_fn};
use std::pin::pin;

use bytes::Bytes;

use super::Export;
use super::health::Health;
use crate::{
    Access, Content, Identity, Line, Name, NodeKind, RemoveKind, Request, Result, Span, Stability, XattrMode,
    XattrName,
};

/// Evaluates `$call`, of an [`Export`] and references, in place; on a slow file system as a future of the
/// pool's in `$line`, on copies.
macro_rules! placed {
    ($local:ident, $line:expr, ($($argument:ident),*), |$export:ident| $call:expr) => {
        match $local.export.health.is_slow() {
            false => {
                let $export = &$local.export;
                published(&$export.health, async { $call }).await
            }
            true => {
                let line = $line.number;
                $(let $argument = $crate::local::placement::Keep::keep($argument);)*
                let export = $local.export.clone();
                let call = async move {
                    $(let $argument = $crate::local::placement::Lend::lend(&$argument);)*
                    let $export = &export;
                    published(&$export.health, async { $call }).await
                };
                $local.export.pool.poll(line, call)?.await
            }
        }
    };
}
pub(super) use placed;

/// Polls `call` with its file system published for the watchdog.
pub(super) async fn published<T>(health: &Health, call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    poll_fn(|context| {
        let _call = health.begin_call();
        call.as_mut().poll(context)
    })
    .await
}

impl Export {
    /// Runs a job that may wait for the disk: here for the only request of its line, and by the pool
    /// otherwise.
    pub(super) async fn wait_for<T: Send + 'static>(
        &self,
        line: Line<'_>,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.wait_here(line, job) {
            Ok(given) => given,
            Err(job) => self.pool.run(line.number, job).await,
        }
    }

    /// Runs a job that may wait for the disk here, for the only request of its line. Returns its result, or
    /// the job again.
    pub(super) fn wait_here<T, J: FnOnce() -> T>(&self, line: Line<'_>, job: J) -> std::result::Result<T, J> {
        // On a slow file system a wait would hold the connection, which may have requests for others.
        if self.health.is_slow() {
            return Err(job);
        }
        let _wait = self.health.begin_wait();
        self.in_place.run(line, job)
    }
}

/// An argument of a call that can be kept until a thread of the pool makes it.
pub(super) trait Keep {
    /// The owned form of the argument.
    type Kept: for<'a> Lend<'a>;

    fn keep(self) -> Self::Kept;
}

/// Gives a kept argument the form in which the call takes it.
pub(super) trait Lend<'a> {
    type Lent;

    fn lend(&'a self) -> Self::Lent;
}

/// Kept as a copy, and lent by reference.
pub(super) struct Cloned<T>(T);

impl<T: Clone + 'static> Keep for &T {
    type Kept = Cloned<T>;

    fn keep(self) -> Cloned<T> {
        Cloned(self.clone())
    }
}

impl<'a, T: 'static> Lend<'a> for Cloned<T> {
    type Lent = &'a T;

    fn lend(&'a self) -> &'a T {
        &self.0
    }
}

/// A request that a thread of the pool works on: no other request of its line waits for that thread, so it
/// need not be the only one.
pub(super) struct KeptRequest {
    identity: Identity,
    line: u64,
}

impl Keep for Request<'_> {
    type Kept = KeptRequest;

    fn keep(self) -> KeptRequest {
        KeptRequest { identity: self.identity.clone(), line: self.line.number }
    }
}

impl<'a> Lend<'a> for KeptRequest {
    type Lent = Request<'a>;

    fn lend(&'a self) -> Request<'a> {
        Request { identity: &self.identity, line: Line::numbered(self.line) }
    }
}

impl Keep for Bytes {
    type Kept = Cloned<Self>;

    fn keep(self) -> Cloned<Self> {
        Cloned(self)
    }
}

/// Kept and given as it is.
pub(super) struct Copied<T>(T);

impl<T: Copy> Lend<'_> for Copied<T> {
    type Lent = T;

    fn lend(&self) -> T {
        self.0
    }
}

macro_rules! kept_as_they_are {
    ($($kind:ty),*) => {
        $(impl Keep for $kind {
            type Kept = Copied<$kind>;

            fn keep(self) -> Copied<$kind> {
                Copied(self)
            }
        })*
    };
}

kept_as_they_are!(u64, usize, bool, Access, Stability, NodeKind, RemoveKind, Span, XattrMode, Content);

/// A name, or other bytes.
pub(super) struct KeptBytes(Bytes);
pub(super) struct KeptName(Bytes);
pub(super) struct KeptXattrName(Bytes);

impl Keep for &[u8] {
    type Kept = KeptBytes;

    fn keep(self) -> KeptBytes {
        KeptBytes(Bytes::copy_from_slice(self))
    }
}

impl<'a> Lend<'a> for KeptBytes {
    type Lent = &'a [u8];

    fn lend(&'a self) -> &'a [u8] {
        &self.0
    }
}

impl Keep for Name<'_> {
    type Kept = KeptName;

    fn keep(self) -> KeptName {
        KeptName(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl<'a> Lend<'a> for KeptName {
    type Lent = Name<'a>;

    fn lend(&'a self) -> Name<'a> {
        Name::new(&self.0).expect("it was a name")
    }
}

impl Keep for XattrName<'_> {
    type Kept = KeptXattrName;

    fn keep(self) -> KeptXattrName {
        KeptXattrName(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl<'a> Lend<'a> for KeptXattrName {
    type Lent = XattrName<'a>;

    fn lend(&'a self) -> XattrName<'a> {
        XattrName::new(&self.0).expect("it was a name")
    }
}
