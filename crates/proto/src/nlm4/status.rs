//! Status codes of NLM version 4 (RFC 1813 §6.1.4).

use crate::status_table::statuses;

statuses! {
    /// How a request ended (`nlm4_stats`).
    ;
    /// `NLM4_GRANTED`: success.
    Granted = 0, "NLM4_GRANTED";
    /// `NLM4_DENIED`: a conflict, or nothing to cancel.
    Denied = 1, "NLM4_DENIED";
    /// `NLM4_DENIED_NOLOCKS`: the server has no room for more locks.
    DeniedNoLocks = 2, "NLM4_DENIED_NOLOCKS";
    /// `NLM4_BLOCKED`: a conflict; NLMPROC4_GRANTED follows when the lock is there.
    Blocked = 3, "NLM4_BLOCKED";
    /// `NLM4_DENIED_GRACE_PERIOD`: the server has restarted and only takes reclaims for now.
    DeniedGracePeriod = 4, "NLM4_DENIED_GRACE_PERIOD";
    /// `NLM4_DEADLCK`: waiting would never end.
    Deadlock = 5, "NLM4_DEADLCK";
    /// `NLM4_ROFS`: read-only file system.
    ReadOnly = 6, "NLM4_ROFS";
    /// `NLM4_STALE_FH`: the handle is invalid.
    StaleHandle = 7, "NLM4_STALE_FH";
    /// `NLM4_FBIG`: the range is beyond what the server can lock.
    FileTooBig = 8, "NLM4_FBIG";
    /// `NLM4_FAILED`: anything else.
    Failed = 9, "NLM4_FAILED";
}
