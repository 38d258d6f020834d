//! What systemd, or another manager of services that speaks its protocol, is told and gives: how the server
//! is, a sign of life in time, and a socket to listen on. Without a manager nothing of this happens.

use std::net::TcpListener;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::failure::Failure;

/// Tells the manager. One that cannot be told is no reason to stop.
fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager could not be told");
    }
}

/// The server accepts connections; `status` is for people.
pub(crate) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(first_line(status))]);
}

/// The configuration is being read again; `ready` ends that.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager could not be told"),
    }
}

/// The server is about to end.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("answering the last requests")]);
}

/// Gives a sign of life twice in the time that the manager waits for one: from a task among those that answer
/// requests, so that there is none when these do not get their turn.
pub(crate) fn show_life() {
    let Some(patience) = sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero()) else { return };
    tokio::spawn(async move {
        let mut beats = tokio::time::interval(patience / 2);
        loop {
            beats.tick().await;
            tell(&[NotifyState::Watchdog]);
        }
    });
}

/// The socket that the manager listens on for the server.
///
/// # Errors
/// When there is more than one, or it is none that connections come from.
pub(crate) fn listener() -> Result<Option<TcpListener>, Failure> {
    let mut given = ListenFd::from_env();
    let refused = |what: &str| {
        Failure::set_up(format_args!(
            "{what}; let it listen on one TCP address for the server (ListenStream=ADDR:PORT)"
        ))
    };
    match given.len() {
        0 => Ok(None),
        1 => given
            .take_tcp_listener(0)
            .map_err(|error| refused(&format!("the service manager's socket cannot be used: {error}"))),
        sockets => Err(refused(&format!("the service manager gives {sockets} sockets"))),
    }
}

/// The protocol has no place for more.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
