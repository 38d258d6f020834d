//! NFS version 4, minor versions 1 and 2 (RFC 8881, RFC 7862, with RFC 8276): one file per operation.
//!
//! [`Nfs4`] runs COMPOUNDs over the exports and the server's state. It knows no sockets, clock or runtime:
//! those come through [`crate::runtime::Runtime`]. Imports go in one direction: `compound` and `table` →
//! `state` → `names` → `attributes` → `engine` → `owners`; `data` and `session` stand on `engine`.

mod attributes;
mod compound;
mod data;
mod engine;
mod names;
mod owners;
mod session;
mod state;
mod table;

use rpc::{Call, Disposition, Refusal};
use vfs::FileSystem;
use xdr::Encoder;

pub use engine::{Nfs4, Nfs4Options};
pub use owners::{NameService, OwnerNames, PrincipalKind, Unavailable};

/// The procedures of the program.
mod procedure {
    pub(super) const NULL: u32 = 0;
    pub(super) const COMPOUND: u32 = proto::nfs4::COMPOUND;
}

impl<F: FileSystem> Nfs4<F> {
    /// Answers a call.
    ///
    /// # Errors
    /// The refusals of RFC 5531.
    pub async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        match call.header.procedure {
            procedure::NULL => {}
            procedure::COMPOUND => {
                self.compound(call, reply).await?;
            }
            _ => return Err(Refusal::ProcedureUnavailable),
        }
        Ok(Disposition::Reply)
    }
}
