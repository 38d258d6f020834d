//! The procedures of NFSv3.

use bytes::Bytes;
use proto::nfs3::*;
use proto::nfs4;
use xdr::Encode;

use super::Does;
use super::expected::{Need, Said};
use super::place::Place;
use crate::peer::Peer;

/// All but NULL, which says nothing.
pub(crate) const OPERATIONS: &[(&str, Does)] = &[
    ("getattr", Does::look(Need::Nothing)),
    ("setattr", Does::change(Need::ToOwn)),
    ("lookup", Does::look(Need::Nothing)),
    ("access", Does::look(Need::Nothing)),
    ("readlink", Does::look(Need::Nothing)),
    ("read", Does::look(Need::ToRead)),
    ("write", Does::change(Need::ToWrite)),
    ("create", Does::change(Need::Nothing)),
    ("mkdir", Does::change(Need::Nothing)),
    ("symlink", Does::change(Need::Nothing)),
    ("mknod", Does::change(Need::Nothing)),
    ("remove", Does::change(Need::Nothing)),
    ("rmdir", Does::change(Need::Nothing)),
    ("rename", Does::change(Need::Nothing)),
    ("link", Does::change(Need::Nothing)),
    ("readdir", Does::look(Need::Nothing)),
    ("readdirplus", Does::look(Need::Nothing)),
    ("fsstat", Does::look(Need::Nothing)),
    ("fsinfo", Does::look(Need::Nothing)),
    ("pathconf", Does::look(Need::Nothing)),
    ("commit", Does::look(Need::ToWrite)),
];

fn wire(handle: &nfs4::FileHandle) -> FileHandle {
    FileHandle::new(&handle.0).unwrap()
}

fn at(dir: &nfs4::FileHandle, name: &'static str) -> DirOpArgs {
    DirOpArgs { dir: wire(dir), name: Bytes::from_static(name.as_bytes()) }
}

fn call<R: Request + Encode>(peer: &Peer, arguments: &R) -> Said {
    let number = (PROGRAM, VERSION, R::PROCEDURE.number());
    let results = peer.call(number, arguments).unwrap();
    let status = xdr::Decoder::new(results).get::<Status>().unwrap();
    said(status)
}

fn said(status: Status) -> Said {
    match status {
        Status::Ok => Said::Done,
        Status::Stale => Said::Absent,
        Status::AccessDenied => Said::Denied,
        Status::ReadOnly => Said::ReadOnly,
        Status::NotPermitted => Said::NotPermitted,
        other => panic!("{other}"),
    }
}

pub(crate) fn run(place: &Place, name: &str, peer: &Peer) -> Said {
    let set = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    let (root, file) = (wire(&place.root), wire(&place.file));
    let verifier = CookieVerifier::default();
    match name {
        "getattr" => call(peer, &GetAttrArgs { object: file }),
        "setattr" => call(peer, &SetAttrArgs { object: file, attributes: set, guard: None }),
        "lookup" => call(peer, &LookupArgs { what: at(&place.root, "f") }),
        "access" => call(peer, &AccessArgs { object: file, access: 0x3f }),
        "readlink" => call(peer, &ReadLinkArgs { symlink: wire(&place.link) }),
        "read" => call(peer, &ReadArgs { file, offset: 0, count: 10 }),
        "write" => {
            let data = Bytes::from_static(b"x");
            call(peer, &WriteArgs { file, offset: 0, count: 1, stable: StableHow::FileSync, data })
        }
        "create" => call(peer, &CreateArgs { place: at(&place.root, "n"), how: CreateHow::Guarded(set) }),
        "mkdir" => call(peer, &MkDirArgs { place: at(&place.root, "n"), attributes: set }),
        "symlink" => {
            let target = Bytes::from_static(b"t");
            call(peer, &SymlinkArgs { place: at(&place.root, "n"), attributes: set, target })
        }
        "mknod" => call(peer, &MkNodArgs { place: at(&place.root, "n"), what: MkNodData::Fifo(set) }),
        "remove" => call(peer, &RemoveArgs { object: at(&place.root, "r") }),
        "rmdir" => call(peer, &RmDirArgs { object: at(&place.root, "d") }),
        "rename" => call(peer, &RenameArgs { from: at(&place.root, "r"), to: at(&place.root, "s") }),
        "link" => call(peer, &LinkArgs { file, link: at(&place.root, "n") }),
        "readdir" => call(peer, &ReadDirArgs { dir: root, cookie: 0, verifier, count: 1000 }),
        "readdirplus" => {
            call(peer, &ReadDirPlusArgs { dir: root, cookie: 0, verifier, dir_count: 1000, max_count: 4000 })
        }
        "fsstat" => call(peer, &FsStatArgs { root }),
        "fsinfo" => call(peer, &FsInfoArgs { root }),
        "pathconf" => call(peer, &PathConfArgs { object: root }),
        "commit" => call(peer, &CommitArgs { file, offset: 0, count: 0 }),
        other => panic!("no such operation: {other}"),
    }
}

/// From an export that everybody may use into one that this caller may not, and back.
pub(crate) fn across(place: &Place, name: &str, peer: &Peer) -> [Said; 2] {
    let (inside, outside) = (|name| at(&place.root, name), |name| at(&place.elsewhere, name));
    match name {
        "rename" => [
            call(peer, &RenameArgs { from: inside("r"), to: outside("s") }),
            call(peer, &RenameArgs { from: outside("r"), to: inside("s") }),
        ],
        "link" => [
            call(peer, &LinkArgs { file: wire(&place.file), link: outside("n") }),
            call(peer, &LinkArgs { file: wire(&place.elsewhere), link: inside("n") }),
        ],
        other => panic!("no such operation: {other}"),
    }
}
