//! READDIR and READDIRPLUS.

use std::collections::BTreeSet;

use proto::nfs3::*;

use crate::fixture::{Server, place, user};

const START: CookieVerifier = CookieVerifier([0; 8]);

fn readdir(dir: FileHandle, cookie: u64, count: u32) -> ReadDirArgs {
    ReadDirArgs { dir, cookie, verifier: START, count }
}

fn plus(dir: FileHandle, cookie: u64, dir_count: u32, max_count: u32) -> ReadDirPlusArgs {
    ReadDirPlusArgs { dir, cookie, verifier: START, dir_count, max_count }
}

/// A directory with files of names from 1 to 40 bytes, and all names in it.
fn full(server: &Server, files: usize) -> (FileHandle, BTreeSet<String>) {
    let dir = server.dir(server.root, "full", 0o755);
    let names = (0..files).map(|index| format!("{index}{}", "x".repeat(index % 37)));
    let mut names: BTreeSet<String> = names.collect();
    for name in &names {
        server.file(dir, name, 0o644);
    }
    names.extend([".".into(), "..".into()]);
    (dir, names)
}

fn text(name: &[u8]) -> String {
    String::from_utf8(name.to_vec()).unwrap()
}

#[test]
fn cookies_lead_through_the_whole_directory_in_any_size() {
    let server = Server::new();
    let (dir, names) = full(&server, 300);
    for count in [200, 512, 4096, 1 << 16, u32::MAX] {
        let (mut seen, mut cookie, mut calls) = (Vec::new(), 0, 0);
        loop {
            let ok = server.ok(&readdir(dir, cookie, count));
            assert!(xdr::to_bytes(&ok).len() <= count as usize, "RFC 1813 §3.3.16: count bounds the body");
            calls += 1;
            assert!(!ok.entries.0.is_empty() || ok.eof, "every call gets on");
            cookie = ok.entries.0.last().map_or(cookie, |entry| entry.cookie);
            seen.extend(ok.entries.0.into_iter().map(|entry| text(&entry.name)));
            if ok.eof {
                break;
            }
        }
        assert_eq!(seen.len(), names.len(), "nothing twice");
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), names);
        assert_eq!(calls == 1, count >= 1 << 16, "{calls} calls of {count} bytes");
    }
}

#[test]
fn a_reply_is_filled_up_to_the_entry_that_does_not_fit() {
    let server = Server::new();
    let (dir, _) = full(&server, 300);
    let all = server.ok(&readdir(dir, 0, u32::MAX));
    for count in (160..3000).step_by(52) {
        let ok = server.ok(&readdir(dir, 0, count));
        let next = &all.entries.0[ok.entries.0.len()];
        let (size, with_next) = (xdr::to_bytes(&ok).len(), 4 + xdr::to_bytes(next).len());
        assert!(size <= count as usize && size + with_next > count as usize, "{size} of {count}");
    }
}

#[test]
fn a_count_too_small_for_the_first_entry_is_toosmall() {
    let server = Server::new();
    // attributes 88, verifier 8, one entry of 28, end 8
    let exact = 88 + 8 + 28 + 8;
    assert_eq!(server.ok(&readdir(server.root, 0, exact)).entries.0.len(), 1);
    for count in [0, 1, 104, exact - 1] {
        let (status, fail) = server.fail(&readdir(server.root, 0, count));
        assert_eq!((status, fail.dir), (Status::TooSmall, Some(server.attributes(server.root))));
        assert_eq!(server.fail(&plus(server.root, 0, 4096, count)).0, Status::TooSmall);
    }
}

#[test]
fn behind_the_last_entry_there_is_an_empty_end() {
    let server = Server::new();
    let (dir, _) = full(&server, 3);
    let last = server.ok(&readdir(dir, 0, 4096)).entries.0.last().unwrap().cookie;
    let ok = server.ok(&readdir(dir, last, 4096));
    assert_eq!((ok.entries.0.len(), ok.eof), (0, true));
    let ok = server.ok(&plus(dir, last, 4096, 4096));
    assert_eq!((ok.entries.0.len(), ok.eof), (0, true));
}

#[test]
fn a_cookie_goes_on_where_it_was_although_entries_went() {
    let server = Server::new();
    let (dir, names) = full(&server, 20);
    let first = server.ok(&readdir(dir, 0, 300));
    let seen: Vec<_> = first.entries.0.iter().map(|entry| text(&entry.name)).collect();
    for name in seen.iter().filter(|name| !name.starts_with('.')) {
        server.ok(&RemoveArgs { object: place(dir, name) });
    }
    let rest = server.ok(&readdir(dir, first.entries.0.last().unwrap().cookie, 1 << 16));
    assert_eq!(rest.entries.0.len() + seen.len(), names.len());
}

#[test]
fn a_verifier_that_was_never_given_makes_a_cookie_bad() {
    let server = Server::new();
    let (dir, _) = full(&server, 3);
    let ok = server.ok(&readdir(dir, 0, 4096));
    let cookie = ok.entries.0[0].cookie;
    let foreign = CookieVerifier([9; 8]);
    let args = ReadDirArgs { verifier: foreign, ..readdir(dir, cookie, 4096) };
    let (status, fail) = server.fail(&args);
    assert_eq!((status, fail.dir), (Status::BadCookie, Some(server.attributes(dir))));
    let args = ReadDirPlusArgs { verifier: foreign, ..plus(dir, cookie, 4096, 4096) };
    assert_eq!(server.fail(&args).0, Status::BadCookie);
    server.ok(&ReadDirArgs { verifier: ok.verifier, ..readdir(dir, cookie, 4096) });
}

#[test]
fn readdirplus_gives_the_handle_and_attributes_that_lookup_gives() {
    let server = Server::new();
    let (dir, names) = full(&server, 50);
    let ok = server.ok(&plus(dir, 0, u32::MAX, u32::MAX));
    assert_eq!((ok.entries.0.len(), ok.eof), (names.len(), true));
    assert_eq!(ok.dir, Some(server.attributes(dir)));
    for entry in ok.entries.0.iter().filter(|entry| &entry.name[..] != b"..") {
        let found = server.ok(&LookupArgs { what: place(dir, &text(&entry.name)) });
        assert_eq!((entry.object, entry.attributes), (Some(found.object), found.attributes));
        assert_eq!(entry.fileid, found.attributes.unwrap().fileid);
    }
}

#[test]
fn readdirplus_keeps_both_of_its_limits() {
    let server = Server::new();
    let (dir, names) = full(&server, 100);
    for (dir_count, max_count) in [(512, 32768), (8192, 600), (1 << 16, 4096), (0, 4096), (100, 100_000)] {
        let (mut seen, mut cookie) = (0, 0);
        loop {
            let ok = server.ok(&plus(dir, cookie, dir_count, max_count));
            assert!(
                xdr::to_bytes(&ok).len() <= max_count as usize,
                "RFC 1813 §3.3.17: maxcount bounds the body"
            );
            let names = ok.entries.0.iter().map(|entry| 24 + entry.name.len().next_multiple_of(4));
            assert!(
                ok.entries.0.len() <= 1 || names.sum::<usize>() <= dir_count as usize,
                "dircount bounds names"
            );
            seen += ok.entries.0.len();
            if ok.eof {
                break;
            }
            cookie = ok.entries.0.last().expect("every call gets on").cookie;
        }
        assert_eq!(seen, names.len(), "{dir_count} {max_count}");
    }
}

#[test]
fn a_directory_that_may_not_be_read_is_acces() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o711);
    let (status, fail) = server.fail_as(user(7), &readdir(dir, 0, 4096));
    assert_eq!((status, fail.dir), (Status::AccessDenied, Some(server.attributes(dir))));
    assert_eq!(server.fail_as(user(7), &plus(dir, 0, 4096, 4096)).0, Status::AccessDenied);
}

#[test]
fn names_without_objects_are_all_that_a_directory_without_search_gives() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o744);
    server.file(dir, "f", 0o644);
    let ok = server.ok_as(user(7), &plus(dir, 0, 4096, 4096));
    assert_eq!(ok.entries.0.len(), 3);
    assert!(ok.entries.0.iter().all(|entry| entry.object.is_none() && entry.attributes.is_none()));
}
