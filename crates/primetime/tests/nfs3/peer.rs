//! A client as a kernel is one: it connects again when its connection is lost, and sends what had no answer
//! again, under the same transaction id.

use std::io;
use std::net::SocketAddr;

use proto::mount3::{self, DirPath, MntReply, MountList};
use proto::nfs3::{self, DirOpArgs, FileHandle, Reply, Request};
use testkit::ProcedureNumber;
use testkit::peer::RawPeer;
use testkit::wire::RawCall;
use xdr::{Bytes, Decode, Decoder, Encode};

pub struct Peer {
    address: SocketAddr,
    stream: Option<RawPeer>,
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
        let call = raw_call(self.xid, (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number()), arguments);
        self.connected().unwrap().send(&call.record()).unwrap();
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

    fn results(&mut self, number: ProcedureNumber, arguments: &impl Encode) -> Decoder {
        self.xid += 1;
        let call = raw_call(self.xid, number, arguments);
        loop {
            match self.connected().and_then(|stream| stream.call(&call)) {
                Ok(results) => return results,
                Err(error) if is_lost(&error) => {
                    self.stream = None;
                    self.retries += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn connected(&mut self) -> io::Result<&mut RawPeer> {
        if self.stream.is_none() {
            self.stream = Some(RawPeer::connect(self.address)?);
        }
        Ok(self.stream.as_mut().unwrap())
    }
}

fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof | NotConnected)
}

/// A call of the superuser.
fn raw_call(xid: u32, number: ProcedureNumber, arguments: &impl Encode) -> RawCall {
    RawCall::new(xid, number).of_superuser().with_arguments(arguments)
}

pub fn place(dir: FileHandle, name: &str) -> DirOpArgs {
    DirOpArgs { dir, name: Bytes::copy_from_slice(name.as_bytes()) }
}
