//! The lists, copied and sent in pieces: no lock is held while a piece is sent, however slowly it is read.

use std::io;

use proto::nfs4::{ClientId, SessionId, share};
use server::exports::{Rule, Squash};
use state::{FileId, Holding, HoldingsAfter, ListedClient, LockOwner};

use super::protocol::{Client, ClientState, Delegation, Export, Holder, Lock, Mount, Open, Session};
use super::{Answers, Controlled};
use crate::observe::{PIECE, path_text};

/// Characters of a name that a client has chosen.
const NAME_MAX: usize = 256;

impl Answers {
    pub(super) async fn clients(&mut self, controlled: &Controlled) -> io::Result<()> {
        let services = &controlled.services;
        let mut after = None;
        loop {
            let piece = services.observe().clients(after, PIECE);
            let Some(last) = piece.last() else { return Ok(()) };
            after = Some(last.client.id());
            for listed in &piece {
                self.row(&client(listed, controlled)).await?;
            }
        }
    }

    pub(super) async fn sessions(&mut self, controlled: &Controlled) -> io::Result<()> {
        let mut after = None;
        loop {
            let piece = controlled.services.observe().sessions(after, PIECE);
            let Some(last) = piece.last() else { return Ok(()) };
            after = Some(last.id());
            for listed in &piece {
                self.row(&session(listed, controlled)).await?;
            }
        }
    }

    pub(super) async fn opens(&mut self, controlled: &Controlled) -> io::Result<()> {
        self.holdings(controlled, |file, holding| match holding {
            Holding::Open { client, owner, access, deny } => {
                let (access, deny) = (bits(*access), bits(*deny));
                Some(Open { file: file_text(file), holder: of_nfs4(*client, owner), access, deny })
            }
            Holding::Share { owner, access, deny } => {
                let (access, deny) = (bits(*access), bits(*deny));
                Some(Open { file: file_text(file), holder: of_nlm(&owner.host, &owner.handle), access, deny })
            }
            Holding::Lock { .. } | Holding::Grant { .. } => None,
        })
        .await
    }

    pub(super) async fn locks(&mut self, controlled: &Controlled) -> io::Result<()> {
        self.holdings(controlled, |file, holding| {
            let Holding::Lock { owner, range, exclusive } = holding else { return None };
            let holder = match owner {
                LockOwner::Nfs4 { client, owner } => of_nfs4(*client, owner),
                LockOwner::Nlm { host, handle, .. } => of_nlm(host, handle),
            };
            let length = Some(range.length()).filter(|length| *length != u64::MAX);
            let (offset, exclusive) = (range.offset(), *exclusive);
            Some(Lock { file: file_text(file), holder, offset, length, exclusive })
        })
        .await
    }

    pub(super) async fn delegations(&mut self, controlled: &Controlled) -> io::Result<()> {
        self.holdings(controlled, |file, holding| {
            let Holding::Grant { client, kind, recalled } = holding else { return None };
            let (client, kind) = (client_text(*client), kind.name.to_owned());
            Some(Delegation { file: file_text(file), client, kind, recalled: *recalled })
        })
        .await
    }

    async fn holdings<R: serde::Serialize>(
        &mut self,
        controlled: &Controlled,
        row: impl Fn(FileId, &Holding) -> Option<R>,
    ) -> io::Result<()> {
        let mut next = Some(HoldingsAfter::default());
        while let Some(after) = next {
            let (piece, then) = controlled.services.observe().holdings(after, PIECE);
            for row in piece.iter().filter_map(|(file, holding)| row(*file, holding)) {
                self.row(&row).await?;
            }
            next = then;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    pub(super) async fn mounts(&mut self, controlled: &Controlled) -> io::Result<()> {
        for (client, path) in controlled.programs.mounts() {
            let client = client.to_canonical().to_string();
            self.row(&Mount { client, path: path_text(&path) }).await?;
        }
        Ok(())
    }

    pub(super) async fn exports(&mut self, controlled: &Controlled) -> io::Result<()> {
        let directories = controlled.keeper.directories().await;
        // Not held while it is sent: what is replaced meanwhile must not stay in memory.
        let set = controlled.keeper.exports().load_full();
        for export in set.iter() {
            let directory = directories.iter().find(|(id, _)| *id == export.id());
            let directory = directory.map(|(_, directory)| directory.display().to_string());
            self.row(&Export {
                path: path_text(export.path()),
                directory: directory.unwrap_or_default(),
                id: export.id().0,
                rules: export.options().rules.iter().map(rule_text).collect(),
            })
            .await?;
        }
        Ok(())
    }
}

fn client(listed: &ListedClient, controlled: &Controlled) -> Client {
    let state = match (listed.confirmed, listed.lapsed) {
        (false, _) => ClientState::Unconfirmed,
        (true, true) => ClientState::Lapsed,
        (true, false) => ClientState::Active,
    };
    Client {
        client: client_text(listed.client.id()),
        name: name_text(listed.client.owner()),
        state,
        silent_seconds: controlled.services.observe().silent_seconds(&listed.client),
        sessions: listed.sessions as u64,
        holds: listed.client.stateid_count() as u64,
    }
}

fn session(session: &state::Session, controlled: &Controlled) -> Session {
    Session {
        session: session_text(session.id()),
        client: client_text(session.client().id()),
        slots: u64::from(session.highest_slot().0) + 1,
        slots_wanted: u64::from(session.target_highest_slot().0) + 1,
        slots_in_use: session.slots_in_use() as u64,
        callbacks: controlled.services.observe().answers_callbacks(session.id()),
        persistent: session.is_persistent(),
    }
}

fn of_nfs4(client: ClientId, owner: &[u8]) -> Holder {
    Holder { protocol: "nfs4".to_owned(), client: client_text(client), owner: name_text(owner) }
}

fn of_nlm(host: &[u8], owner: &[u8]) -> Holder {
    Holder { protocol: "nlm".to_owned(), client: name_text(host), owner: name_text(owner) }
}

/// A client's number as it is read by [`super::Command`]s.
pub(super) fn client_text(client: ClientId) -> String {
    format!("{:016x}", client.0)
}

fn session_text(session: SessionId) -> String {
    session.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn file_text(FileId(number, generation): FileId) -> String {
    format!("{number}.{generation}")
}

/// What a client has chosen, without what could move a terminal's cursor.
fn name_text(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.chars().any(char::is_control) => text.chars().take(NAME_MAX).collect(),
        _ => name.escape_ascii().to_string().chars().take(NAME_MAX).collect(),
    }
}

fn bits(bits: u32) -> String {
    let name = match bits & share::BOTH {
        0 => "none",
        share::READ => "read",
        share::WRITE => "write",
        _ => "both",
    };
    name.to_owned()
}

/// Whom a rule is for, and what they may do.
fn rule_text(rule: &Rule) -> String {
    let mode = if rule.read_only { "read-only" } else { "read-write" };
    let squash = match rule.squash {
        Squash::None { .. } => "no squash",
        Squash::Root { .. } => "root squash",
        Squash::All { .. } => "all squash",
    };
    format!("{}: {mode}, {squash}", rule.clients)
}
