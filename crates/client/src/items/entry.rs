//! Items between the engine and the protocol that carries them out.

use std::time::Instant;

use super::item::{Item, Output};
use super::order::ItemId;
use crate::error::Result;

/// An item that the engine has taken and not finished.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: ItemId,
    pub(crate) item: Item,
    /// True for an item that is carried out by calls of its own.
    pub(crate) alone: bool,
    /// When it was added.
    pub(crate) since: Instant,
    /// Items that must be done before, or go before it in the same COMPOUND.
    pub(crate) waits_for: Vec<ItemId>,
}

/// The outcome of a sending for one item.
#[derive(Debug)]
pub(crate) enum End {
    Done(ItemId, Result<Output>),
    /// The item was not tried, or is to be tried again.
    Again(Entry),
}
