//! The socket, and who may use it.

use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use tokio::net::{UnixListener, UnixStream};

/// The name of the socket in the state directory.
pub const SOCKET_NAME: &str = "control.sock";
/// How often it is looked whether the socket was removed, as with a state directory.
const LOOK: Duration = Duration::from_secs(2);
/// Pause after an error of `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why no commands are taken, in one sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another server listens there.
    #[error("another server takes its commands at {}; name another place with --socket", path.display())]
    Taken {
        /// Where.
        path: PathBuf,
    },
    /// It cannot be made.
    #[error("cannot take commands at {}: {source}; name a place that you may write, with a path of at most \
             107 bytes, with --socket", path.display())]
    Unusable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Gone from the file system when it is dropped.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    pub(super) fn bind(path: PathBuf) -> Result<Self, SocketError> {
        let listener = listen(&path)?;
        Ok(Self { listener, path })
    }

    /// Makes the socket again when it was removed.
    fn look(&mut self) {
        if std::fs::symlink_metadata(&self.path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
            && let Ok(listener) = listen(&self.path)
        {
            tracing::info!(path = %self.path.display(), "the socket for commands was removed, and is made \
                                                         again");
            self.listener = listener;
        }
    }

    /// The next that may give commands; `None` for one that may not. The mode of the socket keeps others out
    /// already, but not in the moment before it is set, nor where somebody changes it.
    pub(super) async fn accept(&mut self) -> Option<UnixStream> {
        let Ok(accepted) = tokio::time::timeout(LOOK, self.listener.accept()).await else {
            self.look();
            return None;
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a command was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                return None;
            }
        };
        let user = stream.peer_cred().map(|credentials| credentials.uid());
        match user {
            Ok(user) if user == 0 || user == geteuid().as_raw() => Some(stream),
            other => {
                let user = other.ok();
                tracing::warn!(?user, "a command was refused: only the server's user and root may give any");
                None
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::debug!(%error, "the socket for commands could not be removed");
        }
    }
}

/// Listens at a path, and replaces a socket there that has no listener any more.
fn listen(path: &Path) -> Result<UnixListener, SocketError> {
    let unusable = |source| SocketError::Unusable { path: path.to_owned(), source };
    if is_socket(path) {
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(SocketError::Taken { path: path.to_owned() }),
            // The process that listened there was killed.
            Err(_) => std::fs::remove_file(path).map_err(unusable)?,
        }
    }
    let listener = UnixListener::bind(path).map_err(unusable)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(unusable)?;
    Ok(listener)
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}
