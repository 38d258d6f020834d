//! The rows of each list as cells for people.

use serde::de::DeserializeOwned;
use server_shell::control::protocol::{
    Client, ClientState, Delegation, Expired, Export, Lock, Mount, Open, Reloaded, Revoked, Session, Status,
};

/// A row that can be printed.
pub(super) trait Listed: DeserializeOwned {
    /// The names of the columns.
    const HEAD: &[&str];

    /// A cell for each column.
    fn cells(&self) -> Vec<String>;
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

impl Listed for Status {
    const HEAD: &[&str] = &[
        "version",
        "address",
        "process",
        "uptime (s)",
        "grace period",
        "connections",
        "connections stopped",
        "memory budget (bytes)",
        "requests (bytes)",
        "replies (bytes)",
        "calls (bytes)",
        "connections (bytes)",
        "state (bytes)",
        "share of a client (bytes)",
        "heaviest client (bytes)",
        "clients",
        "sessions",
        "reply cache (bytes)",
        "opens",
        "locks",
        "delegations",
        "shares",
        "recalls since start",
        "delegations revoked since start",
        "clients expired since start",
        "records",
    ];

    fn cells(&self) -> Vec<String> {
        let grace = match self.in_grace {
            true => format!("{} clients may still reclaim", self.grace_clients),
            false => "over".to_owned(),
        };
        let mut cells = vec![self.version.clone(), self.address.clone(), self.process.to_string()];
        cells.extend([self.uptime_seconds.to_string(), grace]);
        let counts = [
            self.connections,
            self.connections_stopped,
            self.memory_budget_bytes,
            self.memory_request_bytes,
            self.memory_reply_bytes,
            self.memory_call_bytes,
            self.memory_connection_bytes,
            self.memory_state_bytes,
            self.memory_share_bytes,
            self.heaviest_client_bytes,
            self.clients,
            self.sessions,
            self.reply_cache_bytes,
            self.opens,
            self.locks,
            self.delegations,
            self.shares,
            self.recalls,
            self.delegations_revoked,
            self.clients_expired,
        ];
        cells.extend(counts.iter().map(u64::to_string));
        let fault = self.records_fault.as_ref().map(|fault| format!("cannot be written: {fault}"));
        cells.push(fault.unwrap_or_else(|| "can be written".to_owned()));
        cells
    }
}

impl Listed for Client {
    const HEAD: &[&str] = &["CLIENT", "STATE", "SILENT (s)", "SESSIONS", "HOLDS", "NAME"];

    fn cells(&self) -> Vec<String> {
        let state = match self.state {
            ClientState::Active => "active",
            ClientState::Lapsed => "lapsed",
            ClientState::Unconfirmed => "unconfirmed",
        };
        let numbers = [self.silent_seconds, self.sessions, self.holds].map(|number| number.to_string());
        let [silent, sessions, holds] = numbers;
        vec![self.client.clone(), state.to_owned(), silent, sessions, holds, self.name.clone()]
    }
}

impl Listed for Session {
    const HEAD: &[&str] = &["SESSION", "CLIENT", "SLOTS", "WANTED", "IN USE", "CALLBACKS", "PERSISTENT"];

    fn cells(&self) -> Vec<String> {
        let [slots, wanted, in_use] =
            [self.slots, self.slots_wanted, self.slots_in_use].map(|number| number.to_string());
        let (callbacks, persistent) = (yes(self.callbacks), yes(self.persistent));
        vec![self.session.clone(), self.client.clone(), slots, wanted, in_use, callbacks, persistent]
    }
}

impl Listed for Open {
    const HEAD: &[&str] = &["FILE", "PROTOCOL", "CLIENT", "ACCESS", "DENIES", "OWNER"];

    fn cells(&self) -> Vec<String> {
        let holder = self.holder.clone();
        let (access, deny) = (self.access.clone(), self.deny.clone());
        vec![self.file.clone(), holder.protocol, holder.client, access, deny, holder.owner]
    }
}

impl Listed for Lock {
    const HEAD: &[&str] = &["FILE", "PROTOCOL", "CLIENT", "KIND", "OFFSET", "LENGTH", "OWNER"];

    fn cells(&self) -> Vec<String> {
        let holder = self.holder.clone();
        let kind = if self.exclusive { "exclusive" } else { "shared" }.to_owned();
        let length = self.length.map_or_else(|| "to the end".to_owned(), |length| length.to_string());
        let offset = self.offset.to_string();
        vec![self.file.clone(), holder.protocol, holder.client, kind, offset, length, holder.owner]
    }
}

impl Listed for Delegation {
    const HEAD: &[&str] = &["FILE", "CLIENT", "KIND", "RECALLED"];

    fn cells(&self) -> Vec<String> {
        vec![self.file.clone(), self.client.clone(), self.kind.clone(), yes(self.recalled)]
    }
}

impl Listed for Mount {
    const HEAD: &[&str] = &["CLIENT", "PATH"];

    fn cells(&self) -> Vec<String> {
        vec![self.client.clone(), self.path.clone()]
    }
}

impl Listed for Export {
    const HEAD: &[&str] = &["PATH", "DIRECTORY", "ID", "RULES"];

    fn cells(&self) -> Vec<String> {
        let rules = self.rules.join("; ");
        let directory = if self.directory.is_empty() { "–".to_owned() } else { self.directory.clone() };
        vec![self.path.clone(), directory, self.id.to_string(), rules]
    }
}

impl Listed for Reloaded {
    const HEAD: &[&str] = &["added", "removed", "changed", "kept", "unavailable", "needs a restart"];

    fn cells(&self) -> Vec<String> {
        let lists =
            [&self.added, &self.removed, &self.changed, &self.kept, &self.unavailable, &self.needs_restart];
        let text = |list: &Vec<String>| if list.is_empty() { "–".to_owned() } else { list.join(", ") };
        lists.map(text).to_vec()
    }
}

impl Listed for Expired {
    const HEAD: &[&str] = &["expired"];

    fn cells(&self) -> Vec<String> {
        vec![self.client.clone()]
    }
}

impl Listed for Revoked {
    const HEAD: &[&str] =
        &["file", "opens revoked", "lock-owners revoked", "delegations revoked", "locks and shares of NLM"];

    fn cells(&self) -> Vec<String> {
        let counts = [self.opens, self.lock_owners, self.delegations, self.nlm];
        std::iter::once(self.file.clone()).chain(counts.iter().map(u64::to_string)).collect()
    }
}
