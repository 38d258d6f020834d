//! A server with an export under a rule, and callers who come to it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use proto::nfs4::attributes::{AttributeValues, Principal};
use proto::nfs4::{CreateArgs, CreateHow, CreateType, GetFhResult, LookupArgs, OpenResult};
use proto::nfs4::{FileHandle, Operation, SetAttrArgs, StateId, Status, share};
use server::exports::{
    BackEnd, CertificatePattern, Clients, Export, ExportId, ExportOptions, ExportPath, ExportSet, Exports,
    Flavor, Network, Rule, Squash, TransportSecurities, TransportSecurity, Version, Versions,
};
use state::{Limits, State};
use vfs::Timestamp;
use vfs::memory::{Memory, MemoryOptions};

use crate::errors::fault::Faulty;
use crate::peer::{Peer, TestServer, open, test_options};

pub(crate) const NOBODY: u32 = 65534;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Squashing {
    Nobody,
    Root,
    RootAsMember,
    All,
    AllAsOwner,
}

impl Squashing {
    pub(crate) const ALL: [Self; 5] =
        [Self::Nobody, Self::Root, Self::RootAsMember, Self::All, Self::AllAsOwner];

    fn squash(self) -> Squash {
        match self {
            Self::Nobody => Squash::None { anonymous: (NOBODY, NOBODY) },
            Self::Root => Squash::Root { anonymous: (NOBODY, NOBODY) },
            Self::RootAsMember => Squash::Root { anonymous: (1001, 2000) },
            Self::All => Squash::All { anonymous: (NOBODY, NOBODY) },
            Self::AllAsOwner => Squash::All { anonymous: (1000, 1000) },
        }
    }
}

/// The rule of the export, for clients of 10.0.0.0/8.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleOf {
    pub(crate) read_only: bool,
    pub(crate) squashing: Squashing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Root,
    /// User 1000.
    Owner,
    /// User 1001, of group 2000 besides its own.
    Member,
    /// User 1002.
    Other,
}

impl Caller {
    pub(crate) const ALL: [Self; 4] = [Self::Root, Self::Owner, Self::Member, Self::Other];
}

/// How a caller comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approach {
    Right,
    WrongNetwork,
    /// Where only ports below 1024 are accepted.
    InsecurePort,
    /// Without ids, where they are wanted.
    WrongFlavor,
    /// Over a plain connection, where only those with TLS are accepted.
    Unprotected,
    /// Without a certificate, where the rule is for one.
    WrongCertificate,
    /// In one that the export is not there for.
    WrongVersion,
}

impl Approach {
    pub(crate) const ALL: [Self; 7] = [
        Self::Right,
        Self::WrongNetwork,
        Self::InsecurePort,
        Self::WrongFlavor,
        Self::Unprotected,
        Self::WrongCertificate,
        Self::WrongVersion,
    ];
}

/// The server, and what there is: a directory that everybody may change with the file `f`, of user 1000 and
/// group 2000 with the mode 640, the file `r`, the empty directory `d` and the symbolic link `l`.
pub(crate) struct Place {
    server: Arc<TestServer>,
    exports: Arc<Exports<BackEnd<Faulty>>>,
    peer: Peer,
    pub(crate) root: FileHandle,
    pub(crate) file: FileHandle,
    pub(crate) directory: FileHandle,
    pub(crate) link: FileHandle,
    /// The root of another export, which is for everybody.
    pub(crate) elsewhere: FileHandle,
    /// Opened for both before the rule came.
    pub(crate) open: StateId,
}

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap())
}

impl Place {
    pub(crate) fn new(rule: RuleOf, approach: Approach) -> Self {
        let (memory, other) = (memory(), memory());
        let set = |options: ExportOptions| {
            let export = |id, path: &[u8], memory: &Arc<Memory>, options: ExportOptions| {
                // Nothing fails here; this is what can be shared.
                let shared = Faulty { memory: Arc::clone(memory), trigger: Arc::default() };
                Export::new(ExportId(id), ExportPath::new(path).unwrap(), shared, options)
            };
            let everybody = Rule { squash: Squash::NONE, ..Rule::default() };
            let list =
                vec![export(1, b"/e", &memory, options), export(2, b"/other", &other, everybody.into())];
            pollster::block_on(ExportSet::joined(list, Timestamp { seconds: 1, nanoseconds: 0 })).unwrap()
        };
        let exports = Arc::new(Exports::from(set(Rule { squash: Squash::NONE, ..Rule::default() }.into())));
        let state = State::new(Limits::default(), 77);
        let server = TestServer::serving(Arc::clone(&exports), test_options(), None, state);
        // It has all operations of the one before.
        let server = Arc::new(server.speaking(2));
        let mut peer = Peer::new(&server, 1);
        let root = walk(&mut peer, "e");
        let elsewhere = walk(&mut peer, "other");
        let (file, opened) = make(&mut peer, &root, "f");
        own(&mut peer, &file);
        make(&mut peer, &root, "r");
        let directory = create(&mut peer, &root, "d", CreateType::Directory);
        let link = create(&mut peer, &root, "l", CreateType::Symlink("target".into()));
        exports.replace(set(options(rule, approach)));
        Self { server, exports, peer, root, file, directory, link, elsewhere, open: opened }
    }

    /// Somebody who goes on in the session in which all was made.
    pub(crate) fn caller(&self, caller: Caller, approach: Approach) -> Peer {
        let (uid, gids) = match caller {
            Caller::Root => (0, vec![]),
            Caller::Owner => (1000, vec![]),
            Caller::Member => (1001, vec![2000]),
            Caller::Other => (1002, vec![]),
        };
        let mut peer = self.peer.going_on(uid);
        peer.gids = gids;
        let address = if approach == Approach::WrongNetwork { [11, 0, 0, 1] } else { [10, 0, 0, 1] };
        let port = if approach == Approach::InsecurePort { 1024 } else { 1023 };
        peer.from = SocketAddr::from((address, port));
        peer.anonymous = approach == Approach::WrongFlavor;
        let _ = (&self.server, &self.exports);
        peer
    }
}

fn options(rule: RuleOf, approach: Approach) -> ExportOptions {
    let network = Network { address: IpAddr::from([10, 0, 0, 0]), prefix_bits: 8 };
    let rule = Rule {
        clients: Clients::Networks(vec![network]),
        certificates: match approach {
            Approach::WrongCertificate => {
                vec![CertificatePattern { dns: Some("ann".to_owned()), ..CertificatePattern::default() }]
            }
            _ => Vec::new(),
        },
        read_only: rule.read_only,
        squash: rule.squashing.squash(),
        flavors: vec![Flavor::Sys],
        transports: match approach {
            Approach::Unprotected => [TransportSecurity::Tls].into_iter().collect(),
            _ => TransportSecurities::ALL,
        },
        privileged_port: true,
    };
    // In another version than those that are tried.
    let versions = match approach {
        Approach::WrongVersion => [Version::V4_1].into_iter().collect(),
        _ => Versions::ALL,
    };
    ExportOptions { versions, ..rule.into() }
}

fn walk(peer: &mut Peer, name: &'static str) -> FileHandle {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::Lookup, &LookupArgs { name: name.into() })
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.ok(Operation::Lookup);
    results.body::<GetFhResult>(Operation::GetFh).object
}

fn make(peer: &mut Peer, dir: &FileHandle, name: &str) -> (FileHandle, StateId) {
    let how = CreateHow::Guarded(AttributeValues { mode: Some(0o640), ..Default::default() });
    let arguments = open(name, share::BOTH | share::WANT_NO_DELEGATION, Some(how));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutFh, &proto::nfs4::PutFhArgs { object: dir.clone() })
                .push(Operation::Open, &arguments)
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutFh);
    let opened: OpenResult = results.body(Operation::Open);
    (results.body::<GetFhResult>(Operation::GetFh).object, opened.state_id)
}

fn own(peer: &mut Peer, file: &FileHandle) {
    let values = AttributeValues {
        owner: Some(Principal::Number(1000)),
        owner_group: Some(Principal::Number(2000)),
        ..Default::default()
    };
    let set = (SetAttrArgs { state_id: StateId::ANONYMOUS }, values);
    assert_eq!(peer.on(file, Operation::SetAttr, &set).status, Status::Ok);
}

fn create(peer: &mut Peer, dir: &FileHandle, name: &'static str, kind: CreateType) -> FileHandle {
    let values = AttributeValues { mode: Some(0o777), ..Default::default() };
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutFh, &proto::nfs4::PutFhArgs { object: dir.clone() })
                .push(Operation::Create, &(CreateArgs { kind, name: name.into() }, values))
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutFh);
    let _: proto::nfs4::CreateResult = results.body(Operation::Create);
    results.body::<GetFhResult>(Operation::GetFh).object
}
