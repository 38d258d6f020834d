//! Types, constants and functions of the C API (RFC 2744, and the extensions that MIT and Heimdal share).

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

/// An opaque object of the library.
#[repr(C)]
pub(crate) struct Opaque {
    _data: [u8; 0],
    _marker: PhantomData<*mut u8>,
}

pub(crate) type Name = *mut Opaque;
pub(crate) type Credential = *mut Opaque;
pub(crate) type Context = *mut Opaque;

/// `gss_buffer_desc`.
#[repr(C)]
pub(crate) struct Buffer {
    pub(crate) length: usize,
    pub(crate) value: *mut c_void,
}

impl Buffer {
    pub(crate) const EMPTY: Self = Self { length: 0, value: ptr::null_mut() };

    /// For an argument that the library reads.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
    }
}

/// `gss_OID_desc`.
#[repr(C)]
pub(crate) struct Oid {
    pub(crate) length: u32,
    pub(crate) elements: *mut c_void,
}

/// `gss_OID_set_desc`.
#[repr(C)]
pub(crate) struct OidSet {
    pub(crate) count: usize,
    pub(crate) elements: *mut Oid,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
pub(crate) struct KeyValue {
    pub(crate) key: *const c_char,
    pub(crate) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
pub(crate) struct KeyValueSet {
    pub(crate) count: u32,
    pub(crate) elements: *mut KeyValue,
}

/// `gss_krb5_lucid_key_t`.
#[repr(C)]
pub(crate) struct LucidKey {
    pub(crate) enctype: u32,
    pub(crate) length: u32,
    pub(crate) data: *mut c_void,
}

/// `gss_krb5_rfc1964_keydata_t`.
#[repr(C)]
pub(crate) struct OldKey {
    pub(crate) sign_algorithm: u32,
    pub(crate) seal_algorithm: u32,
    pub(crate) key: LucidKey,
}

/// `gss_krb5_lucid_context_v1_t`.
#[repr(C)]
pub(crate) struct LucidContext {
    pub(crate) version: u32,
    pub(crate) initiate: u32,
    pub(crate) end_time: u32,
    pub(crate) send_sequence: u64,
    pub(crate) receive_sequence: u64,
    pub(crate) protocol: u32,
    pub(crate) old: OldKey,
    pub(crate) has_acceptor_subkey: u32,
    pub(crate) key: LucidKey,
    pub(crate) acceptor_subkey: LucidKey,
}

/// 1.2.840.113554.1.2.2.
pub(crate) const KRB5: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// 1.2.840.113554.1.2.1.4: `service@host`.
pub(crate) const HOST_BASED_SERVICE: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04";

/// 1.2.840.113554.1.2.2.1: `ann@EXAMPLE.ORG`.
pub(crate) const PRINCIPAL: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";

pub(crate) const CONTINUE_NEEDED: u32 = 1;
/// Bits of a major status that say that a call failed.
pub(crate) const ERROR_MASK: u32 = 0xffff_0000;
pub(crate) const INDEFINITE: u32 = u32::MAX;
pub(crate) const USAGE_INITIATE: c_int = 1;
pub(crate) const USAGE_ACCEPT: c_int = 2;
/// Mutual authentication, confidentiality and integrity.
pub(crate) const FLAGS: u32 = 2 | 16 | 32;
pub(crate) const STATUS_OF_GSS: c_int = 1;
pub(crate) const STATUS_OF_MECHANISM: c_int = 2;

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),* $(,)?);)*) => {
        /// The functions that are used. Each returns its major status, and writes the minor one to its first
        /// argument.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn(*mut u32, $($argument),*) -> u32,)*
        }

        impl Functions {
            /// Looks all of them up.
            ///
            /// # Safety
            /// The library must be a GSS-API library, and stay loaded for as long as the functions are used.
            pub(crate) unsafe fn of(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the symbol of a GSS-API library has this signature.
                        let symbol = unsafe { library.get(concat!($symbol, "\0").as_bytes()) };
                        *symbol.map_err(|_| $symbol)?
                    },)*
                })
            }
        }
    };
}

functions! {
    import_name: "gss_import_name" (*const Buffer, *const Oid, *mut Name);
    release_name: "gss_release_name" (*mut Name);
    display_name: "gss_display_name" (Name, *mut Buffer, *mut *const Oid);
    local_name: "gss_localname" (Name, *const Oid, *mut Buffer);
    acquire_credential: "gss_acquire_cred_from" (
        Name, u32, *const OidSet, c_int, *const KeyValueSet, *mut Credential, *mut *mut OidSet, *mut u32
    );
    release_credential: "gss_release_cred" (*mut Credential);
    accept: "gss_accept_sec_context" (
        *mut Context, Credential, *const Buffer, *const c_void, *mut Name, *mut *const Oid, *mut Buffer,
        *mut u32, *mut u32, *mut Credential
    );
    initiate: "gss_init_sec_context" (
        Credential, *mut Context, Name, *const Oid, u32, u32, *const c_void, *const Buffer, *mut *const Oid,
        *mut Buffer, *mut u32, *mut u32
    );
    delete_context: "gss_delete_sec_context" (*mut Context, *mut Buffer);
    export_lucid: "gss_krb5_export_lucid_sec_context" (*mut Context, u32, *mut *mut LucidContext);
    free_lucid: "gss_krb5_free_lucid_sec_context" (*mut LucidContext);
    display_status: "gss_display_status" (u32, c_int, *const Oid, *mut u32, *mut Buffer);
    release_buffer: "gss_release_buffer" (*mut Buffer);
}
