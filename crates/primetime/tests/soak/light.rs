//! A client with one small request at a time, at an address of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use proto::mount3::{self, DirPath, MntReply};
use proto::nfs3::*;
use xdr::{Bytes, Decode, Decoder, Encode, Encoder};

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

/// A call of the superuser, in one fragment.
pub fn record(xid: u32, (program, version, procedure): (u32, u32, u32), arguments: &impl Encode) -> Vec<u8> {
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

/// The record of an NFSv3 call.
pub fn call<R: Request>(xid: u32, arguments: &R) -> Vec<u8> {
    record(xid, (PROGRAM, VERSION, R::PROCEDURE.number()), arguments)
}

pub struct Light {
    stream: TcpStream,
    xid: u32,
    pub times: Vec<Duration>,
}

impl Light {
    pub fn new(server: SocketAddr, client: u8) -> Self {
        let stream = connect(server, client).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, xid: 0, times: Vec::new() }
    }

    fn results(&mut self, record: &[u8]) -> Decoder {
        let began = Instant::now();
        self.stream.write_all(record).unwrap();
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).unwrap();
        let mut reply = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        self.stream.read_exact(&mut reply).unwrap();
        self.times.push(began.elapsed());
        let mut from = Decoder::new(reply.into());
        for expected in [self.xid, 1, 0, 0, 0, 0] {
            assert_eq!(from.u32(), Ok(expected), "the head of an accepted reply");
        }
        from
    }

    pub fn root(&mut self) -> FileHandle {
        self.xid += 1;
        let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
        let record = record(self.xid, number, &DirPath(Bytes::from_static(b"/")));
        match self.results(&record).get::<MntReply>().unwrap() {
            MntReply::Ok(ok) => ok.handle,
            MntReply::Err(status) => panic!("MNT answers {status:?}"),
        }
    }

    /// Calls what must succeed.
    pub fn ok<R: Request>(&mut self, arguments: &R) -> R::Ok {
        self.xid += 1;
        let record = call(self.xid, arguments);
        let mut results = self.results(&record);
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
