//! What the server tells of a guest: what it counts of its requests, and what it shows of what the guest
//! holds.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use netlab::guest::Lab;
use serde_json::json;

use crate::guests::{Member, boot, counts, entries, finish, wait_until};
use crate::server::{PORT, Server};

/// Each counter of operations by program and name.
fn scrape(lab: &Lab) -> BTreeMap<(String, String), u64> {
    let text = lab
        .inside(|| {
            let mut stream = TcpStream::connect(Server::metrics(lab)).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        })
        .unwrap();
    let mut counted = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("primetime_operations_total{")) {
        let parts: Vec<_> = line.split('"').collect();
        let count: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        *counted.entry((parts[1].to_owned(), parts[3].to_owned())).or_default() += count;
    }
    counted
}

fn compare(lab: &Lab, member: &Member<'_>, program: &str, names: &[&str]) {
    let server = Server::counting(lab);
    let [result] = finish([boot(lab, member)]);
    let (linux, here) = (counts(&result), scrape(lab));
    for name in names {
        let counted = here.get(&(program.to_owned(), (*name).to_owned())).copied().unwrap_or(0);
        assert_eq!(counted, linux.requests(name), "{name}");
        assert!(counted > 0, "{name}");
    }
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}

#[test]
fn the_server_counts_what_linux_counts_of_nfsv3() {
    let Some(lab) = Lab::for_test() else { return };
    let options = format!("vers=3,nolock,port={PORT},mountproto=tcp,mountport={PORT}");
    let member = Member {
        script: ". $EXCHANGE/counted.sh",
        files: &[("counted.sh", include_str!("counted.sh"))],
        env: &[("MOUNT_OPTIONS", &options)],
        ..Member::default()
    };
    compare(&lab, &member, "nfs3", &["CREATE", "WRITE", "REMOVE", "MKDIR", "RMDIR", "LOOKUP"]);
}

#[test]
fn the_server_counts_what_linux_counts_of_nfsv4_1() {
    let Some(lab) = Lab::for_test() else { return };
    let member = Member {
        script: ". $EXCHANGE/counted.sh",
        files: &[("counted.sh", include_str!("counted.sh"))],
        ..Member::default()
    };
    compare(&lab, &member, "nfs4", &["OPEN", "CLOSE", "WRITE", "REMOVE", "CREATE"]);
}

#[test]
fn linux_is_seen_with_what_it_holds_and_goes_on_when_it_is_expired() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let member = Member {
        script: ". $EXCHANGE/watched.sh",
        files: &[("watched.sh", include_str!("watched.sh"))],
        ..Member::default()
    };
    let guest = boot(&lab, &member);
    wait_until(&lab, "the guest holds a lock", || lab.shared().join("holding").exists());
    let clients = server.ctl(&["clients"]);
    assert_eq!((clients.len(), &clients[0]["state"]), (1, &json!("active")));
    let name = clients[0]["name"].as_str().unwrap();
    assert!(name.starts_with("Linux NFSv4.1 ann"), "{name}");
    let sessions = server.ctl(&["sessions"]);
    assert_eq!((sessions.len(), &sessions[0]["callbacks"]), (1, &json!(true)));
    let locks = server.ctl(&["locks"]);
    let delegations = server.ctl(&["delegations"]);
    // Under a write delegation Linux keeps its locks to itself.
    assert!(locks.len() == 1 || delegations.iter().any(|held| held["kind"] == "write"), "{locks:?}");
    server.ctl(&["reload"]);
    assert_eq!(server.ctl(&["clients"])[0]["client"], clients[0]["client"]);
    let number = clients[0]["client"].as_str().unwrap();
    assert_eq!(server.ctl(&["expire", number])[0]["client"], number);
    std::fs::create_dir(lab.shared().join("expired")).unwrap();
    finish([guest]);
    let after = server.ctl(&["clients"]);
    assert!(after.len() <= 1 && after.iter().all(|client| client["client"] != number), "{after:?}");
    assert_eq!(std::fs::read_to_string(server.directory().join("other")).unwrap(), "before\nafter\n");
}
