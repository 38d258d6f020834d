//! RPCSEC_GSS (RFC 2203) with a mechanism of the test kit: what a client sends, and what the server makes of
//! it. The calls are written by hand, so that two independent writers meet.

#![allow(missing_docs, clippy::unwrap_used)]

mod arbitrary;
mod bad_requests;
mod client;
mod creation;
mod data;
mod fixture;
mod flavors;
mod threads;
