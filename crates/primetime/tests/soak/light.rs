//! A client with one small request at a time, at an address of its own.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use proto::mount3::{self, DirPath, MntReply};
use proto::nfs3::*;
use testkit::peer::RawPeer;
use testkit::wire::RawCall;
use xdr::{Bytes, Decode, Decoder};

/// A request that has no answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Connects from 127.0.0.`client`.
pub fn connect(server: SocketAddr, client: u8) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, client], 0)))?;
        socket.connect(server).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An NFSv3 call of the superuser.
pub fn call<R: Request>(xid: u32, arguments: &R) -> RawCall {
    RawCall::new(xid, (PROGRAM, VERSION, R::PROCEDURE.number())).of_superuser().with_arguments(arguments)
}

pub struct Light {
    stream: RawPeer,
    xid: u32,
    pub times: Vec<Duration>,
}

impl Light {
    pub fn new(server: SocketAddr, client: u8) -> Self {
        let stream = RawPeer::over(connect(server, client).unwrap()).unwrap();
        stream.set_read_timeout(PATIENCE).unwrap();
        Self { stream, xid: 0, times: Vec::new() }
    }

    fn results(&mut self, call: &RawCall) -> Decoder {
        let began = Instant::now();
        let results = self.stream.call(call).unwrap();
        self.times.push(began.elapsed());
        results
    }

    pub fn root(&mut self) -> FileHandle {
        self.xid += 1;
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
        let path = DirPath(Bytes::from_static(b"/"));
        let call = RawCall::new(self.xid, number).of_superuser().with_arguments(&path);
        match self.results(&call).get::<MntReply>().unwrap() {
            MntReply::Ok(ok) => ok.handle,
            MntReply::Err(status) => panic!("MNT answers {status:?}"),
        }
    }

    /// Calls what must succeed.
    pub fn ok<R: Request>(&mut self, arguments: &R) -> R::Ok {
        self.xid += 1;
        let mut results = self.results(&call(self.xid, arguments));
        match Reply::<R::Ok, R::Fail>::decode(&mut results).unwrap() {
            Reply::Ok(ok) => ok,
            Reply::Err(status, _) => panic!("{} answers {status}", R::PROCEDURE),
        }
    }

    pub fn make(&mut self, dir: &FileHandle, name: &str) -> FileHandle {
        let place = DirOpArgs { dir: *dir, name: Bytes::copy_from_slice(name.as_bytes()) };
        let attributes = SetAttributes { mode: Some(0o666), ..SetAttributes::default() };
        self.ok(&CreateArgs { place, how: CreateHow::Unchecked(attributes) }).object.unwrap()
    }

    /// Five small requests on a file of its own.
    pub fn round(&mut self, dir: &FileHandle, file: &FileHandle, number: u8) {
        let data = Bytes::from(vec![number; 4096]);
        let (offset, count) = (0, 4096);
        self.ok(&WriteArgs { file: *file, offset, count, stable: StableHow::Unstable, data });
        let read = self.ok(&ReadArgs { file: *file, offset, count });
        assert!(read.data.len() == 4096 && read.data.iter().all(|byte| *byte == number));
        self.ok(&GetAttrArgs { object: *file });
        self.ok(&LookupArgs { what: DirOpArgs { dir: *dir, name: Bytes::from_static(b"light") } });
        self.ok(&AccessArgs { object: *file, access: 1 });
    }
}
