//! The client's side of a context.

use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::established::{Established, SessionKey, lifetime};
use super::ffi::{self, Buffer};
use super::library::{Library, OwnedBuffer, OwnedContext, OwnedCredential, OwnedName, oid};
use crate::error::{Error, Status};

/// Initiates one context with a service.
pub struct Initiator {
    credential: OwnedCredential,
    target: OwnedName,
    context: OwnedContext,
}

impl std::fmt::Debug for Initiator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Initiator").finish_non_exhaustive()
    }
}

/// The outcome of a step.
#[derive(Debug)]
pub enum Initiated {
    /// The server must answer this token.
    Continue {
        /// For the server.
        token: Vec<u8>,
        /// The context so far.
        initiator: Initiator,
    },
    /// The context is complete.
    Complete {
        /// For the server; may be empty.
        token: Vec<u8>,
        /// The context.
        established: Box<Established>,
    },
}

impl Initiator {
    /// Prepares a context with a service, such as `nfs@files.example.org`, with the tickets in a credential
    /// cache (a name such as `FILE:/tmp/krb5cc_1000`), or in the default one of this process.
    ///
    /// # Errors
    /// `Failed` when there are no tickets.
    pub fn new(library: &Arc<Library>, service: &str, cache: Option<&Path>) -> Result<Self, Error> {
        let target = OwnedName::of_service(library, service)?;
        let store = cache.map(|name| (c"ccache", name));
        let call = "the user's tickets";
        let credential = OwnedCredential::acquire(library, None, ffi::USAGE_INITIATE, store, call)?;
        let context = OwnedContext { library: Arc::clone(library), handle: ptr::null_mut() };
        Ok(Self { credential, target, context })
    }

    /// Makes the next token, from the server's answer to the one before, if there was one.
    ///
    /// # Errors
    /// `Failed` when there is no ticket for the service or its answer is refused, and `Unknown` for keys of
    /// unknown kinds.
    pub fn step(self, answer: Option<&[u8]>) -> Result<Initiated, Error> {
        let Self { credential, target, mut context } = self;
        let library = Arc::clone(&credential.library);
        let (input, mechanism) = (answer.map(Buffer::of), oid(ffi::KRB5));
        let mut output = OwnedBuffer::new(&library);
        let (mut minor, mut seconds) = (0, 0);
        // SAFETY: the arguments live until the call returns; the library copies the token, and replaces the
        // handle, which is dropped with its owner.
        let major = unsafe {
            (library.functions.initiate)(
                &raw mut minor,
                credential.handle,
                &raw mut context.handle,
                target.handle,
                &raw const mechanism,
                ffi::FLAGS,
                ffi::INDEFINITE,
                ptr::null(),
                input.as_ref().map_or(ptr::null(), |input| input),
                ptr::null_mut(),
                output.out(),
                ptr::null_mut(),
                &raw mut seconds,
            )
        };
        library.check("the ticket for the service", Status { major, minor })?;
        let token = output.bytes().to_vec();
        if major & ffi::CONTINUE_NEEDED != 0 {
            return Ok(Initiated::Continue { token, initiator: Self { credential, target, context } });
        }
        let established = Established {
            principal: target.display()?,
            lifetime: lifetime(seconds),
            key: SessionKey::export(context)?,
        };
        Ok(Initiated::Complete { token, established: Box::new(established) })
    }
}
