//! What is remembered of objects between requests. Pure: `now` is an argument, nothing here does I/O, and
//! everything has a bound.

mod attributes;
mod clock;
mod data;
mod names;

pub(crate) use attributes::CachedAttributes;
pub(crate) use clock::ServerClock;
pub(crate) use data::{DataCache, DataKey};
pub(crate) use names::{NameCache, NameKey};
