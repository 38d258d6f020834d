//! A server on a fresh directory, and its tree mounted in another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::{Client, Options, Url, Version};
use mount::{Mount, MountOptions};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Makes a test of each function for each version. They say why they do nothing where nothing can be mounted.
macro_rules! in_both_versions {
    ($($name:ident)*) => {
        mod v3 {
            $(#[test]
            fn $name() {
                if crate::fixture::can_mount() {
                    super::$name(client::Version::V3);
                }
            })*
        }
        mod v4_1 {
            $(#[test]
            fn $name() {
                if crate::fixture::can_mount() {
                    super::$name(client::Version::V4_1);
                }
            })*
        }
    };
}
pub(crate) use in_both_versions;

/// True where this user may mount; says why not otherwise.
pub fn can_mount() -> bool {
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        eprintln!("skipped: /dev/fuse cannot be opened: {error}");
        return false;
    }
    let helper = std::process::Command::new("fusermount3").arg("-V").output().is_ok();
    if !rustix::process::geteuid().is_root() && !helper {
        eprintln!("skipped: not root, and there is no fusermount3 (package fuse3)");
        return false;
    }
    true
}

/// A server, with as many mounts as a test wants. The kernel's requests are served by threads of the runtime,
/// never by those of the test, which wait in system calls.
pub struct Fixture {
    pub server: Option<Running>,
    pub runtime: Arc<Runtime>,
    directory: TempDir,
}

/// A tree in a directory of its own. It is unmounted when this is dropped, after a panic too.
pub struct Mounted {
    mount: Option<Mount>,
    /// Counts what it asks.
    pub client: Client,
    runtime: Arc<Runtime>,
    directory: TempDir,
}

/// Threads for a server and the mounts of a test.
pub fn runtime() -> Arc<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Arc::new(builder.worker_threads(2).enable_all().build().unwrap())
}

/// Mounts the tree of a server.
pub fn mount_at(
    runtime: &Arc<Runtime>,
    address: std::net::SocketAddr,
    version: Version,
    change: impl FnOnce(&mut Options),
    change_mount: impl FnOnce(&mut MountOptions),
) -> Mounted {
    let url: Url = format!("nfs://{address}/").parse().unwrap();
    let mut options = Options { versions: vec![version], ..Options::default() };
    change(&mut options);
    let mut mount_options = MountOptions::new(url.to_string());
    change_mount(&mut mount_options);
    let directory = tempfile::tempdir().unwrap();
    let (mount, client) = runtime.block_on(async {
        let client = Client::connect(&url, options).await.unwrap();
        (Mount::start(client.clone(), directory.path(), &mount_options).await.unwrap(), client)
    });
    Mounted { mount: Some(mount), client, runtime: Arc::clone(runtime), directory }
}

fn serve_options(directory: &TempDir) -> ServeOptions {
    let mut options = ServeOptions::new(directory.path().join("export"));
    // Root is root, and nothing waits for the disk.
    options.exports[0].asynchronous = true;
    options.exports[0].options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
    options.state_directory = Some(directory.path().join("state"));
    options
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("export")).unwrap();
        let runtime = runtime();
        let mut options = serve_options(&directory);
        change(&mut options);
        let server = runtime.block_on(Running::start(&options)).unwrap();
        Self { server: Some(server), runtime, directory }
    }

    /// The server ends and another one takes its place, which knows its clients but not their sessions.
    pub fn restart(&mut self) {
        let server = self.server.take().unwrap();
        let mut options = serve_options(&self.directory);
        options.listen = server.address();
        self.server = Some(self.runtime.block_on(async {
            server.stop().await.unwrap();
            Running::start(&options).await.unwrap()
        }));
    }

    pub fn mount(&self, version: Version) -> Mounted {
        self.mount_with(version, |_| {}, |_| {})
    }

    pub fn mount_with(
        &self,
        version: Version,
        change: impl FnOnce(&mut Options),
        change_mount: impl FnOnce(&mut MountOptions),
    ) -> Mounted {
        let address = self.server.as_ref().unwrap().address();
        mount_at(&self.runtime, address, version, change, change_mount)
    }

    /// Where the server keeps the files.
    pub fn export(&self) -> PathBuf {
        self.directory.path().join("export")
    }
}

impl Mounted {
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Has the threads of the runtime do something.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// How many objects the kernel knows.
    pub fn inodes(&self) -> usize {
        self.mount.as_ref().unwrap().inodes()
    }

    /// Ends whatever programs wait for; root alone may.
    pub fn abort(&self) {
        use rustix::mount::UnmountFlags;
        if let Err(error) = rustix::mount::unmount(self.root(), UnmountFlags::FORCE | UnmountFlags::DETACH) {
            eprintln!("{error}");
        }
    }

    /// Waits until the mount has noticed that somebody else has unmounted the tree, and tells what became of
    /// what was written last.
    pub fn ended(mut self) -> Result<(), mount::Error> {
        let mount = self.mount.take().unwrap();
        self.runtime.block_on(mount.ended())
    }

    /// Unmounts, and tells what became of what was written last.
    pub fn unmount(mut self) -> Result<(), mount::Error> {
        let mount = self.mount.take().unwrap();
        mount.unmounter().unmount()?;
        self.runtime.block_on(mount.ended())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(mount) = self.mount.take()
            && let Err(error) = mount.unmounter().unmount()
        {
            eprintln!("{error}");
        }
    }
}
