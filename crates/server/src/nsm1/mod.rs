//! NSM version 1 (X/Open C702 chapter 13): hosts say that they have restarted, and their locks are free.
//!
//! The lock manager is in this process, and keeps for itself whom it tells of a restart of this server. So
//! nobody is monitored for anybody else: MON, which would make this server call any program of this host, is
//! answered with STAT_FAIL, and SIMU_CRASH, which would take everybody's locks, is not offered.
//!
//! NSM knows no authentication. A notification is only believed from the host that it speaks of, by its
//! address, and from a port that on most hosts only the superuser has. Who can forge datagrams in the network
//! can still free a host's locks.

#[cfg(test)]
mod tests;

use proto::nsm1::{
    CallBack, MonitorArgs, MonitorId, MonitoredName, Outcome, Procedure, StatChange, StatResponse,
};
use rpc::{Call, Disposition, Refusal};
use xdr::{Decode, Encoder};

use crate::hosts::is_privileged;
use crate::nlm4::LockTable;

/// The program.
#[derive(Debug)]
pub struct Nsm1<L> {
    locks: L,
    state_number: i32,
}

impl<L: LockTable> Nsm1<L> {
    /// Frees the locks of hosts that restart in `locks`; the server's own state number is odd, and larger
    /// than at its last start.
    pub fn new(locks: L, state_number: i32) -> Self {
        Self { locks, state_number }
    }

    /// Answers one call. NSM knows no credentials.
    ///
    /// # Errors
    /// For a procedure that is unknown or not offered, and arguments that do not decode.
    pub fn call(&self, call: &Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
        let failed = StatResponse { outcome: Outcome::Failed, state: self.state_number };
        match procedure {
            Procedure::Null => {}
            Procedure::Stat => {
                arguments::<MonitoredName>(call)?;
                reply.put(&failed);
            }
            Procedure::Monitor => {
                arguments::<MonitorArgs>(call)?;
                reply.put(&failed);
            }
            Procedure::Unmonitor => {
                arguments::<MonitorId>(call)?;
                reply.put(&self.state_number);
            }
            Procedure::UnmonitorAll => {
                arguments::<CallBack>(call)?;
                reply.put(&self.state_number);
            }
            Procedure::SimulateCrash => return Err(Refusal::ProcedureUnavailable),
            Procedure::Notify => self.notify(call, &arguments(call)?),
        }
        Ok(Disposition::Reply)
    }

    fn notify(&self, call: &Call<'_>, change: &StatChange) {
        let client = call.peer.ip().to_canonical();
        if !is_privileged(call.peer) {
            tracing::debug!(%client, "NOTIFY came from an unprivileged port and is ignored");
            return;
        }
        self.locks.host_restarted(client, &change.name, change.state);
    }
}

fn arguments<T: Decode>(call: &Call<'_>) -> Result<T, Refusal> {
    let mut decoder = call.arguments.clone();
    let arguments = T::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments));
    arguments.map_err(|_| Refusal::GarbageArguments)
}
