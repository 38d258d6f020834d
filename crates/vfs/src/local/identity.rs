//! On whose behalf the thread acts.
//!
//! As root every call is made with the caller's ids, so that the kernel enforces permissions, quotas and
//! access control lists and gives new objects their owner. The ids are the thread's own (`setfsuid(2)` and
//! friends) and stay until another identity is needed, so a thread that serves one user switches once.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::thread::CapabilitySet;

use super::sys;
use crate::{Error, Identity, Result};

/// How callers are enforced.
#[derive(Debug, Clone)]
pub(super) enum Acting {
    /// With the ids of each caller; holds our own.
    Callers(Identity),
    /// With the ids of the process, whoever calls.
    Process(Identity),
}

thread_local! {
    // A thread begins with the ids that its maker acted with.
    static THREAD: RefCell<Thread> = const { RefCell::new(Thread { ids: Ids::Unknown, limited: false }) };
}

/// Some thread of the process has acted for a caller.
static HAS_SWITCHED: AtomicBool = AtomicBool::new(false);

struct Thread {
    ids: Ids,
    /// CAP_SYS_RESOURCE has been given up.
    limited: bool,
}

enum Ids {
    Own,
    Other(Identity),
    /// Nothing was switched yet, or a switch failed half way.
    Unknown,
}

impl Acting {
    /// Acts for callers when the process can, and as the process otherwise.
    pub(super) fn probe(own: Identity) -> Self {
        if own.uid == 0 && can_switch(&own) { Self::Callers(own) } else { Self::Process(own) }
    }

    /// The ids of the process.
    pub(super) fn process_ids() -> Result<Identity> {
        let groups = rustix::process::getgroups()?;
        Ok(Identity {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: groups.into_iter().map(rustix::process::Gid::as_raw).collect(),
        })
    }

    /// The ids that count for `who`.
    pub(super) fn effective<'a>(&'a self, identity: &'a Identity) -> &'a Identity {
        match self {
            Self::Callers(_) => identity,
            Self::Process(own) => own,
        }
    }

    /// From now on this thread acts for `who`.
    pub(super) fn become_caller(&self, identity: &Identity) -> Result<()> {
        match self {
            Self::Callers(own) => {
                if !HAS_SWITCHED.load(Relaxed) {
                    HAS_SWITCHED.store(true, Relaxed);
                }
                switch(own, Some(identity))
            }
            Self::Process(_) => Ok(()),
        }
    }

    /// From now on this thread acts for the server.
    pub(super) fn become_self(&self) -> Result<()> {
        match self {
            Self::Callers(own) => switch(own, None),
            Self::Process(_) => Ok(()),
        }
    }
}

/// Gives the calling thread the ids of the process back.
///
/// A thread that has polled a future of a [`Local`](super::Local) may still act for the last caller, and so
/// may a thread that it has started since; one that then opens files of its own must call this first.
///
/// # Errors
/// When the ids of the process cannot be read or set.
pub fn restore_thread_identity() -> Result<()> {
    let may_differ =
        HAS_SWITCHED.load(Relaxed) && THREAD.with_borrow(|thread| !matches!(thread.ids, Ids::Own));
    if may_differ { switch(&Acting::process_ids()?, None) } else { Ok(()) }
}

fn switch(own: &Identity, to: Option<&Identity>) -> Result<()> {
    THREAD.with_borrow_mut(|thread| {
        let already = match (&thread.ids, to) {
            (Ids::Own, None) => true,
            (Ids::Other(now), Some(to)) => same(now, to),
            _ => false,
        };
        if already {
            return Ok(());
        }
        if to.is_some() && !thread.limited {
            give_up_reserves()?;
            thread.limited = true;
        }
        let target = to.unwrap_or(own);
        thread.ids = Ids::Unknown;
        sys::set_thread_fs_ids(target.uid, target.gid, &target.groups).map_err(|_| Error::AccessDenied)?;
        thread.ids = to.map_or(Ids::Own, |to| Ids::Other(to.clone()));
        Ok(())
    })
}

fn same(a: &Identity, b: &Identity) -> bool {
    a.uid == b.uid && a.gid == b.gid && (Arc::ptr_eq(&a.groups, &b.groups) || a.groups == b.groups)
}

/// `setfsuid` leaves CAP_SYS_RESOURCE, with which callers would get at reserved blocks and over their quota.
fn give_up_reserves() -> Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    if sets.effective.contains(CapabilitySet::SYS_RESOURCE) {
        sets.effective.remove(CapabilitySet::SYS_RESOURCE);
        rustix::thread::set_capabilities(None, sets)?;
    }
    Ok(())
}

/// Tries it on a thread of its own, which then ends.
fn can_switch(own: &Identity) -> bool {
    let own = own.clone();
    let probe = std::thread::Builder::new().name("vfs-probe".into()).spawn(move || {
        let nobody = Identity::new(Identity::NOBODY, Identity::NOBODY);
        switch(&own, Some(&nobody)).is_ok() && switch(&own, None).is_ok()
    });
    probe.is_ok_and(|thread| thread.join().unwrap_or(false))
}
