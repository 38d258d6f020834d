//! The table of operations: one line each. The rest of an operation is in its own file.

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::engine::context::Context;
use super::engine::descriptor::Descriptor;
use super::engine::result::{Failure, answer, refuse};
use super::{attributes, data, names, session, state};

/// Returns the operation with this number, if it is one of this minor version: another is NFS4ERR_OP_ILLEGAL,
/// whether or not a later minor version has it (RFC 8178 §8.2). What an earlier one had stays known (§2.7 of
/// RFC 8881, rules 5 and 8).
pub(crate) fn known(number: u32, minor_version: u32) -> Option<Operation> {
    Operation::from_number(number).filter(|operation| operation.since_minor_version() <= minor_version)
}

/// Collects the descriptors and handlers of all operations.
macro_rules! operations {
    ($($operation:ident => $folder:ident::$file:ident,)*) => {
        /// Returns the descriptor of an operation, or `None` when this server does not implement it: it then
        /// answers NOTSUPP (RFC 8881 §2.7, §15.1.1.5).
        pub(crate) fn descriptor(operation: Operation) -> Option<&'static Descriptor> {
            match operation {
                Operation::Sequence => Some(&session::sequence::DESCRIPTOR),
                $(Operation::$operation => Some(&$folder::$file::DESCRIPTOR),)*
                _ => None,
            }
        }

        async fn perform<F: FileSystem>(
            context: &mut Context<'_, F>,
            operation: Operation,
            arguments: &mut Decoder,
            reply: &mut Encoder,
        ) -> Result<(), Failure> {
            match operation {
                $(Operation::$operation => $folder::$file::perform(context, arguments, reply).await,)*
                // The loop runs SEQUENCE itself; the others have no descriptor.
                _ => Err(Status::NotSupported.into()),
            }
        }
    };
}

operations! {
    PutFh => names::put_fh,
    PutRootFh => names::put_root_fh,
    PutPubFh => names::put_pub_fh,
    GetFh => names::get_fh,
    SaveFh => names::save_fh,
    RestoreFh => names::restore_fh,
    GetAttr => attributes::get_attr,
    Access => attributes::access,
    Lookup => names::lookup,
    LookupParent => names::lookup_parent,
    Read => data::read,
    Write => data::write,
    Commit => data::commit,
    ReadDir => names::read_dir,
    ReadLink => names::read_link,
    Open => state::open,
    Close => state::close,
    SetAttr => attributes::set_attr,
    Verify => attributes::verify,
    NVerify => attributes::n_verify,
    Create => names::create,
    Remove => names::remove,
    Rename => names::rename,
    Link => names::link,
    SecInfo => names::sec_info,
    SecInfoNoName => names::sec_info_no_name,
    Allocate => data::allocate,
    Deallocate => data::deallocate,
    Copy => data::copy,
    Clone => data::clone,
    IoAdvise => data::io_advise,
    ReadPlus => data::read_plus,
    Seek => data::seek,
    GetXattr => attributes::get_xattr,
    SetXattr => attributes::set_xattr,
    ListXattrs => attributes::list_xattrs,
    RemoveXattr => attributes::remove_xattr,
    OpenDowngrade => state::open_downgrade,
    Lock => state::lock,
    LockT => state::lock_t,
    LockU => state::lock_u,
    TestStateId => state::test_state_id,
    FreeStateId => state::free_state_id,
    DelegReturn => state::deleg_return,
    GetDirDelegation => state::get_dir_delegation,
    WantDelegation => state::want_delegation,
    ReclaimComplete => session::reclaim_complete,
    ExchangeId => session::exchange_id,
    CreateSession => session::create_session,
    DestroySession => session::destroy_session,
    DestroyClientId => session::destroy_client_id,
    BindConnToSession => session::bind_conn_to_session,
    BackchannelCtl => session::backchannel_ctl,
}

/// Runs one operation and appends its result.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    descriptor: &Descriptor,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Status {
    let (operation, start) = (descriptor.operation, reply.len());
    answer(reply, operation.number(), Status::Ok);
    let failure = match perform(context, operation, arguments, reply).await {
        Ok(()) => return Status::Ok,
        Err(failure) => failure,
    };
    // A handler that fails may have begun its result.
    reply.truncate(start);
    match failure {
        Failure::Status(status) => refuse(reply, operation, descriptor.listed(status)),
        Failure::Denied(denied) => {
            answer(reply, operation.number(), Status::Denied);
            reply.put(&denied);
            Status::Denied
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_operations_have_descriptors() {
        // RFC 8881 §17, the REQUIRED rows of its first table.
        use Operation as O;
        for required in [
            O::Access,
            O::BackchannelCtl,
            O::BindConnToSession,
            O::Close,
            O::Commit,
            O::Create,
            O::CreateSession,
            O::DestroyClientId,
            O::DestroySession,
            O::ExchangeId,
            O::FreeStateId,
            O::GetAttr,
            O::GetFh,
            O::Lock,
            O::LockT,
            O::LockU,
            O::Lookup,
            O::LookupParent,
            O::NVerify,
            O::Open,
            O::OpenDowngrade,
            O::PutFh,
            O::PutRootFh,
            O::Read,
            O::ReadDir,
            O::ReclaimComplete,
            O::Remove,
            O::Rename,
            O::RestoreFh,
            O::SaveFh,
            O::SecInfo,
            O::SecInfoNoName,
            O::Sequence,
            O::SetAttr,
            O::TestStateId,
            O::Verify,
            O::Write,
        ] {
            assert!(descriptor(required).is_some(), "{required}");
        }
    }

    #[test]
    fn descriptors_stand_under_their_own_operation() {
        let found = (0..=u8::MAX).filter_map(|number| Operation::from_number(number.into()));
        let described: Vec<_> =
            found.filter_map(|operation| Some((operation, descriptor(operation)?.operation))).collect();
        assert!(described.len() > 50, "{}", described.len());
        assert!(described.iter().all(|(operation, own)| operation == own), "{described:?}");
    }

    #[test]
    fn an_operation_is_known_from_its_minor_version_on() {
        assert_eq!(known(Operation::Write.number(), 1), Some(Operation::Write));
        assert_eq!(known(Operation::Sequence.number(), 0), None);
        for number in 59..=75 {
            assert_eq!(known(number, 1), None, "{number}");
            assert!(known(number, 2).is_some(), "{number}");
        }
        assert_eq!((known(2, 2), known(76, 2)), (None, None));
    }

    #[test]
    fn operations_that_must_not_be_implemented_have_none() {
        use Operation as O;
        for gone in [O::OpenConfirm, O::Renew, O::SetClientId, O::SetClientIdConfirm, O::ReleaseLockOwner] {
            assert!(descriptor(gone).is_none(), "{gone}");
        }
    }
}
