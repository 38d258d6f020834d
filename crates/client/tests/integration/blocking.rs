//! The client for plain threads.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use client::blocking::Client;
use client::{Error, LockKind, OpenOptions, Version};

use crate::fixture::Fixture;

/// A server for a test that is no async code itself.
fn with_server(work: impl Fn(&Fixture, Client, Version)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for version in Version::ALL {
        let fixture = runtime.block_on(Fixture::new());
        let address = format!("nfs://{}/?version={version}", fixture.address());
        work(&fixture, Client::connect(&address).unwrap(), version);
    }
}

#[test]
fn a_file_reads_writes_and_seeks_as_those_of_the_standard_library() {
    with_server(|fixture, client, _| {
        let mut file = client.create("/file").unwrap();
        write!(file, "line {}\nline {}\n", 1, 2).unwrap();
        file.seek(SeekFrom::Start(5)).unwrap();
        file.write_all(b"one").unwrap();
        assert_eq!(file.stream_position().unwrap(), 8);
        assert_eq!(file.seek(SeekFrom::End(-2)).unwrap(), 12);
        assert_eq!(file.seek(SeekFrom::Current(-13)).unwrap_err().kind(), ErrorKind::InvalidInput);
        file.close().unwrap();
        assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"line oneine 2\n");
        let mut file = client.open("/file").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "line oneine 2\n");
        file.seek(SeekFrom::Start(5)).unwrap();
        let mut three = [0; 3];
        file.read_exact(&mut three).unwrap();
        assert_eq!(&three, b"one");
        assert_eq!(file.write(b"x").unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn dropping_a_file_closes_it_and_appending_goes_to_the_end() {
    with_server(|fixture, client, _| {
        client.create("/log").unwrap().write_all(b"first\n").unwrap();
        assert_eq!(std::fs::read(fixture.path("log")).unwrap(), b"first\n", "it is there after the drop");
        let mut log = client.open_with("/log", OpenOptions::new().append(true)).unwrap();
        log.write_all(b"second\n").unwrap();
        log.seek(SeekFrom::Start(0)).unwrap();
        log.write_all(b"third\n").unwrap();
        drop(log);
        assert_eq!(std::fs::read(fixture.path("log")).unwrap(), b"first\nsecond\nthird\n");
        client.shutdown().unwrap();
    });
}

#[test]
fn threads_share_a_client() {
    with_server(|fixture, client, _| {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let client = client.clone();
                scope.spawn(move || {
                    let dir = format!("/dir-{thread}");
                    client.create_dir(&dir, 0o755).unwrap();
                    let dir = client.directory(&dir).unwrap();
                    for index in 0..10 {
                        let file = dir.create(format!("file-{index}")).unwrap();
                        file.lock(.., LockKind::Exclusive).unwrap();
                        file.write_at(0, "data".into()).unwrap();
                    }
                    assert_eq!(dir.read_dir("").unwrap().map(Result::unwrap).count(), 10);
                });
            }
        });
        assert_eq!(std::fs::read(fixture.path("dir-3/file-9")).unwrap(), b"data");
        assert!(client.exists("/dir-0").unwrap() && !client.exists("/dir-4").unwrap());
        assert!(client.metadata("/none").unwrap_err().is_not_found());
    });
}

#[test]
fn invalid_address_is_refused_before_a_runtime_starts() {
    let error = Client::connect("nfs://server/?nconect=2").unwrap_err();
    assert!(matches!(error, Error::Address(_)));
    assert_eq!(error.to_string(), "there is no option `nconect`; did you mean `nconnect`?");
}
