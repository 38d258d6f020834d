//! RFC 1813 §3.3: which statuses each procedure may end with.

use std::collections::{BTreeMap, BTreeSet};

use proto::nfs3::{Procedure, Status};

/// Procedure and names of statuses, without their prefix.
const TABLE: &[(Procedure, &str)] = &[
    (Procedure::Null, ""),
    (Procedure::GetAttr, "IO STALE BADHANDLE SERVERFAULT"),
    (Procedure::SetAttr, "PERM IO ACCES INVAL NOSPC ROFS DQUOT NOT_SYNC STALE BADHANDLE SERVERFAULT"),
    (Procedure::Lookup, "IO NOENT ACCES NOTDIR NAMETOOLONG STALE BADHANDLE SERVERFAULT"),
    (Procedure::Access, "IO STALE BADHANDLE SERVERFAULT"),
    (Procedure::ReadLink, "IO INVAL ACCES STALE BADHANDLE NOTSUPP SERVERFAULT"),
    (Procedure::Read, "IO NXIO ACCES INVAL STALE BADHANDLE SERVERFAULT"),
    (Procedure::Write, "IO ACCES FBIG DQUOT NOSPC ROFS INVAL STALE BADHANDLE SERVERFAULT"),
    (
        Procedure::Create,
        "IO ACCES EXIST NOTDIR NOSPC ROFS NAMETOOLONG DQUOT STALE BADHANDLE NOTSUPP SERVERFAULT",
    ),
    (
        Procedure::MkDir,
        "IO ACCES EXIST NOTDIR NOSPC ROFS NAMETOOLONG DQUOT STALE BADHANDLE NOTSUPP SERVERFAULT",
    ),
    (
        Procedure::Symlink,
        "IO ACCES EXIST NOTDIR NOSPC ROFS NAMETOOLONG DQUOT STALE BADHANDLE NOTSUPP SERVERFAULT",
    ),
    (
        Procedure::MkNod,
        "IO ACCES EXIST NOTDIR NOSPC ROFS NAMETOOLONG DQUOT STALE BADHANDLE NOTSUPP SERVERFAULT BADTYPE",
    ),
    (Procedure::Remove, "NOENT IO ACCES NOTDIR NAMETOOLONG ROFS STALE BADHANDLE SERVERFAULT"),
    (
        Procedure::RmDir,
        "NOENT IO ACCES INVAL EXIST NOTDIR NAMETOOLONG ROFS NOTEMPTY STALE BADHANDLE NOTSUPP SERVERFAULT",
    ),
    (
        Procedure::Rename,
        "NOENT IO ACCES EXIST XDEV NOTDIR ISDIR INVAL NOSPC ROFS MLINK NAMETOOLONG NOTEMPTY DQUOT STALE \
         BADHANDLE NOTSUPP SERVERFAULT",
    ),
    (
        Procedure::Link,
        "IO ACCES EXIST XDEV NOTDIR INVAL NOSPC ROFS MLINK NAMETOOLONG DQUOT STALE BADHANDLE NOTSUPP \
         SERVERFAULT",
    ),
    (Procedure::ReadDir, "IO ACCES NOTDIR BAD_COOKIE TOOSMALL STALE BADHANDLE SERVERFAULT"),
    (Procedure::ReadDirPlus, "IO ACCES NOTDIR BAD_COOKIE TOOSMALL STALE BADHANDLE NOTSUPP SERVERFAULT"),
    (Procedure::FsStat, "IO STALE BADHANDLE SERVERFAULT"),
    (Procedure::FsInfo, "STALE BADHANDLE SERVERFAULT"),
    (Procedure::PathConf, "STALE BADHANDLE SERVERFAULT"),
    (Procedure::Commit, "IO STALE BADHANDLE SERVERFAULT"),
];

/// Procedures with the codes of their statuses.
pub type Pairs = BTreeSet<(Procedure, u32)>;

pub fn table() -> Pairs {
    let of = |(procedure, names): &(Procedure, &'static str)| {
        let procedure = *procedure;
        names.split_whitespace().map(move |name| (procedure, status(&format!("NFS3ERR_{name}"))))
    };
    TABLE.iter().flat_map(of).collect()
}

/// The code of a status by its name in the standard.
pub fn status(name: &str) -> u32 {
    let named: BTreeMap<_, _> =
        (0..20_000).map(Status::from_code).map(|status| (status.to_string(), status.code())).collect();
    *named.get(name).unwrap_or_else(|| panic!("no status {name}"))
}

pub fn procedure(name: &str) -> Procedure {
    let found = Procedure::ALL.iter().find(|procedure| procedure.name() == name);
    *found.unwrap_or_else(|| panic!("no procedure {name}"))
}

#[test]
fn every_procedure_is_in_the_table_once() {
    let listed: Vec<_> = TABLE.iter().map(|(procedure, _)| *procedure).collect();
    assert_eq!(listed, Procedure::ALL);
}
