//! READDIRPLUS (RFC 1813 §3.3.17).

use proto::nfs3::{EntryListWriter, EntryPlus, PostOpAttributes, ReadDirPlusArgs, ReadDirPlusFail, Status};
use vfs::FileSystem;
use xdr::Encoder;

use super::context::Context;
use super::listing::{self, NAME_ENTRY_BYTES, Plan, VERIFIER};
use super::object::to_wire;
use super::{attributes, transfer};
use crate::conflicts::Conflicts;

/// What an entry with a name of 16 bytes and a handle of 32 takes: the entry, attributes, handle.
const ENTRY_BYTES: usize = NAME_ENTRY_BYTES + 88 + 40;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: ReadDirPlusArgs,
    reply: &mut Encoder,
) {
    let start = reply.len();
    let mut known = None;
    if let Err(status) = answer(context, &arguments, &mut known, reply).await {
        reply.truncate(start);
        reply.put(&(status, ReadDirPlusFail { dir: known }));
    }
}

async fn answer<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: &ReadDirPlusArgs,
    known: &mut PostOpAttributes,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let dir = context.object(&arguments.dir).await?;
    // Taken before the entries: were they newer, a client would keep old entries as valid for them.
    *known = Some(attributes::to_wire(&dir.attributes().await?));
    listing::check_verifier(arguments.cookie, arguments.verifier)?;
    let count = arguments.max_count.min(transfer::LISTING_BYTES_MAX);
    context.expect_reply(count as usize);
    reply.put(&Status::Ok);
    let body = reply.len();
    reply.put(known);
    reply.put(&VERIFIER);
    let plan = Plan { cookie: arguments.cookie, objects: true, entry_bytes: ENTRY_BYTES };
    let writer = EntryListWriter::new(reply, body, count).with_directory_bytes_max(arguments.dir_count);
    listing::fill(&dir, plan, writer, |writer, entry| {
        let attributes = entry.object.as_ref().and_then(|(node, found)| context.found(&dir, node, found));
        writer.push_plus(&EntryPlus {
            fileid: entry.fileid,
            name: entry.name,
            cookie: entry.cookie,
            attributes,
            object: entry.object.map(|(node, _)| to_wire(&dir.fs().handle(&node))),
        })
    })
    .await
}
