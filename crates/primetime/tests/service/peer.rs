//! A client's side of a connection: one call at a time.

use std::future::ready;
use std::net::SocketAddr;

use proto::nfs3::FileHandle;
use proto::nfs4::{self, *};
use proto::{mount3, nfs3};
use testkit::ProcedureNumber;
use testkit::compound::Results;
use testkit::peer::RawPeer;
use testkit::session::{self, Transport, at_once};
use testkit::wire::RawCall;
use xdr::{Bytes, Decode, Decoder};

pub struct Line {
    stream: RawPeer,
    xid: u32,
}

impl Line {
    pub fn new(address: SocketAddr) -> Self {
        Self { stream: RawPeer::connect(address).unwrap(), xid: 0 }
    }

    /// The results of a call of the superuser.
    pub fn call(&mut self, number: ProcedureNumber, arguments: &[u8]) -> Decoder {
        self.xid += 1;
        let call = RawCall::new(self.xid, number).of_superuser().with_bytes(arguments);
        self.stream.call(&call).unwrap()
    }

    pub fn nfs3<R: nfs3::Request>(&mut self, arguments: &R) -> nfs3::Reply<R::Ok, R::Fail>
    where
        nfs3::Reply<R::Ok, R::Fail>: Decode,
    {
        let number = (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number());
        self.call(number, &xdr::to_bytes(arguments)).get().unwrap()
    }

    /// The handle of a path, by MOUNT.
    pub fn mount(&mut self, path: &'static str) -> FileHandle {
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
        let path = mount3::DirPath(Bytes::from_static(path.as_bytes()));
        match self.call(number, &xdr::to_bytes(&path)).get().unwrap() {
            mount3::MntReply::Ok(ok) => ok.handle,
            mount3::MntReply::Err(status) => panic!("MNT: {status}"),
        }
    }

    /// Makes a session for a client with this name, which has nothing to reclaim.
    pub fn session(&mut self, name: &str) -> Session {
        let mut requests = at_once(session::Session::open(self, name, 1));
        assert_eq!(at_once(requests.reclaim_complete(self)), nfs4::Status::Ok);
        Session { client: requests.client, requests }
    }
}

impl Transport for Line {
    fn compound(&mut self, arguments: Vec<u8>) -> rpc::BoxFuture<Bytes> {
        let results = self.call((nfs4::PROGRAM, nfs4::VERSION, COMPOUND), &arguments);
        Box::pin(ready(Bytes::copy_from_slice(results.rest_ref())))
    }
}

/// A session with one slot.
pub struct Session {
    pub client: ClientId,
    requests: session::Session,
}

impl Session {
    /// Opens a file of the root for reading and writing, which is made where it is missing.
    pub fn open(&mut self, line: &mut Line, name: &'static str, owner: &'static str) -> OpenResult {
        self.try_open(line, name, owner).unwrap()
    }

    /// As [`Session::open`].
    ///
    /// # Errors
    /// The status of the COMPOUND.
    pub fn try_open(
        &mut self,
        line: &mut Line,
        name: &'static str,
        owner: &'static str,
    ) -> Result<OpenResult, nfs4::Status> {
        let open = OpenArgs {
            sequence: 0,
            share_access: share::BOTH | share::WANT_NO_DELEGATION,
            share_deny: 0,
            owner: StateOwner { client: self.client, owner: owner.into() },
            create: Some(Box::new(CreateHow::Unchecked(attributes::AttributeValues::default()))),
            claim: OpenClaim::Null(name.into()),
        };
        let results = self.run(line, |c| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Open, &open);
        });
        if results.status != nfs4::Status::Ok {
            return Err(results.status);
        }
        let mut results = results.sequenced();
        results.ok(Operation::PutRootFh);
        Ok(results.body(Operation::Open))
    }

    /// Locks bytes 10 to 29 of a file that is open.
    pub fn lock(&mut self, line: &mut Line, name: &'static str, open: StateId) -> nfs4::Status {
        let owner = StateOwner { client: self.client, owner: "locker".into() };
        let locker =
            Locker::New(NewLockOwner { open_sequence: 0, open_state_id: open, lock_sequence: 0, owner });
        let lock = LockArgs { kind: LockType::Write, reclaim: false, offset: 10, length: 20, locker };
        let results = self.run(line, |c| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Lookup, &LookupArgs { name: name.into() });
            c.push(Operation::Lock, &lock);
        });
        results.status
    }

    /// Runs operations behind SEQUENCE.
    pub fn run(&mut self, line: &mut Line, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Results {
        at_once(self.requests.call(line, build))
    }
}
