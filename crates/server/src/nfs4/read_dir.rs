//! READDIR (RFC 8881 §18.23).

use proto::nfs4::attributes::AttributeId;
use proto::nfs4::{ReadDirArgs, Status, Verifier};
use vfs::{DirEntry, FileKind, FileSystem};
use xdr::Encoder;

use super::context::{Context, Object};
use super::{attributes, status};

/// Entries taken from the back end at a time.
const PAGE_ENTRIES: usize = 256;
/// `.` and `..`, which NFSv4 does not list, may be all that a page has: then the next one is read.
const PAGES_MAX: usize = 3;
/// Bytes of an entry's frame: the flag before it and those that end the list.
const FRAME_BYTES: usize = 16;
/// Bytes of the result before the first entry, its status included.
const HEAD_BYTES: usize = 16;
/// Cookies are stable, so the verifier never changes (RFC 8881 §18.23.3).
const VERIFIER: Verifier = Verifier([0; 8]);

/// Appends the result's body.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: ReadDirArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let directory = context.object()?;
    check(directory, &arguments).await?;
    let identity = context.identity(directory)?;
    let room = (arguments.count_max as usize).min(context.reply_room).checked_sub(HEAD_BYTES);
    let end = reply.len() + room.ok_or(Status::TooSmall)?;
    reply.put(&VERIFIER);
    let mut cookie = arguments.cookie;
    let mut written = 0;
    let with_objects = !arguments.wanted.is_empty();
    let mut eof = false;
    'pages: for _ in 0..PAGES_MAX {
        let page = directory
            .fs()
            .read_dir(&identity, &directory.node, cookie, PAGE_ENTRIES, with_objects)
            .await
            .map_err(status::of)?;
        eof = page.eof;
        for entry in page.entries {
            cookie = entry.cookie;
            if &entry.name[..] == b"." || &entry.name[..] == b".." {
                continue;
            }
            let before = reply.len();
            if !put_entry(context, directory, &entry, &arguments, reply).await? {
                reply.truncate(before);
                continue;
            }
            if reply.len() + FRAME_BYTES > end {
                reply.truncate(before);
                eof = false;
                if written == 0 {
                    return Err(Status::TooSmall);
                }
                break 'pages;
            }
            written += 1;
        }
        if eof || written > 0 {
            break;
        }
    }
    reply.bool(false);
    reply.bool(eof);
    Ok(())
}

async fn check<F: FileSystem>(directory: &Object<F>, arguments: &ReadDirArgs) -> Result<(), Status> {
    let found = directory.fs().attributes(&directory.node).await.map_err(status::of)?;
    if found.kind != FileKind::Directory {
        return Err(Status::NotDirectory);
    }
    // A cookie comes with the verifier it was given with (RFC 8881 §18.23.3).
    if arguments.cookie != 0 && arguments.verifier != VERIFIER {
        return Err(Status::NotSame);
    }
    if arguments.wanted.intersects(attributes::WRITE_ONLY) {
        return Err(Status::Invalid);
    }
    Ok(())
}

/// False for an entry that cannot be listed.
async fn put_entry<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<F>,
    entry: &DirEntry<F::Node>,
    arguments: &ReadDirArgs,
    reply: &mut Encoder,
) -> Result<bool, Status> {
    reply.bool(true);
    reply.u64(entry.cookie);
    reply.opaque(&entry.name);
    let values = match &entry.object {
        Some((node, found)) => {
            let object = Object { export: directory.export.clone(), node: node.clone() };
            attributes::of(context.server, &object, found, arguments.wanted).await?
        }
        None if arguments.wanted.is_empty() => proto::nfs4::attributes::AttributeValues::default(),
        // Gone since it was listed, or out of reach: said in its place where that was asked for.
        None if arguments.wanted.contains(AttributeId::RdattrError) => {
            attributes::of_error(Status::AccessDenied)
        }
        None => return Ok(false),
    };
    values.encode_wanted(arguments.wanted, reply);
    Ok(true)
}
