//! The borders between codec, pure state, service and shell, as cargo sees them.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use house::root;

/// Crates without input and output, threads and clocks.
const PURE: [&str; 3] = ["primetime-xdr", "primetime-proto", "primetime-state"];
/// Crates that a pure crate does not depend on.
const IMPURE: [&str; 6] = ["tokio", "mio", "socket2", "rustix", "nix", "primetime-rpc"];

fn dependencies(package: &str) -> Vec<String> {
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
    assert!(dependencies("primetime-rpc").iter().any(|name| name == "tokio"), "the list is read");
}
