//! One connection with one request at a time, and replies that are read where they lie.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::wire::word;

pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    pub requests: usize,
    /// Spent on waiting for replies.
    pub waited_seconds: f64,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, input: Vec::new(), requests: 0, waited_seconds: 0.0 }
    }

    /// Sends a call with its record mark and returns what follows the header of its reply.
    pub fn exchange(&mut self, request: &[u8]) -> Words<'_> {
        let start = Instant::now();
        self.stream.write_all(request).expect("request");
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).expect("mark");
        let length = (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize;
        if self.input.len() < length {
            self.input.resize(length, 0);
        }
        self.stream.read_exact(&mut self.input[..length]).expect("reply");
        self.requests += 1;
        self.waited_seconds += start.elapsed().as_secs_f64();
        // xid, REPLY, accepted, verifier (two words), SUCCESS.
        assert_eq!([1, 2, 3, 4, 5].map(|at| word(&self.input, at)), [1, 0, 0, 0, 0], "header of the reply");
        Words(&self.input[24..length])
    }

    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}

/// What is left of a reply.
pub struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(*self.take(4).first_chunk().expect("four bytes"))
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(*self.take(8).first_chunk().expect("eight bytes"))
    }

    pub fn opaque(&mut self) -> &'a [u8] {
        let length = self.u32() as usize;
        &self.take(length.next_multiple_of(4))[..length]
    }
}
