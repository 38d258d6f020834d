//! A client as a kernel is one: it connects again when its connection is lost, and sends what had no answer
//! again, under the same transaction id.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use proto::mount3::{self, DirPath, MntReply, MountList};
use proto::nfs3::{self, DirOpArgs, FileHandle, Reply, Request};
use xdr::{Bytes, Decode, Decoder, Encode, Encoder};

pub struct Peer {
    address: SocketAddr,
    stream: Option<TcpStream>,
    xid: u32,
    /// How often a call was sent again.
    pub retries: u64,
}

impl Peer {
    /// Its transaction ids begin after `xid`.
    pub fn new(address: SocketAddr, xid: u32) -> Self {
        Self { address, stream: None, xid, retries: 0 }
    }

    /// The handle of the export's root.
    pub fn root(&mut self) -> FileHandle {
        let path = DirPath(Bytes::from_static(b"/"));
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
        let mut results = self.results(number, &path);
        match results.get::<MntReply>().unwrap() {
            MntReply::Ok(ok) => ok.handle,
            MntReply::Err(status) => panic!("MNT answers {status:?}"),
        }
    }

    /// Tells the server that the export is not mounted any more.
    pub fn unmount(&mut self) {
        let path = DirPath(Bytes::from_static(b"/"));
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Umnt.number());
        self.results(number, &path).finish().unwrap();
    }

    /// Who has mounted what, as far as clients have told: hosts and paths.
    pub fn mounts(&mut self) -> Vec<(String, String)> {
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Dump.number());
        let list: MountList = self.results(number, &()).get().unwrap();
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        list.0.0.iter().map(|mount| (text(&mount.host), text(&mount.dir))).collect()
    }

    /// Calls a procedure until it has an answer.
    pub fn call<R: Request>(&mut self, arguments: &R) -> Reply<R::Ok, R::Fail> {
        let number = (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number());
        let mut results = self.results(number, arguments);
        let reply = Reply::decode(&mut results).unwrap();
        results.finish().unwrap();
        reply
    }

    /// Calls what must succeed.
    pub fn ok<R: Request>(&mut self, arguments: &R) -> R::Ok {
        match self.call(arguments) {
            Reply::Ok(ok) => ok,
            Reply::Err(status, _) => panic!("{} answers {status}", R::PROCEDURE),
        }
    }

    /// Sends a call and does not wait for its answer.
    pub fn send_and_forget<R: Request>(&mut self, arguments: &R) {
        self.xid += 1;
        let record = record(self.xid, (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number()), arguments);
        self.connected().unwrap().write_all(&record).unwrap();
    }

    /// Sends the last call again, on another connection to another server, and waits for its answer.
    pub fn send_last_again<R: Request>(
        &mut self,
        address: SocketAddr,
        arguments: &R,
    ) -> Reply<R::Ok, R::Fail> {
        self.stream = None;
        self.address = address;
        self.xid -= 1;
        self.call(arguments)
    }

    fn results(&mut self, number: (u32, u32, u32), arguments: &impl Encode) -> Decoder {
        self.xid += 1;
        let record = record(self.xid, number, arguments);
        loop {
            match self.exchange(&record) {
                Ok(results) => return results,
                Err(error) if is_lost(&error) => {
                    self.stream = None;
                    self.retries += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn connected(&mut self) -> io::Result<&mut TcpStream> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            self.stream = Some(stream);
        }
        Ok(self.stream.as_mut().unwrap())
    }

    fn exchange(&mut self, record: &[u8]) -> io::Result<Decoder> {
        let xid = self.xid;
        let stream = self.connected()?;
        stream.write_all(record)?;
        let mut mark = [0; 4];
        stream.read_exact(&mut mark)?;
        let mut reply = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        stream.read_exact(&mut reply)?;
        let mut from = Decoder::new(reply.into());
        for expected in [xid, 1, 0, 0, 0, 0] {
            assert_eq!(from.u32(), Ok(expected), "the head of an accepted reply");
        }
        Ok(from)
    }
}

fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof | NotConnected)
}

/// A call of the superuser, in one fragment.
fn record(xid: u32, (program, version, procedure): (u32, u32, u32), arguments: &impl Encode) -> Vec<u8> {
    let mut to = Encoder::new();
    let mark = to.reserve_u32();
    for word in [xid, 0, 2, program, version, procedure] {
        to.u32(word);
    }
    to.u32(1);
    to.opaque(&[0; 20]);
    to.u32(0);
    to.u32(0);
    to.put(arguments);
    let length = u32::try_from(to.len() - 4).unwrap();
    to.fill_u32(mark, 0x8000_0000 | length);
    to.into_inner()
}

pub fn place(dir: FileHandle, name: &str) -> DirOpArgs {
    DirOpArgs { dir, name: Bytes::copy_from_slice(name.as_bytes()) }
}
