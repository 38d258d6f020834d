//! LOOKUP and ACCESS.

use proto::nfs3::*;

use crate::fixture::{Server, place, user};

#[test]
fn a_lookup_tells_of_the_object_and_the_directory() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o640);
    let ok = server.ok(&LookupArgs { what: place(server.root, "f") });
    assert_eq!(ok.object, file);
    assert_eq!(ok.attributes, Some(server.attributes(file)));
    assert_eq!(ok.dir, Some(server.attributes(server.root)));
}

#[test]
fn an_absent_name_tells_of_the_directory() {
    let server = Server::new();
    let (status, fail) = server.fail(&LookupArgs { what: place(server.root, "absent") });
    assert_eq!((status, fail.dir), (Status::NoEntry, Some(server.attributes(server.root))));
}

#[test]
fn dots_name_the_directory_and_the_one_above() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o755);
    assert_eq!(server.find(dir, "."), Some(dir));
    assert_eq!(server.find(dir, ".."), Some(server.root));
    assert_eq!(server.find(server.root, ".."), Some(server.root), "nothing is above the root");
}

#[test]
fn nothing_is_found_in_a_directory_that_may_not_be_searched() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o700);
    server.file(dir, "f", 0o666);
    for name in ["f", "absent", ".", ".."] {
        let (status, _) = server.fail_as(user(7), &LookupArgs { what: place(dir, name) });
        assert_eq!(status, Status::AccessDenied, "{name}");
    }
}

/// RFC 1813 §3.3.4: LOOKUP and DELETE are of directories, EXECUTE is of all else.
#[test]
fn every_bit_of_access_follows_from_the_kind_and_the_mode() {
    let server = Server::new();
    let (read, write, run) = (0o4, 0o2, 0o1);
    for mode in 0..8 {
        let has = |bits: u32| mode & bits == bits;
        let all = |rules: &[(u32, u32)]| {
            rules.iter().filter(|(_, bits)| has(*bits)).map(|(bit, _)| bit).sum::<u32>()
        };
        let file = server.file(server.root, &format!("file{mode}"), mode);
        let dir = server.dir(server.root, &format!("dir{mode}"), mode);
        let what = MkNodData::Fifo(SetAttributes { mode: Some(mode), ..SetAttributes::default() });
        let fifo = server.ok(&MkNodArgs { place: place(server.root, &format!("fifo{mode}")), what });
        let of_data =
            [(ACCESS_READ, read), (ACCESS_MODIFY, write), (ACCESS_EXTEND, write), (ACCESS_EXECUTE, run)];
        let of_entries = [
            (ACCESS_READ, read),
            (ACCESS_LOOKUP, run),
            (ACCESS_MODIFY, write | run),
            (ACCESS_EXTEND, write | run),
            (ACCESS_DELETE, write | run),
        ];
        for (object, granted) in
            [(file, all(&of_data)), (fifo.object.unwrap(), all(&of_data)), (dir, all(&of_entries))]
        {
            let asked = |access| server.ok_as(user(7), &AccessArgs { object, access }).access;
            assert_eq!(asked(0x3f), granted, "mode {mode}");
            for bit in (0..32).map(|bit| 1 << bit) {
                assert_eq!(asked(bit), granted & bit, "mode {mode}, alone");
            }
        }
    }
}

#[test]
fn access_gives_what_the_mode_gives_of_what_was_asked() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o754);
    let asked = |who, access| server.ok_as(user(who), &AccessArgs { object: file, access }).access;
    assert_eq!(asked(7, 0x3f), ACCESS_READ);
    assert_eq!(asked(0, ACCESS_READ | ACCESS_EXECUTE), ACCESS_READ | ACCESS_EXECUTE);
    assert_eq!(asked(7, ACCESS_MODIFY), 0);
    assert_eq!(asked(0, u32::MAX) & !0x3f, 0, "bits without meaning are never granted");
    let ok = server.ok(&AccessArgs { object: file, access: 1 });
    assert_eq!(ok.attributes, Some(server.attributes(file)));
}
