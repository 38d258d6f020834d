//! WANT_DELEGATION (RFC 8881 §18.49).

use futures_util::FutureExt;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use crate::peer::{Peer, TestServer, open};
use crate::store::Machine;

fn ask(
    peer: &mut Peer,
    object: &FileHandle,
    want: u32,
    claim: DelegationClaim,
) -> Result<OpenDelegation, Status> {
    let mut results = peer.on(object, Operation::WantDelegation, &WantDelegationArgs { want, claim });
    match results.status {
        Status::Ok => Ok(results.body(Operation::WantDelegation)),
        status => Err(status),
    }
}

fn want(peer: &mut Peer, object: &FileHandle, want: u32) -> Result<OpenDelegation, Status> {
    ask(peer, object, want, DelegationClaim::Handle)
}

fn refused(why: WhyNoDelegation) -> Result<OpenDelegation, Status> {
    Ok(OpenDelegation::NoneExt(why))
}

const CONTENTION: WhyNoDelegation = WhyNoDelegation::Contention(false);

/// Two clients and a file that nobody has open.
fn two(server: &std::sync::Arc<TestServer>) -> (Peer, Peer, FileHandle) {
    let (mut a, b) = (Peer::new(server, 1), Peer::new(server, 2));
    let (file, state_id) = a.create("f");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    (a, b, file)
}

fn write_in_root(peer: &mut Peer) -> futures_util::future::BoxFuture<'static, crate::peer::Results> {
    peer.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    })
}

#[test]
fn a_delegation_is_had_without_an_open_and_is_recalled_like_any_other() {
    for wish in [share::WANT_READ_DELEGATION, share::WANT_ANY_DELEGATION, share::WANT_WRITE_DELEGATION] {
        let server = TestServer::new();
        let (mut a, mut b, file) = two(&server);
        // Bits of access mean nothing here.
        let granted = want(&mut a, &file, wish | share::BOTH).unwrap();
        let state_id = match &granted {
            OpenDelegation::Read(read) if wish != share::WANT_WRITE_DELEGATION => read.state_id,
            OpenDelegation::Write(write) if wish == share::WANT_WRITE_DELEGATION => write.state_id,
            other => panic!("{other:?}"),
        };
        assert_eq!(want(&mut a, &file, wish), refused(CONTENTION), "it has it");
        if wish == share::WANT_WRITE_DELEGATION {
            assert_eq!(want(&mut b, &file, share::WANT_READ_DELEGATION), refused(CONTENTION));
        } else {
            let shared = want(&mut b, &file, share::WANT_READ_DELEGATION);
            let Ok(OpenDelegation::Read(shared)) = shared else { panic!("{shared:?}") };
            let back = DelegReturnArgs { state_id: shared.state_id };
            assert_eq!(b.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
        }
        assert!(a.callbacks.recalled.lock().is_empty(), "a wish recalls nothing");
        let mut held = write_in_root(&mut b);
        assert!((&mut held).now_or_never().is_none());
        server.world.run();
        assert_eq!(*a.callbacks.recalled.lock(), [state_id]);
        let read = ReadArgs { state_id, offset: 0, count: 1 };
        assert_eq!(a.on(&file, Operation::Read, &read).status, Status::Ok);
        let back = DelegReturnArgs { state_id };
        assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
        assert_eq!(held.now_or_never().expect("nothing is in the way").status, Status::Ok);
    }
}

#[test]
fn file_open_elsewhere_is_not_delegated() {
    let server = TestServer::new();
    let (mut a, mut b, file) = two(&server);
    let opening = |peer: &mut Peer, access: u32, deny: u32| {
        let asked = OpenArgs { share_deny: deny, ..open("f", access | share::WANT_NO_DELEGATION, None) };
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Open, &asked);
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        results.body::<OpenResult>(Operation::Open).state_id
    };
    for (access, deny, can_read) in
        [(share::READ, 0, true), (share::WRITE, 0, false), (share::READ, share::READ, false)]
    {
        let state_id = opening(&mut b, access, deny);
        assert_eq!(want(&mut a, &file, share::WANT_WRITE_DELEGATION), refused(CONTENTION));
        match want(&mut a, &file, share::WANT_READ_DELEGATION).unwrap() {
            OpenDelegation::Read(read) if can_read => {
                let back = DelegReturnArgs { state_id: read.state_id };
                assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
            }
            other => assert!(!can_read && Ok(other.clone()) == refused(CONTENTION), "{other:?}"),
        }
        assert_eq!(b.close(&file, state_id), Status::Ok);
    }
}

#[test]
fn contradictory_wants_get_the_statuses_of_the_rfc() {
    let server = TestServer::new();
    let (mut a, _, file) = two(&server);
    for nothing in [0, share::BOTH, share::WANT_NO_DELEGATION] {
        assert_eq!(want(&mut a, &file, nothing), Err(Status::Invalid), "{nothing:x}");
    }
    assert_eq!(want(&mut a, &file, share::WANT_CANCEL), refused(WhyNoDelegation::Cancelled));
    let prior = ask(&mut a, &file, share::WANT_ANY_DELEGATION, DelegationClaim::PreviousHandle);
    assert_eq!(prior, Err(Status::NotSupported));
    let none = ask(&mut a, &file, 0, DelegationClaim::Previous(DelegationType::None));
    assert_eq!(none, Err(Status::Invalid));
    for (kind, why) in [
        (CreateType::Directory, None),
        (
            CreateType::Fifo,
            Some([WhyNoDelegation::UnsupportedFileType, WhyNoDelegation::WriteUnsupportedFileType]),
        ),
    ] {
        let make = (CreateArgs { kind, name: "other".into() }, AttributeValues::default());
        let mut made = a
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Create, &make).push(Operation::GetFh, &());
            })
            .sequenced();
        made.ok(Operation::PutRootFh);
        made.body::<CreateResult>(Operation::Create);
        let object = made.body::<GetFhResult>(Operation::GetFh).object;
        for (index, wish) in
            [share::WANT_READ_DELEGATION, share::WANT_WRITE_DELEGATION].into_iter().enumerate()
        {
            let expected = why.map_or(Err(Status::WrongType), |why| refused(why[index]));
            assert_eq!(want(&mut a, &object, wish), expected);
        }
        let removed = a.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Remove, &RemoveArgs { target: "other".into() });
        });
        assert_eq!(removed.status, Status::Ok);
    }
}

#[test]
fn delegation_needs_permission_and_a_backchannel() {
    let server = TestServer::new();
    let (mut a, _, file) = two(&server);
    let set = AttributeValues { mode: Some(0o640), ..AttributeValues::default() };
    let arguments = (SetAttrArgs { state_id: StateId::ANONYMOUS }, set);
    assert_eq!(a.on(&file, Operation::SetAttr, &arguments).status, Status::Ok);
    let short = refused(WhyNoDelegation::Resource(false));
    let mut stranger = Peer::with_uid(&server, 3, 1000);
    for wish in [share::WANT_READ_DELEGATION, share::WANT_WRITE_DELEGATION] {
        assert_eq!(want(&mut stranger, &file, wish), short);
    }
    server.disconnect(1);
    let mut mute = a.over(9, 0);
    mute.sequence_from(&a);
    assert_eq!(want(&mut mute, &file, share::WANT_READ_DELEGATION), short);
}

#[test]
fn delegation_is_reclaimed_after_a_restart() {
    let mut machine = Machine::new();
    let server = machine.start();
    let (mut a, _, file) = two(&server);
    want(&mut a, &file, share::WANT_WRITE_DELEGATION).unwrap();
    drop((server, a));
    let server = machine.start();
    let [mut holder, mut other] = [("client 1", 1), ("client 2", 2)].map(|(owner, id)| {
        let mut peer = Peer::stranger(&server, id, 0);
        let exchanged = peer.exchange_id(owner, 1).unwrap();
        peer.client = exchanged.client;
        peer.create_session(exchanged.sequence).unwrap();
        peer
    });
    let reclaim = DelegationClaim::Previous(DelegationType::Write);
    assert_eq!(ask(&mut other, &file, 0, reclaim), Err(Status::ReclaimBad), "it held nothing");
    let again = ask(&mut holder, &file, 0, reclaim);
    let Ok(OpenDelegation::Write(again)) = again else { panic!("{again:?}") };
    assert_eq!(holder.reclaim_complete(), Status::Ok);
    assert_eq!(ask(&mut holder, &file, 0, reclaim), Err(Status::NoGrace));
    let write =
        WriteArgs { state_id: again.state_id, offset: 0, stable: StableHow::FileSync, data: "x".into() };
    assert_eq!(holder.on(&file, Operation::Write, &write).status, Status::Ok);
}
