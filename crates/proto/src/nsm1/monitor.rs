//! STAT, MON, UNMON and UNMON_ALL: what a lock manager asks of the monitor on its own host.

use bytes::Bytes;
use xdr::Xdr;

use super::NAME_BYTES_MAX;

/// Arguments of STAT (`sm_name`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct MonitoredName(#[xdr(max = NAME_BYTES_MAX)] pub Bytes);

/// Whom to call about a restart (`my_id`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct CallBack {
    /// The host, always the monitor's own.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Program number.
    pub program: i32,
    /// Version of the program.
    pub version: i32,
    /// Its procedure.
    pub procedure: i32,
}

/// A host and who wants to know of its restarts (`mon_id`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct MonitorId {
    /// The host.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Who wants to know.
    pub call_back: CallBack,
}

/// Arguments of MON (`mon`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct MonitorArgs {
    /// The host and who wants to know.
    pub id: MonitorId,
    /// Comes back in the call.
    pub private: [u8; 16],
}

/// Whether a host is monitored (`res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub enum Outcome {
    /// It is (`STAT_SUCC`).
    Succeeded = 0,
    /// It is not (`STAT_FAIL`).
    Failed = 1,
}

/// What STAT and MON answer (`sm_stat_res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub struct StatResponse {
    /// Whether the host is monitored.
    pub outcome: Outcome,
    /// The monitor's own state number.
    pub state: i32,
}
