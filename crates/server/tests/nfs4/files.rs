//! Opens, locks, attributes and directories.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;

use state::Limits;

use crate::peer::{Peer, TestServer, open, size_only};

fn open_in_root(peer: &mut Peer, arguments: &OpenArgs) -> Result<OpenResult, Status> {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    if results.status == Status::Ok { Ok(results.body(Operation::Open)) } else { Err(results.status) }
}

#[test]
fn every_way_to_create_does_what_it_says() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let empty = AttributeValues::default();
    let mut status = |how: CreateHow| {
        open_in_root(&mut peer, &open("f", share::BOTH, Some(how))).map(|opened| opened.attributes_set)
    };
    assert!(status(CreateHow::Guarded(empty.clone())).is_ok());
    assert_eq!(status(CreateHow::Guarded(empty.clone())), Err(Status::Exists));
    assert!(status(CreateHow::Unchecked(empty.clone())).unwrap().is_empty());
    let cut = AttributeValues { size: Some(0), ..empty.clone() };
    assert_eq!(status(CreateHow::Unchecked(cut)).unwrap(), size_only());
    let verifier = Verifier([3; 8]);
    assert_eq!(status(CreateHow::Exclusive41(verifier, empty.clone())), Err(Status::Exists));
    let times = AttributeValues { time_modify_set: Some(attributes::SetTime::Server), ..empty.clone() };
    assert_eq!(status(CreateHow::Exclusive41(verifier, times)), Err(Status::Invalid));
    for attempt in 0..2 {
        let how = CreateHow::Exclusive41(verifier, empty.clone());
        assert!(open_in_root(&mut peer, &open("x", share::BOTH, Some(how))).is_ok(), "attempt {attempt}");
    }
    let other = CreateHow::Exclusive41(Verifier([4; 8]), empty);
    assert_eq!(open_in_root(&mut peer, &open("x", share::BOTH, Some(other))).unwrap_err(), Status::Exists);
}

#[test]
fn same_verifier_of_another_client_does_not_create_again() {
    let server = TestServer::new();
    let (mut ann, mut bob) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let how = || Some(CreateHow::Exclusive41(Verifier([3; 8]), AttributeValues::default()));
    open_in_root(&mut ann, &open("lock", share::BOTH, how())).unwrap();
    assert_eq!(open_in_root(&mut bob, &open("lock", share::BOTH, how())).unwrap_err(), Status::Exists);
    assert!(open_in_root(&mut ann, &open("lock", share::BOTH, how())).is_ok(), "a retry");
}

#[test]
fn opens_respect_share_reservations_and_upgrades_of_their_owner() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = a.create("f");
    let deny = OpenArgs { share_deny: share::WRITE, ..open("f", share::READ, None) };
    let denied = OpenArgs {
        owner: StateOwner { owner: Bytes::from_static(b"other"), client: ClientId(0) },
        ..deny.clone()
    };
    assert_eq!(open_in_root(&mut a, &denied).unwrap_err(), Status::ShareDenied, "its own other open writes");
    assert_eq!(open_in_root(&mut b, &deny).unwrap_err(), Status::ShareDenied);
    let read = open_in_root(&mut b, &open("f", share::READ, None)).unwrap();
    let both = open_in_root(&mut b, &open("f", share::BOTH, None)).unwrap();
    assert_eq!((both.state_id.other, both.state_id.sequence), (read.state_id.other, 2));
    let down =
        OpenDowngradeArgs { state_id: both.state_id, sequence: 0, share_access: share::READ, share_deny: 0 };
    let mut downgraded = b.on(&file, Operation::OpenDowngrade, &down);
    let state_id: StateId = downgraded.body(Operation::OpenDowngrade);
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::Unstable, data: "x".into() };
    assert_eq!(b.on(&file, Operation::Write, &write).status, Status::OpenMode);
    assert_eq!(b.close(&file, both.state_id), Status::OldStateId);
    assert_eq!(b.close(&file, state_id), Status::Ok);
}

#[test]
fn the_current_stateid_stands_for_the_open_before() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let how = CreateHow::Guarded(AttributeValues::default());
    let mut results = peer
        .compound(|c| {
            let write = WriteArgs {
                state_id: StateId::CURRENT,
                offset: 0,
                stable: StableHow::FileSync,
                data: "hello".into(),
            };
            c.push(Operation::PutRootFh, &())
                .push(Operation::Open, &open("f", share::BOTH, Some(how)))
                .push(Operation::Write, &write)
                .push(Operation::Read, &ReadArgs { state_id: StateId::CURRENT, offset: 1, count: 100 })
                .push(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
        })
        .sequenced();
    assert_eq!(results.status, Status::Ok);
    results.ok(Operation::PutRootFh);
    results.body::<OpenResult>(Operation::Open);
    assert_eq!(results.body::<WriteResult>(Operation::Write).count, 5);
    assert_eq!(results.body::<ReadResult>(Operation::Read), ReadResult { eof: true, data: "ello".into() });
    assert_eq!(results.body::<StateId>(Operation::Close), StateId::INVALID);
    let none = peer.compound(|c| {
        c.push(Operation::PutRootFh, &())
            .push(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
    });
    assert_eq!(none.status, Status::BadStateId);
}

#[test]
fn a_lock_in_the_way_is_described() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, open_a) = a.create("f");
    let open_b = open_in_root(&mut b, &open("f", share::BOTH, None)).unwrap().state_id;
    let lock = |open_state_id, offset| LockArgs {
        kind: LockType::Write,
        reclaim: false,
        offset,
        length: 10,
        locker: Locker::New(NewLockOwner {
            open_sequence: 0,
            open_state_id,
            lock_sequence: 0,
            owner: StateOwner { client: ClientId(0), owner: Bytes::from_static(b"locker") },
        }),
    };
    let locked: LockResult = a.on(&file, Operation::Lock, &lock(open_a, 0)).body(Operation::Lock);
    let mut denied = b.on(&file, Operation::Lock, &lock(open_b, 5));
    assert_eq!(denied.next(), (Operation::Lock.number(), Status::Denied));
    let denied: LockDenied = denied.rest().get().unwrap();
    assert_eq!((denied.offset, denied.length, denied.kind), (0, 10, LockType::Write));
    assert_eq!((denied.owner.client, &denied.owner.owner[..]), (a.client, &b"locker"[..]));
    let test = LockTArgs { kind: LockType::Read, offset: 9, length: u64::MAX, owner: denied.owner.clone() };
    assert_eq!(
        b.on(&file, Operation::LockT, &test).status,
        Status::Denied,
        "the owner's client is the session's"
    );
    assert_eq!(a.on(&file, Operation::LockT, &test).status, Status::Ok);
    assert_eq!(a.close(&file, open_a), Status::LocksHeld);
    let unlock = LockUArgs {
        kind: LockType::Write,
        sequence: 0,
        state_id: locked.state_id,
        offset: 0,
        length: u64::MAX,
    };
    let unlocked: LockUResult = a.on(&file, Operation::LockU, &unlock).body(Operation::LockU);
    let free = FreeStateIdArgs { state_id: unlocked.state_id };
    assert_eq!(a.on(&file, Operation::FreeStateId, &free).status, Status::Ok);
    assert_eq!(b.on(&file, Operation::Lock, &lock(open_b, 5)).status, Status::Ok);
    assert_eq!(a.close(&file, open_a), Status::Ok);
    let zero = LockArgs { length: 0, ..lock(open_b, 5) };
    assert_eq!(b.on(&file, Operation::Lock, &zero).status, Status::Invalid);
}

#[test]
fn setattr_says_what_it_set_whether_it_fails_or_not() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, state_id) = peer.create("f");
    let set = |state_id, values: AttributeValues| (SetAttrArgs { state_id }, values);
    let size = AttributeValues { size: Some(10), mode: Some(0o600), ..AttributeValues::default() };
    let mut done = peer.on(&file, Operation::SetAttr, &set(state_id, size));
    let set_now: SetAttrResult = done.body(Operation::SetAttr);
    assert_eq!(set_now.attributes_set, Bitmap::of(&[AttributeId::Size, AttributeId::Mode]));
    for (values, status) in [
        (
            AttributeValues { kind: Some(attributes::FileType::Regular), ..AttributeValues::default() },
            Status::Invalid,
        ),
        (AttributeValues { mode: Some(0o10_000), ..AttributeValues::default() }, Status::Invalid),
        (
            AttributeValues {
                owner: Some(attributes::Principal::Name(Bytes::from_static(b"nobody@nowhere"))),
                ..AttributeValues::default()
            },
            Status::BadOwner,
        ),
    ] {
        let mut failed = peer.on(&file, Operation::SetAttr, &set(StateId::ANONYMOUS, values));
        assert_eq!(failed.next(), (Operation::SetAttr.number(), status));
        let nothing: SetAttrResult = failed.rest().get().unwrap();
        assert!(nothing.attributes_set.is_empty());
        failed.rest().finish().unwrap();
    }
}

#[test]
fn a_directory_is_listed_in_parts_that_fit() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    for index in 0..100 {
        let (file, state_id) = peer.create(&format!("file-{index:03}"));
        assert_eq!(peer.close(&file, state_id), Status::Ok);
    }
    let list = |cookie, count_max| ReadDirArgs {
        cookie,
        verifier: Verifier([0; 8]),
        directory_count: 0,
        count_max,
        wanted: size_only() | Bitmap::of(&[AttributeId::FileId, AttributeId::RdattrError]),
    };
    let (mut names, mut cookie, mut requests) = (Vec::new(), 0, 0);
    loop {
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::ReadDir, &list(cookie, 1000));
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        let body = results.ok(Operation::ReadDir);
        let before = body.remaining();
        let page: ReadDirResult = body.get().unwrap();
        assert!(before - body.remaining() <= 1000);
        requests += 1;
        cookie = page.entries.last().map_or(cookie, |entry| entry.cookie);
        names.extend(page.entries.into_iter().map(|entry| entry.name));
        if page.eof {
            break;
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 100);
    assert!(requests > 5);
    let small = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::ReadDir, &list(0, 40));
    });
    assert_eq!(small.status, Status::TooSmall);
    let (file, _) = peer.create("file");
    assert_eq!(peer.on(&file, Operation::ReadDir, &list(0, 1000)).status, Status::NotDirectory);
}

#[test]
fn an_open_that_is_refused_for_the_time_being_has_made_no_file() {
    let server = TestServer::new();
    let mut peer = Peer::stranger(&server, 1, 0);
    let exchanged = peer.exchange_id("client", 1).unwrap();
    peer.client = exchanged.client;
    peer.create_session(exchanged.sequence).unwrap();
    let guarded = open("new", share::BOTH, Some(CreateHow::Guarded(AttributeValues::default())));
    let open = |peer: &mut Peer| {
        let made = peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &guarded);
        });
        made.status
    };
    // RFC 8881 §18.51.3: before RECLAIM_COMPLETE nothing new is opened.
    assert_eq!(open(&mut peer), Status::Grace);
    assert_eq!(peer.reclaim_complete(), Status::Ok);
    assert_eq!(open(&mut peer), Status::Ok);
}

#[test]
fn an_open_at_the_bound_of_a_clients_state_makes_no_file() {
    let server = TestServer::with(Limits { states_per_client_max: 1, ..Limits::default() });
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("f");
    let hows = [
        CreateHow::Guarded(AttributeValues::default()),
        CreateHow::Unchecked(AttributeValues::default()),
        CreateHow::Exclusive41(Verifier([3; 8]), AttributeValues::default()),
    ];
    for how in &hows {
        let made = open_in_root(&mut peer, &open("new", share::BOTH, Some(how.clone())));
        assert_eq!(made.unwrap_err(), Status::Delay);
        assert_eq!(open_in_root(&mut peer, &open("new", share::READ, None)).unwrap_err(), Status::NoEntry);
    }
    assert_eq!(peer.close(&file, state_id), Status::Ok);
    assert!(open_in_root(&mut peer, &open("new", share::BOTH, Some(hows[0].clone()))).is_ok());
}
