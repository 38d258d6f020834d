//! What the counters are told of an operation, read from its result on the wire: handlers need not know that
//! they are counted.

use std::sync::atomic::{AtomicU64, Ordering};

use proto::nfs4::Operation;
use proto::{mount3, nfs3, nlm4};

use super::Ended;
use crate::exports::ExportId;

/// Bytes of attributes in NFSv3 (`fattr3`), and of those that show a change (`wcc_attr`).
const ATTRIBUTES: usize = 84;
const BEFORE: usize = 24;
/// An operation's number, and its status.
const NFS4_HEAD: usize = 8;

/// The export that a request came to work in.
#[derive(Debug, Default)]
pub(crate) struct RequestExport(AtomicU64);

impl RequestExport {
    pub(crate) fn set(&self, export: ExportId) {
        self.0.store(u64::from(export.0) + 1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<ExportId> {
        let number = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        u32::try_from(number).ok().map(ExportId)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

/// Skips what is there when the word before it is not 0.
fn after_optional(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    Some(at + 4 + if word(bytes, at)? == 0 { 0 } else { length })
}

/// Of a procedure of NFSv3: every result but that of NULL begins with the status.
pub(crate) fn of_nfs3(procedure: nfs3::Procedure, results: &[u8]) -> Ended {
    let status = word(results, 0).unwrap_or(0);
    let count_at = match procedure {
        nfs3::Procedure::Read if status == 0 => after_optional(results, 4, ATTRIBUTES),
        nfs3::Procedure::Write if status == 0 => {
            after_optional(results, 4, BEFORE).and_then(|at| after_optional(results, at, ATTRIBUTES))
        }
        _ => None,
    };
    Ended { status, bytes: count_at.and_then(|at| word(results, at)).map_or(0, u64::from) }
}

/// Of a procedure of MOUNT: only MNT has a status.
pub(crate) fn of_mount3(procedure: mount3::Procedure, results: &[u8]) -> Ended {
    let has_status = procedure == mount3::Procedure::Mnt;
    let status = if has_status { word(results, 0).unwrap_or(0) } else { 0 };
    Ended { status, bytes: 0 }
}

/// Of a procedure of NLM: a cookie, and then the status.
pub(crate) fn of_nlm4(procedure: nlm4::Procedure, results: &[u8]) -> Ended {
    let has_status = !matches!(procedure, nlm4::Procedure::Null | nlm4::Procedure::FreeAll);
    let status = word(results, 0)
        .filter(|_| has_status)
        .and_then(|cookie_bytes| word(results, 4 + (cookie_bytes as usize).next_multiple_of(4)));
    Ended { status: status.unwrap_or(0), bytes: 0 }
}

/// Of an operation of NFSv4, whose result begins with its number and the status. The number is the first
/// value.
pub(crate) fn of_nfs4(result: &[u8]) -> (u32, Ended) {
    let (number, status) = (word(result, 0).unwrap_or(0), word(result, 4).unwrap_or(0));
    let bytes = match Operation::from_number(number) {
        // Behind the end of file comes the length of the data.
        Some(Operation::Read) if status == 0 => word(result, NFS4_HEAD + 4),
        Some(Operation::Write) if status == 0 => word(result, NFS4_HEAD),
        _ => None,
    };
    (number, Ended { status, bytes: bytes.map_or(0, u64::from) })
}
