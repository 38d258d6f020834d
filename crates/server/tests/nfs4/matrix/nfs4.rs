//! The operations of NFSv4.2 that work on objects: all of NFSv4.1, and more.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;

use super::Does;
use super::expected::{Need, Said};
use super::place::Place;
use crate::peer::{Peer, open};

pub(crate) const OPERATIONS: &[(&str, Does)] = &[
    ("access", Does::look(Need::Nothing)),
    ("allocate", Does::change(Need::ToWrite)),
    ("close", Does::look(Need::Nothing)),
    ("commit", Does::look(Need::ToWrite)),
    ("create", Does::change(Need::Nothing)),
    ("deallocate", Does::change(Need::ToWrite)),
    ("getattr", Does::look(Need::Nothing)),
    ("getfh", Does::look(Need::Nothing)),
    ("get_dir_delegation", Does::look(Need::Nothing)),
    ("io_advise", Does::look(Need::Nothing)),
    ("link", Does::change(Need::Nothing)),
    ("lock", Does::look(Need::Nothing)),
    ("lockt", Does::look(Need::Nothing)),
    ("lookup", Does::look(Need::Nothing)),
    ("lookup from the root", Does::look(Need::Nothing)),
    ("lookupp", Does::look(Need::Nothing)),
    ("nverify", Does::look(Need::Nothing)),
    ("open to read", Does::look(Need::ToRead)),
    ("open to write", Does::change(Need::ToWrite)),
    ("open a new one", Does::change(Need::Nothing)),
    ("open_downgrade", Does::look(Need::Nothing)),
    ("read", Does::look(Need::ToRead)),
    ("read_plus", Does::look(Need::ToRead)),
    ("readdir", Does::look(Need::Nothing)),
    ("readlink", Does::look(Need::Nothing)),
    ("remove", Does::change(Need::Nothing)),
    ("rename", Does::change(Need::Nothing)),
    ("restorefh", Does::look(Need::Nothing)),
    ("savefh", Does::look(Need::Nothing)),
    ("secinfo", Does::look(Need::Nothing)),
    ("secinfo_no_name", Does::look(Need::Nothing)),
    ("set_xattr", Does::change(Need::ToWrite)),
    ("setattr", Does::change(Need::ToOwn)),
    ("verify", Does::look(Need::Nothing)),
    ("write", Does::change(Need::ToWrite)),
];

/// RFC 8881 §2.6.3.1.1: what asks for the right flavour, and what ends with the object, is never told that it
/// is the wrong one.
pub(crate) fn wrong_flavor(name: &str) -> Said {
    match name {
        "secinfo" | "secinfo_no_name" | "savefh" => Said::Done,
        _ => Said::WrongFlavor,
    }
}

fn said(status: Status) -> Option<Said> {
    Some(match status {
        Status::Ok => Said::Done,
        Status::Stale | Status::NoEntry => Said::Absent,
        Status::AccessDenied => Said::Denied,
        Status::ReadOnly => Said::ReadOnly,
        Status::NotPermitted => Said::NotPermitted,
        Status::WrongSecurity => Said::WrongFlavor,
        _ => return None,
    })
}

pub(crate) fn run(place: &Place, name: &str, mut peer: Peer) -> Said {
    let status = peer.compound(|c| steps(place, name, c)).status;
    said(status).unwrap_or_else(|| panic!("{name} answers {status}"))
}

fn steps(place: &Place, name: &str, c: &mut CompoundBuilder<'_>) {
    use Operation as O;
    let put = |object: &FileHandle| PutFhArgs { object: object.clone() };
    let on = |name: &str| match name {
        "create" | "get_dir_delegation" | "lookup" | "open to read" | "open to write" | "open a new one"
        | "readdir" | "remove" | "rename" | "restorefh" | "secinfo" => &place.root,
        "lookupp" => &place.directory,
        "readlink" => &place.link,
        _ => &place.file,
    };
    if name == "lookup from the root" {
        c.push(O::PutRootFh, &()).push(O::Lookup, &LookupArgs { name: "e".into() });
        return;
    }
    c.push(O::PutFh, &put(on(name)));
    let same = AttributeValues { size: Some(0), ..Default::default() };
    let other = AttributeValues { size: Some(9), ..Default::default() };
    let values = AttributeValues { mode: Some(0o600), ..Default::default() };
    let opened = |access| open("f", access | share::WANT_NO_DELEGATION, None);
    let owner = |owner: &'static str| StateOwner { client: ClientId(0), owner: owner.into() };
    match name {
        "access" => c.push(O::Access, &AccessArgs { access: 0x3f }),
        "allocate" => {
            c.push(O::Allocate, &AllocateArgs { state_id: StateId::ANONYMOUS, offset: 0, length: 9 })
        }
        "deallocate" => {
            c.push(O::Deallocate, &AllocateArgs { state_id: StateId::ANONYMOUS, offset: 0, length: 9 })
        }
        "io_advise" => {
            let (state_id, hints) = (StateId::ANONYMOUS, Bitmap::EMPTY);
            c.push(O::IoAdvise, &IoAdviseArgs { state_id, offset: 0, count: 0, hints })
        }
        "read_plus" => {
            c.push(O::ReadPlus, &ReadPlusArgs { state_id: StateId::ANONYMOUS, offset: 0, count: 10 })
        }
        "set_xattr" => {
            let (option, value) = (SetXattrOption::Either, Bytes::from_static(b"x"));
            c.push(O::SetXattr, &SetXattrArgs { option, name: "name".into(), value })
        }
        "close" => c.push(O::Close, &CloseArgs { sequence: 0, state_id: place.open }),
        "commit" => c.push(O::Commit, &CommitArgs { offset: 0, count: 0 }),
        "create" => {
            c.push(O::Create, &(CreateArgs { kind: CreateType::Directory, name: "n".into() }, values))
        }
        "getattr" => c.push(O::GetAttr, &GetAttrArgs { wanted: same.present() }),
        "getfh" => c.push(O::GetFh, &()),
        "get_dir_delegation" => {
            let never = Time { seconds: 0, nanoseconds: 0 };
            c.push(
                O::GetDirDelegation,
                &GetDirDelegationArgs {
                    signal_available: false,
                    notification_types: Bitmap::EMPTY,
                    child_attribute_delay: never,
                    directory_attribute_delay: never,
                    child_attributes: Bitmap::EMPTY,
                    directory_attributes: Bitmap::EMPTY,
                },
            )
        }
        "link" => c
            .push(O::SaveFh, &())
            .push(O::PutFh, &put(&place.root))
            .push(O::Link, &LinkArgs { new_name: "n".into() }),
        "lock" => {
            let locker = Locker::New(NewLockOwner {
                open_sequence: 0,
                open_state_id: place.open,
                lock_sequence: 0,
                owner: owner("me"),
            });
            c.push(O::Lock, &LockArgs { kind: LockType::Read, reclaim: false, offset: 0, length: 1, locker })
        }
        "lockt" => {
            c.push(O::LockT, &LockTArgs { kind: LockType::Read, offset: 0, length: 1, owner: owner("me") })
        }
        "lookup" => c.push(O::Lookup, &LookupArgs { name: "f".into() }),
        "lookupp" => c.push(O::LookupParent, &()).push(O::LookupParent, &()),
        "nverify" => c.push(O::NVerify, &other),
        "open to read" => c.push(O::Open, &opened(share::READ)),
        "open to write" => c.push(O::Open, &opened(share::WRITE)),
        "open a new one" => c.push(
            O::Open,
            &open("n", share::READ | share::WANT_NO_DELEGATION, Some(CreateHow::Guarded(values))),
        ),
        "open_downgrade" => c.push(
            O::OpenDowngrade,
            &OpenDowngradeArgs {
                state_id: place.open,
                sequence: 0,
                share_access: share::BOTH,
                share_deny: 0,
            },
        ),
        "read" => c.push(O::Read, &ReadArgs { state_id: StateId::ANONYMOUS, offset: 0, count: 10 }),
        "readdir" => {
            let verifier = Verifier([0; 8]);
            let wanted = Bitmap::EMPTY;
            c.push(
                O::ReadDir,
                &ReadDirArgs { cookie: 0, verifier, directory_count: 1000, count_max: 4000, wanted },
            )
        }
        "readlink" => c.push(O::ReadLink, &()),
        "remove" => c.push(O::Remove, &RemoveArgs { target: "r".into() }),
        "rename" => {
            c.push(O::SaveFh, &()).push(O::Rename, &RenameArgs { old_name: "r".into(), new_name: "s".into() })
        }
        "restorefh" => c.push(O::SaveFh, &()).push(O::RestoreFh, &()).push(O::GetFh, &()),
        "savefh" => c.push(O::SaveFh, &()),
        "secinfo" => c.push(O::SecInfo, &SecInfoArgs { name: "f".into() }),
        "secinfo_no_name" => {
            c.push(O::SecInfoNoName, &SecInfoNoNameArgs { style: SecInfoStyle::CurrentHandle })
        }
        "setattr" => c.push(O::SetAttr, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values)),
        "verify" => c.push(O::Verify, &same),
        "write" => c.push(
            O::Write,
            &WriteArgs {
                state_id: StateId::ANONYMOUS,
                offset: 0,
                stable: StableHow::FileSync,
                data: Bytes::from_static(b"x"),
            },
        ),
        other => panic!("no such operation: {other}"),
    };
}
