//! The server's side of a context.

use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::established::{Established, SessionKey, lifetime};
use super::ffi::{self, Buffer};
use super::library::{Library, OwnedBuffer, OwnedContext, OwnedCredential, OwnedName};
use crate::error::{Error, Status};

/// Accepts contexts with the keys of a service.
pub struct Acceptor {
    credential: OwnedCredential,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Acceptor").finish_non_exhaustive()
    }
}

/// The outcome of a token.
#[derive(Debug)]
pub enum Accepted {
    /// The client must send another token.
    Continue {
        /// For the client.
        token: Vec<u8>,
        /// The context so far.
        context: PartialContext,
    },
    /// The context is complete.
    Complete {
        /// For the client; may be empty.
        token: Vec<u8>,
        /// The context.
        established: Box<Established>,
    },
}

/// A context that is not complete.
pub struct PartialContext(OwnedContext);

impl std::fmt::Debug for PartialContext {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PartialContext").finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Loads the keys of a service of this host, such as `nfs`, or of any service without a name, from a
    /// keytab, or from the system's.
    ///
    /// # Errors
    /// `Failed` when there is no such key.
    pub fn new(library: &Arc<Library>, service: Option<&str>, keytab: Option<&Path>) -> Result<Self, Error> {
        let name = service.map(|service| OwnedName::of_service(library, service)).transpose()?;
        let store = keytab.map(|path| (c"keytab", path));
        let call = "the key of the service";
        let credential = OwnedCredential::acquire(library, name.as_ref(), ffi::USAGE_ACCEPT, store, call)?;
        Ok(Self { credential })
    }

    /// Takes a token of a client, for a new context or for one that is not complete.
    ///
    /// # Errors
    /// `Failed` when the token is refused, and `Unknown` for keys of unknown kinds.
    pub fn accept(&self, context: Option<PartialContext>, token: &[u8]) -> Result<Accepted, Error> {
        let library = &self.credential.library;
        let mut context = match context {
            Some(PartialContext(context)) => context,
            None => OwnedContext { library: Arc::clone(library), handle: ptr::null_mut() },
        };
        let mut client = OwnedName { library: Arc::clone(library), handle: ptr::null_mut() };
        let (input, mut output) = (Buffer::of(token), OwnedBuffer::new(library));
        let (mut minor, mut seconds) = (0, 0);
        // SAFETY: the arguments live until the call returns; the library copies the token, and replaces the
        // handles, which are dropped with their owners.
        let major = unsafe {
            (library.functions.accept)(
                &raw mut minor,
                &raw mut context.handle,
                self.credential.handle,
                &raw const input,
                ptr::null(),
                &raw mut client.handle,
                ptr::null_mut(),
                output.out(),
                ptr::null_mut(),
                &raw mut seconds,
                ptr::null_mut(),
            )
        };
        library.check("the client's token", Status { major, minor })?;
        let token = output.bytes().to_vec();
        if major & ffi::CONTINUE_NEEDED != 0 {
            return Ok(Accepted::Continue { token, context: PartialContext(context) });
        }
        let established = Established {
            principal: client.display()?,
            lifetime: lifetime(seconds),
            key: SessionKey::export(context)?,
        };
        Ok(Accepted::Complete { token, established: Box::new(established) })
    }
}
