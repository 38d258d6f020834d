//! The items of a batch, their names, their order, and the directories that they share: the types that the
//! engine (`batch`) and the protocols have in common.

mod entry;
mod ground;
mod item;
mod names;
mod order;

pub(crate) use entry::{End, Entry};
pub(crate) use ground::{Ground, kind};
pub(crate) use item::{Chunk, Chunks, Item};
pub use item::{Existing, Output};
pub(crate) use names::Names;
pub(crate) use order::{ItemId, Order};
