//! Flavors of authentication at the operations that set the current file handle (RFC 8881 §2.6.3.1.1).

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::Decoder;

use crate::exports::Rule;
use crate::nfs4::engine::context::Context;

/// Checks whether an object may become current under the caller's flavor of authentication and the protection
/// of its connection. That depends on the next operation (RFC 8881 §2.6.3.1.1): one that leads elsewhere, or
/// tells the right flavor, must run.
pub(crate) fn check_flavor<F: FileSystem>(
    context: &Context<'_, F>,
    rule: &Rule,
    rest: &Decoder,
) -> Result<(), Status> {
    use Operation as O;
    if rule.accepts(&context.caller) {
        return Ok(());
    }
    let mut rest = rest.clone();
    let mut next = || Operation::from_number(rest.u32().ok()?);
    for _ in context.index + 1..context.operations {
        match next() {
            // Has no arguments (§2.6.3.1.1.1).
            Some(O::SaveFh) => {}
            Some(
                O::PutFh
                | O::PutRootFh
                | O::PutPubFh
                | O::RestoreFh
                | O::Lookup
                | O::LookupParent
                | O::Open
                | O::SecInfo
                | O::SecInfoNoName,
            ) => return Ok(()),
            _ => return Err(Status::WrongSecurity),
        }
    }
    Ok(())
}
