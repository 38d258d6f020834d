//! Known answers and rules of encryption types and tokens.

#![allow(clippy::unwrap_used)]

mod encryption;
#[path = "../../src/hex.rs"]
mod hex;
mod in_place;
mod mit;
mod properties;
mod refusals;
mod sides;
mod tokens;
