//! Hash-Cast: why some of many equal clients are served several times as fast as others, and what cures it.
//!
//! A network card with several transmit queues puts each busy flow into one of them by a hash, and all queues send at
//! the same rate; flows that share a queue get a fraction. See `docs/hash-cast.md`.

pub mod probability;
