//! LISTXATTRS (RFC 8276 §8.4.3).
//!
//! Names are told in the order of a digest of them, which is also the cookie: so a list goes on after the
//! last name told, whatever others come and go meanwhile. Names with one digest are told together.

use bytes::Bytes;
use proto::nfs4::{ListXattrsArgs, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::xattrs;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::NotPermitted, Status::NotPermitted)],
    ..Descriptor::looks(Operation::ListXattrs)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?, reply).await?)
}

/// Cookie, number of names, and whether there are more.
const FRAME_BYTES: usize = 8 + 4 + 4;

/// Appends the result's body.
async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: ListXattrsArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let object = context.object()?;
    xattrs::check_supported(object)?;
    let identity = context.identity(object)?;
    let names = object.fs().list_xattrs(object.request(&identity), &object.node).await.map_err(status::of)?;
    // The session's room counts from the result's head, its number and status.
    let (wanted, in_session) = (arguments.count_max as usize, context.reply_room.saturating_sub(8));
    let page = page(names, arguments.cookie, wanted.min(in_session));
    let none_fits = if wanted <= in_session { Status::TooSmall } else { Status::ReplyTooBig };
    let Page { names, cookie, eof } = page.ok_or(none_fits)?;
    reply.u64(cookie);
    reply.length(names.len());
    names.iter().for_each(|name| reply.opaque(name));
    reply.bool(eof);
    Ok(())
}

/// A part of a list.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    names: Vec<Bytes>,
    cookie: u64,
    eof: bool,
}

/// The part after a cookie that fits into so many bytes; `None` when not even one name does.
fn page(names: Vec<Bytes>, after: u64, bytes_max: usize) -> Option<Page> {
    let mut left: Vec<_> = names.into_iter().map(|name| (digest(&name), name)).collect();
    left.retain(|(digest, _)| *digest > after);
    left.sort_unstable();
    let mut room = bytes_max.checked_sub(FRAME_BYTES)?;
    let mut taken = 0;
    for same in left.chunk_by(|one, other| one.0 == other.0) {
        let bytes: usize = same.iter().map(|(_, name)| 4 + name.len().next_multiple_of(4)).sum();
        let Some(rest) = room.checked_sub(bytes) else { break };
        room = rest;
        taken += same.len();
    }
    if taken == 0 && !left.is_empty() {
        return None;
    }
    let eof = taken == left.len();
    left.truncate(taken);
    let cookie = left.last().map_or(after, |(digest, _)| *digest);
    Some(Page { names: left.into_iter().map(|(_, name)| name).collect(), cookie, eof })
}

/// FNV-1a of a name, never 0: that is where a list begins. Only who sets the names of an object could gain
/// from two that have the same, and nothing.
fn digest(name: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    name.iter().fold(0xcbf2_9ce4_8422_2325, step).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<Bytes> {
        (0..count).map(|number| Bytes::from(format!("name {number}"))).collect()
    }

    #[test]
    fn pages_make_up_the_list_whatever_is_added_or_removed() {
        let (mut all, mut told, mut cookie) = (names(100), Vec::new(), 0);
        for turn in 0.. {
            let page = page(all.clone(), cookie, 100).unwrap();
            assert!(page.names.len() <= 7);
            told.extend(page.names);
            cookie = page.cookie;
            if page.eof {
                break;
            }
            all.push(Bytes::from(format!("added {turn}")));
            all.retain(|name| *name != told[0] || told.len() < 10);
        }
        for name in names(100) {
            assert_eq!(told.iter().filter(|one| **one == name).count(), 1, "{name:?}");
        }
    }

    #[test]
    fn too_small_reply_differs_from_a_bad_cookie() {
        assert_eq!(page(names(1), 0, FRAME_BYTES + 11), None);
        assert_eq!(page(names(1), 0, FRAME_BYTES + 12).map(|page| page.eof), Some(true));
        assert_eq!(page(vec![], 0, FRAME_BYTES), Some(Page { names: vec![], cookie: 0, eof: true }));
        assert_eq!(page(vec![], 0, FRAME_BYTES - 1), None);
        let last = page(names(1), 0, 100).unwrap().cookie;
        assert_eq!(page(names(1), last, 100), Some(Page { names: vec![], cookie: last, eof: true }));
    }
}
