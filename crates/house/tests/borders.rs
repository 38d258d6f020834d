//! The borders between codec, pure state, service and shell, as cargo sees them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use house::root;

/// Crates without input and output, threads and clocks.
const PURE: [&str; 5] =
    ["primetime-xdr", "primetime-proto", "primetime-rpc", "primetime-gss-krb5", "primetime-state"];
/// Crates that a pure crate does not depend on.
const IMPURE: [&str; 6] = ["tokio", "mio", "socket2", "rustix", "nix", "primetime-rpc-net"];
/// Crates that a crate of the service layer does not depend on.
const RUNTIME: [&str; 8] =
    ["tokio", "mio", "socket2", "hyper", "dns-lookup", "redb", "primetime-portmap", "primetime-rpc-net"];

/// Crates of the service layer. The `lib.rs` of `vfs` exempts its module `local`.
const SERVICE: [&str; 2] = ["primetime-vfs", "primetime-server"];

fn dependencies(package: &str) -> Vec<String> {
    tree(package, &[])
}

fn tree(package: &str, options: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--package",
            package,
        ])
        .args(options)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn pure_crates_have_no_input_and_output() {
    for package in PURE {
        let found = dependencies(package);
        assert_eq!(found[0], package);
        let impure: Vec<&String> = found.iter().filter(|name| IMPURE.contains(&name.as_str())).collect();
        assert!(impure.is_empty(), "{package} depends on {impure:?}");
    }
    assert!(dependencies("primetime-rpc-net").iter().any(|name| name == "tokio"), "the list is read");
}

#[test]
fn codec_and_state_do_not_depend_on_rpc() {
    for package in ["primetime-xdr", "primetime-proto", "primetime-gss-krb5", "primetime-state"] {
        assert!(!dependencies(package).iter().any(|name| name == "primetime-rpc"), "{package}");
    }
}

#[test]
fn file_systems_have_no_runtime() {
    let found = dependencies("primetime-vfs");
    let is_impure = |name: &&String| RUNTIME.contains(&name.as_str()) || *name == "primetime-rpc";
    let impure: Vec<&String> = found.iter().filter(is_impure).collect();
    assert!(impure.is_empty(), "primetime-vfs depends on {impure:?}");
}

#[test]
fn service_has_no_runtime() {
    let found = dependencies("primetime-server");
    assert!(found.iter().any(|name| name == "primetime-rpc"), "the list is read");
    let impure: Vec<&String> = found.iter().filter(|name| RUNTIME.contains(&name.as_str())).collect();
    assert!(impure.is_empty(), "primetime-server depends on {impure:?}");
    assert!(dependencies("primetime-server-shell").iter().any(|name| name == "tokio"), "the rule can fail");
}

// Clippy reads one file for each crate and takes nothing from the file at the root.
#[test]
fn clippy_denies_clocks_sockets_files_and_threads() {
    const ITEMS: [&str; 9] = [
        "std::time::Instant::now",
        "std::time::SystemTime::now",
        "std::thread::spawn",
        "std::thread::sleep",
        "std::net::TcpStream",
        "std::net::TcpListener",
        "std::net::UdpSocket",
        "std::fs::File",
        "std::fs::read",
    ];
    let settings = fs::read_to_string(root().join("clippy.toml")).unwrap();
    for package in PURE.iter().chain(&SERVICE) {
        let folder = package.strip_prefix("primetime-").unwrap();
        let own = fs::read_to_string(root().join("crates").join(folder).join("clippy.toml")).unwrap();
        for setting in settings.lines() {
            assert!(own.contains(setting), "crates/{folder}/clippy.toml lacks `{setting}`");
        }
        for item in ITEMS {
            assert!(own.contains(&format!("\"{item}\"")), "crates/{folder}/clippy.toml allows {item}");
        }
    }
}
