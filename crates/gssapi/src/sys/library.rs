//! Loading the library, and objects of it that are released when they are dropped.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::ffi::{self, Buffer, Functions, KeyValue, KeyValueSet, Oid, OidSet};
use crate::error::{Error, Status};

/// MIT's, then Heimdal's.
const NAMES: [&str; 2] = ["libgssapi_krb5.so.2", "libgssapi.so.3"];
/// Messages of a status that are read at most: an endless list of them ends.
const MESSAGES_MAX: usize = 8;

/// The library, loaded.
pub struct Library {
    pub(crate) functions: Functions,
    /// The code of the functions.
    _code: libloading::Library,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Library").finish_non_exhaustive()
    }
}

impl Library {
    /// Loads the system's library.
    ///
    /// # Errors
    /// `NoLibrary`, and `NoFunction` when it is too old.
    pub fn load() -> Result<Arc<Self>, Error> {
        let mut tried = Vec::new();
        for name in NAMES {
            // SAFETY: initialisers of these libraries have no preconditions.
            match unsafe { libloading::Library::new(name) } {
                Ok(code) => {
                    // SAFETY: it is a GSS-API library by its name, and is kept beside the functions.
                    let functions = unsafe { Functions::of(&code) };
                    let functions = functions.map_err(|name| Error::NoFunction { name })?;
                    return Ok(Arc::new(Self { functions, _code: code }));
                }
                Err(error) => tried.push(format!("{name}: {error}")),
            }
        }
        Err(Error::NoLibrary { tried: tried.join("; ") })
    }

    /// The account of this host that the library's rules (`auth_to_local`) give a principal such as
    /// `ann@EXAMPLE.ORG`, if any.
    pub fn local_name(self: &Arc<Self>, principal: &[u8]) -> Option<String> {
        OwnedName::import(self, principal, ffi::PRINCIPAL, "the name of the principal").ok()?.local()
    }

    /// The error of a call with these status values; none when it succeeded.
    pub(crate) fn check(&self, call: &'static str, status: Status) -> Result<(), Error> {
        if status.major & ffi::ERROR_MASK == 0 {
            return Ok(());
        }
        let mut messages = self.messages(status.major, ffi::STATUS_OF_GSS);
        messages.extend(self.messages(status.minor, ffi::STATUS_OF_MECHANISM));
        Err(Error::Failed { call, status, message: messages.join(": ") })
    }

    fn messages(&self, value: u32, kind: c_int) -> Vec<String> {
        let mechanism = oid(ffi::KRB5);
        let (mut messages, mut more, mut minor) = (Vec::new(), 0, 0);
        while messages.len() < MESSAGES_MAX {
            let mut text = OwnedBuffer::new(self);
            // SAFETY: all pointers are to variables of this function.
            let major = unsafe {
                (self.functions.display_status)(
                    &raw mut minor,
                    value,
                    kind,
                    &raw const mechanism,
                    &raw mut more,
                    text.out(),
                )
            };
            if major & ffi::ERROR_MASK != 0 {
                break;
            }
            let text = String::from_utf8_lossy(text.bytes()).into_owned();
            if !text.is_empty() {
                messages.push(text);
            }
            if more == 0 {
                break;
            }
        }
        messages
    }
}

/// An object identifier for an argument.
pub(crate) fn oid(elements: &'static [u8]) -> Oid {
    Oid { length: elements.len() as u32, elements: elements.as_ptr().cast_mut().cast() }
}

/// A buffer that the library fills.
pub(crate) struct OwnedBuffer<'a> {
    library: &'a Library,
    buffer: Buffer,
}

impl<'a> OwnedBuffer<'a> {
    pub(crate) fn new(library: &'a Library) -> Self {
        Self { library, buffer: Buffer::EMPTY }
    }

    /// For the call that fills it. To be used once.
    pub(crate) fn out(&mut self) -> *mut Buffer {
        &raw mut self.buffer
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.buffer.value.is_null() {
            return &[];
        }
        // SAFETY: the library has filled the buffer, and it is not released before this is dropped.
        unsafe { std::slice::from_raw_parts(self.buffer.value.cast(), self.buffer.length) }
    }
}

impl Drop for OwnedBuffer<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty or was filled by the library.
        unsafe { (self.library.functions.release_buffer)(&raw mut minor, &raw mut self.buffer) };
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident of $kind:ty, released by $release:ident($($more:expr),*)) => {
        $(#[$doc])*
        pub(crate) struct $name {
            pub(crate) library: Arc<Library>,
            pub(crate) handle: $kind,
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if self.handle.is_null() {
                    return;
                }
                let mut minor = 0;
                // SAFETY: the library made the object, and nothing else has it.
                unsafe {
                    (self.library.functions.$release)(&raw mut minor, &raw mut self.handle $(, $more)*)
                };
            }
        }

        // SAFETY: objects of the library may be used by any thread, one at a time.
        unsafe impl Send for $name {}
    };
}

handle! {
    /// A name.
    OwnedName of ffi::Name, released by release_name()
}
handle! {
    /// A credential.
    OwnedCredential of ffi::Credential, released by release_credential()
}
handle! {
    /// A context, complete or not.
    OwnedContext of ffi::Context, released by delete_context(ptr::null_mut())
}

// SAFETY: the library locks credentials: contexts may be made of one by several threads.
unsafe impl Sync for OwnedCredential {}
// SAFETY: a name is not changed.
unsafe impl Sync for OwnedName {}

impl OwnedName {
    /// The service of a host, as `nfs@host`; `nfs` alone stands for this host.
    pub(crate) fn of_service(library: &Arc<Library>, name: &str) -> Result<Self, Error> {
        Self::import(library, name.as_bytes(), ffi::HOST_BASED_SERVICE, "the name of the service")
    }

    fn import(
        library: &Arc<Library>,
        name: &[u8],
        kind: &'static [u8],
        call: &'static str,
    ) -> Result<Self, Error> {
        let mut imported = Self { library: Arc::clone(library), handle: ptr::null_mut() };
        let (text, kind, mut minor) = (Buffer::of(name), oid(kind), 0);
        // SAFETY: the arguments live until the call returns, and the library copies them.
        let major = unsafe {
            (library.functions.import_name)(
                &raw mut minor,
                &raw const text,
                &raw const kind,
                &raw mut imported.handle,
            )
        };
        library.check(call, Status { major, minor })?;
        Ok(imported)
    }

    /// The principal, as `ann@EXAMPLE.ORG`.
    pub(crate) fn display(&self) -> Result<String, Error> {
        let (mut text, mut minor) = (OwnedBuffer::new(&self.library), 0);
        // SAFETY: the name is the library's, and the buffer is empty.
        let major = unsafe {
            (self.library.functions.display_name)(&raw mut minor, self.handle, text.out(), ptr::null_mut())
        };
        self.library.check("the name of the client", Status { major, minor })?;
        Ok(String::from_utf8_lossy(text.bytes()).into_owned())
    }

    fn local(&self) -> Option<String> {
        let (mut text, mut minor) = (OwnedBuffer::new(&self.library), 0);
        // SAFETY: the name is the library's, and the buffer is empty.
        let major = unsafe {
            (self.library.functions.local_name)(&raw mut minor, self.handle, ptr::null(), text.out())
        };
        let is_found = major & ffi::ERROR_MASK == 0;
        is_found.then(|| String::from_utf8_lossy(text.bytes()).into_owned())
    }
}

/// A place of keys or tickets: the kind of it in the library's words, and its name.
pub(crate) type Store<'a> = (&'static std::ffi::CStr, &'a Path);

impl OwnedCredential {
    /// A credential of Kerberos for `name`, or for any name, from `store`, or from the library's default.
    pub(crate) fn acquire(
        library: &Arc<Library>,
        name: Option<&OwnedName>,
        usage: c_int,
        store: Option<Store<'_>>,
        call: &'static str,
    ) -> Result<Self, Error> {
        let value = store.map(|(_, path)| c_string(path)).transpose()?;
        let mut entry = store
            .zip(value.as_ref())
            .map(|((key, _), value)| KeyValue { key: key.as_ptr(), value: value.as_ptr() });
        let entries = KeyValueSet {
            count: u32::from(entry.is_some()),
            elements: entry.as_mut().map_or(ptr::null_mut(), |entry| entry),
        };
        let mut mechanism = oid(ffi::KRB5);
        let mechanisms = OidSet { count: 1, elements: &raw mut mechanism };
        let mut acquired = Self { library: Arc::clone(library), handle: ptr::null_mut() };
        let mut minor = 0;
        // SAFETY: the arguments live until the call returns, and the library copies them.
        let major = unsafe {
            (library.functions.acquire_credential)(
                &raw mut minor,
                name.map_or(ptr::null_mut(), |name| name.handle),
                ffi::INDEFINITE,
                &raw const mechanisms,
                usage,
                &raw const entries,
                &raw mut acquired.handle,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        library.check(call, Status { major, minor })?;
        Ok(acquired)
    }
}

fn c_string(path: &Path) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::ZeroByte(path.display().to_string()))
}
