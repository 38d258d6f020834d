//! CREATE in its three modes, MKDIR and MKNOD.

use bytes::Bytes;
use proto::nfs3::*;

use crate::fixture::{Server, place, user};

fn with_mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

#[test]
fn a_new_file_has_the_given_mode_and_belongs_to_the_caller() {
    let server = Server::new();
    let how = CreateHow::Guarded(with_mode(0o640));
    let ok = server.ok_as(user(5), &CreateArgs { place: place(server.root, "f"), how });
    let (file, attributes) = (ok.object.unwrap(), ok.attributes.unwrap());
    assert_eq!((attributes.mode, attributes.uid, attributes.gid, attributes.size), (0o640, 5, 5, 0));
    assert_eq!(attributes, server.attributes(file));
}

#[test]
fn guarded_fails_and_unchecked_opens_when_the_name_exists() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    server.write(file, 0, b"content");
    let create = |how| CreateArgs { place: place(server.root, "f"), how };
    assert_eq!(server.fail(&create(CreateHow::Guarded(with_mode(0o600)))).0, Status::Exists);
    let ok = server.ok(&create(CreateHow::Unchecked(with_mode(0o600))));
    assert_eq!(ok.object, Some(file));
    assert_eq!(ok.attributes.map(|a| (a.size, a.mode)), Some((7, 0o644)), "kept as it was");
    let truncate = SetAttributes { size: Some(0), ..SetAttributes::default() };
    let ok = server.ok(&create(CreateHow::Unchecked(truncate)));
    assert_eq!((ok.object, ok.attributes.unwrap().size), (Some(file), 0));
}

#[test]
fn an_exclusive_create_succeeds_again_only_with_its_own_verifier() {
    let server = Server::new();
    let create = |verifier| {
        let how = CreateHow::Exclusive(CreateVerifier([verifier; 8]));
        CreateArgs { place: place(server.root, "f"), how }
    };
    let first = server.ok(&create(1)).object;
    let before = server.attributes(server.root);
    assert_eq!(server.ok(&create(1)).object, first, "the retry finds the file");
    assert_eq!(server.attributes(server.root), before, "and changes nothing");
    assert_eq!(server.fail(&create(2)).0, Status::Exists);
    server.file(server.root, "other", 0o644);
    let how = CreateHow::Exclusive(CreateVerifier([0; 8]));
    assert_eq!(server.fail(&CreateArgs { place: place(server.root, "other"), how }).0, Status::Exists);
}

#[test]
fn same_verifier_from_another_address_does_not_create_again() {
    let server = Server::new();
    let how = CreateHow::Exclusive(CreateVerifier([1; 8]));
    let arguments = xdr::to_bytes(&CreateArgs { place: place(server.root, "lock"), how });
    let number = (PROGRAM, VERSION, Procedure::Create.number());
    let create = |address: &str| {
        let results = server.raw(number, user(0), address, arguments.clone()).unwrap();
        u32::from_be_bytes(*results.first_chunk().unwrap())
    };
    let created = ["10.0.0.1", "10.0.0.2", "10.0.0.1", "::ffff:10.0.0.1"].map(create);
    let exists = Status::Exists.code();
    assert_eq!(created, [0, exists, 0, 0], "the first address sends it again");
}

#[test]
fn a_name_that_is_no_file_exists_in_every_mode() {
    let server = Server::new();
    let set = SetAttributes::default();
    server.dir(server.root, "d", 0o755);
    let target = Bytes::from_static(b"nowhere");
    server.ok(&SymlinkArgs { place: place(server.root, "s"), attributes: set, target });
    server.ok(&MkNodArgs { place: place(server.root, "p"), what: MkNodData::Fifo(set) });
    for name in ["d", "s", "p"] {
        for how in
            [CreateHow::Unchecked(set), CreateHow::Guarded(set), CreateHow::Exclusive(CreateVerifier([1; 8]))]
        {
            let (status, _) = server.fail(&CreateArgs { place: place(server.root, name), how });
            assert_eq!(status, Status::Exists, "{name} {how:?}");
        }
    }
}

#[test]
fn mkdir_makes_an_empty_directory() {
    let server = Server::new();
    let args = MkDirArgs { place: place(server.root, "d"), attributes: with_mode(0o750) };
    let attributes = server.ok(&args).attributes.unwrap();
    assert_eq!((attributes.kind, attributes.mode, attributes.links), (FileType::Directory, 0o750, 2));
    assert_eq!(server.fail(&args).0, Status::Exists);
}

#[test]
fn mknod_makes_every_special_type_and_no_other() {
    let server = Server::new();
    let device = DeviceData { attributes: with_mode(0o600), device: Device { major: 3, minor: 4 } };
    for (name, what, kind, numbers) in [
        ("b", MkNodData::Block(device), FileType::Block, (3, 4)),
        ("c", MkNodData::Character(device), FileType::Character, (3, 4)),
        ("s", MkNodData::Socket(with_mode(0o600)), FileType::Socket, (0, 0)),
        ("p", MkNodData::Fifo(with_mode(0o600)), FileType::Fifo, (0, 0)),
    ] {
        let made = server.ok(&MkNodArgs { place: place(server.root, name), what }).object.unwrap();
        let attributes = server.attributes(made);
        assert_eq!(
            (attributes.kind, attributes.device.major, attributes.device.minor),
            (kind, numbers.0, numbers.1)
        );
    }
    for number in [1, 2, 5, 77] {
        let args = MkNodArgs { place: place(server.root, "x"), what: MkNodData::Other(number) };
        assert_eq!(server.fail(&args).0, Status::BadType);
    }
    let args = MkNodArgs { place: place(server.root, "x"), what: MkNodData::Block(device) };
    assert_eq!(server.fail_as(user(7), &args).0, Status::NotPermitted);
}
