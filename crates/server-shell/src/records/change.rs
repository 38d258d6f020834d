//! The changes of the records.

use bytes::Bytes;
use proto::nfs4::{ClientId, SessionId, SlotId};
use redb::WriteTransaction;
use server::stable::StoredHost;
use state::Lost;

use super::{clients, hosts, sessions};

/// A change, see [`server::stable::StableRecords`].
#[derive(Debug)]
pub(super) enum Change {
    Add(ClientId, Bytes, Lost),
    Remove(ClientId, Bytes),
    Forget(ClientId, Bytes),
    EndGrace,
    AddHost(StoredHost),
    RemoveHost(Bytes),
    HostTold(Bytes),
    AddSession(SessionId, Bytes),
    SetSlot(SessionId, SlotId, Bytes),
    SetSlotSoon(SessionId, SlotId, Bytes),
    RemoveSession(SessionId),
}

impl Change {
    /// True for a change of a fact: it has happened whether or not it can be written, and is written later
    /// where it cannot be now. Other changes have no effect when they fail, and the caller asks again.
    pub(super) fn is_owed(&self) -> bool {
        match self {
            Self::Forget(..)
            | Self::RemoveHost(_)
            | Self::HostTold(_)
            | Self::SetSlotSoon(..)
            | Self::RemoveSession(_) => true,
            Self::Add(..)
            | Self::Remove(..)
            | Self::EndGrace
            | Self::AddHost(_)
            | Self::AddSession(..)
            | Self::SetSlot(..) => false,
        }
    }

    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        match self {
            Self::Add(client, owner, lost) => clients::add(transaction, *client, owner, lost)?,
            Self::Remove(client, owner) | Self::Forget(client, owner) => {
                clients::remove(transaction, *client, owner)?;
            }
            Self::EndGrace => {
                clients::end_grace(transaction)?;
                hosts::end_grace(transaction)?;
            }
            Self::AddHost(host) => hosts::add(transaction, host)?,
            Self::RemoveHost(name) => hosts::remove(transaction, name)?,
            Self::HostTold(name) => hosts::told(transaction, name)?,
            Self::AddSession(id, record) => sessions::add(transaction, *id, record)?,
            Self::SetSlot(session, slot, record) | Self::SetSlotSoon(session, slot, record) => {
                sessions::set_slot(transaction, *session, *slot, record)?;
            }
            Self::RemoveSession(id) => sessions::remove(transaction, *id)?,
        }
        Ok(())
    }
}
