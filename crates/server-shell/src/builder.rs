//! A server in a program of one's own, over any back end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use server::exports::{ExportOptions, ExportPath};
use vfs::{AnyFileSystem, FileSystem, Sealed};

use super::back_ends::{OpenBackEnd, Opening};
use super::exports::ExportSpec;
use super::{Running, ServeOptions, StartError};

/// An NFS server, see [`Server::builder`].
///
/// ```no_run
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use server_shell::Server;
/// use vfs::memory::{Memory, MemoryOptions};
///
/// let scratch = Memory::new(MemoryOptions::default())?;
/// let server = Server::builder().export("/scratch", scratch).serve().await?;
/// println!("nfs://{}/scratch", server.address());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Returns the builder of a server. Without more calls the server listens on a free port of the loopback
    /// interface, keeps nothing over a restart, and exports nothing.
    pub fn builder() -> ServerBuilder {
        ServerBuilder { options: ServeOptions { exports: Vec::new(), ..ServeOptions::new("") }, wrong: None }
    }
}

/// The parts of a server that does not run yet.
#[derive(Debug)]
pub struct ServerBuilder {
    options: ServeOptions,
    /// The first path that cannot be one.
    wrong: Option<StartError>,
}

impl ServerBuilder {
    /// Exports a file system at `path`, with the default rules: all clients may use it, and superusers
    /// act as `nobody`.
    ///
    /// The server seals the handles of the back end, so that clients cannot forge one. A handle of the back
    /// end has at most [`Sealed::HANDLE_BYTES_MAX`] bytes. A back end whose attributes have `fsid` 0 gets a
    /// number of its own, which is the same after a restart with a state directory.
    #[must_use]
    pub fn export(self, path: &str, file_system: impl FileSystem) -> Self {
        self.export_with(path, file_system, ExportOptions::default())
    }

    /// Exports a file system at `path`, with rules.
    #[must_use]
    pub fn export_with(
        self,
        path: &str,
        file_system: impl FileSystem,
        options: impl Into<ExportOptions>,
    ) -> Self {
        let options = options.into();
        let back_end = Prepared(Arc::new(file_system));
        self.add(path, |path| ExportSpec { options, ..ExportSpec::with_back_end(path, back_end) })
    }

    /// Exports a directory of this host at `path`.
    #[must_use]
    pub fn directory(self, path: &str, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.add(path, |path| ExportSpec { path, ..ExportSpec::new(directory) })
    }

    /// Listens on this address; port 0 takes a free one.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.options.listen = address;
        self
    }

    /// Keeps keys and the names of clients in this directory, so that clients get over a restart.
    #[must_use]
    pub fn state_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.options.state_directory = Some(directory.into());
        self
    }

    /// Changes any other option.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ServeOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Starts to serve.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn serve(self) -> Result<Running, StartError> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => Running::start(&self.options).await,
        }
    }

    fn add(mut self, path: &str, spec: impl FnOnce(ExportPath) -> ExportSpec) -> Self {
        match ExportPath::new(path.as_bytes()) {
            Ok(path) => self.options.exports.push(spec(path)),
            Err(source) => {
                self.wrong.get_or_insert(StartError::Path { path: path.to_owned(), source });
            }
        }
        self
    }
}

/// A file system that the program has opened.
struct Prepared<F>(Arc<F>);

impl<F: FileSystem> OpenBackEnd for Prepared<F> {
    fn open(&self, opening: &Opening<'_>) -> vfs::Result<AnyFileSystem> {
        let sealed = Sealed::new(Arc::clone(&self.0), opening.state_directory, opening.name_space)?;
        Ok(AnyFileSystem::new(sealed))
    }
}

#[cfg(test)]
mod tests {
    use vfs::memory::{Memory, MemoryOptions};

    use super::*;

    fn memory() -> Memory {
        Memory::new(MemoryOptions::default()).unwrap()
    }

    async fn refused(builder: ServerBuilder) -> String {
        builder.serve().await.expect_err("it is refused").to_string()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn several_back_ends_are_served_side_by_side() {
        let directory = tempfile::tempdir().unwrap();
        let builder = Server::builder().export("/a", memory()).export("/b", memory());
        let server = builder.directory("/c", directory.path()).serve().await.unwrap();
        assert!(server.address().ip().is_loopback());
        server.stop().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn wrong_exports_are_told_when_the_server_is_to_start() {
        let error = refused(Server::builder().export("a", memory())).await;
        assert!(error.contains("`a`"), "{error}");
        let twice = Server::builder().export("/a", memory()).export("/a", memory());
        assert!(refused(twice).await.contains("own:/a"));
        let missing = Server::builder().directory("/c", "/nonexistent/directory");
        assert!(refused(missing).await.contains("/nonexistent/directory"));
    }
}
