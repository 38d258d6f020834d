//! A server on its own threads, and clients that speak NFSv3 to it.

use std::net::SocketAddr;
use std::path::Path;

use bytes::Bytes;
use proto::nfs3::{FileHandle, Reply, Request, Status};
use proto::{mount3, nfs3};
use rpc::auth::SystemCredentials;
use rpc::{AuthSys, Credential};
use rpc_net::{Client, ClientOptions};
use server::exports::ExportPath;
use server_shell::{ExportSpec, Running, ServeOptions, ServingRuntime};

use crate::frozen::open_to_all;

pub const USER: u32 = 1000;

/// A server as `primetime serve` runs it.
pub struct Server {
    address: SocketAddr,
    clients: tokio::runtime::Runtime,
    /// Dropped after the clients.
    _serving: (Running, ServingRuntime),
}

impl Server {
    /// Exports directories, each under a path.
    pub fn start(directories: &[(&str, &Path)]) -> Self {
        let serving = ServingRuntime::new(8).unwrap();
        let export = |(path, directory): &(&str, &Path)| {
            open_to_all(directory);
            ExportSpec {
                path: ExportPath::new(path.as_bytes()).unwrap(),
                ..ExportSpec::new(directory.to_path_buf())
            }
        };
        let mut options = ServeOptions::new("/");
        options.exports = directories.iter().map(export).collect();
        options.net.threads = Some(serving.threads());
        let running = serving.block_on(Running::start(&options)).unwrap();
        let clients =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { address: running.address(), clients, _serving: (running, serving) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Of the clients.
    pub fn runtime(&self) -> &tokio::runtime::Runtime {
        &self.clients
    }
}

/// A client with a connection of its own.
#[derive(Clone)]
pub struct Peer(Client);

impl Peer {
    pub async fn connect(address: SocketAddr) -> Self {
        let user = AuthSys { stamp: 0, machine_name: Bytes::new(), uid: USER, gid: USER, gids: vec![] };
        let credentials = SystemCredentials::shared(Credential::Sys(user));
        let options = ClientOptions { credentials, ..ClientOptions::default() };
        Self(Client::connect(address, options).await.unwrap())
    }

    pub async fn mount(&self, path: &'static str) -> FileHandle {
        let path = mount3::DirPath(Bytes::from_static(path.as_bytes()));
        let (program, version) = (mount3::PROGRAM, mount3::VERSION);
        let mut reply = self.0.call(program, version, 1, |to| to.put(&path)).await.unwrap();
        match reply.results.get::<mount3::MntReply>().unwrap() {
            mount3::MntReply::Ok(ok) => ok.handle,
            mount3::MntReply::Err(status) => panic!("not mounted: {status:?}"),
        }
    }

    /// The reply to one procedure.
    pub async fn reply<R: Request>(&self, arguments: R) -> Reply<R::Ok, R::Fail> {
        let (program, version, procedure) = (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number());
        let mut reply = self.0.call(program, version, procedure, |to| to.put(&arguments)).await.unwrap();
        reply.results.get().unwrap()
    }

    /// The results of one procedure, sent again while the server says that it is not ready.
    pub async fn ok<R: Request + Clone>(&self, arguments: R) -> R::Ok {
        loop {
            match self.reply(arguments.clone()).await {
                Reply::Ok(ok) => return ok,
                Reply::Err(Status::Jukebox, _) => {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                Reply::Err(status, _) => panic!("{} failed: {status:?}", R::PROCEDURE.name()),
            }
        }
    }
}
