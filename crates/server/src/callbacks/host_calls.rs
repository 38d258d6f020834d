//! Calls to hosts: the caller that the shell provides, and the addresses where no host answers.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::hosts::{CallHosts, NoHosts};

/// Addresses that are remembered as silent. At the bound all are forgotten: the next failure at each address
/// is reported once more.
const SILENT_MAX: usize = 4096;

/// Calls hosts.
#[derive(Default)]
pub(crate) struct HostCalls {
    caller: OnceLock<Arc<dyn CallHosts>>,
    silent: Mutex<BTreeSet<IpAddr>>,
}

impl HostCalls {
    /// Sets the caller of hosts. Only the first call has an effect; it precedes the first request.
    pub(crate) fn set_caller(&self, caller: Arc<dyn CallHosts>) {
        let _ = self.caller.set(caller);
    }

    /// The caller of hosts; [`NoHosts`] until one is set.
    pub(crate) fn caller(&self) -> &dyn CallHosts {
        self.caller.get().map_or(&NoHosts, |caller| &**caller)
    }

    /// True when hosts can be called.
    pub(crate) fn can_call(&self) -> bool {
        self.caller().can_call()
    }

    /// Notes that no host answers at an address; true when it was not noted yet.
    pub(crate) fn does_not_answer(&self, address: IpAddr) -> bool {
        let mut silent = self.silent.lock();
        if silent.len() >= SILENT_MAX {
            silent.clear();
        }
        silent.insert(address)
    }

    pub(crate) fn has_answered(&self, address: IpAddr) {
        self.silent.lock().remove(&address);
    }
}
