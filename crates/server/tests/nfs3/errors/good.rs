//! Arguments that succeed, on whatever object.

use bytes::Bytes;
use proto::nfs3::*;

use super::lab::{Lab, place, write};

/// The procedures that have statuses.
pub fn procedures() -> impl Iterator<Item = Procedure> {
    Procedure::ALL.iter().copied().filter(|procedure| *procedure != Procedure::Null)
}

impl Lab<'_> {
    /// The object that the procedure is usually about.
    pub fn usual(&self, procedure: Procedure) -> FileHandle {
        match procedure {
            Procedure::ReadLink => self.link,
            Procedure::SetAttr
            | Procedure::Read
            | Procedure::Write
            | Procedure::Commit
            | Procedure::GetAttr
            | Procedure::Link => self.file,
            _ => self.root,
        }
    }

    /// Arguments that succeed on the usual object.
    pub fn good(&self, procedure: Procedure) -> Bytes {
        self.on(procedure, self.usual(procedure))
    }

    /// The same on any object.
    pub fn on(&self, procedure: Procedure, object: FileHandle) -> Bytes {
        let attributes = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        let new = place(object, "new");
        match procedure {
            Procedure::Null => Bytes::new(),
            Procedure::GetAttr => xdr::to_bytes(&GetAttrArgs { object }),
            Procedure::SetAttr => {
                let attributes = SetAttributes { size: Some(2), ..attributes };
                xdr::to_bytes(&SetAttrArgs { object, attributes, guard: None })
            }
            Procedure::Lookup => xdr::to_bytes(&LookupArgs { what: place(object, "f") }),
            Procedure::Access => xdr::to_bytes(&AccessArgs { object, access: 0x3f }),
            Procedure::ReadLink => xdr::to_bytes(&ReadLinkArgs { symlink: object }),
            Procedure::Read => xdr::to_bytes(&ReadArgs { file: object, offset: 0, count: 4 }),
            Procedure::Write => xdr::to_bytes(&write(object, b"more data")),
            Procedure::Create => {
                xdr::to_bytes(&CreateArgs { place: new, how: CreateHow::Guarded(attributes) })
            }
            Procedure::MkDir => xdr::to_bytes(&MkDirArgs { place: new, attributes }),
            Procedure::Symlink => {
                xdr::to_bytes(&SymlinkArgs { place: new, attributes, target: Bytes::from_static(b"f") })
            }
            Procedure::MkNod => xdr::to_bytes(&MkNodArgs { place: new, what: MkNodData::Fifo(attributes) }),
            Procedure::Remove => xdr::to_bytes(&RemoveArgs { object: place(object, "g") }),
            Procedure::RmDir => xdr::to_bytes(&RmDirArgs { object: place(object, "d") }),
            Procedure::Rename => {
                xdr::to_bytes(&RenameArgs { from: place(object, "f"), to: place(object, "g") })
            }
            Procedure::Link => xdr::to_bytes(&LinkArgs { file: object, link: place(self.root, "new") }),
            Procedure::ReadDir => xdr::to_bytes(&list(object)),
            Procedure::ReadDirPlus => xdr::to_bytes(&list_plus(object)),
            Procedure::FsStat => xdr::to_bytes(&FsStatArgs { root: object }),
            Procedure::FsInfo => xdr::to_bytes(&FsInfoArgs { root: object }),
            Procedure::PathConf => xdr::to_bytes(&PathConfArgs { object }),
            Procedure::Commit => xdr::to_bytes(&CommitArgs { file: object, offset: 0, count: 0 }),
        }
    }
}

pub fn list(dir: FileHandle) -> ReadDirArgs {
    ReadDirArgs { dir, cookie: 0, verifier: CookieVerifier([0; 8]), count: 4096 }
}

pub fn list_plus(dir: FileHandle) -> ReadDirPlusArgs {
    let verifier = CookieVerifier([0; 8]);
    ReadDirPlusArgs { dir, cookie: 0, verifier, dir_count: 4096, max_count: 8192 }
}
