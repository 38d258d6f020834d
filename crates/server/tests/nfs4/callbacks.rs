//! What the server asks of clients besides the return of a delegation: CB_GETATTR, CB_NOTIFY_LOCK,
//! CB_RECALL_ANY (RFC 8881 §20.1, §20.11, §20.6).

use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use state::Limits;

use crate::errors::fault::Trigger;
use crate::peer::{Peer, TestServer, open, size_only};

/// Creates `name` and writes to it under a write delegation.
fn write_delegated(peer: &mut Peer, name: &str) -> (FileHandle, StateId) {
    let how = CreateHow::Guarded(AttributeValues::default());
    let arguments = open(name, share::BOTH | share::WANT_WRITE_DELEGATION, Some(how));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let OpenDelegation::Write(granted) = results.body::<OpenResult>(Operation::Open).delegation else {
        panic!("no write delegation");
    };
    let handle: GetFhResult = results.body(Operation::GetFh);
    let write =
        WriteArgs { state_id: granted.state_id, offset: 0, stable: StableHow::FileSync, data: "four".into() };
    assert_eq!(peer.on(&handle.object, Operation::Write, &write).status, Status::Ok);
    (handle.object, granted.state_id)
}

fn attributes(results: &mut crate::peer::Results) -> AttributeValues {
    AttributeValues::decode(results.ok(Operation::GetAttr)).unwrap()
}

fn change_and_size() -> GetAttrArgs {
    GetAttrArgs { wanted: Bitmap::of(&[AttributeId::Change, AttributeId::Size]) }
}

#[test]
fn the_holder_of_a_write_delegation_is_asked_for_size_and_change() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = write_delegated(&mut a, "f");
    let mine = attributes(&mut a.on(&file, Operation::GetAttr, &change_and_size()));
    // The change that the holder was told with its delegation, before it wrote.
    let told = mine.change.unwrap() - 1;
    *a.callbacks.attributes.lock() = Some((told, 4));
    let unmodified = attributes(&mut b.on(&file, Operation::GetAttr, &change_and_size()));
    assert_eq!(unmodified, mine, "as the file system has it");
    *a.callbacks.attributes.lock() = Some((told + 1, 9));
    let modified = attributes(&mut b.on(&file, Operation::GetAttr, &change_and_size()));
    assert_eq!(modified.size, Some(9), "what is not written yet is seen");
    assert!(modified.change > mine.change);
    let again = attributes(&mut b.on(&file, Operation::GetAttr, &change_and_size()));
    assert!(again.change > modified.change, "it may have been modified yet again");
    assert!(a.callbacks.recalled.lock().is_empty());
    *a.callbacks.attributes.lock() = Some((told, 9));
    let longer = attributes(&mut b.on(&file, Operation::GetAttr, &change_and_size()));
    assert!(longer.change > again.change, "another size is a modification");
}

#[test]
fn lookup_returns_attributes_of_the_delegation_holder() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = write_delegated(&mut a, "f");
    let mine = attributes(&mut a.on(&file, Operation::GetAttr, &change_and_size()));
    *a.callbacks.attributes.lock() = Some((mine.change.unwrap(), 9));
    let found = |peer: &mut Peer| {
        let name = LookupArgs { name: "f".into() };
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &name);
                c.push(Operation::GetFh, &()).push(Operation::GetAttr, &change_and_size());
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        results.ok(Operation::Lookup);
        assert_eq!(results.body::<GetFhResult>(Operation::GetFh).object, file);
        attributes(&mut results)
    };
    let seen = found(&mut b);
    assert!(seen.size == Some(9) && seen.change > mine.change);
    let asked = a.callbacks.called.lock().len();
    assert_eq!(found(&mut a).size, Some(4), "as the file system has it");
    assert_eq!(a.callbacks.called.lock().len(), asked, "the holder is not asked");
}

/// Has `a` write to a file and give its write delegation back while `b`, whom that call of the file system
/// holds up, asks for the size.
fn size_told_meanwhile(
    (a, b): (&mut Peer, &mut Peer),
    (trigger, call, name): (&Trigger, &'static str, &str),
    ask: impl Fn(&mut CompoundBuilder<'_>, &FileHandle),
) -> crate::peer::Results {
    let (file, delegation) = write_delegated(a, name);
    trigger.set_stuck(Some(call));
    let mut asking = b.begin(|c| ask(c, &file));
    assert!((&mut asking).now_or_never().is_none());
    let write =
        WriteArgs { state_id: delegation, offset: 4, stable: StableHow::FileSync, data: " more".into() };
    assert_eq!(a.on(&file, Operation::Write, &write).status, Status::Ok);
    let back = DelegReturnArgs { state_id: delegation };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    trigger.set_stuck(None);
    asking.now_or_never().expect("answered at once").sequenced()
}

#[test]
fn getattr_sees_data_returned_during_it() {
    let (server, trigger) = TestServer::faulty();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let wanted = GetAttrArgs { wanted: size_only() };

    let mut results = size_told_meanwhile((&mut a, &mut b), (&trigger, "attributes", "known"), |c, file| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() }).push(Operation::GetAttr, &wanted);
    });
    results.ok(Operation::PutFh);
    assert_eq!(attributes(&mut results).size, Some(9), "by its handle");

    let mut results = size_told_meanwhile((&mut a, &mut b), (&trigger, "lookup", "found"), |c, _| {
        let name = LookupArgs { name: "found".into() };
        c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &name).push(Operation::GetAttr, &wanted);
    });
    results.ok(Operation::PutRootFh);
    results.ok(Operation::Lookup);
    assert_eq!(attributes(&mut results).size, Some(9), "by its name");

    let mut results = size_told_meanwhile((&mut a, &mut b), (&trigger, "read_dir", "listed"), |c, _| {
        let list = ReadDirArgs {
            cookie: 0,
            verifier: Verifier([0; 8]),
            directory_count: 0,
            count_max: 60_000,
            wanted: size_only(),
        };
        c.push(Operation::PutRootFh, &()).push(Operation::ReadDir, &list);
    });
    results.ok(Operation::PutRootFh);
    let page: ReadDirResult = results.body(Operation::ReadDir);
    let sizes: Vec<_> = page.entries.iter().map(|entry| entry.attributes.size).collect();
    assert_eq!(sizes, [Some(9); 3], "in its directory");
}

#[test]
fn verify_compares_with_what_the_holder_of_a_write_delegation_has() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = write_delegated(&mut a, "f");
    let told = attributes(&mut a.on(&file, Operation::GetAttr, &change_and_size())).change.unwrap() - 1;
    *a.callbacks.attributes.lock() = Some((told + 1, 9));
    for (size, of_b) in [(9, Status::Ok), (4, Status::NotSame)] {
        let size = AttributeValues { size: Some(size), ..Default::default() };
        assert_eq!(b.on(&file, Operation::Verify, &size).status, of_b);
    }
    let own = AttributeValues { size: Some(4), ..Default::default() };
    assert_eq!(a.on(&file, Operation::Verify, &own).status, Status::Ok, "the holder is not asked");
}

#[test]
fn a_holder_that_does_not_say_what_it_has_modified_is_recalled() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, delegation) = write_delegated(&mut a, "f");
    let object = file.clone();
    let mut held = b.begin(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object })
            .push(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
    });
    assert!((&mut held).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [delegation]);
    let write =
        WriteArgs { state_id: delegation, offset: 4, stable: StableHow::FileSync, data: " more".into() };
    assert_eq!(a.on(&file, Operation::Write, &write).status, Status::Ok);
    let back = DelegReturnArgs { state_id: delegation };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    let mut results = held.now_or_never().expect("answered at once").sequenced();
    results.ok(Operation::PutFh);
    assert_eq!(attributes(&mut results).size, Some(9));
}

#[test]
fn attributes_that_do_not_depend_on_data_are_told_without_asking() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = write_delegated(&mut a, "f");
    let mode = GetAttrArgs { wanted: Bitmap::of(&[AttributeId::Mode, AttributeId::Type]) };
    assert_eq!(b.on(&file, Operation::GetAttr, &mode).status, Status::Ok);
    assert!(a.callbacks.recalled.lock().is_empty());
}

#[test]
fn a_callback_refers_to_the_call_that_was_answered_with_the_delegation() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let opened_by = SequenceId(a.last_sequence() + 1);
    let (_, delegation) = write_delegated(&mut a, "f");
    let mut held = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::READ, None));
    });
    assert!((&mut held).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [delegation]);
    let referred = vec![ReferringCallList { session: a.session, calls: vec![(opened_by, SlotId(0))] }];
    assert_eq!(*a.callbacks.referred.lock(), referred);
}

pub(crate) fn lock(
    peer: &mut Peer,
    file: &FileHandle,
    open: StateId,
    kind: LockType,
) -> (Status, Option<StateId>) {
    let owner = StateOwner { client: peer.client, owner: "locker".into() };
    let locker = Locker::New(NewLockOwner { open_sequence: 0, open_state_id: open, lock_sequence: 0, owner });
    let arguments = LockArgs { kind, reclaim: false, offset: 0, length: u64::MAX, locker };
    let mut results = peer.on(file, Operation::Lock, &arguments);
    match results.status {
        Status::Ok => (Status::Ok, Some(results.body::<LockResult>(Operation::Lock).state_id)),
        status => (status, None),
    }
}

pub(crate) fn unlock(peer: &mut Peer, file: &FileHandle, state_id: StateId) {
    let arguments = LockUArgs { kind: LockType::Write, sequence: 0, state_id, offset: 0, length: u64::MAX };
    assert_eq!(peer.on(file, Operation::LockU, &arguments).status, Status::Ok);
}

/// Opens a file that is there already.
pub(crate) fn open_again(peer: &mut Peer, name: &str) -> StateId {
    let arguments = open(name, share::BOTH | share::WANT_NO_DELEGATION, None);
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened: OpenResult = results.body(Operation::Open);
    assert_ne!(opened.flags & open_result::MAY_NOTIFY_LOCK, 0);
    opened.state_id
}

#[test]
fn lock_waiters_are_notified_in_turn() {
    let server = TestServer::new();
    let (mut a, mut b, mut c) = (Peer::new(&server, 1), Peer::new(&server, 2), Peer::new(&server, 3));
    let (file, open_a) = a.create("f");
    let (open_b, open_c) = (open_again(&mut b, "f"), open_again(&mut c, "f"));
    let held = lock(&mut a, &file, open_a, LockType::Write).1.expect("free");
    assert_eq!(lock(&mut b, &file, open_b, LockType::WriteWait).0, Status::Denied);
    assert_eq!(lock(&mut c, &file, open_c, LockType::WriteWait).0, Status::Denied);
    let told = |peer: &Peer| peer.callbacks.notified.lock().len();
    server.world.run();
    assert_eq!((told(&b), told(&c)), (0, 0), "nothing is free yet");
    unlock(&mut a, &file, held);
    server.world.run();
    assert_eq!((told(&b), told(&c)), (1, 0), "the first in the queue");
    assert_eq!(b.callbacks.notified.lock()[0], StateOwner { client: b.client, owner: "locker".into() });
    let held = lock(&mut b, &file, open_b, LockType::WriteWait).1.expect("free");
    unlock(&mut b, &file, held);
    server.world.run();
    assert_eq!((told(&b), told(&c)), (1, 1), "and then the second");
    server.at(5_000);
    assert_eq!((told(&b), told(&c)), (1, 2), "a client that has not come yet is told again");
    server.at(120_000);
    assert_eq!(told(&c), 2, "but not for ever");
}

#[test]
fn non_blocking_lock_gets_no_notification() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, open_a) = a.create("f");
    let open_b = open_again(&mut b, "f");
    let held = lock(&mut a, &file, open_a, LockType::Write).1.expect("free");
    assert_eq!(lock(&mut b, &file, open_b, LockType::Write).0, Status::Denied);
    unlock(&mut a, &file, held);
    server.world.run();
    assert!(b.callbacks.notified.lock().is_empty());
}

#[test]
fn nearly_full_table_asks_large_holders_to_return_half() {
    let server = TestServer::with(Limits { delegations_max: 10, ..Limits::default() });
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    for index in 0..8 {
        write_delegated(&mut a, &format!("a{index}"));
    }
    server.at(1_000);
    assert!(a.callbacks.keep.lock().is_empty(), "there is room");
    write_delegated(&mut b, "b");
    server.at(2_000);
    assert_eq!(*a.callbacks.keep.lock(), [4]);
    assert!(b.callbacks.keep.lock().is_empty(), "one is not many");
    server.at(3_000);
    assert_eq!(a.callbacks.keep.lock().len(), 1, "it needs time to return them");
}

/// What READDIR says of size and change in the root, a reply at a time.
fn listed(peer: &mut Peer, wanted: Bitmap) -> Vec<Vec<(String, AttributeValues)>> {
    let (mut replies, mut cookie) = (Vec::new(), 0);
    loop {
        let list =
            ReadDirArgs { cookie, verifier: Verifier([0; 8]), directory_count: 0, count_max: 60_000, wanted };
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::ReadDir, &list);
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        let page: ReadDirResult = results.body(Operation::ReadDir);
        cookie = page.entries.last().map_or(cookie, |entry| entry.cookie);
        let name = |entry: &DirectoryEntry| String::from_utf8(entry.name.to_vec()).unwrap();
        replies.push(page.entries.into_iter().map(|entry| (name(&entry), entry.attributes)).collect());
        if page.eof {
            return replies;
        }
    }
}

#[test]
fn a_listing_says_what_the_holders_of_write_delegations_know() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (held, _) = write_delegated(&mut a, "held");
    let (plain, state_id) = a.create("plain");
    assert_eq!(a.close(&plain, state_id), Status::Ok);
    let before = attributes(&mut a.on(&held, Operation::GetAttr, &change_and_size()));
    *a.callbacks.attributes.lock() = Some((before.change.unwrap() + 1, 9));
    let wanted = change_and_size().wanted;
    let own = listed(&mut a, wanted).concat();
    assert_eq!(own.iter().find(|(name, _)| name == "held").unwrap().1, before, "it knows best itself");
    let seen = listed(&mut b, wanted).concat();
    assert_eq!(seen.len(), 2);
    let of = |name: &str| seen.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!((of("held").size, of("plain").size), (Some(9), Some(0)));
    assert!(of("held").change > before.change);
    let now = attributes(&mut b.on(&held, Operation::GetAttr, &change_and_size()));
    assert!(now.change > of("held").change && now.size == Some(9), "never back");
    let asked = a.callbacks.called.lock().len();
    listed(&mut b, Bitmap::of(&[AttributeId::FileId, AttributeId::Mode, AttributeId::FileHandle]));
    assert_eq!(a.callbacks.called.lock().len(), asked, "what it does not know better is not asked");
    assert!(a.callbacks.recalled.lock().is_empty());
}

#[test]
fn a_listing_asks_a_bounded_number_of_holders_for_each_reply() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    for index in 0..80 {
        write_delegated(&mut a, &format!("f{index}"));
    }
    *a.callbacks.attributes.lock() = Some((u64::MAX, 9));
    let mut asked = a.callbacks.called.lock().len();
    let replies = listed(&mut b, size_only());
    assert_eq!(replies.iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 16]);
    asked = a.callbacks.called.lock().len() - asked;
    assert_eq!(asked, 80, "each once");
    assert!(replies.concat().iter().all(|(_, found)| found.size == Some(9)));
}

#[test]
fn listing_recalls_from_a_silent_holder_and_goes_on_after_the_return() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = write_delegated(&mut a, "f");
    let list = ReadDirArgs {
        cookie: 0,
        verifier: Verifier([0; 8]),
        directory_count: 0,
        count_max: 1000,
        wanted: size_only(),
    };
    let mut listing = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::ReadDir, &list);
    });
    assert!((&mut listing).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [state_id]);
    let write = WriteArgs { state_id, offset: 4, stable: StableHow::FileSync, data: "more".into() };
    assert_eq!(a.on(&file, Operation::Write, &write).status, Status::Ok);
    assert_eq!(a.on(&file, Operation::DelegReturn, &DelegReturnArgs { state_id }).status, Status::Ok);
    let mut listed = listing.now_or_never().expect("nothing is in the way").sequenced();
    listed.ok(Operation::PutRootFh);
    let page: ReadDirResult = listed.body(Operation::ReadDir);
    assert_eq!((page.entries.len(), page.entries[0].attributes.size), (1, Some(8)));
}
