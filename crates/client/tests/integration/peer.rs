//! A peer that answers by the book except where a test tells it not to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Options, Url, Version};
use parking_lot::Mutex;
use proto::nfs4::attributes::{AttributeValues, Bitmap, FileType};
use proto::nfs4::{
    AccessArgs, AccessResult, Ace, BindConnToSessionArgs, BindConnToSessionResult, ChangeInfo, ClientId,
    CloseArgs, CommitArgs, CommitResult, CopyArgs, CopyRequirements, CopyResult, CreateSessionArgs,
    CreateSessionResult, DestroyClientIdArgs, DestroySessionArgs, DirectionFromServer, DirectoryEntry,
    ExchangeIdArgs, ExchangeIdResult, FileHandle, FreeStateIdArgs, GetAttrArgs, GetFhResult, ListXattrsArgs,
    ListXattrsResult, LockArgs, LockResult, LockUArgs, LockUResult, LookupArgs, OpenArgs, OpenClaim,
    OpenDelegation, OpenResult, Operation, PutFhArgs, ReadArgs, ReadDelegation, ReadDirArgs, ReadDirResult,
    ReadLinkResult, ReadResult, ReclaimCompleteArgs, RemoveArgs, RemoveResult, SeekArgs, SeekResult,
    SequenceArgs, SequenceId, SequenceResult, ServerOwner, SessionId, SlotId, StableHow, StateId, StateOther,
    StateProtectResult, Status, Time, Verifier, WriteArgs, WriteResponse, WriteResult,
};
use rpc::Refusal;
use testkit::compound;
use testkit::script::{Answer, Script, ScriptedCall, serve};
use tokio::sync::watch;
use xdr::{Decoder, Encoder};

#[path = "peer/nfs3.rs"]
pub mod nfs3;

/// The largest WRITE of clients that the peer itself starts.
pub const WRITE_BYTES: u64 = 4096;

/// The peer: one directory with one file.
pub struct Peer {
    pub state: Mutex<State>,
    /// How many WRITEs may be answered, in the order of their arrival.
    answered_max: watch::Sender<u64>,
}

#[derive(Default)]
pub struct State {
    /// How the next operations of a kind fail.
    pub failures: BTreeMap<Operation, VecDeque<Status>>,
    pub sessions: u8,
    /// The number of the last request in each slot of the present session.
    pub slots: BTreeMap<u32, u32>,
    pub verifier: u8,
    /// What SEQUENCE tells until there is another session.
    pub status_flags: u32,
    pub written: Vec<(u64, usize)>,
    pub content: Vec<u8>,
    /// The size that attributes report instead of that of `content`.
    pub claimed_size: Option<u64>,
    /// Where READs began, in the order of their arrival.
    pub reads: Vec<u64>,
    /// Whether the next OPENs come with a delegation for reading.
    pub delegations: VecDeque<bool>,
    /// Where LOCKs began, and whether they took a lock back.
    pub locks: Vec<(u64, bool)>,
    /// Where LOCKUs began.
    pub unlocked: Vec<u64>,
    /// CLOSEs that were carried out.
    pub closed: u32,
    target: u32,
    current_is_file: bool,
    /// A tree in place of the one file.
    pub tree: Option<Tree>,
    /// Makes the replies to READ in place of those from `content`.
    pub answer_read: Option<AnswerRead>,
    /// Answers procedures of NFSv3 in place of the peer.
    pub answer3: Option<nfs3::Answer3>,
    /// Answers MNT in place of the peer.
    pub answer_mount3: Option<nfs3::AnswerMount3>,
    /// The arguments of REMOVEs and RMDIRs of NFSv3.
    pub removed3: Vec<proto::nfs3::DirOpArgs>,
    /// How many bytes each COPY copies, by its reply.
    pub copied: u64,
    /// The replies to the next SEEKs and LISTXATTRSs.
    pub seeks: VecDeque<SeekResult>,
    pub xattr_lists: VecDeque<ListXattrsResult>,
    /// Replies to the first operation have the number of the second.
    pub renumbered: Option<(Operation, Operation)>,
    current: Bytes,
    saved: Bytes,
    /// A COMMIT is answered when so many more WRITEs are: it waits behind theirs on the way.
    pub commit_lag: u64,
    commits: Commits,
}

/// Returns the entries behind a cookie in the directory of a handle, and whether these are the last.
type List = Box<dyn FnMut(&[u8], u64) -> (Vec<Listed>, bool) + Send>;

/// Returns the handle of the object of a name in the directory of a handle.
type LookUp = Box<dyn FnMut(&[u8], &[u8]) -> String + Send>;

/// Makes the reply to a READ of so many bytes at an offset.
type AnswerRead = Box<dyn FnMut(u64, u32) -> ReadResult + Send>;

/// A tree that is as a test says it is. What an object is, its handle begins with: `d` or `root` are
/// directories, `l` are symbolic links, `p` pipes, all else files. LOOKUP finds under each name an object
/// of that handle.
pub struct Tree {
    /// The entries behind a cookie in the directory of a handle, and whether these are the last.
    pub list: List,
    /// What LOOKUP finds in place of an object whose handle is its name.
    pub look_up: Option<LookUp>,
    /// Where symbolic links lead.
    pub target: Bytes,
    /// The size that files are said to have, and when they were changed.
    pub size: u64,
    pub modified: Time,
    /// The size that lists give to files, when it is another one.
    pub listed_size: Option<u64>,
    /// The space that files are said to use, when it is not their size.
    pub used: Option<u64>,
    /// READDIRs that were answered.
    pub lists: usize,
}

/// Its name, handle and cookie.
pub type Listed = (String, String, u64);

impl Tree {
    pub fn new(list: impl FnMut(&[u8], u64) -> (Vec<Listed>, bool) + Send + 'static) -> Self {
        let modified = Time { seconds: 1_000_000_000, nanoseconds: 0 };
        Self {
            list: Box::new(list),
            look_up: None,
            target: "nowhere".into(),
            size: 0,
            modified,
            listed_size: None,
            used: None,
            lists: 0,
        }
    }

    fn find(&mut self, dir: &[u8], name: &Bytes) -> Bytes {
        self.look_up.as_mut().map_or_else(|| name.clone(), |look_up| look_up(dir, name).into())
    }

    fn attributes(&self, handle: &[u8]) -> AttributeValues {
        let kind = match handle {
            b"root" | [b'd', ..] => FileType::Directory,
            [b'l', ..] => FileType::Symlink,
            [b'p', ..] => FileType::Fifo,
            _ => FileType::Regular,
        };
        AttributeValues {
            kind: Some(kind),
            change: Some(1),
            size: Some(if kind == FileType::Regular { self.size } else { 0 }),
            mode: Some(0o755),
            time_modify: Some(self.modified),
            time_access: Some(self.modified),
            lease_time: Some(90),
            fileid: Some(fileid(handle)),
            space_used: self.used,
            ..AttributeValues::default()
        }
    }

    fn read_dir(&mut self, handle: &[u8], cookie: u64) -> ReadDirResult {
        self.lists += 1;
        let (listed, eof) = (self.list)(handle, cookie);
        let entry = |(name, handle, cookie): Listed| {
            let mut attributes = self.attributes(handle.as_bytes());
            attributes.lease_time = None;
            if attributes.kind == Some(FileType::Regular) {
                attributes.size = self.listed_size.or(attributes.size);
            }
            attributes.file_handle = Some(FileHandle(handle.into()));
            DirectoryEntry { cookie, name: name.into(), attributes }
        };
        ReadDirResult { verifier: Verifier([0; 8]), entries: listed.into_iter().map(entry).collect(), eof }
    }
}

/// A number that no two objects of a tree share.
fn fileid(handle: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    handle.hash(&mut hasher);
    hasher.finish()
}

/// What COMMITs covered.
#[derive(Default)]
struct Commits {
    /// WRITEs, by their place in the order of arrival, that are under one.
    covered: BTreeSet<usize>,
    /// For each: how many WRITEs are to be answered before it is, and the bytes that are stable then.
    due: Vec<(u64, u64)>,
}

/// What keeps an answer back: so many WRITEs are to be answered first.
#[derive(Default)]
struct Wait(u64);

impl Peer {
    pub fn fail(&self, operation: Operation, statuses: &[Status]) {
        self.state.lock().failures.entry(operation).or_default().extend(statuses);
    }

    pub async fn start() -> (Arc<Self>, Client) {
        Self::start_with(7).await
    }

    pub async fn start_with(target: u32) -> (Arc<Self>, Client) {
        Self::start_version(target, Version::V4_1).await
    }

    pub async fn start_version(target: u32, version: Version) -> (Arc<Self>, Client) {
        let (peer, url) = Self::listen(target).await;
        let options =
            Options { versions: vec![version], write_bytes_max: WRITE_BYTES as u32, ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        (peer, client)
    }

    /// WRITEs are answered up to that number from here on.
    pub fn answer_writes(&self, up_to: u64) {
        self.answered_max.send_replace(up_to);
    }

    pub async fn listen(target: u32) -> (Arc<Self>, Url) {
        let peer = Arc::new(Self { state: Mutex::default(), answered_max: watch::Sender::new(u64::MAX) });
        peer.state.lock().target = target;
        let url = format!("nfs://{}/", serve(Arc::clone(&peer)).await).parse().unwrap();
        (peer, url)
    }
}

impl State {
    fn operation(
        &mut self,
        operation: Operation,
        from: &mut Decoder,
        to: &mut Encoder,
        answered: u64,
    ) -> xdr::Result<Status> {
        let status = self.failures.get_mut(&operation).and_then(VecDeque::pop_front).unwrap_or(Status::Ok);
        let start = to.len();
        match operation {
            Operation::ExchangeId => {
                from.get::<ExchangeIdArgs>()?;
                to.put(&ExchangeIdResult {
                    client: ClientId(1),
                    sequence: SequenceId(1),
                    flags: 0,
                    state_protect: StateProtectResult::None,
                    server_owner: ServerOwner { minor_id: 0, major_id: Bytes::new() },
                    server_scope: Bytes::new(),
                    implementation: Vec::new(),
                });
            }
            Operation::CreateSession => {
                let args: CreateSessionArgs = from.get()?;
                if status == Status::Ok {
                    self.sessions += 1;
                    self.slots.clear();
                    self.status_flags = 0;
                }
                let mut fore_channel = args.fore_channel;
                fore_channel.requests_max = (self.target + 1).max(8);
                to.put(&CreateSessionResult {
                    session: SessionId([self.sessions; 16]),
                    sequence: args.sequence,
                    flags: args.flags,
                    fore_channel,
                    back_channel: args.back_channel,
                });
            }
            Operation::BindConnToSession => {
                let args: BindConnToSessionArgs = from.get()?;
                let direction = DirectionFromServer::Both;
                to.put(&BindConnToSessionResult { session: args.session, direction, rdma: false });
            }
            Operation::Sequence => {
                let args: SequenceArgs = from.get()?;
                if args.session.0[0] != self.sessions {
                    return Ok(Status::BadSession);
                }
                let last = self.slots.entry(args.slot.0).or_default();
                assert_eq!(args.sequence.0, *last + 1, "a request is lost, or was sent again needlessly");
                if status == Status::Ok {
                    *last += 1;
                }
                to.put(&SequenceResult {
                    session: args.session,
                    sequence: args.sequence,
                    slot: args.slot,
                    highest_slot: SlotId(self.target),
                    target_highest_slot: SlotId(self.target),
                    status_flags: self.status_flags,
                });
            }
            Operation::DestroySession => {
                from.get::<DestroySessionArgs>()?;
            }
            Operation::DestroyClientId => {
                from.get::<DestroyClientIdArgs>()?;
            }
            Operation::ReclaimComplete => {
                from.get::<ReclaimCompleteArgs>()?;
            }
            Operation::PutFh => {
                self.current = from.get::<PutFhArgs>()?.object.0;
                self.current_is_file = self.current == "file";
            }
            Operation::PutRootFh => {
                self.current = "root".into();
                self.current_is_file = false;
            }
            Operation::SaveFh => self.saved = self.current.clone(),
            Operation::RestoreFh => self.current = self.saved.clone(),
            Operation::Lookup => {
                let name = from.get::<LookupArgs>()?.name;
                self.current = match &mut self.tree {
                    Some(tree) => tree.find(&self.current, &name),
                    None => name,
                };
                self.current_is_file = true;
            }
            Operation::ReadDir => {
                let args: ReadDirArgs = from.get()?;
                let handle = self.current.clone();
                to.put(&self.tree.as_mut().expect("a tree").read_dir(&handle, args.cookie));
            }
            Operation::Access => {
                let args: AccessArgs = from.get()?;
                to.put(&AccessResult { supported: args.access, access: args.access });
            }
            Operation::ReadLink => {
                to.put(&ReadLinkResult { link: self.tree.as_ref().expect("a tree").target.clone() });
            }
            Operation::Remove => {
                from.get::<RemoveArgs>()?;
                to.put(&RemoveResult { change: ChangeInfo { atomic: true, before: 0, after: 1 } });
            }
            Operation::GetFh if self.tree.is_some() => {
                to.put(&GetFhResult { object: FileHandle(self.current.clone()) });
            }
            Operation::GetFh => {
                let name = if self.current_is_file { "file" } else { "root" };
                to.put(&GetFhResult { object: FileHandle(name.into()) });
            }
            Operation::GetAttr => {
                let args: GetAttrArgs = from.get()?;
                let known = self.tree.as_ref().map(|tree| tree.attributes(&self.current));
                known.unwrap_or_else(|| self.attributes()).encode_wanted(args.wanted, to);
            }
            Operation::Open => {
                let args: OpenArgs = from.get()?;
                self.current = match args.claim {
                    OpenClaim::Null(name) if self.tree.is_some() => name,
                    _ => "file".into(),
                };
                self.current_is_file = true;
                let delegation = match self.delegations.pop_front() {
                    Some(true) => delegation(),
                    _ => OpenDelegation::None,
                };
                to.put(&OpenResult {
                    state_id: StateId { sequence: 1, other: StateOther([1; 12]) },
                    change: ChangeInfo { atomic: true, before: 0, after: 1 },
                    flags: 0,
                    attributes_set: Bitmap::EMPTY,
                    delegation,
                });
            }
            Operation::Read => {
                let args: ReadArgs = from.get()?;
                self.reads.push(args.offset);
                if let Some(answer) = &mut self.answer_read {
                    to.put(&answer(args.offset, args.count));
                    return Ok(Status::Ok);
                }
                let (offset, end) = (args.offset as usize, args.offset as usize + args.count as usize);
                let data = &self.content[offset.min(self.content.len())..end.min(self.content.len())];
                to.put(&ReadResult { eof: end >= self.content.len(), data: Bytes::copy_from_slice(data) });
            }
            Operation::Seek => {
                from.get::<SeekArgs>()?;
                to.put(&self.seeks.pop_front().expect("a reply to SEEK"));
            }
            Operation::Copy => {
                from.get::<CopyArgs>()?;
                let (committed, verifier) = (StableHow::FileSync, Verifier([self.verifier; 8]));
                to.put(&CopyResult {
                    written: WriteResponse {
                        callback_id: Vec::new(),
                        count: self.copied,
                        committed,
                        verifier,
                    },
                    requirements: CopyRequirements { consecutive: true, synchronous: true },
                });
            }
            Operation::ListXattrs => {
                from.get::<ListXattrsArgs>()?;
                to.put(&self.xattr_lists.pop_front().expect("a reply to LISTXATTRS"));
            }
            Operation::Write => {
                let args: WriteArgs = from.get()?;
                if status == Status::Ok {
                    self.write(args.offset, &args.data);
                }
                to.put(&WriteResult {
                    count: args.data.len() as u32,
                    committed: args.stable,
                    verifier: Verifier([self.verifier; 8]),
                });
                assert_ne!(args.stable, StableHow::DataSync);
            }
            Operation::Commit => {
                let args: CommitArgs = from.get()?;
                self.commit(args.offset..args.offset + u64::from(args.count), answered);
                to.put(&CommitResult { verifier: Verifier([self.verifier; 8]) });
            }
            Operation::Lock => {
                let args: LockArgs = from.get()?;
                if status == Status::Ok {
                    self.locks.push((args.offset, args.reclaim));
                }
                to.put(&LockResult { state_id: StateId { sequence: 1, other: StateOther([2; 12]) } });
            }
            Operation::LockU => {
                let args: LockUArgs = from.get()?;
                if status == Status::Ok {
                    self.unlocked.push(args.offset);
                }
                to.put(&LockUResult { state_id: args.state_id });
            }
            Operation::FreeStateId => {
                from.get::<FreeStateIdArgs>()?;
            }
            Operation::Close => {
                let args: CloseArgs = from.get()?;
                self.closed += u32::from(status == Status::Ok);
                to.put(&args.state_id);
            }
            other => panic!("{other} is not expected"),
        }
        if status != Status::Ok {
            to.truncate(start);
        }
        Ok(status)
    }

    fn commit(&mut self, range: Range<u64>, answered: u64) {
        let mut bytes = 0;
        for (index, &(offset, length)) in self.written.iter().enumerate().take(answered as usize) {
            let inside = range.start <= offset && offset + length as u64 <= range.end;
            if inside && self.commits.covered.insert(index) {
                bytes += length as u64;
            }
        }
        self.commits.due.push((answered.saturating_add(self.commit_lag), bytes));
    }

    /// Bytes of the first `writes` WRITEs.
    pub fn bytes_of(&self, writes: u64) -> u64 {
        self.written.iter().take(writes as usize).map(|&(_, length)| length as u64).sum()
    }

    /// Bytes of WRITEs that are answered, `answered` of them, and that no COMMIT has asked for.
    pub fn uncovered_bytes(&self, answered: u64) -> u64 {
        let written = self.written.iter().enumerate().take(answered as usize);
        let uncovered = written.filter(|(index, _)| !self.commits.covered.contains(index));
        uncovered.map(|(_, &(_, length))| length as u64).sum()
    }

    /// Bytes under COMMITs that are answered when `answered` WRITEs are.
    pub fn stable_bytes(&self, answered: u64) -> u64 {
        let due = self.commits.due.iter().filter(|&&(due, _)| due <= answered);
        due.map(|&(_, bytes)| bytes).sum()
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.written.push((offset, data.len()));
        let end = offset as usize + data.len();
        self.content.resize(self.content.len().max(end), 0);
        self.content[offset as usize..end].copy_from_slice(data);
    }

    fn attributes(&self) -> AttributeValues {
        AttributeValues {
            kind: Some(if self.current_is_file { FileType::Regular } else { FileType::Directory }),
            change: Some(self.written.len() as u64),
            size: Some(self.claimed_size.unwrap_or(self.content.len() as u64)),
            lease_time: Some(90),
            ..AttributeValues::default()
        }
    }
}

fn delegation() -> OpenDelegation {
    OpenDelegation::Read(ReadDelegation {
        state_id: StateId { sequence: 1, other: StateOther([3; 12]) },
        recall: false,
        permissions: Ace { kind: 0, flags: 0, mask: 0, who: Bytes::new() },
    })
}

impl Script for Peer {
    async fn answer(&self, call: ScriptedCall) -> Answer {
        let mut from = call.arguments;
        let mut reply = Encoder::new();
        let (program, version, procedure) = call.number;
        let answered = match (program, version) {
            (proto::mount3::PROGRAM, _) => self.mount3(procedure, &mut reply),
            (proto::nfs3::PROGRAM, proto::nfs3::VERSION) => self.call3(procedure, &mut from, &mut reply),
            (proto::nfs4::PROGRAM, proto::nfs4::VERSION) if procedure == 0 => Ok(()),
            (proto::nfs4::PROGRAM, proto::nfs4::VERSION) => return self.compound(&mut from).await,
            _ => Err(Refusal::ProgramUnavailable),
        };
        answered.map(|()| reply.into_inner()).into()
    }
}

impl Peer {
    async fn compound(&self, from: &mut Decoder) -> Answer {
        let mut wait = Wait::default();
        let reply = compound::answer(from, |operation, from, to| {
            let answered = *self.answered_max.borrow();
            let mut state = self.state.lock();
            if let Some((_, by)) = state.renumbered.filter(|(of, _)| *of == operation) {
                to.number = by.number();
            }
            let status = state.operation(operation, from, &mut to.body, answered)?;
            wait = match operation {
                Operation::Write => Wait(state.written.len() as u64),
                Operation::Commit if state.commit_lag > 0 => Wait(answered.saturating_add(state.commit_lag)),
                _ => std::mem::take(&mut wait),
            };
            Ok(status)
        });
        let _ = self.answered_max.subscribe().wait_for(|answered| *answered >= wait.0).await;
        reply.map_err(|_| Refusal::GarbageArguments).into()
    }
}
