//! READDIR (RFC 8881 §18.23).
//!
//! The back end is read a page at a time, so a directory of any size takes no more memory than one page, and
//! other requests of the connection get their turn in between.
//!
//! What an entry says of its file's data is what GETATTR says: where another client has a write delegation,
//! that client is asked (RFC 8881 §10.4.3). All holders of a page are asked at a time; where they are many,
//! the reply ends early.

use std::collections::HashMap;

use futures_util::future::join_all;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::{Operation, ReadDirArgs, Status, Verifier};
use vfs::{Attributes, DirEntry, FileKind, FileSystem, Identity, Name};
use xdr::{Decoder, Encoder};

use crate::exports::{Denied, Leads};
use crate::nfs4::attributes;
use crate::nfs4::attributes::get_attr;
use crate::nfs4::engine::context::{Context, Object, refused};
use crate::nfs4::engine::descriptor::{Descriptor, SOME_DATA_BYTES};
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;
use crate::pages::{FIRST_ENTRIES_MAX, PAGE_ENTRIES_MAX, TURN_ENTRIES};
use crate::runtime::{StartedFuture, begin, give_way};

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: SOME_DATA_BYTES, ..Descriptor::looks(Operation::ReadDir) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?, reply).await?)
}

/// The most holders of write delegations that are asked for one reply.
const ASKED_MAX: usize = 32;
/// What an entry is expected to take of the reply, in bytes, before one was written: without and with its
/// object.
const ENTRY_BYTES: [usize; 2] = [48, 160];
/// Bytes that follow the last entry: the end of the list and `eof`.
const TAIL_BYTES: usize = 8;
/// Cookies are stable, so the verifier never changes (RFC 8881 §18.23.3).
pub(crate) const VERIFIER: Verifier = Verifier([0; 8]);
/// Clients use cookies up to this one for `.` and `..` (RFC 8881 §18.23.3).
const RESERVED_COOKIE_MAX: u64 = 2;
/// Added to a back end's cookie that is reserved here.
const COOKIE_MARK: u64 = 1 << 63;

/// The attributes that an entry has without its object.
const OF_ENTRY: Bitmap =
    Bitmap::of(&[AttributeId::RdattrError, AttributeId::FileId, AttributeId::MountedOnFileId]);

/// Appends the result's body.
async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: ReadDirArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let directory = context.object()?;
    context.call.connection.expect_reply(context.reply_room.min(arguments.count_max as usize));
    check(context, directory, &arguments).await?;
    let mut listing = Listing {
        context,
        directory,
        identity: context.identity(directory)?,
        wanted: arguments.wanted,
        room: Room::new(context.reply_room, &arguments, reply.len())?,
        asked: 0,
    };
    reply.put(&VERIFIER);
    let eof = listing.fill(from_wire(arguments.cookie), reply).await?;
    reply.bool(false);
    reply.bool(eof);
    Ok(())
}

async fn check<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<'_, F>,
    arguments: &ReadDirArgs,
) -> Result<(), Status> {
    let found = directory.attributes().await.map_err(status::of)?;
    if found.kind != FileKind::Directory {
        return Err(Status::NotDirectory);
    }
    if arguments.wanted.intersects(attributes::write_only(context.minor_version)) {
        return Err(Status::Invalid);
    }
    match arguments.cookie {
        0 => Ok(()),
        1..=RESERVED_COOKIE_MAX => Err(Status::BadCookie),
        // A cookie comes with the verifier it was given with (RFC 8881 §18.23.3).
        _ if arguments.verifier == VERIFIER => Ok(()),
        _ => Err(Status::NotSame),
    }
}

/// A client's cookie to the back end.
fn from_wire(cookie: u64) -> u64 {
    let plain = cookie & !COOKIE_MARK;
    if plain <= RESERVED_COOKIE_MAX { plain } else { cookie }
}

/// A back end's cookie to the client.
fn to_wire(cookie: u64) -> u64 {
    if cookie <= RESERVED_COOKIE_MAX { cookie | COOKIE_MARK } else { cookie }
}

/// How much may be written, and how much was.
struct Room {
    /// Where the reply must end.
    end: usize,
    /// What to say when not one entry fits.
    none_fits: Status,
    /// Bytes of names and cookies that are left: a hint of the client's.
    directory_bytes: usize,
    entries: usize,
    entry_bytes: usize,
}

impl Room {
    /// For a result whose body begins at `start`. The session's room counts from the result's head, its
    /// number and status.
    fn new(reply_room: usize, arguments: &ReadDirArgs, start: usize) -> Result<Self, Status> {
        let in_session = start.saturating_add(reply_room.saturating_sub(8));
        let by_client = start.saturating_add(arguments.count_max as usize);
        let none_fits = if by_client <= in_session { Status::TooSmall } else { Status::ReplyTooBig };
        let end = by_client.min(in_session);
        if end < start + VERIFIER.0.len() + TAIL_BYTES {
            return Err(none_fits);
        }
        let directory_bytes =
            if arguments.directory_count == 0 { usize::MAX } else { arguments.directory_count as usize };
        Ok(Self { end, none_fits, directory_bytes, entries: 0, entry_bytes: 0 })
    }

    /// How many entries to take.
    fn page_entries(&self, used: usize, with_objects: bool) -> usize {
        match self.fitting_entries(used) {
            Some(count) => count.clamp(1, PAGE_ENTRIES_MAX),
            None => {
                let each = ENTRY_BYTES[usize::from(with_objects)];
                (self.bytes_left(used) / each).clamp(1, FIRST_ENTRIES_MAX)
            }
        }
    }

    /// How many entries probably fit, once some have told how large they are.
    fn fitting_entries(&self, used: usize) -> Option<usize> {
        let each = self.entry_bytes.checked_div(self.entries)?;
        Some(self.bytes_left(used) / each.max(1))
    }

    fn bytes_left(&self, used: usize) -> usize {
        self.end.saturating_sub(used + TAIL_BYTES)
    }

    /// Counts an entry that was written from `before` to `now`; false when it does not fit.
    fn take(&mut self, before: usize, now: usize, name: &[u8]) -> bool {
        // As encoded: the cookie, and the name with its length and padding.
        let directory_bytes = 12 + name.len().next_multiple_of(4);
        let hint_is_reached = directory_bytes > self.directory_bytes && self.entries > 0;
        if now + TAIL_BYTES > self.end || hint_is_reached {
            return false;
        }
        self.directory_bytes = self.directory_bytes.saturating_sub(directory_bytes);
        self.entries += 1;
        self.entry_bytes += now - before;
        true
    }
}

struct Listing<'a, 'b, F: FileSystem> {
    context: &'a Context<'b, F>,
    directory: &'a Object<'b, F>,
    identity: Identity,
    wanted: Bitmap,
    room: Room,
    /// Holders of write delegations that were asked.
    asked: usize,
}

/// What somebody else knows of an entry's file.
enum HolderAttributes {
    /// Nothing that the file system does not know.
    Nothing,
    /// These attributes, or why they cannot be had.
    Newer(Result<Attributes, Status>),
    /// Its holder was not asked, for enough were.
    Unasked,
}

impl<F: FileSystem> Listing<'_, '_, F> {
    /// Writes entries after `cookie` until the directory or the room ends, and tells whether the directory
    /// did.
    async fn fill(&mut self, mut cookie: u64, reply: &mut Encoder) -> Result<bool, Status> {
        let with_objects = !self.wanted.without(OF_ENTRY).is_empty();
        let mut turn_end = TURN_ENTRIES;
        let (directory, identity) = (self.directory, &self.identity.clone());
        let state = self.context.server.state();
        let read = |cookie, count| {
            let ended_before = state.write_delegations_ended();
            async move {
                let page = directory.fs().read_dir(
                    directory.request(identity),
                    &directory.node,
                    cookie,
                    count,
                    with_objects,
                );
                (page.await, ended_before)
            }
        };
        let mut begun = None;
        loop {
            let (page, ended_before) = match begun.take() {
                Some(page) => StartedFuture::finish(page).await,
                None => read(cookie, self.room.page_entries(reply.len(), with_objects)).await,
            };
            let page = page.map_err(status::of)?;
            // A back end that says neither "more" nor "end" must not keep us here.
            let ended = page.eof || page.entries.is_empty();
            // The next are looked for while these are written, if there will be room for some.
            let count =
                self.room.fitting_entries(reply.len()).unwrap_or(0).saturating_sub(page.entries.len());
            if let Some(last) = page.entries.last().filter(|_| !ended && count > 0) {
                // As a buffer grows it is copied, and its new memory cleared, while nobody else has the core.
                let bytes_left = self.room.bytes_left(reply.len());
                reply.buffer_mut().reserve(bytes_left + TAIL_BYTES);
                begun = Some(begin(read(last.cookie, count.min(PAGE_ENTRIES_MAX))).await);
            }
            let mut known = self.ask_holders(&page.entries, ended_before).await;
            for (place, entry) in page.entries.into_iter().enumerate() {
                if self.room.entries >= turn_end {
                    turn_end = self.room.entries + TURN_ENTRIES;
                    give_way().await;
                }
                let known = known.remove(&place).unwrap_or(HolderAttributes::Nothing);
                // The first that comes is asked, for those before it may have gone.
                if matches!(known, HolderAttributes::Unasked) && self.room.entries > 0 {
                    return Ok(false);
                }
                cookie = entry.cookie;
                if &entry.name[..] == b"." || &entry.name[..] == b".." {
                    continue;
                }
                let before = reply.len();
                reply.bool(true);
                reply.u64(to_wire(entry.cookie));
                reply.opaque(&entry.name);
                let is_there = match self.crossing(&entry.name) {
                    None if with_objects => self.write_values(&entry, known, reply).await?,
                    None => {
                        self.write_name_only(&entry, reply);
                        true
                    }
                    Some(crossing) => self.write_across(crossing, entry.fileid, reply).await?,
                };
                if !is_there {
                    reply.truncate(before);
                    continue;
                }
                if !self.room.take(before, reply.len(), &entry.name) {
                    reply.truncate(before);
                    return if self.room.entries == 0 { Err(self.room.none_fits) } else { Ok(false) };
                }
            }
            if ended {
                return Ok(true);
            }
        }
    }

    /// What is known of the files of these entries, by their places, where other clients know anything, or
    /// have known it since the entries were read: so many write delegations had ended before.
    async fn ask_holders(
        &mut self,
        entries: &[DirEntry<F::Node>],
        ended_before: u64,
    ) -> HashMap<usize, HolderAttributes> {
        let state = self.context.server.state();
        // In this order: who is not seen to hold a delegation that it held when the entries were read is seen
        // to have ended it.
        let is_any_held = state.grant_count() > 0;
        let may_differ = is_any_held || state.write_delegations_ended() != ended_before;
        if !self.wanted.intersects(get_attr::OF_DATA) || !may_differ {
            return HashMap::new();
        }
        let (client, now) = (self.context.client_id(), self.context.server.services().now());
        let mut asks = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let Some((node, found)) = &entry.object else { continue };
            let object = self.directory.beside(node.clone());
            if state.write_delegation(object.file(), client, || now).is_some() {
                let is_asked = self.asked < ASKED_MAX;
                self.asked += usize::from(is_asked);
                asks.push((place, object, *found, is_asked));
            }
        }
        let has_any_ended = state.write_delegations_ended() != ended_before;
        let (context, wanted) = (self.context, self.wanted);
        let asks = asks.into_iter().map(|(place, object, found, is_asked)| async move {
            match is_asked {
                false => (place, HolderAttributes::Unasked),
                true => {
                    (place, HolderAttributes::Newer(get_attr::newer(context, &object, found, wanted).await))
                }
            }
        });
        let mut known: HashMap<_, _> = join_all(asks).await.into_iter().collect();
        for (place, entry) in entries.iter().enumerate().filter(|_| has_any_ended) {
            let Some((node, _)) = entry.object.as_ref().filter(|_| !known.contains_key(&place)) else {
                continue;
            };
            let request = self.directory.request_of_server();
            let found = self.directory.fs().attributes(request, node).await.map_err(status::of);
            known.insert(place, HolderAttributes::Newer(found));
        }
        known
    }

    /// Appends the attributes of an entry; false when it has gone since it was listed.
    async fn write_values(
        &self,
        entry: &DirEntry<F::Node>,
        known: HolderAttributes,
        reply: &mut Encoder,
    ) -> Result<bool, Status> {
        match self.write_values_of_object(entry, known, reply).await {
            Ok(()) => Ok(true),
            Err(Status::NoEntry | Status::Stale) => Ok(false),
            // Said in its place where that was asked for (RFC 8881 §18.23.3).
            Err(status) if self.wanted.contains(AttributeId::RdattrError) => {
                attributes::of_error(status).encode_wanted(self.wanted, reply);
                Ok(true)
            }
            Err(status) => Err(status),
        }
    }

    /// Appends what is known of an entry without its object.
    fn write_name_only(&self, entry: &DirEntry<F::Node>, reply: &mut Encoder) {
        let values = AttributeValues {
            rdattr_error: Some(Status::Ok),
            fileid: Some(entry.fileid),
            mounted_on_fileid: Some(entry.fileid),
            ..AttributeValues::default()
        };
        values.encode_wanted(self.wanted, reply);
    }

    /// Where the name of an entry leads, if that is not for the directory's back end alone to say.
    fn crossing(&self, name: &[u8]) -> Option<Result<Leads<'_, F>, Denied>> {
        let at = (self.directory.export.id(), self.directory.id());
        let junction = self.context.exports.junction(at.0, at.1, name)?;
        match junction.leads(&self.context.caller) {
            Ok(Leads::On) => None,
            leads => Some(leads),
        }
    }

    /// Appends the attributes of the root of another export (RFC 8881 §18.23.3); false when the caller may
    /// not use it.
    async fn write_across(
        &self,
        crossing: Result<Leads<'_, F>, Denied>,
        covered: u64,
        reply: &mut Encoder,
    ) -> Result<bool, Status> {
        let Ok(Leads::Into(export)) = crossing else { return Ok(false) };
        let object = self.context.object_of(export, export.file_system().root());
        let rule = export.rule(&self.context.caller).map_err(refused)?;
        let values = match rule.accepts(&self.context.caller) {
            true => match object.attributes().await {
                Ok(found) => attributes::of(self.context, &object, &found, self.wanted).await?,
                Err(error) => attributes::of_error(status::of(error)),
            },
            false => attributes::of_error(Status::WrongSecurity),
        };
        let values = AttributeValues { mounted_on_fileid: Some(covered), ..values };
        values.encode_wanted(self.wanted, reply);
        Ok(true)
    }

    async fn write_values_of_object(
        &self,
        entry: &DirEntry<F::Node>,
        known: HolderAttributes,
        reply: &mut Encoder,
    ) -> Result<(), Status> {
        let fs = self.directory.fs();
        let (node, found) = match &entry.object {
            Some((node, found)) => (node.clone(), *found),
            // It could not be had. Asking for it alone tells why.
            None => {
                let name = Name::new(&entry.name).map_err(status::of)?;
                fs.lookup(self.directory.request(&self.identity), &self.directory.node, name)
                    .await
                    .map_err(status::of)?
            }
        };
        let object = self.directory.beside(node);
        let found = match known {
            HolderAttributes::Newer(newer) => newer?,
            HolderAttributes::Unasked => get_attr::newer(self.context, &object, found, self.wanted).await?,
            HolderAttributes::Nothing => found,
        };
        attributes::encode(self.context, &object, &found, self.wanted, reply).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_cookies_are_never_given_and_every_cookie_comes_back() {
        for cookie in [1, 2, 3, 4, 1 << 32, (1 << 63) - 1] {
            assert!(to_wire(cookie) > RESERVED_COOKIE_MAX);
            assert_eq!(from_wire(to_wire(cookie)), cookie);
        }
        assert_eq!(from_wire(0), 0);
    }
}
