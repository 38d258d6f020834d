//! SECINFO (RFC 8881 §18.29). It consumes the current file handle.

use proto::nfs4::{GssInfo, Operation, SecInfoArgs, SecInfoResult, SecurityFlavor, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::exports::Flavor;
use crate::nfs4::engine::context::{Context, Object, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::names::lookup;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::Io, Status::ServerFault), (Status::Symlink, Status::NotDirectory)],
    ..Descriptor::looks(Operation::SecInfo)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: SecInfoArgs,
) -> Result<SecInfoResult, Status> {
    let (object, _) = lookup::find(context, &arguments.name).await?;
    flavors(context, &object)
}

pub(crate) fn flavors<F: FileSystem>(
    context: &mut Context<'_, F>,
    object: &Object<'_, F>,
) -> Result<SecInfoResult, Status> {
    let rule = object.export.rule(&context.caller).map_err(refused)?;
    let flavors = rule.flavors.iter().map(|flavor| on_wire(*flavor)).collect();
    // RFC 8881 §18.45.3: the current file handle is gone after success.
    context.current = None;
    context.current_state = proto::nfs4::StateId::ANONYMOUS;
    Ok(SecInfoResult { flavors })
}

/// The mechanism Kerberos 5 (1.2.840.113554.1.2.2), without tag and length, as clients expect it.
const KRB5_OID: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";

fn on_wire(flavor: Flavor) -> SecurityFlavor {
    match flavor {
        Flavor::None | Flavor::Sys => SecurityFlavor::Plain(flavor.number()),
        Flavor::Kerberos(service) => {
            let oid = xdr::Bytes::from_static(KRB5_OID);
            SecurityFlavor::Gss(GssInfo { oid, quality: 0, service: service as u32 })
        }
    }
}
