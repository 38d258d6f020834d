//! The peer over NFSv3 and MOUNT: the same tree, unless a test answers a procedure itself.

use bytes::Bytes;
use proto::mount3;
use proto::nfs3::{
    AccessArgs, AccessOk, CommitArgs, CommitOk, CookieVerifier, CreateArgs, CreateOk, Device, DirOpArgs,
    Entry, EntryPlus, FileAttributes, FileHandle, FileType, FsInfoOk, FsStatOk, GetAttrArgs, GetAttrOk,
    LookupArgs, LookupOk, PathConfOk, Procedure, ReadArgs, ReadDirArgs, ReadDirOk, ReadDirPlusArgs,
    ReadDirPlusOk, ReadLinkArgs, ReadLinkOk, ReadOk, RemoveOk, SetAttrArgs, SetAttrOk, StableHow, Status,
    Time, WccData, WriteArgs, WriteOk, WriteVerifier,
};
use rpc::Refusal;
use xdr::{Decoder, Encode, Encoder, List};

use super::{Listed, Peer, State, Tree, fileid};

/// Answers a procedure in place of the peer. False to leave it to the peer; the arguments are those of the
/// procedure, and the reply begins with its status.
pub type Answer3 = Box<dyn FnMut(Procedure, &mut Decoder, &mut Encoder) -> bool + Send>;

/// Makes the reply to MNT.
pub type AnswerMount3 = Box<dyn FnMut(&mut Encoder) + Send>;

/// A handle of an object of the tree; its bytes say what the object is.
pub fn handle(bytes: impl AsRef<[u8]>) -> FileHandle {
    FileHandle::new(bytes.as_ref()).expect("at most 64 bytes")
}

/// The attributes of an object of the peer.
pub fn attributes(kind: FileType, size: u64) -> FileAttributes {
    let time = Time { seconds: 1_000_000_000, nanoseconds: 0 };
    FileAttributes {
        kind,
        mode: 0o755,
        links: 1,
        uid: 0,
        gid: 0,
        size,
        used: size,
        device: Device::default(),
        fsid: 1,
        fileid: 7,
        accessed: time,
        modified: time,
        changed: time,
    }
}

/// Appends a successful reply.
pub fn ok(to: &mut Encoder, body: &impl Encode) {
    to.put(&Status::Ok);
    to.put(body);
}

impl Tree {
    fn attributes3(&self, of: &[u8]) -> FileAttributes {
        let kind = match of {
            b"root" | [b'd', ..] => FileType::Directory,
            [b'l', ..] => FileType::Symlink,
            [b'p', ..] => FileType::Fifo,
            [b's', ..] => FileType::Socket,
            [b'b', ..] => FileType::Block,
            _ => FileType::Regular,
        };
        let modified = Time {
            seconds: u32::try_from(self.modified.seconds).unwrap(),
            nanoseconds: self.modified.nanoseconds,
        };
        let size = if kind == FileType::Regular { self.size } else { 0 };
        FileAttributes { modified, accessed: modified, fileid: fileid(of), ..attributes(kind, size) }
    }

    fn read_dir_plus(&mut self, args: &ReadDirPlusArgs) -> ReadDirPlusOk {
        self.lists += 1;
        let (listed, eof) = (self.list)(args.dir.as_bytes(), args.cookie);
        let entry = |(name, object, cookie): Listed| {
            let mut known = self.attributes3(object.as_bytes());
            if known.kind == FileType::Regular {
                known.size = self.listed_size.unwrap_or(known.size);
            }
            let object = Some(handle(object));
            EntryPlus { fileid: cookie, name: name.into(), cookie, attributes: Some(known), object }
        };
        let entries = List(listed.into_iter().map(entry).collect());
        ReadDirPlusOk { dir: None, verifier: CookieVerifier([0; 8]), entries, eof }
    }

    fn read_dir3(&mut self, args: &ReadDirArgs) -> ReadDirOk {
        self.lists += 1;
        let (listed, eof) = (self.list)(args.dir.as_bytes(), args.cookie);
        let entry = |(name, _, cookie): Listed| Entry { fileid: cookie, name: name.into(), cookie };
        let entries = List(listed.into_iter().map(entry).collect());
        ReadDirOk { dir: None, verifier: CookieVerifier([0; 8]), entries, eof }
    }
}

impl State {
    fn tree(&mut self) -> &mut Tree {
        self.tree.as_mut().expect("a tree")
    }

    fn procedure(&mut self, procedure: Procedure, from: &mut Decoder, to: &mut Encoder) -> xdr::Result<()> {
        if let Some(mut answer) = self.answer3.take() {
            let answered = answer(procedure, &mut from.clone(), to);
            self.answer3 = Some(answer);
            if answered {
                return Ok(());
            }
        }
        match procedure {
            Procedure::Null => {}
            Procedure::GetAttr => {
                let args: GetAttrArgs = from.get()?;
                ok(to, &GetAttrOk { attributes: self.tree().attributes3(args.object.as_bytes()) });
            }
            Procedure::SetAttr => {
                from.get::<SetAttrArgs>()?;
                ok(to, &SetAttrOk { object: WccData::NONE });
            }
            Procedure::Lookup => {
                let args: LookupArgs = from.get()?;
                let tree = self.tree();
                let found = tree.find(args.what.dir.as_bytes(), &args.what.name);
                let attributes = Some(tree.attributes3(&found));
                ok(to, &LookupOk { object: handle(&found), attributes, dir: None });
            }
            Procedure::Access => {
                let args: AccessArgs = from.get()?;
                ok(to, &AccessOk { attributes: None, access: args.access });
            }
            Procedure::ReadLink => {
                from.get::<ReadLinkArgs>()?;
                let target = self.tree().target.clone();
                ok(to, &ReadLinkOk { attributes: None, target });
            }
            Procedure::Read => {
                let args: ReadArgs = from.get()?;
                let (data, eof) = self.data3(args.offset, args.count);
                ok(to, &ReadOk { attributes: None, count: data.len() as u32, eof, data });
            }
            Procedure::Write => {
                let args: WriteArgs = from.get()?;
                self.write(args.offset, &args.data);
                let (count, verifier) = (args.data.len() as u32, WriteVerifier([self.verifier; 8]));
                ok(to, &WriteOk { file: WccData::NONE, count, committed: StableHow::FileSync, verifier });
            }
            Procedure::Create => {
                let args: CreateArgs = from.get()?;
                let attributes = Some(self.tree().attributes3(&args.place.name));
                let object = Some(handle(&args.place.name));
                ok(to, &CreateOk { object, attributes, dir: WccData::NONE });
            }
            Procedure::Remove | Procedure::RmDir => {
                let args: DirOpArgs = from.get()?;
                self.removed3.push(args);
                ok(to, &RemoveOk { dir: WccData::NONE });
            }
            Procedure::ReadDir => {
                let args: ReadDirArgs = from.get()?;
                let listed = self.tree().read_dir3(&args);
                ok(to, &listed);
            }
            Procedure::ReadDirPlus => {
                let args: ReadDirPlusArgs = from.get()?;
                let listed = self.tree().read_dir_plus(&args);
                ok(to, &listed);
            }
            Procedure::FsStat => ok(to, &FS_STAT),
            Procedure::FsInfo => ok(to, &FS_INFO),
            Procedure::PathConf => ok(to, &PATH_CONF),
            Procedure::Commit => {
                from.get::<CommitArgs>()?;
                ok(to, &CommitOk { file: WccData::NONE, verifier: WriteVerifier([self.verifier; 8]) });
            }
            other => panic!("{other} is not expected"),
        }
        Ok(())
    }

    fn data3(&mut self, offset: u64, count: u32) -> (Bytes, bool) {
        self.reads.push(offset);
        if let Some(answer) = &mut self.answer_read {
            let read = answer(offset, count);
            return (read.data, read.eof);
        }
        let length = self.content.len();
        let begin = usize::try_from(offset).unwrap_or(length).min(length);
        let end = begin.saturating_add(count as usize).min(length);
        (Bytes::copy_from_slice(&self.content[begin..end]), end == length)
    }
}

const FS_STAT: FsStatOk = FsStatOk {
    attributes: None,
    total_bytes: 1 << 40,
    free_bytes: 1 << 40,
    available_bytes: 1 << 40,
    total_files: 1 << 20,
    free_files: 1 << 20,
    available_files: 1 << 20,
    invariant_seconds: 0,
};

const FS_INFO: FsInfoOk = FsInfoOk {
    attributes: None,
    read_max: 1 << 16,
    read_preferred: 1 << 16,
    read_multiple: 1,
    write_max: 1 << 16,
    write_preferred: 1 << 16,
    write_multiple: 1,
    read_dir_preferred: 1 << 16,
    file_bytes_max: u64::MAX,
    time_granularity: Time { seconds: 0, nanoseconds: 1 },
    properties: 0,
};

const PATH_CONF: PathConfOk = PathConfOk {
    attributes: None,
    links_max: 1,
    name_bytes_max: 255,
    no_truncation: true,
    chown_restricted: true,
    case_insensitive: false,
    case_preserving: true,
};

impl Peer {
    pub(super) fn call3(&self, number: u32, from: &mut Decoder, to: &mut Encoder) -> Result<(), Refusal> {
        let procedure = Procedure::from_number(number).ok_or(Refusal::ProcedureUnavailable)?;
        self.state.lock().procedure(procedure, from, to).map_err(|_| Refusal::GarbageArguments)
    }

    /// MNT of any path is the root.
    pub(super) fn mount3(&self, number: u32, to: &mut Encoder) -> Result<(), Refusal> {
        match mount3::Procedure::from_number(number) {
            Some(mount3::Procedure::Null | mount3::Procedure::Umnt) => {}
            Some(mount3::Procedure::Mnt) => {
                let root = mount3::MntOk { handle: handle("root"), flavors: vec![1] };
                match &mut self.state.lock().answer_mount3 {
                    Some(answer) => answer(to),
                    None => to.put(&mount3::MntReply::Ok(root)),
                }
            }
            _ => return Err(Refusal::ProcedureUnavailable),
        }
        Ok(())
    }
}
