//! From an operation's number to its handler: arguments in, result out.

use proto::nfs4::{Operation, SetAttrResult, Status};
use vfs::FileSystem;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::allocate::Space;
use super::compound::{answer, refuse};
use super::context::Context;
use super::lock::Refused;
use super::verify::bad_attributes;
use super::{
    access, allocate, backchannel_ctl, bind_conn_to_session, clone, close, commit, copy, create,
    create_session, destroy_session, exchange_id, get_attr, get_dir_delegation, get_xattr, handles,
    io_advise, link, list_xattrs, lock, lock_t, lock_u, lookup, lookup_parent, open, read, read_dir,
    read_link, read_plus, remove, remove_xattr, rename, sec_info, seek, set_attr, set_xattr, state_ids,
    status, verify, want_delegation, write,
};

/// Runs one operation and appends its result.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    operation: Operation,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Status {
    let start = reply.len();
    answer(reply, operation.number(), Status::Ok);
    let status = match body(context, operation, arguments, reply).await {
        Ok(()) => return Status::Ok,
        Err(failure) => failure,
    };
    // Whatever a handler had begun to write is replaced by the failure.
    reply.truncate(start);
    match status {
        Failure::Status(status) => refuse(reply, operation, status::listed(operation, status)),
        Failure::Denied(denied) => {
            answer(reply, operation.number(), Status::Denied);
            reply.put(&denied);
            Status::Denied
        }
    }
}

enum Failure {
    Status(Status),
    Denied(proto::nfs4::LockDenied),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Denied(denied) => Self::Denied(denied),
            Refused::Status(status) => Self::Status(status),
        }
    }
}

fn decode<T: Decode>(arguments: &mut Decoder) -> Result<T, Status> {
    arguments.get().map_err(|_| Status::BadXdr)
}

fn put(reply: &mut Encoder, result: &impl Encode) -> Result<(), Failure> {
    reply.put(result);
    Ok(())
}

async fn body<F: FileSystem>(
    context: &mut Context<'_, F>,
    operation: Operation,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    use Operation as O;
    match operation {
        O::PutFh => Ok(handles::put(context, arguments).await?),
        O::PutRootFh | O::PutPubFh => Ok(handles::put_root(context, arguments)?),
        O::GetFh => Ok(handles::get(context, reply)?),
        O::SaveFh => Ok(handles::save(context)?),
        O::RestoreFh => Ok(handles::restore(context, arguments)?),
        O::GetAttr => {
            let asked = decode(arguments)?;
            Ok(get_attr::run(context, asked, arguments, reply).await?)
        }
        O::Access => put(reply, &access::run(context, decode(arguments)?).await?),
        O::Lookup => Ok(lookup::run(context, decode(arguments)?).await?),
        O::LookupParent => Ok(lookup_parent::run(context).await?),
        O::Read => Ok(read::run(context, decode(arguments)?, reply).await?),
        O::Write => put(reply, &write::run(context, decode(arguments)?).await?),
        O::Commit => put(reply, &commit::run(context, decode(arguments)?).await?),
        O::ReadDir => Ok(read_dir::run(context, decode(arguments)?, reply).await?),
        O::ReadLink => put(reply, &read_link::run(context).await?),
        O::Open => {
            let decoded = proto::nfs4::OpenArgs::decode(arguments)
                .map_err(|error| bad_attributes(error, context.minor_version))?;
            put(reply, &open::run(context, &decoded).await?)
        }
        O::Close => put(reply, &close::close(context, &decode(arguments)?).await?),
        O::SetAttr => {
            let attributes_set = set_attr::run(context, arguments).await?;
            put(reply, &SetAttrResult { attributes_set })
        }
        O::Verify => Ok(verify::run(context, arguments, false).await?),
        O::NVerify => Ok(verify::run(context, arguments, true).await?),
        O::Create => put(reply, &create::run(context, arguments).await?),
        O::Remove => put(reply, &remove::run(context, decode(arguments)?).await?),
        O::Rename => put(reply, &rename::run(context, decode(arguments)?).await?),
        O::Link => put(reply, &link::run(context, decode(arguments)?).await?),
        O::SecInfo => put(reply, &sec_info::by_name(context, decode(arguments)?).await?),
        O::SecInfoNoName => put(reply, &sec_info::without_name(context, decode(arguments)?).await?),
        other => body_since_2(context, other, arguments, reply).await,
    }
}

/// The operations of minor version 2 and its extensions.
async fn body_since_2<F: FileSystem>(
    context: &mut Context<'_, F>,
    operation: Operation,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    use Operation as O;
    match operation {
        O::Allocate => Ok(allocate::run(context, decode(arguments)?, Space::Reserved).await?),
        O::Deallocate => Ok(allocate::run(context, decode(arguments)?, Space::GivenBack).await?),
        O::Copy => put(reply, &copy::run(context, decode(arguments)?).await?),
        O::Clone => Ok(clone::run(context, decode(arguments)?).await?),
        O::IoAdvise => put(reply, &io_advise::run(context, decode(arguments)?).await?),
        O::ReadPlus => Ok(read_plus::run(context, decode(arguments)?, reply).await?),
        O::Seek => put(reply, &seek::run(context, decode(arguments)?).await?),
        O::GetXattr => put(reply, &get_xattr::run(context, decode(arguments)?).await?),
        O::SetXattr => put(reply, &set_xattr::run(context, decode(arguments)?).await?),
        O::ListXattrs => Ok(list_xattrs::run(context, decode(arguments)?, reply).await?),
        O::RemoveXattr => put(reply, &remove_xattr::run(context, decode(arguments)?).await?),
        other => state_body(context, other, arguments, reply).await,
    }
}

/// The operations on state and sessions.
async fn state_body<F: FileSystem>(
    context: &mut Context<'_, F>,
    operation: Operation,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    use Operation as O;
    match operation {
        O::OpenDowngrade => put(reply, &close::downgrade(context, &decode(arguments)?)?),
        O::Lock => put(reply, &lock::run(context, decode(arguments)?).await?),
        O::LockT => Ok(lock_t::run(context, decode(arguments)?).await?),
        O::LockU => put(reply, &lock_u::run(context, &decode(arguments)?)?),
        O::TestStateId => put(reply, &state_ids::test(context, &decode(arguments)?)?),
        O::FreeStateId => Ok(state_ids::free(context, &decode(arguments)?).await?),
        O::DelegReturn => Ok(state_ids::return_delegation(context, &decode(arguments)?)?),
        O::GetDirDelegation => put(reply, &get_dir_delegation::run(context, decode(arguments)?).await?),
        O::WantDelegation => put(reply, &want_delegation::run(context, decode(arguments)?).await?),
        O::ReclaimComplete => Ok(state_ids::reclaim_complete(context, &decode(arguments)?).await?),
        O::ExchangeId => put(reply, &exchange_id::run(context, decode(arguments)?).await?),
        O::CreateSession => put(reply, &create_session::run(context, &decode(arguments)?).await?),
        O::DestroySession => {
            let decoded = decode(arguments)?;
            Ok(destroy_session::session(context, &decoded, arguments.remaining() == 0)?)
        }
        O::DestroyClientId => Ok(destroy_session::client(context, &decode(arguments)?).await?),
        O::BindConnToSession => put(reply, &bind_conn_to_session::run(context, &decode(arguments)?)?),
        O::BackchannelCtl => Ok(backchannel_ctl::run(context, &decode(arguments)?)?),
        // The table of operations has no row for the others.
        _ => Err(Status::NotSupported.into()),
    }
}
