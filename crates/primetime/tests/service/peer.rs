//! A client's side of a connection: one call at a time.

use std::net::SocketAddr;

use proto::nfs3::FileHandle;
use proto::nfs4::{self, *};
use proto::{mount3, nfs3};
use testkit::ProcedureNumber;
use testkit::peer::RawPeer;
use testkit::wire::RawCall;
use xdr::{Bytes, Decode, Decoder, Encode, Encoder};

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

    /// The results of a COMPOUND, behind its head, and how it ended.
    pub fn compound(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> (nfs4::Status, Decoder) {
        let mut to = Encoder::new();
        let mut builder = CompoundBuilder::begin(&mut to, 1);
        build(&mut builder);
        builder.finish();
        let mut results = self.call((nfs4::PROGRAM, nfs4::VERSION, COMPOUND), &to.into_inner());
        let status = results.get().unwrap();
        results.opaque(TAG_BYTES_MAX).unwrap();
        results.u32().unwrap();
        (status, results)
    }

    fn alone(&mut self, operation: Operation, arguments: &impl Encode) -> Decoder {
        let (status, mut results) = self.compound(|c| {
            c.push(operation, arguments);
        });
        assert_eq!(status, nfs4::Status::Ok, "{operation}");
        assert_eq!((results.u32(), results.u32()), (Ok(operation.number()), Ok(0)));
        results
    }

    /// A session of a client with this name, which has nothing to reclaim.
    pub fn session(&mut self, name: &str) -> Session {
        let exchanged: ExchangeIdResult = self
            .alone(
                Operation::ExchangeId,
                &ExchangeIdArgs {
                    owner: ClientOwner {
                        verifier: Verifier([1; 8]),
                        id: Bytes::copy_from_slice(name.as_bytes()),
                    },
                    flags: 0,
                    state_protect: StateProtect::None,
                    implementation: vec![],
                },
            )
            .get()
            .unwrap();
        let channel = ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: 1 << 16,
            response_bytes_max: 1 << 16,
            cached_response_bytes_max: 4096,
            operations_max: 16,
            requests_max: 1,
            rdma_ird: vec![],
        };
        let asked = CreateSessionArgs {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags: 0,
            fore_channel: channel.clone(),
            back_channel: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None],
        };
        let created: CreateSessionResult = self.alone(Operation::CreateSession, &asked).get().unwrap();
        let mut session = Session { client: exchanged.client, id: created.session, sequence: 0 };
        let (status, _) = session.run(self, |c| {
            c.push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
        });
        assert_eq!(status, nfs4::Status::Ok);
        session
    }
}

/// A session with one slot.
pub struct Session {
    pub client: ClientId,
    id: SessionId,
    sequence: u32,
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
        let (status, mut results) = self.run(line, |c| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Open, &open);
        });
        if status != nfs4::Status::Ok {
            return Err(status);
        }
        for expected in [Operation::PutRootFh.number(), 0, Operation::Open.number(), 0] {
            assert_eq!(results.u32(), Ok(expected));
        }
        Ok(results.get().unwrap())
    }

    /// Locks bytes 10 to 29 of a file that is open.
    pub fn lock(&mut self, line: &mut Line, name: &'static str, open: StateId) -> nfs4::Status {
        let owner = StateOwner { client: self.client, owner: "locker".into() };
        let locker =
            Locker::New(NewLockOwner { open_sequence: 0, open_state_id: open, lock_sequence: 0, owner });
        let lock = LockArgs { kind: LockType::Write, reclaim: false, offset: 10, length: 20, locker };
        let (status, _) = self.run(line, |c| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Lookup, &LookupArgs { name: name.into() });
            c.push(Operation::Lock, &lock);
        });
        status
    }

    /// Runs operations behind SEQUENCE; the results begin behind that of SEQUENCE where that succeeded.
    pub fn run(
        &mut self,
        line: &mut Line,
        build: impl FnOnce(&mut CompoundBuilder<'_>),
    ) -> (nfs4::Status, Decoder) {
        self.sequence += 1;
        let arguments = SequenceArgs {
            session: self.id,
            sequence: SequenceId(self.sequence),
            slot: SlotId(0),
            highest_slot: SlotId(0),
            cache_this: false,
        };
        let (status, mut results) = line.compound(|c| {
            c.push(Operation::Sequence, &arguments);
            build(c);
        });
        assert_eq!(results.u32(), Ok(Operation::Sequence.number()));
        if results.u32() == Ok(0) {
            results.get::<SequenceResult>().unwrap();
        }
        (status, results)
    }
}
