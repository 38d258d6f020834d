//! The rules of NFSv3, each through the whole path of a call.

mod attributes;
mod conflicts;
mod create;
mod data;
mod exports;
mod handles;
mod listing;
mod lookup;
mod names;
mod wcc;
