//! The lines that go over the socket: one [`Request`], and then [`Answer`]s, of which the last is no row.
//!
//! ```text
//! {"version":1,"command":"clients"}
//!     {"version":1,"row":{"client":"0000002a00000001", …}}
//!     {"version":1,"end":{"rows":1}}
//! ```
//! Fields may be added to rows within a version.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::observe::path_text;

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// What to do.
    #[serde(flatten)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Command {
    /// One row: [`Status`].
    Status,
    /// A row for each NFSv4 client: [`Client`].
    Clients,
    /// A row for each session: [`Session`].
    Sessions,
    /// A row for each NFSv4 open and NLM share: [`Open`].
    Opens,
    /// A row for each locked range: [`Lock`].
    Locks,
    /// A row for each delegation: [`Delegation`].
    Delegations,
    /// A row for each NFSv3 mount that clients have told of: [`Mount`].
    Mounts,
    /// A row for each export: [`Export`].
    Exports,
    /// Reads the configuration again. One row: [`Reloaded`].
    Reload,
    /// Ends a client with its sessions, and gives away what it held. It may come back as a new one. One row:
    /// [`Expired`].
    Expire {
        /// Its number, as lists have it.
        client: String,
    },
    /// Takes everything away that is held of a file. One row: [`Revoked`].
    Revoke {
        /// Its path as clients see it, its number and generation as lists have them, or its handle in
        /// hexadecimal digits.
        file: String,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A row of a list.
    Row(Value),
    /// The list is whole.
    End {
        /// How many rows came.
        rows: u64,
    },
    /// It cannot be done, in one sentence.
    Error(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// An answer as a line, without its end.
pub(super) fn line(answer: &Answer) -> Vec<u8> {
    // Every answer is of a kind that JSON has.
    serde_json::to_vec(&Versioned { version: VERSION, content: answer }).unwrap_or_default()
}

/// Reads an answer.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub fn read_answer(line: &str) -> Result<Answer, String> {
    let read: Versioned<Answer> = serde_json::from_str(line)
        .map_err(|error| format!("the server's answer is not understood: {error}"))?;
    match read.version {
        VERSION => Ok(read.content),
        other => Err(format!("the server speaks version {other} of the protocol and not {VERSION}")),
    }
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Of the program.
    pub version: String,
    /// Where it listens.
    pub address: String,
    /// Its process.
    pub process: u32,
    /// Since it was started.
    pub uptime_seconds: u64,
    /// Only what was held before a restart may be had.
    pub in_grace: bool,
    /// Clients that the grace period waits for.
    pub grace_clients: u64,
    /// Connections that are open.
    pub connections: u64,
    /// Of these, those that are not read because their client is over its share of memory.
    pub connections_stopped: u64,
    /// Memory that clients can make the server hold, in bytes.
    pub memory_budget_bytes: u64,
    /// Of this, what requests take that are under way or incomplete.
    pub memory_request_bytes: u64,
    /// Replies that wait for the socket.
    pub memory_reply_bytes: u64,
    /// Calls under way, with the replies that they may need.
    pub memory_call_bytes: u64,
    /// Connections.
    pub memory_connection_bytes: u64,
    /// Clients, sessions, opens, locks and delegations, about.
    pub memory_state_bytes: u64,
    /// The share of one client in requests, replies and calls.
    pub memory_share_bytes: u64,
    /// The client address that takes most of these, if any takes much.
    pub heaviest_client: Option<String>,
    /// The charge of that client.
    pub heaviest_client_bytes: u64,
    /// NFSv4 clients.
    pub clients: u64,
    /// Sessions of these.
    pub sessions: u64,
    /// Memory for slots and kept replies.
    pub reply_cache_bytes: u64,
    /// NFSv4 opens.
    pub opens: u64,
    /// Locked ranges.
    pub locks: u64,
    /// Delegations that are out.
    pub delegations: u64,
    /// Share reservations of NLM.
    pub shares: u64,
    /// Delegations that were asked back since the start.
    pub recalls: u64,
    /// Delegations that were taken away since the start.
    pub delegations_revoked: u64,
    /// Clients that lost what they held since the start.
    pub clients_expired: u64,
    /// Why the records in the state directory cannot be written, and what to do about it; none while they
    /// can be.
    #[serde(default)]
    pub records_fault: Option<String>,
}

/// An NFSv4 client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Its number, in 16 hexadecimal digits.
    pub client: String,
    /// What it calls itself; bytes that are no text are escaped.
    pub name: String,
    /// Whether it has made a session, and kept its lease.
    pub state: ClientState,
    /// Since it renewed its lease.
    pub silent_seconds: u64,
    /// Sessions that it has.
    pub sessions: u64,
    /// Opens, lock stateids and delegations that it holds.
    pub holds: u64,
}

/// How a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientState {
    /// It renews its lease.
    Active,
    /// Its lease is over; it keeps what is in nobody's way.
    Lapsed,
    /// It has not made a session yet.
    Unconfirmed,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id, in 32 hexadecimal digits.
    pub session: String,
    /// Whose it is.
    pub client: String,
    /// Slots that the client may use.
    pub slots: u64,
    /// Slots that the client is asked to use.
    pub slots_wanted: u64,
    /// Slots with a request under way.
    pub slots_in_use: u64,
    /// Callbacks get through.
    pub callbacks: bool,
    /// Its replies survive a crash of the server.
    pub persistent: bool,
}

/// Who holds something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// `nfs4` or `nlm`.
    pub protocol: String,
    /// The NFSv4 client's number, or the NLM client's address and name.
    pub client: String,
    /// What the client calls the owner; bytes that are no text are escaped.
    pub owner: String,
}

/// An open, or a share reservation of NLM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The file's number and generation.
    pub file: String,
    /// Whose.
    #[serde(flatten)]
    pub holder: Holder,
    /// `read`, `write` or `both`.
    pub access: String,
    /// What others are denied: `none`, `read`, `write` or `both`.
    pub deny: String,
}

/// A locked range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The file's number and generation.
    pub file: String,
    /// Whose.
    #[serde(flatten)]
    pub holder: Holder,
    /// First byte.
    pub offset: u64,
    /// Bytes; none to the end of the file, however long.
    pub length: Option<u64>,
    /// Nobody else may lock there.
    pub exclusive: bool,
}

/// A delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The file's number and generation.
    pub file: String,
    /// Whose.
    pub client: String,
    /// `read` or `write`.
    pub kind: String,
    /// It was asked back and is not back yet.
    pub recalled: bool,
}

/// A mount of NFSv3, as the client has told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The client's address.
    pub client: String,
    /// What it has mounted.
    pub path: String,
}

/// An export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Where clients see it.
    pub path: String,
    /// What it is on this host; empty for what only leads NFSv4 clients to the exports.
    pub directory: String,
    /// Its number in handles.
    pub id: u32,
    /// Whom it is for, and what they may do.
    pub rules: Vec<String>,
}

/// What became of a configuration that was read again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reloaded {
    /// The paths of exports that came.
    pub added: Vec<String>,
    /// The paths of exports that went.
    pub removed: Vec<String>,
    /// The paths of exports with other rules than before.
    pub changed: Vec<String>,
    /// The paths of exports that are as they were.
    pub kept: Vec<String>,
    /// The paths of exports whose file system is dead. Each is left out until it answers again.
    #[serde(default)]
    pub unavailable: Vec<String>,
    /// Keys whose change waits for the next start.
    pub needs_restart: Vec<String>,
}

/// A client that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// Its number.
    pub client: String,
}

/// What was taken away of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The file's number and generation.
    pub file: String,
    /// Opens of NFSv4.
    pub opens: u64,
    /// Lock-owners of NFSv4 that had locked something, each counted once.
    pub lock_owners: u64,
    /// Delegations.
    pub delegations: u64,
    /// Ranges and share reservations of NLM.
    pub nlm: u64,
}

impl From<crate::Reloaded> for Reloaded {
    fn from(reloaded: crate::Reloaded) -> Self {
        let texts = |paths: &[server::exports::ExportPath]| paths.iter().map(path_text).collect();
        Self {
            added: texts(&reloaded.added),
            removed: texts(&reloaded.removed),
            changed: texts(&reloaded.changed),
            kept: texts(&reloaded.kept),
            unavailable: texts(&reloaded.unavailable),
            needs_restart: reloaded.needs_restart.iter().map(|key| (*key).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_they_are_documented() {
        let request = Request { version: 1, command: Command::Clients };
        assert_eq!(serde_json::to_string(&request).unwrap(), r#"{"version":1,"command":"clients"}"#);
        for (answer, text) in [
            (Answer::Row(serde_json::json!({"client": "2a"})), r#"{"version":1,"row":{"client":"2a"}}"#),
            (Answer::End { rows: 1 }, r#"{"version":1,"end":{"rows":1}}"#),
            (Answer::Error("no".to_owned()), r#"{"version":1,"error":"no"}"#),
        ] {
            assert_eq!(String::from_utf8(line(&answer)).unwrap(), text);
            assert_eq!(read_answer(text), Ok(answer));
        }
        assert!(read_answer(r#"{"version":2,"error":"no"}"#).unwrap_err().contains("version 2"));
    }
}
