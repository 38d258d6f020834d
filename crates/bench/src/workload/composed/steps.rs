//! The steps themselves, each on the file that the thread holds or on an entry that it takes.

use super::hands::{Done, Hands, OpenFile};
use super::set::{Entry, Presence};
use crate::experiment::composed::{Mode, Offset, Step};
use crate::workload::{Access, Error, files};

/// Carries out one step. The workload was checked: a file is held where one is needed, and opened for what is
/// done.
pub(super) async fn carry_out<'a>(hands: &mut Hands<'a>, step: &'a Step) -> Result<Done, Error> {
    match step {
        Step::Create { set, sync } => {
            open(hands, set, Presence::Absent, Access::CreateReadWrite { sync: *sync }).await
        }
        Step::Open { set, mode, sync } => open(hands, set, Presence::Present, access(*mode, *sync)).await,
        Step::Stat { set } => stat(hands, set).await,
        Step::Delete { set } => delete(hands, set).await,
        Step::Rename { set } => rename(hands, set).await,
        Step::MakeDirectory { set } => make_directory(hands, set).await,
        Step::List { set } => list(hands, set).await,
        Step::Think { time } => {
            tokio::time::sleep(*time).await;
            Ok(Done::Bytes(0))
        }
        Step::Close => {
            hands.put_down().await?;
            Ok(Done::Bytes(0))
        }
        _ => {
            let Some(mut held) = hands.held.take() else { return Ok(Done::Bytes(0)) };
            let done = with_file(hands, &mut held, step).await;
            hands.held = Some(held);
            done.map(Done::Bytes)
        }
    }
}

fn access(mode: Mode, sync: bool) -> Access {
    match mode {
        Mode::Read => Access::Read,
        Mode::Write => Access::Write { sync },
        Mode::ReadWrite => Access::ReadWrite { sync },
    }
}

async fn open<'a>(
    hands: &mut Hands<'a>,
    name: &'a str,
    wanted: Presence,
    access: Access,
) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(entry) = set.take(wanted, hands.at_once).await else { return Ok(Done::NothingLeft) };
    let file = hands.station.mount.open(&set.tree.path(entry.number), access).await?;
    let content = set.tree.content(entry.content);
    let whole = set.tree.size(entry.number);
    hands.held = Some(OpenFile { set: name, entry, file, content, whole, next: 0, last: 0 });
    Ok(Done::Bytes(0))
}

async fn stat(hands: &Hands<'_>, name: &str) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(entry) = set.take(Presence::Present, hands.at_once).await else { return Ok(Done::NothingLeft) };
    hands.station.mount.stat(&set.tree.path(entry.number)).await?;
    set.give_back(entry, Presence::Present);
    Ok(Done::Bytes(0))
}

async fn delete(hands: &Hands<'_>, name: &str) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(entry) = set.take(Presence::Present, hands.at_once).await else { return Ok(Done::NothingLeft) };
    hands.station.mount.delete(&set.tree.path(entry.number)).await?;
    set.give_back(entry, Presence::Absent);
    Ok(Done::Bytes(0))
}

async fn rename(hands: &Hands<'_>, name: &str) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(from) = set.take(Presence::Present, hands.at_once).await else { return Ok(Done::NothingLeft) };
    // Waiting with something in hand could go round in a circle.
    let Some(to) = set.take(Presence::Absent, true).await else {
        set.give_back(from, Presence::Present);
        return Ok(Done::NothingLeft);
    };
    let (old, new) = (set.tree.path(from.number), set.tree.path(to.number));
    hands.station.mount.rename(&old, &new).await?;
    set.give_back(from, Presence::Absent);
    set.give_back(Entry { number: to.number, ..from }, Presence::Present);
    Ok(Done::Bytes(0))
}

async fn make_directory(hands: &Hands<'_>, name: &str) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(entry) = set.take(Presence::Present, hands.at_once).await else { return Ok(Done::NothingLeft) };
    set.give_back(entry, Presence::Present);
    hands.station.mount.make_directory(&set.new_directory(entry.number)).await?;
    Ok(Done::Bytes(0))
}

async fn list(hands: &Hands<'_>, name: &str) -> Result<Done, Error> {
    let set = hands.sets.get(name);
    let Some(entry) = set.take(Presence::Present, hands.at_once).await else { return Ok(Done::NothingLeft) };
    set.give_back(entry, Presence::Present);
    hands.station.mount.list(&set.tree.directory(entry.number)).await?;
    Ok(Done::Bytes(0))
}

/// The steps on the open file; gives the bytes read or written.
async fn with_file(hands: &mut Hands<'_>, held: &mut OpenFile<'_>, step: &Step) -> Result<u64, Error> {
    match step {
        Step::ReadWhole => read_whole(hands.io_bytes, held).await,
        Step::WriteWhole => write_whole(hands.io_bytes, held).await,
        Step::Append { bytes, random } => {
            let length = if *random { 1 + hands.random.below(*bytes) } else { *bytes };
            write(held, held.entry.size, length).await
        }
        Step::ReadAt { offset, bytes } => {
            let size = held.entry.size;
            let (at, length) = piece(hands, held, *offset, *bytes, size);
            read(held, at, length).await?;
            Ok(length)
        }
        Step::WriteAt { offset, bytes } => {
            let size = held.entry.size.max(held.whole);
            let (at, length) = piece(hands, held, *offset, *bytes, size);
            write(held, at, length).await
        }
        Step::Fsync => held.file.sync().await.map(|()| 0),
        Step::Lock { exclusive } => held.file.lock(*exclusive).await.map(|()| 0),
        Step::Unlock => held.file.unlock().await.map(|()| 0),
        Step::Create { .. }
        | Step::Open { .. }
        | Step::Close
        | Step::Stat { .. }
        | Step::Delete { .. }
        | Step::Rename { .. }
        | Step::MakeDirectory { .. }
        | Step::List { .. }
        | Step::Think { .. } => unreachable!("`carry_out` does what is not about the open file"),
    }
}

/// The next piece of a file of `size` bytes: where it begins and how long it is.
fn piece(
    hands: &mut Hands<'_>,
    held: &mut OpenFile<'_>,
    offset: Offset,
    bytes: u64,
    size: u64,
) -> (u64, u64) {
    let at = match offset {
        Offset::Same => held.last,
        Offset::Random => hands.random.below(size / bytes) * bytes,
        Offset::Sequential if held.next >= size => 0,
        Offset::Sequential => held.next,
    };
    let length = bytes.min(size.saturating_sub(at));
    held.last = at;
    held.next = at + length;
    (at, length)
}

async fn read_whole(io_bytes: u64, held: &OpenFile<'_>) -> Result<u64, Error> {
    let mut offset = 0;
    while offset < held.entry.size {
        let length = io_bytes.min(held.entry.size - offset);
        read(held, offset, length).await?;
        offset += length;
    }
    Ok(held.entry.size)
}

async fn read(held: &OpenFile<'_>, offset: u64, length: u64) -> Result<(), Error> {
    let data = held.file.read(offset, length as usize).await?;
    files::check(held.content, &held.file, offset, &data, length)
}

async fn write_whole(io_bytes: u64, held: &mut OpenFile<'_>) -> Result<u64, Error> {
    let mut offset = 0;
    while offset < held.whole {
        offset += write(held, offset, io_bytes.min(held.whole - offset)).await?;
    }
    Ok(held.whole)
}

async fn write(held: &mut OpenFile<'_>, offset: u64, length: u64) -> Result<u64, Error> {
    held.file.write(offset, held.content.bytes(offset, length as usize)).await?;
    held.entry.size = held.entry.size.max(offset + length);
    Ok(length)
}
