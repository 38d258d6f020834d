//! What a scraper is told.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use proto::nfs3::{self, CreateHow, DirOpArgs, SetAttributes, StableHow};
use proto::nfs4::{self, CompoundBuilder, Operation};

use rustix::process::Signal;

use crate::peer::Line;
use crate::process::Place;

/// The head and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Every value by its name and labels.
pub fn scrape(address: SocketAddr) -> BTreeMap<String, f64> {
    let request = "GET /metrics HTTP/1.1\r\nHost: primetime\r\nConnection: close\r\n\r\n";
    let (head, body) = ask(address, request);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: text/plain; version=0.0.4"), "{head}");
    let values = body.lines().filter(|line| !line.starts_with('#'));
    values
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

fn place_in(dir: &nfs3::FileHandle, name: &'static str) -> DirOpArgs {
    DirOpArgs { dir: *dir, name: name.into() }
}

#[test]
fn known_requests_have_known_counts() {
    let place = Place::new();
    let server = place.start(&["--metrics", "127.0.0.1:0"]);
    let mut line = Line::new(server.address);
    let root = line.mount("/");
    for _ in 0..20 {
        line.nfs3(&nfs3::GetAttrArgs { object: root });
    }
    for _ in 0..3 {
        line.nfs3(&nfs3::LookupArgs { what: place_in(&root, "missing") });
    }
    let how = CreateHow::Unchecked(SetAttributes { mode: Some(0o644), ..SetAttributes::default() });
    let nfs3::Reply::Ok(made) = line.nfs3(&nfs3::CreateArgs { place: place_in(&root, "file"), how }) else {
        panic!("CREATE fails")
    };
    let file = made.object.unwrap();
    let data = vec![7; 1001].into();
    let write = nfs3::WriteArgs { file, offset: 0, count: 1001, stable: StableHow::FileSync, data };
    assert!(matches!(line.nfs3(&write), nfs3::Reply::Ok(_)));
    assert!(matches!(line.nfs3(&nfs3::ReadArgs { file, offset: 1, count: 5000 }), nfs3::Reply::Ok(_)));
    let mut session = line.session("client");
    let look = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &());
        c.push(Operation::Lookup, &nfs4::LookupArgs { name: "missing".into() });
    };
    for _ in 0..5 {
        assert_eq!(session.run(&mut line, look).status, nfs4::Status::NoEntry);
    }

    let found = scrape(server.metrics.unwrap());
    let of = |program, operation, export| {
        format!("program=\"{program}\",operation=\"{operation}\",export=\"{export}\"")
    };
    for (labels, count) in [
        (of("nfs3", "GETATTR", "/"), 20.0),
        (of("nfs3", "LOOKUP", "/"), 3.0),
        (of("nfs3", "WRITE", "/"), 1.0),
        (of("mount3", "MNT", ""), 1.0),
        (of("nfs4", "SEQUENCE", ""), 6.0),
        (of("nfs4", "PUTROOTFH", "/"), 5.0),
        (of("nfs4", "LOOKUP", "/"), 5.0),
        (of("nfs4", "COMPOUND", ""), 8.0),
    ] {
        assert_eq!(found.get(&format!("primetime_operations_total{{{labels}}}")), Some(&count), "{labels}");
        let timed = found[&format!("primetime_operation_duration_seconds_count{{{labels}}}")];
        let all = found[&format!("primetime_operation_duration_seconds_bucket{{{labels},le=\"+Inf\"}}")];
        assert!(timed <= count && timed == all, "{timed} of {count} {labels} were timed");
    }
    for (name, value) in [
        (
            "operation_errors_total{program=\"nfs3\",operation=\"LOOKUP\",export=\"/\",status=\"NFS3ERR_NOENT\"}",
            3.0,
        ),
        (
            "operation_errors_total{program=\"nfs4\",operation=\"LOOKUP\",export=\"/\",status=\"NFS4ERR_NOENT\"}",
            5.0,
        ),
        (
            "operation_errors_total{program=\"nfs4\",operation=\"COMPOUND\",export=\"\",status=\"NFS4ERR_NOENT\"}",
            5.0,
        ),
        ("read_bytes_total{program=\"nfs3\",export=\"/\"}", 1000.0),
        ("written_bytes_total{program=\"nfs3\",export=\"/\"}", 1001.0),
        ("clients", 1.0),
        ("sessions", 1.0),
        ("slots_in_use", 0.0),
        ("opens", 0.0),
        ("grace", 0.0),
        ("connections", 1.0),
        ("connections_total", 1.0),
    ] {
        assert_eq!(found.get(&format!("primetime_{name}")), Some(&value), "{name}");
    }
    assert!(found["primetime_reply_cache_bytes"] > 0.0);
}

#[test]
fn only_metrics_are_told_and_only_to_short_requests() {
    let place = Place::new();
    let server = place.start(&["--metrics", "127.0.0.1:0"]);
    let address = server.metrics.unwrap();
    let head = |request: &str| ask(address, request).0;
    let other = head("GET /other HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
    let post = head("POST /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
    let long = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", "h".repeat(7 << 10));
    assert!(head(&format!("{}Connection: close\r\n\r\n", &long[..long.len() - 2])).contains(" 200 "));
    let mut stream = TcpStream::connect(address).unwrap();
    // The server may have closed its end before it has read everything.
    let _ = stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {}", "h".repeat(20 << 10)).as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // Names of files and what clients call themselves are no labels.
    let mut line = Line::new(server.address);
    let root = line.mount("/");
    line.nfs3(&nfs3::LookupArgs { what: place_in(&root, "a-name") });
    line.session("a-client");
    let text = format!("{:?}", scrape(address));
    assert!(!text.contains("a-name") && !text.contains("a-client"), "{text}");
}

#[test]
fn without_an_address_nothing_is_told() {
    let place = Place::new();
    let server = place.start(&[]);
    assert_eq!(server.metrics, None);
    server.signal(Signal::TERM);
    assert!(server.ended().success());
}
