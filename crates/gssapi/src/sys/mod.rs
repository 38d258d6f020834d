//! The calls of the library, each of which is one of C.

#![allow(unsafe_code)]

pub(crate) mod accept;
pub(crate) mod established;
mod ffi;
pub(crate) mod initiate;
pub(crate) mod library;
