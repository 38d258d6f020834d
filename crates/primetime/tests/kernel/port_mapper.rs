//! No guest: the port mapper that is built in, and rpcbind, as the system's own tools see them.

use netlab::guest::Lab;

#[test]
fn programs_are_found_through_rpcbind_and_the_own_port_mapper() {
    let Some(lab) = Lab::for_test() else { return };
    let (export, state) =
        (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir_in("/var/tmp").unwrap());
    // Its own /run, where rpcbind has its socket, and its own processes, which end with the first of them.
    let output = lab
        .command("unshare")
        .args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "timeout",
            "120",
            "sh",
            "-c",
            include_str!("port_mapper.sh"),
            "port_mapper.sh",
        ])
        .arg(env!("CARGO_BIN_EXE_primetime"))
        .args([export.path(), state.path()])
        .arg(lab.host_address().to_string())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}
