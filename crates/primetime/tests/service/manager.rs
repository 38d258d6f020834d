//! What a service manager is told, and what it may give.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::ctl::{ctl, rows};
use crate::peer::Line;
use crate::process::{Place, Process};

/// The next message.
fn told(manager: &UnixDatagram) -> Vec<String> {
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).unwrap();
    std::str::from_utf8(&bytes[..length]).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_manager_is_told_how_the_server_is() {
    let place = Place::new();
    let manager = UnixDatagram::bind(place.path("notify")).unwrap();
    std::fs::write(place.path("primetime.toml"), "").unwrap();
    let mut command = place.command(&["--config", "primetime.toml"]);
    let server = Process::start(command.env("NOTIFY_SOCKET", place.path("notify")));
    let status = format!("STATUS=serving at nfs://{}/", server.address);
    assert_eq!(told(&manager), ["READY=1", &status]);
    for refused in [false, true] {
        std::fs::write(place.path("primetime.toml"), if refused { "nonsense = 1" } else { "" }).unwrap();
        let reloaded = ctl(&place.path("state/control.sock"), &["reload"]);
        assert_eq!(reloaded.status.success(), !refused);
        let [reloading, now] = &told(&manager)[..] else { panic!("not two values") };
        assert_eq!(reloading, "RELOADING=1");
        assert!(now.strip_prefix("MONOTONIC_USEC=").unwrap().parse::<u64>().unwrap() > 0);
        let ready = told(&manager);
        assert_eq!(ready[0], "READY=1");
        assert_eq!(ready[1].contains("the new one is refused"), refused, "{ready:?}");
    }
    server.signal(Signal::TERM);
    assert_eq!(told(&manager)[0], "STOPPING=1");
    assert!(server.ended().success());
}

#[test]
fn a_manager_that_wants_signs_of_life_gets_them() {
    let place = Place::new();
    let manager = UnixDatagram::bind(place.path("notify")).unwrap();
    let mut command = place.command(&[]);
    command.env("NOTIFY_SOCKET", place.path("notify")).env("WATCHDOG_USEC", "50000");
    let _server = Process::start(&mut command);
    assert_eq!(told(&manager)[0], "READY=1");
    for _ in 0..3 {
        assert_eq!(told(&manager), ["WATCHDOG=1"]);
    }
}

#[test]
fn a_socket_that_the_manager_listens_on_is_used() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Somebody connects before there is a server.
    let mut early = Line::new(address);
    let mut shell = Command::new("sh");
    // The manager passes sockets as descriptors from 3 on, and says for whom.
    shell.args(["-c", r#"exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@""#, "sh"]);
    let serve = place.command(&[]);
    shell.arg(serve.get_program()).args(serve.get_args()).current_dir(place.path("."));
    let server = Process::start(shell.stdin(Stdio::from(OwnedFd::from(listener))));
    assert_eq!(server.address, address);
    early.session("early");
    assert_eq!(rows(&place.path("state/control.sock"), &["clients"]).len(), 1);
}
