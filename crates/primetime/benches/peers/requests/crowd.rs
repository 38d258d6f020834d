//! Many clients of NFSv4.1 on one connection, each with a session that is used in its turn.

use std::net::TcpStream;

use super::session::{Session, destroy};
use super::wire::connect;
use super::{Ask, Requests, V4};
use crate::target::Target;

/// One of them.
struct Member {
    session: [u8; 16],
    client: u64,
    sequence_id: u32,
}

/// GETATTRs of all of them, one after the other.
pub struct Crowd {
    one: V4,
    count: usize,
    members: Vec<Member>,
    next: usize,
}

impl Crowd {
    pub fn new(target: &Target, count: usize) -> Self {
        Self { one: V4::new(target, None, Ask::GetAttr), count, members: Vec::new(), next: 0 }
    }
}

impl Requests for Crowd {
    fn server(&self) -> &'static str {
        self.one.server()
    }

    fn connect(&mut self) -> TcpStream {
        let mut stream = connect(self.one.address);
        for _ in 0..self.count {
            let session = Session::create(stream);
            let (id, client, sequence_id) = (session.id, session.client, session.sequence_id);
            self.members.push(Member { session: id, client, sequence_id });
            stream = session.stream;
        }
        stream
    }

    /// Each has one request in flight at most, also where replies do not come in order.
    fn lanes_max(&self) -> usize {
        self.members.len().div_ceil(2).max(1)
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        let member = &mut self.members[self.next];
        self.next = (self.next + 1) % self.count;
        member.sequence_id += 1;
        self.one.append_of(lane, (&member.session, member.sequence_id, 0, 0), to);
    }

    fn lane_of(&self, reply_start: &[u8]) -> usize {
        self.one.lane_of(reply_start)
    }

    fn finish(&mut self, mut stream: TcpStream) {
        for member in self.members.drain(..) {
            stream = destroy(stream, member.session, member.client);
        }
    }
}
