//! A server that answers GETATTR of NFSv3, and SEQUENCE, PUTFH and GETATTR of NFSv4.1, always the same, in a
//! process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use proto::nfs3;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::{CompoundReply, Operation, SequenceId, SequenceResult, SessionId, SlotId, Status};
use xdr::{Encode, Encoder};

/// Given to this very program, it makes it the server.
pub const ARGUMENT: &str = "null-server";
/// What every file's length is, in bytes.
pub const FILE_BYTES: u64 = 4096;
/// Attributes that the answer has.
pub const ATTRIBUTES: Bitmap =
    Bitmap::of(&[AttributeId::Change, AttributeId::Size, AttributeId::FileId, AttributeId::Mode]);

/// Ends when dropped, and when this process ends.
pub struct NullServer {
    process: Child,
    pub address: SocketAddr,
}

impl NullServer {
    pub fn start() -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the null server");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("its address");
        let address = line.trim().parse().expect("an address");
        Self { process, address }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves until standard input ends.
pub fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    println!("{}", listener.local_addr().expect("address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    // Whoever started it holds the other end.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Answers what comes on a connection until it ends.
fn answer(mut stream: TcpStream) {
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let answers = Answers::new();
    let (mut input, mut filled, mut output) = (vec![0; 256 << 10], 0, Vec::new());
    loop {
        match stream.read(&mut input[filled..]) {
            Ok(0) | Err(_) => return,
            Ok(count) => filled += count,
        }
        let mut at = 0;
        while let Some(mark) = input[at..filled].first_chunk() {
            let length = (u32::from_be_bytes(*mark) & 0x7fff_ffff) as usize;
            let Some(record) = input[..filled].get(at + 4..at + 4 + length) else { break };
            answers.append(record, &mut output);
            at += 4 + length;
        }
        input.copy_within(at..filled, 0);
        filled -= at;
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}

/// Whole records, but for the xid and what SEQUENCE repeats.
struct Answers {
    v3: Vec<u8>,
    v4: Vec<u8>,
    /// Where the session stands in the latter.
    session_at: usize,
}

impl Answers {
    fn new() -> Self {
        let mut session_at = 0;
        let v3 =
            record(|to| nfs3::Reply::<_, ()>::Ok(nfs3::GetAttrOk { attributes: attributes() }).encode(to));
        let v4 = record(|to| session_at = compound(to));
        Self { v3, v4, session_at }
    }

    /// Answers a call, given without its mark.
    fn append(&self, call: &[u8], to: &mut Vec<u8>) {
        let word = |at: usize| u32::from_be_bytes(*call[at..].first_chunk().expect("a whole call"));
        let start = to.len();
        if word(16) == nfs3::VERSION {
            to.extend_from_slice(&self.v3);
        } else {
            to.extend_from_slice(&self.v4);
            // Behind the credential, the verifier, the head of the COMPOUND and SEQUENCE's number: session,
            // sequence and slot.
            let sequence_at = 32 + word(28).next_multiple_of(4) as usize + 8 + 12 + 4;
            to[start + self.session_at..][..24].copy_from_slice(&call[sequence_at..][..24]);
        }
        to[start + 4..start + 8].copy_from_slice(&call[..4]);
    }
}

/// A reply with its mark, to xid 0.
fn record(results: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut reply = Encoder::new();
    reply.u32(0);
    // xid, REPLY, accepted, a verifier of two words, SUCCESS.
    [0, 1, 0, 0, 0, 0].into_iter().for_each(|word| reply.u32(word));
    results(&mut reply);
    let mut record = reply.into_inner();
    let mark = rpc::mark(record.len() - 4);
    record[..4].copy_from_slice(&mark);
    record
}

fn attributes() -> nfs3::FileAttributes {
    let time = nfs3::Time { seconds: 1, nanoseconds: 0 };
    nfs3::FileAttributes {
        kind: nfs3::FileType::Regular,
        mode: 0o644,
        links: 1,
        uid: 0,
        gid: 0,
        size: FILE_BYTES,
        used: FILE_BYTES,
        device: nfs3::Device { major: 0, minor: 0 },
        fsid: 1,
        fileid: 2,
        accessed: time,
        modified: time,
        changed: time,
    }
}

/// Writes the results of SEQUENCE, PUTFH and GETATTR; returns where the session stands.
fn compound(to: &mut Encoder) -> usize {
    let mut reply = CompoundReply::begin(to, &[]);
    let mut begin = |operation: Operation, to: &mut Encoder| {
        to.u32(operation.number());
        to.put(&Status::Ok);
        reply.count();
    };
    begin(Operation::Sequence, to);
    let session_at = to.len();
    let last = SlotId(u32::MAX);
    to.put(&SequenceResult {
        session: SessionId([0; 16]),
        sequence: SequenceId(0),
        slot: SlotId(0),
        highest_slot: last,
        target_highest_slot: last,
        status_flags: 0,
    });
    begin(Operation::PutFh, to);
    begin(Operation::GetAttr, to);
    let values = AttributeValues {
        change: Some(1),
        size: Some(FILE_BYTES),
        fileid: Some(2),
        mode: Some(0o644),
        ..AttributeValues::default()
    };
    values.encode_wanted(ATTRIBUTES, to);
    reply.finish(to, Status::Ok);
    session_at
}
