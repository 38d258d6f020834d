//! A server that may have few files open.

use std::fs;
use std::process::Command;

use proto::nfs3::{CreateArgs, CreateHow, DirOpArgs, ReadArgs, Reply, SetAttributes, StableHow, WriteArgs};
use xdr::Bytes;

use crate::peer::Line;
use crate::process::{Place, Process};

const FILES: u32 = 200;

#[test]
fn every_limit_of_open_files_from_64_up_serves_many_files() {
    for limit in [64, 100, 256] {
        let place = Place::new();
        let served = place.command(&[]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {limit} && exec \"$@\""), "sh"]);
        limited.arg(served.get_program()).args(served.get_args());
        limited.current_dir(served.get_current_dir().unwrap());
        let server = Process::start(&mut limited);
        let mut line = Line::new(server.address);
        let dir = line.mount("/");
        let mut files = Vec::new();
        for number in 0..FILES {
            let place = DirOpArgs { dir, name: Bytes::from(number.to_string()) };
            let create = CreateArgs { place, how: CreateHow::Guarded(SetAttributes::default()) };
            let Reply::Ok(created) = line.nfs3(&create) else { panic!("CREATE {number} of {limit}") };
            let (file, data) = (created.object.unwrap(), Bytes::from(number.to_be_bytes().to_vec()));
            let write = WriteArgs { file, offset: 0, count: 4, stable: StableHow::FileSync, data };
            let Reply::Ok(written) = line.nfs3(&write) else { panic!("WRITE {number} of {limit}") };
            assert_eq!(written.count, 4);
            files.push(file);
        }
        for (number, file) in files.into_iter().enumerate() {
            let read = ReadArgs { file, offset: 0, count: 4 };
            let Reply::Ok(done) = line.nfs3(&read) else { panic!("READ {number} of {limit}") };
            assert_eq!(done.data, (number as u32).to_be_bytes()[..]);
        }
        // Connections have a share of their own.
        let mut lines: Vec<_> = (0..6).map(|_| Line::new(server.address)).collect();
        for (number, line) in lines.iter_mut().enumerate() {
            let mut session = line.session(&format!("client {number}"));
            session.open(line, "7", "opener");
        }
        let open = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
        assert!(open < limit, "{open} of {limit} descriptors are open");
    }
}
