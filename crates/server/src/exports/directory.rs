//! What must be asked elsewhere before a rule can be applied: names of hosts, and groups of users.
//!
//! Requests look only at what is known. What is not is asked for beside them, and they wait a moment for it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Caller, NamePattern};
use crate::runtime::BoxFuture;

/// Answers from what it has learnt.
pub trait HostDirectory: fmt::Debug + Send + Sync {
    /// Whether the host at an address has such a name; `None` while that is not known. Asks for it then, and
    /// waits for nothing.
    fn is_named(&self, address: IpAddr, pattern: &NamePattern) -> Option<bool>;

    /// The groups that a user is in; none for somebody who is no user. `None` while that is not known.
    fn groups(&self, uid: u32) -> Option<Arc<[u32]>>;

    /// Ends when the answers to a question are known, or after a short time.
    fn learn(&self, question: &Question<'_>) -> BoxFuture<()>;
}

/// What a set of exports needs to know of a caller.
#[derive(Debug)]
pub struct Question<'a> {
    /// Where the caller is, if its name matters.
    pub address: Option<IpAddr>,
    /// The hosts that rules name.
    pub hosts: &'a [String],
    /// The netgroups that rules name.
    pub netgroups: &'a [String],
    /// The user, if its groups are those that this host knows.
    pub uid: Option<u32>,
}

/// What the exports of a set want to know.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) hosts: Vec<String>,
    pub(super) netgroups: Vec<String>,
    pub(super) names: bool,
    pub(super) groups: bool,
}

impl Needs {
    /// True when rules look at more of a caller than the call.
    pub(super) fn of_a_caller(&self) -> bool {
        self.names || self.groups
    }

    pub(super) fn question(&self, caller: &Caller<'_>) -> Question<'_> {
        let uid = caller.rpc.user().filter(|_| self.groups).map(|user| user.uid);
        Question {
            address: self.names.then(|| caller.peer.ip().to_canonical()),
            hosts: &[],
            netgroups: &[],
            uid,
        }
    }
}
