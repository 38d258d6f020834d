//! Persistent sessions: a server is killed at every moment of a modifying request, and its client sends the
//! request again (RFC 8881 §2.10.6.5).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use testkit::records::Outcome::{Failed, Lost, Unanswered, Written};
use testkit::records::{Change, Outcome};

use crate::peer::{Peer, Results, TestServer, open};
use crate::store::Machine;

/// The request that the server dies at.
const SEQUENCE: u32 = 9;
/// Requests that run once.
const REQUESTS: &[&str] = &["remove", "rename", "link", "create", "set", "remove and create"];

fn build(request: &str, c: &mut CompoundBuilder<'_>) {
    c.push(Operation::PutRootFh, &());
    let link = || LinkArgs { new_name: "b".into() };
    match request {
        "remove" => c.push(Operation::Remove, &RemoveArgs { target: "a".into() }),
        "rename" => c
            .push(Operation::SaveFh, &())
            .push(Operation::Rename, &RenameArgs { old_name: "a".into(), new_name: "b".into() }),
        "link" => c
            .push(Operation::Lookup, &LookupArgs { name: "a".into() })
            .push(Operation::SaveFh, &())
            .push(Operation::PutRootFh, &())
            .push(Operation::Link, &link()),
        "create" => create(c, "b").push(Operation::GetFh, &()).push(Operation::GetAttr, &mode_wanted()),
        "set" => {
            let values = AttributeValues { mode: Some(0o640), ..Default::default() };
            c.push(Operation::Lookup, &LookupArgs { name: "a".into() })
                .push(Operation::SetAttr, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values))
        }
        "remove and create" => {
            c.push(Operation::Remove, &RemoveArgs { target: "a".into() });
            create(c, "b")
        }
        other => panic!("no such request: {other}"),
    };
}

fn create<'a, 'b>(c: &'a mut CompoundBuilder<'b>, name: &str) -> &'a mut CompoundBuilder<'b> {
    let made = CreateArgs { kind: CreateType::Fifo, name: name.to_owned().into() };
    c.push(Operation::Create, &(made, AttributeValues { mode: Some(0o600), ..Default::default() }))
}

fn mode_wanted() -> GetAttrArgs {
    GetAttrArgs { wanted: Bitmap::of(&[AttributeId::Mode]) }
}

/// A client with a persistent session, which it has sent eight requests on.
fn client(server: &Arc<TestServer>) -> Peer {
    let mut peer = Peer::new(server, 1);
    let flags = session_flags::PERSIST;
    let asked = CreateSessionArgs { flags, ..peer.create_session_args(SequenceId(2)) };
    assert_eq!(peer.create_session_with(&asked).unwrap().flags, session_flags::PERSIST);
    for _ in 1..SEQUENCE {
        assert_eq!(peer.compound(|_| {}).status, Status::Ok);
    }
    peer
}

/// Sends the request, and lets the server die at one of its writes. If there is an answer by then, the client
/// misses it.
fn killed_at(machine: &mut Machine, peer: &Peer, request: &str, fates: &[Outcome]) -> Peer {
    machine.store.plan(Change::SetSlot, fates);
    let answer = peer.begin_with_sequence(SEQUENCE, |c| build(request, c)).now_or_never();
    let begun = fates.iter().take_while(|fate| **fate == Written).count() >= intents(request);
    assert_eq!(answer.is_some(), begun, "{request}: nothing is done before its intent is written");
    peer.after_restart(&machine.start())
}

fn again(peer: &Peer, request: &str) -> Results {
    peer.with_sequence(SEQUENCE, true, |c| build(request, c))
}

/// Mode and number of links of what has the names a and b.
fn names(server: &Arc<TestServer>, id: u64) -> [Option<(u32, u32)>; 2] {
    let mut other = Peer::new(server, id);
    ["a", "b"].map(|name| {
        let wanted = Bitmap::of(&[AttributeId::Mode, AttributeId::NumLinks]);
        let mut results = other
            .compound(|c| {
                c.push(Operation::PutRootFh, &())
                    .push(Operation::Lookup, &LookupArgs { name: name.into() })
                    .push(Operation::GetAttr, &GetAttrArgs { wanted });
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        if results.next().1 != Status::Ok {
            return None;
        }
        let values = AttributeValues::decode(results.ok(Operation::GetAttr)).unwrap();
        Some((values.mode.unwrap(), values.num_links.unwrap()))
    })
}

/// What the names are before the request and after it.
fn expected(request: &str) -> [Option<(u32, u32)>; 2] {
    let (a, linked) = (Some((0o600, 1)), Some((0o600, 2)));
    match request {
        "before" => [a, None],
        "remove" => [None, None],
        "rename" | "remove and create" => [None, a],
        "link" => [linked, linked],
        "create" => [a, a],
        "set" => [Some((0o640, 1)), None],
        other => panic!("no such request: {other}"),
    }
}

/// With a file called a.
fn machine() -> (Machine, Peer) {
    let mut machine = Machine::new();
    let server = machine.start();
    let peer = client(&server);
    let made = Peer::new(&server, 2).compound(|c| {
        c.push(Operation::PutRootFh, &());
        create(c, "a");
    });
    assert_eq!(made.status, Status::Ok);
    (machine, peer)
}

/// How many writes to the disk a request waits for: one for each change. The one of its reply comes after.
fn intents(request: &str) -> usize {
    if request == "remove and create" { 2 } else { 1 }
}

#[test]
fn intents_and_reply_are_written_of_a_request_whose_reply_is_to_be_kept() {
    for request in REQUESTS {
        let (machine, peer) = machine();
        assert_eq!(machine.store.written(Change::SetSlot), 0);
        assert_eq!(again(&peer, request).status, Status::Ok, "{request}");
        assert_eq!(machine.store.written(Change::SetSlot), intents(request) + 1, "{request}");
        assert_eq!(names(&peer.server, 3), expected(request), "{request}");
    }
    let (machine, peer) = machine();
    assert_eq!(peer.with_sequence(SEQUENCE, false, |c| build("remove", c)).status, Status::Ok);
    assert_eq!(machine.store.written(Change::SetSlot), 0, "nobody asked for the reply to be kept");
}

#[test]
fn kill_before_the_change_leaves_no_change_and_deadsession() {
    for request in REQUESTS {
        for fate in [Lost, Unanswered] {
            let (mut machine, peer) = machine();
            let peer = killed_at(&mut machine, &peer, request, &[fate]);
            let answer = again(&peer, request);
            assert_eq!((answer.status, answer.count), (Status::DeadSession, 1), "{request} {fate:?}");
            assert_eq!(names(&peer.server, 3), expected("before"), "{request} {fate:?}");
        }
    }
}

#[test]
fn retry_after_a_kill_behind_the_change_succeeds_without_another_change() {
    for request in REQUESTS {
        let (mut machine, peer) = machine();
        let mut fates = vec![Written; intents(request)];
        fates.push(Lost);
        let peer = killed_at(&mut machine, &peer, request, &fates);
        assert_eq!(names(&peer.server, 3), expected(request), "{request}");
        for other in [4, 5] {
            let answer = again(&peer, request);
            assert_eq!(answer.status, Status::Ok, "{request}");
            assert_eq!(names(&peer.server, other), expected(request), "{request}");
        }
    }
}

#[test]
fn killed_after_the_reply_was_kept_a_retry_gets_it_byte_for_byte() {
    for request in REQUESTS {
        let (machine_without, peer) = machine();
        let first = again(&peer, request);
        drop(machine_without);
        let (mut machine, peer) = machine();
        let mut fates = vec![Written; intents(request)];
        fates.push(Unanswered);
        let mut peer = killed_at(&mut machine, &peer, request, &fates);
        for _ in 0..2 {
            let answer = again(&peer, request);
            assert_eq!(answer.bytes.len(), first.bytes.len(), "{request}");
            assert_eq!((answer.status, answer.count), (first.status, first.count), "{request}");
            assert_eq!(names(&peer.server, 3), expected(request), "{request}");
            // A second crash, before the client came back: it is the same.
            peer = peer.after_restart(&machine.start());
        }
    }
}

#[test]
fn of_a_request_that_was_killed_halfway_nothing_is_done_again() {
    let (mut machine, peer) = machine();
    // The intent to create is written, and nothing is created.
    let peer = killed_at(&mut machine, &peer, "remove and create", &[Written, Unanswered]);
    assert_eq!(again(&peer, "remove and create").status, Status::DeadSession);
    assert_eq!(names(&peer.server, 3), [None, None]);
}

#[test]
fn retry_leaves_later_changes_of_others_alone() {
    type Undo = fn(&mut CompoundBuilder<'_>);
    let undo: [(&str, Undo, Status); 4] = [
        ("remove", |c| _ = create(c, "a"), Status::Ok),
        ("rename", |c| _ = create(c, "a"), Status::Ok),
        ("link", |c| _ = c.push(Operation::Remove, &RemoveArgs { target: "b".into() }), Status::Ok),
        ("create", |c| _ = c.push(Operation::Remove, &RemoveArgs { target: "b".into() }), Status::Stale),
    ];
    for (request, undo, status) in undo {
        let (mut machine, peer) = machine();
        let peer = killed_at(&mut machine, &peer, request, &[Written, Lost]);
        let undone = Peer::new(&peer.server, 5).compound(|c| {
            c.push(Operation::PutRootFh, &());
            undo(c);
        });
        assert_eq!(undone.status, Status::Ok, "{request}");
        let before = names(&peer.server, 3);
        assert_eq!(again(&peer, request).status, status, "{request}");
        assert_eq!(names(&peer.server, 4), before, "{request}");
    }
}

#[test]
fn two_requests_for_one_name_cannot_be_told_apart_and_neither_is_answered() {
    let (mut machine, peer) = machine();
    machine.store.plan(Change::SetSlot, &[Unanswered, Written, Lost]);
    let slot = |slot: u32| SequenceArgs { slot: SlotId(slot), ..peer.sequence_args(1, true) };
    let begin = |slot: SequenceArgs| peer.begin_kept(&slot, |c| build("create", c)).now_or_never();
    // The first is stopped before it makes the file, the second after.
    assert!(begin(slot(2)).is_none() && begin(slot(3)).is_some());
    let peer = peer.after_restart(&machine.start());
    assert_eq!(names(&peer.server, 3), expected("create"));
    for slot in [slot(2), slot(3)] {
        let answer = peer.send(1, |c| {
            c.push(Operation::Sequence, &slot);
            build("create", c);
        });
        assert_eq!(answer.status, Status::DeadSession);
    }
}

#[test]
fn request_without_a_record_is_not_executed() {
    for request in REQUESTS {
        let (machine, peer) = machine();
        machine.store.plan(Change::SetSlot, &[Failed]);
        assert_eq!(again(&peer, request).status, Status::Delay, "{request}");
        assert_eq!(names(&peer.server, 3), expected("before"), "{request}");
    }
    // A reply that cannot be written is sent: the intent tells a restart what was done.
    let (mut machine, peer) = machine();
    machine.store.plan(Change::SetSlot, &[Written, Failed]);
    assert_eq!(again(&peer, "rename").status, Status::Ok);
    let peer = peer.after_restart(&machine.start());
    assert_eq!(again(&peer, "rename").status, Status::Ok);
    assert_eq!(names(&peer.server, 3), expected("rename"));
}

#[test]
fn a_request_that_failed_is_answered_with_its_failure() {
    let (mut machine, peer) = machine();
    let request = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &())
            .push(Operation::SaveFh, &())
            .push(Operation::Rename, &RenameArgs { old_name: "a".into(), new_name: "d".into() });
    };
    let made = CreateArgs { kind: CreateType::Directory, name: "d".into() };
    let made = Peer::new(&peer.server, 5).compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Create, &(made, AttributeValues::default()));
    });
    assert_eq!(made.status, Status::Ok);
    let first = peer.with_sequence(SEQUENCE, true, request);
    assert_eq!(first.status, Status::Exists);
    let peer = peer.after_restart(&machine.start());
    assert_eq!(peer.with_sequence(SEQUENCE, true, request).bytes, first.bytes);
}

#[test]
fn a_dead_session_takes_nothing_new_and_goes_by_request_or_after_a_lease() {
    for by_request in [false, true] {
        let (mut machine, peer) = machine();
        assert_eq!(again(&peer, "rename").status, Status::Ok);
        let peer = peer.after_restart(&machine.start());
        assert_eq!(again(&peer, "rename").status, Status::Ok);
        let new = peer.with_sequence(SEQUENCE + 1, true, |c| build("remove", c));
        assert_eq!((new.status, new.count), (Status::DeadSession, 1));
        // Its client has a new session now, and still hears what it may have missed.
        let mut new = Peer::new(&peer.server, 1);
        assert_eq!(again(&peer, "rename").status, Status::Ok);
        assert_eq!(machine.store.sessions(), 1);
        if by_request {
            let destroy = DestroySessionArgs { session: peer.session };
            assert_eq!(
                Peer::stranger(&peer.server, 9, 7).alone(Operation::DestroySession, &destroy),
                Status::ConnectionNotBoundToSession
            );
            assert_eq!(new.alone(Operation::DestroySession, &destroy), Status::Ok);
            peer.server.at(1000);
        } else {
            peer.server.at(60_000);
            assert_eq!(new.compound(|_| {}).status, Status::Ok);
            peer.server.at(91_000);
        }
        assert_eq!(again(&peer, "rename").status, Status::BadSession);
        assert_eq!(machine.store.sessions(), 0);
        assert_eq!(new.compound(|_| {}).status, Status::Ok);
    }
}

#[test]
fn the_record_of_a_session_goes_with_the_session() {
    let (machine, peer) = machine();
    assert_eq!(machine.store.sessions(), 1);
    peer.server.at(1000);
    assert_eq!(machine.store.sessions(), 1);
    let destroy = DestroySessionArgs { session: peer.session };
    assert_eq!(peer.alone(Operation::DestroySession, &destroy), Status::Ok);
    peer.server.at(2000);
    assert_eq!(machine.store.sessions(), 0);
}

fn creating(how: CreateHow) -> impl Fn(&mut CompoundBuilder<'_>) {
    let arguments = open("f", share::BOTH | share::WANT_NO_DELEGATION, Some(how));
    move |c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments).push(Operation::GetFh, &());
    }
}

#[test]
fn an_open_that_made_its_file_is_known_again_once_from_its_own_client() {
    let guarded = creating(CreateHow::Guarded(AttributeValues { mode: Some(0o640), ..Default::default() }));
    let (mut machine, peer) = machine();
    machine.store.plan(Change::SetSlot, &[Written, Lost]);
    assert_eq!(peer.with_sequence(SEQUENCE, true, &guarded).status, Status::Ok, "the client misses it");
    let peer = peer.after_restart(&machine.start());
    assert_eq!(
        peer.with_sequence(SEQUENCE, true, &guarded).status,
        Status::DeadSession,
        "its stateid is gone"
    );
    let mut own = Peer::new(&peer.server, 1);
    peer.server.at(1000);
    let mut other = Peer::new(&peer.server, 2);
    assert_eq!(other.compound(&guarded).status, Status::Exists);
    assert_eq!(own.compound(&guarded).status, Status::Ok);
    assert_eq!(own.compound(&guarded).status, Status::Exists);
}

#[test]
fn an_open_whose_reply_was_kept_gets_it_again() {
    let guarded = creating(CreateHow::Guarded(AttributeValues::default()));
    let (mut machine, peer) = machine();
    let first = peer.with_sequence(SEQUENCE, true, &guarded);
    assert_eq!(first.status, Status::Ok);
    let peer = peer.after_restart(&machine.start());
    assert_eq!(peer.with_sequence(SEQUENCE, true, &guarded).bytes, first.bytes);
}

#[test]
fn exclusive_creates_of_the_old_kind_are_refused_on_a_persistent_session() {
    // RFC 8881 §18.16.3.
    let (machine, mut peer) = machine();
    let status = |peer: &mut Peer, how| peer.compound(creating(how)).status;
    assert_eq!(status(&mut peer, CreateHow::Exclusive(Verifier([1; 8]))), Status::Invalid);
    let mut other = Peer::new(&peer.server, 3);
    assert_eq!(status(&mut other, CreateHow::Exclusive(Verifier([1; 8]))), Status::Ok);
    drop(machine);
}

#[test]
fn outcome_found_after_a_crash_survives_the_next() {
    for (fates, status) in [(&[Unanswered][..], Status::DeadSession), (&[Written, Lost], Status::Ok)] {
        let (mut machine, peer) = machine();
        let peer = killed_at(&mut machine, &peer, "rename", fates);
        // Others bring about the contrary.
        let (old_name, new_name) =
            if status == Status::Ok { ("b".into(), "a".into()) } else { ("a".into(), "b".into()) };
        let renamed = Peer::new(&peer.server, 5).compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::SaveFh, &())
                .push(Operation::Rename, &RenameArgs { old_name, new_name });
        });
        assert_eq!(renamed.status, Status::Ok);
        let peer = peer.after_restart(&machine.start());
        assert_eq!(again(&peer, "rename").status, status);
    }
}

#[test]
fn an_open_is_known_again_after_a_second_crash_too_unless_it_was_answered() {
    for answered in [false, true] {
        let guarded = creating(CreateHow::Guarded(AttributeValues::default()));
        let (mut machine, peer) = machine();
        machine.store.plan(Change::SetSlot, &[Written, Lost]);
        assert_eq!(peer.with_sequence(SEQUENCE, true, &guarded).status, Status::Ok, "the client misses it");
        let server = machine.start();
        if answered {
            assert_eq!(Peer::new(&server, 1).compound(&guarded).status, Status::Ok);
        }
        let server = machine.start();
        let mut own = Peer::new(&server, 1);
        server.at(1000);
        let expected = if answered { Status::Exists } else { Status::Ok };
        assert_eq!(own.compound(&guarded).status, expected);
    }
}
