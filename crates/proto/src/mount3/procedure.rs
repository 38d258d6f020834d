//! Numbers of the procedures of MOUNT (RFC 1813 §5.2).

/// A procedure of MOUNT version 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Procedure {
    /// Does nothing.
    Null = 0,
    /// A path's file handle: [`DirPath`](super::DirPath), [`MntReply`](super::MntReply).
    Mnt = 1,
    /// Who has mounted: nothing, [`MountList`](super::MountList).
    Dump = 2,
    /// Forgets one mount of the caller: [`DirPath`](super::DirPath), nothing.
    Umnt = 3,
    /// Forgets all mounts of the caller: nothing, nothing.
    UmntAll = 4,
    /// What is exported to whom: nothing, [`ExportList`](super::ExportList).
    Export = 5,
}

impl Procedure {
    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Mnt,
            2 => Self::Dump,
            3 => Self::Umnt,
            4 => Self::UmntAll,
            5 => Self::Export,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}
