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
                $(let $argument = $crate::local::placement::IntoOwned::into_owned($argument);)*
                let export = $local.export.clone();
                let call = async move {
                    $(let $argument = $crate::local::placement::AsArgument::as_argument(&$argument);)*
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
pub(super) trait IntoOwned {
    /// The owned form of the argument.
    type Owned: for<'a> AsArgument<'a>;

    fn into_owned(self) -> Self::Owned;
}

/// Gives a kept argument the form in which the call takes it.
pub(super) trait AsArgument<'a> {
    type Argument;

    fn as_argument(&'a self) -> Self::Argument;
}

/// Kept as a copy, and lent by reference.
pub(super) struct Cloned<T>(T);

impl<T: Clone + 'static> IntoOwned for &T {
    type Owned = Cloned<T>;

    fn into_owned(self) -> Cloned<T> {
        Cloned(self.clone())
    }
}

impl<'a, T: 'static> AsArgument<'a> for Cloned<T> {
    type Argument = &'a T;

    fn as_argument(&'a self) -> &'a T {
        &self.0
    }
}

/// A request that a thread of the pool works on: no other request of its line waits for that thread, so it
/// need not be the only one.
pub(super) struct OwnedRequest {
    identity: Identity,
    line: u64,
}

impl IntoOwned for Request<'_> {
    type Owned = OwnedRequest;

    fn into_owned(self) -> OwnedRequest {
        OwnedRequest { identity: self.identity.clone(), line: self.line.number }
    }
}

impl<'a> AsArgument<'a> for OwnedRequest {
    type Argument = Request<'a>;

    fn as_argument(&'a self) -> Request<'a> {
        Request { identity: &self.identity, line: Line::numbered(self.line) }
    }
}

impl IntoOwned for Bytes {
    type Owned = Cloned<Self>;

    fn into_owned(self) -> Cloned<Self> {
        Cloned(self)
    }
}

/// Kept and given as it is.
pub(super) struct Copied<T>(T);

impl<T: Copy> AsArgument<'_> for Copied<T> {
    type Argument = T;

    fn as_argument(&self) -> T {
        self.0
    }
}

macro_rules! kept_as_they_are {
    ($($kind:ty),*) => {
        $(impl IntoOwned for $kind {
            type Owned = Copied<$kind>;

            fn into_owned(self) -> Copied<$kind> {
                Copied(self)
            }
        })*
    };
}

kept_as_they_are!(u64, usize, bool, Access, Stability, NodeKind, RemoveKind, Span, XattrMode, Content);

/// A name, or other bytes.
pub(super) struct OwnedBytes(Bytes);
pub(super) struct OwnedName(Bytes);
pub(super) struct OwnedXattrName(Bytes);

impl IntoOwned for &[u8] {
    type Owned = OwnedBytes;

    fn into_owned(self) -> OwnedBytes {
        OwnedBytes(Bytes::copy_from_slice(self))
    }
}

impl<'a> AsArgument<'a> for OwnedBytes {
    type Argument = &'a [u8];

    fn as_argument(&'a self) -> &'a [u8] {
        &self.0
    }
}

impl IntoOwned for Name<'_> {
    type Owned = OwnedName;

    fn into_owned(self) -> OwnedName {
        OwnedName(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl<'a> AsArgument<'a> for OwnedName {
    type Argument = Name<'a>;

    fn as_argument(&'a self) -> Name<'a> {
        Name::new(&self.0).expect("it was a name")
    }
}

impl IntoOwned for XattrName<'_> {
    type Owned = OwnedXattrName;

    fn into_owned(self) -> OwnedXattrName {
        OwnedXattrName(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl<'a> AsArgument<'a> for OwnedXattrName {
    type Argument = XattrName<'a>;

    fn as_argument(&'a self) -> XattrName<'a> {
        XattrName::new(&self.0).expect("it was a name")
    }
}
