//! The rules of MOUNT, each through the whole path of a call.

use std::net::IpAddr;

use bytes::Bytes;
use proto::mount3::*;
use proto::nfs3::FileHandle;
use rpc::{Credential, Refusal};

use crate::conflicts::{Conflicts, NoConflicts};
use crate::exports::{Clients, ExportPath, ExportSet, Network, Rule};
use crate::fixture::{Server, export, unsquashed, user};

fn number(procedure: Procedure) -> (u32, u32, u32) {
    (PROGRAM, VERSION, procedure.number())
}

fn path(path: &str) -> DirPath {
    DirPath(Bytes::copy_from_slice(path.as_bytes()))
}

fn mnt<C: Conflicts>(server: &Server<C>, at: &str) -> MntReply {
    server.results(number(Procedure::Mnt), user(0), &path(at))
}

fn mounted(handle: FileHandle) -> MntReply {
    MntReply::Ok(MntOk { handle, flavors: vec![1, 0] })
}

fn mounts(server: &Server) -> Vec<(String, String)> {
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    let list: MountList = server.results(number(Procedure::Dump), user(0), &());
    list.0.0.iter().map(|mount| (text(&mount.host), text(&mount.dir))).collect()
}

#[test]
fn the_root_and_directories_below_it_can_be_mounted() {
    let server = Server::new();
    let a = server.dir(server.root, "a", 0o755);
    let b = server.dir(a, "b", 0o700);
    for (at, handle) in [("/", server.root), ("/a", a), ("/a/b", b), ("//a//b/", b)] {
        assert_eq!(mnt(&server, at), mounted(handle), "{at}");
    }
}

#[test]
fn one_directory_has_many_spellings() {
    let server = Server::new();
    let a = server.dir(server.root, "a", 0o755);
    for (handle, spellings) in
        [(server.root, &["", ".", "/.", "//", "./"][..]), (a, &["a", "a/", "/a/", "/a/.", "//a//", "./a/./"])]
    {
        for at in spellings {
            assert_eq!(mnt(&server, at), mounted(handle), "{at:?}");
            assert_eq!(mounts(&server).len(), 1, "{at:?}");
            server.raw(number(Procedure::Umnt), user(0), "127.0.0.1", xdr::to_bytes(&path(at))).unwrap();
            assert_eq!(mounts(&server), [], "{at:?}");
        }
    }
    let bytes = DirPath(Bytes::from_static(b"/\xff\xfe"));
    let reply: MntReply = server.results(number(Procedure::Mnt), user(0), &bytes);
    assert_eq!(reply, MntReply::Err(Status::NoEntry), "a name need not be UTF-8");
}

#[test]
fn symbolic_links_are_followed_in_the_tree_of_exports() {
    let exports = vec![export(1, "/", unsquashed()), export(2, "/data", unsquashed())];
    let server = Server::with(exports, NoConflicts);
    let data = server.root_of("/data");
    let (a, sub) = (server.dir(server.root, "a", 0o755), server.dir(data, "sub", 0o755));
    let b = server.dir(a, "b", 0o755);
    server.file(server.root, "file", 0o644);
    for (directory, name, target) in [
        (server.root, "to_a", "a/."),
        (a, "up", ".."),
        (a, "far_up", "../../../a"),
        (b, "data", "/data"),
        (data, "home", "../a/b"),
        (server.root, "twice", "to_a/b/data"),
        (server.root, "loop", "loop"),
        (server.root, "to_file", "file"),
        (server.root, "nowhere", "gone"),
        (server.root, "back", "to_a/../a"),
    ] {
        server.symlink(directory, name, target);
    }
    for (at, handle) in [
        ("/to_a", a),
        ("/to_a/b", b),
        ("/a/up/a/up", server.root),
        ("/a/far_up/b", b),
        ("/a/b/data/sub", sub),
        ("/data/home/data", data),
        ("/twice/home", b),
    ] {
        assert_eq!(mnt(&server, at), mounted(handle), "{at}");
    }
    for (at, status) in [
        ("/loop", Status::Invalid),
        ("/to_file", Status::NotDirectory),
        ("/nowhere", Status::NoEntry),
        ("/back", Status::Invalid),
    ] {
        assert_eq!(mnt(&server, at), MntReply::Err(status), "{at}");
    }
}

#[test]
fn a_link_leads_into_no_export_that_the_caller_may_not_mount() {
    let network = Network { address: IpAddr::from([10, 0, 0, 0]), prefix_bits: 8 };
    let clients = Clients::Networks(vec![network]);
    let private = Rule { clients, ..unsquashed() };
    let server = Server::with(vec![export(1, "/", unsquashed()), export(2, "/data", private)], NoConflicts);
    server.symlink(server.root, "link", "data");
    for at in ["/data", "/link", "/link/absent"] {
        assert_eq!(mnt(&server, at), MntReply::Err(Status::AccessDenied), "{at}");
    }
}

#[test]
fn a_path_leads_into_the_deepest_export() {
    let exports = vec![export(1, "/", unsquashed()), export(2, "/data", unsquashed())];
    let server = Server::with(exports, NoConflicts);
    let sub = server.dir(server.root_of("/data"), "sub", 0o755);
    assert_eq!(mnt(&server, "/"), mounted(server.root));
    assert_eq!(mnt(&server, "/data"), mounted(server.root_of("/data")));
    assert_eq!(mnt(&server, "/data/sub"), mounted(sub));
}

#[test]
fn mount_of_a_file_is_refused() {
    let server = Server::new();
    server.file(server.root, "f", 0o644);
    let long = format!("/{}", "n".repeat(256));
    let deep = "/d".repeat(513);
    for (at, status) in [
        ("/absent", Status::NoEntry),
        ("/f", Status::NotDirectory),
        ("/f/x", Status::NotDirectory),
        ("relative", Status::NoEntry),
        ("/a/../f", Status::Invalid),
        (&long, Status::NameTooLong),
        (&deep, Status::NameTooLong),
    ] {
        assert_eq!(mnt(&server, at), MntReply::Err(status), "{at}");
    }
    assert_eq!(mounts(&server), [], "a failure is no mount");
}

#[test]
fn a_client_outside_the_networks_of_an_export_may_not_mount_it() {
    let network = Network { address: IpAddr::from([10, 0, 0, 0]), prefix_bits: 8 };
    let clients = Clients::Networks(vec![network]);
    let server = Server::with_options(Rule { clients, ..unsquashed() });
    let reply = |peer| {
        let results = server.raw(number(Procedure::Mnt), user(0), peer, xdr::to_bytes(&path("/"))).unwrap();
        xdr::from_bytes::<MntReply>(results).unwrap()
    };
    assert_eq!(reply("10.9.9.9"), mounted(server.root));
    assert_eq!(reply("127.0.0.1"), MntReply::Err(Status::AccessDenied));
    let list: ExportList = server.results(number(Procedure::Export), user(0), &());
    let groups: Vec<_> = list.0.0[0].groups.0.iter().map(|group| &group.0[..]).collect();
    assert_eq!(groups, [b"10.0.0.0/8"]);
}

#[test]
fn hidden_export_is_listed_for_its_clients_only() {
    let network =
        |first| Clients::Networks(vec![Network { address: [first, 0, 0, 0].into(), prefix_bits: 8 }]);
    let list = || {
        vec![
            export(1, "/", unsquashed()),
            export(2, "/a", Rule { clients: network(10), ..unsquashed() }),
            export(3, "/b", Rule { clients: network(11), ..unsquashed() }),
        ]
    };
    for (hides, expected) in [(true, &[&b"/"[..], b"/a"][..]), (false, &[b"/", b"/a", b"/b"])] {
        let set = ExportSet::new(list()).unwrap().with_hidden(hides);
        let server = Server::over(set, NoConflicts);
        let told = |procedure, peer| server.raw(number(procedure), user(0), peer, Bytes::new()).unwrap();
        let exports: ExportList = xdr::from_bytes(told(Procedure::Export, "10.0.0.1")).unwrap();
        let mut dirs: Vec<_> = exports.0.0.iter().map(|export| &export.dir[..]).collect();
        dirs.sort_unstable();
        assert_eq!(dirs, expected);
        for peer in ["10.0.0.1", "11.0.0.1"] {
            server.raw(number(Procedure::Mnt), user(0), peer, xdr::to_bytes(&path("/"))).unwrap();
        }
        let mounts: MountList = xdr::from_bytes(told(Procedure::Dump, "10.0.0.1")).unwrap();
        assert_eq!(mounts.0.0.len(), if hides { 1 } else { 2 });
    }
}

#[test]
fn a_mount_needs_a_port_below_1024_where_the_rule_says_so() {
    let rule = || Rule { privileged_port: true, ..unsquashed() };
    let server = Server::with_options(rule());
    let from = |server: &Server, port| {
        let peer = std::net::SocketAddr::new([127, 0, 0, 1].into(), port);
        server.raw_from(number(Procedure::Mnt), user(0), peer, xdr::to_bytes(&path("/")))
    };
    let weak = Err(Refusal::Authentication(rpc::AuthStatus::TooWeak));
    assert_eq!(from(&server, 1024), weak, "no export accepts it");
    assert!(matches!(xdr::from_bytes(from(&server, 1023).unwrap()), Ok(MntReply::Ok(_))));
    let server = Server::with(vec![export(1, "/", rule()), export(2, "/a", unsquashed())], NoConflicts);
    let reply = xdr::from_bytes(from(&server, 1024).unwrap());
    assert!(matches!(reply, Ok(MntReply::Err(Status::AccessDenied))), "another one does");
}

#[test]
fn an_export_has_a_second_path_for_mounts() {
    let with_path = |export: crate::exports::Export<_>, path: &str| {
        export.with_mount_path(Some(ExportPath::new(path.as_bytes()).unwrap()))
    };
    let exports = vec![
        with_path(export(1, "/", unsquashed()), "/srv"),
        with_path(export(2, "/data", unsquashed()), "/srv/data"),
    ];
    let server = Server::with(exports, NoConflicts);
    let data = server.root_of("/data");
    for (at, handle) in [("/srv", server.root), ("/", server.root), ("/srv/data", data), ("/data", data)] {
        assert_eq!(mnt(&server, at), mounted(handle), "{at}");
    }
    let list: ExportList = server.results(number(Procedure::Export), Credential::None, &());
    let mut dirs: Vec<_> = list.0.0.iter().map(|export| &export.dir[..]).collect();
    dirs.sort_unstable();
    assert_eq!(dirs, [&b"/srv"[..], b"/srv/data"]);
}

#[test]
fn exports_are_listed_with_their_paths() {
    let exports = vec![export(1, "/", unsquashed()), export(2, "/a/b", unsquashed())];
    let server = Server::with(exports, NoConflicts);
    let list: ExportList = server.results(number(Procedure::Export), Credential::None, &());
    let mut dirs: Vec<_> = list.0.0.iter().map(|export| (&export.dir[..], export.groups.0.len())).collect();
    dirs.sort_unstable();
    assert_eq!(dirs, [(&b"/"[..], 0), (b"/a/b", 0)]);
}

#[test]
fn a_client_forgets_only_its_own_mounts() {
    let server = Server::new();
    server.dir(server.root, "a", 0o755);
    let call = |procedure, peer, bytes: Bytes| server.raw(number(procedure), user(0), peer, bytes).unwrap();
    for at in ["/", "/a", "/a/"] {
        call(Procedure::Mnt, "10.0.0.1", xdr::to_bytes(&path(at)));
    }
    call(Procedure::Mnt, "::ffff:10.0.0.2", xdr::to_bytes(&path("/a")));
    let entry = |host: &str, at: &str| (host.to_owned(), at.to_owned());
    let mut listed = mounts(&server);
    listed.sort();
    assert_eq!(listed, [entry("10.0.0.1", "/"), entry("10.0.0.1", "/a"), entry("10.0.0.2", "/a")]);
    call(Procedure::Umnt, "10.0.0.1", xdr::to_bytes(&path("/a")));
    call(Procedure::Umnt, "10.0.0.1", xdr::to_bytes(&path("nonsense")));
    assert_eq!(mounts(&server), [entry("10.0.0.1", "/"), entry("10.0.0.2", "/a")]);
    call(Procedure::UmntAll, "10.0.0.1", Bytes::new());
    assert_eq!(mounts(&server), [entry("10.0.0.2", "/a")]);
}

#[test]
fn null_answers_nothing_and_unknown_procedures_are_unavailable() {
    let server = Server::new();
    let gss = Credential::Other { flavor: 6, body: Bytes::new() };
    assert_eq!(server.raw(number(Procedure::Null), gss.clone(), "::1", Bytes::new()), Ok(Bytes::new()));
    let refusal = Err(Refusal::Authentication(rpc::AuthStatus::TooWeak));
    assert_eq!(server.raw(number(Procedure::Mnt), gss, "::1", xdr::to_bytes(&path("/"))), refusal);
    let unknown = (PROGRAM, VERSION, 6);
    assert_eq!(server.raw(unknown, user(0), "::1", Bytes::new()), Err(Refusal::ProcedureUnavailable));
    let garbage = Bytes::from_static(&[0, 0, 0, 9]);
    assert_eq!(server.raw(number(Procedure::Mnt), user(0), "::1", garbage), Err(Refusal::GarbageArguments));
}
