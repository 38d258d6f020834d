//! READDIR (RFC 1813 §3.3.16).

use proto::nfs3::{Entry, EntryListWriter, PostOpAttributes, ReadDirArgs, ReadDirFail, Status};
use vfs::FileSystem;
use xdr::Encoder;

use super::context::Context;
use super::listing::{self, NAME_ENTRY_BYTES, Plan, VERIFIER};
use super::{attributes, transfer};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: ReadDirArgs,
    reply: &mut Encoder,
) {
    let start = reply.len();
    let mut known = None;
    if let Err(status) = answer(context, &arguments, &mut known, reply).await {
        reply.truncate(start);
        reply.put(&(status, ReadDirFail { dir: known }));
    }
}

async fn answer<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: &ReadDirArgs,
    known: &mut PostOpAttributes,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let dir = context.object(&arguments.dir).await?;
    // Taken before the entries: were they newer, a client would keep old entries as valid for them.
    *known = Some(attributes::to_wire(&dir.attributes().await?));
    listing::check_verifier(arguments.cookie, arguments.verifier)?;
    let count = arguments.count.min(transfer::LISTING_BYTES_MAX);
    context.expect_reply(count as usize);
    reply.put(&Status::Ok);
    let body = reply.len();
    reply.put(known);
    reply.put(&VERIFIER);
    let plan = Plan { cookie: arguments.cookie, objects: false, entry_bytes: NAME_ENTRY_BYTES };
    listing::fill(&dir, plan, EntryListWriter::new(reply, body, count), |writer, entry| {
        writer.push(&Entry { fileid: entry.fileid, name: entry.name, cookie: entry.cookie })
    })
    .await
}
