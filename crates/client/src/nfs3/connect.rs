//! Reaching an export: the server's programs and the root's handle (RFC 1813 §5, RFC 1833 §3).

use std::sync::Arc;

use bytes::Bytes;
use proto::{mount3, nfs3, nlm4, portmap};
use rpc_net::Client;
use tokio::sync::OnceCell;

use super::convert::{attributes, from_handle, to_handle};
use super::lock_waits::LockWaits;
use super::reclaim::{LockWatch, spawn_keeper};
use super::transport::{Transport, connect, is_unavailable};
use crate::error::{Error, Result};
use crate::options::{Options, ProgramPorts};
use crate::protocol::FoundObject;
use crate::server::Server;
use crate::shared::{Limits, Shared, size_limit};
use crate::tap::{Request, Tap};
use crate::transport_security::TransportSecurity;

/// An export of a server that speaks NFSv3.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(super) transport: Transport,
    pub(super) server: Server,
    pub(super) options: Options,
    /// Tells the lock owners of this client from those of others on this host.
    pub(super) instance: u64,
    pub(super) lock_watch: Arc<LockWatch>,
    pub(super) lock_waits: LockWaits,
    /// Where the lock manager is; looked for with the first lock.
    pub(super) lock_manager: OnceCell<Client>,
    /// The preferred size of a part of a directory, in bytes.
    pub(super) directory_bytes: u32,
}

/// Sizes of READDIRPLUS replies, in bytes.
const DIRECTORY_BYTES: std::ops::RangeInclusive<u32> = 4096..=(1 << 20);

impl Mount {
    /// Reaches the export of `path`.
    pub(crate) async fn connect(
        server: &Server,
        path: &[u8],
        options: &Options,
        tap: &Arc<Tap>,
    ) -> Result<(Self, FoundObject, Limits)> {
        let lock_watch = Arc::new(LockWatch::default());
        let transport = Transport::connect(server, options, tap, &lock_watch).await?;
        let mut mount = Self {
            transport,
            server: server.clone(),
            options: options.clone(),
            instance: rand::random(),
            lock_watch,
            lock_waits: LockWaits::default(),
            lock_manager: OnceCell::new(),
            directory_bytes: *DIRECTORY_BYTES.start(),
        };
        let root = mount.mount(path).await?;
        let info = mount.transport.ok(&nfs3::FsInfoArgs { root }).await?;
        let root_attributes = match info.attributes {
            Some(attributes) => attributes,
            None => mount.transport.ok(&nfs3::GetAttrArgs { object: root }).await?.attributes,
        };
        let limits = Limits {
            read_bytes_max: agreed(options.read_bytes_max, info.read_max),
            write_bytes_max: agreed(options.write_bytes_max, info.write_max),
            file_bytes_max: size_limit(info.file_bytes_max),
        };
        // As with NFSv4, a listing's reply is no longer than a READ's.
        let wanted = info.read_dir_preferred.max(64 << 10).min(limits.read_bytes_max);
        mount.directory_bytes = wanted.clamp(*DIRECTORY_BYTES.start(), *DIRECTORY_BYTES.end());
        let found = FoundObject { handle: from_handle(&root), attributes: attributes(&root_attributes) };
        Ok((mount, found, limits))
    }

    /// From here on what becomes of locks when a connection ends is looked into.
    pub(crate) fn attach(&self, shared: &Arc<Shared>) {
        spawn_keeper(&self.lock_watch, shared);
    }

    /// See [`crate::protocol::Protocol::incarnation`].
    pub(crate) fn incarnation(&self) -> u64 {
        self.lock_watch.looks()
    }

    pub(crate) async fn null(&self) -> Result<()> {
        let request = Request::Nfs3(nfs3::Procedure::Null);
        let connection = self.transport.connection();
        self.transport.call(connection, (nfs3::PROGRAM, nfs3::VERSION, 0), request, |_| {}).await
    }

    /// The server keeps nothing for a client of NFSv3 but locks, which closing the files has given up.
    pub(crate) async fn shutdown(&self) -> Result<()> {
        self.lock_waits.end().await;
        for connection in self.transport.all().iter().chain(self.lock_manager.get()) {
            connection.disconnect();
        }
        Ok(())
    }

    pub(crate) fn negotiated(&self) -> Vec<(&'static str, String)> {
        vec![("readdir", self.directory_bytes.to_string())]
    }

    /// MNT: on its own port when that is given, else on the NFS port, else wherever the port mapper says.
    async fn mount(&self, path: &[u8]) -> Result<nfs3::FileHandle> {
        let elsewhere = mount_daemon(&self.transport, &self.server, &self.options).await?;
        let connection = elsewhere.as_ref().unwrap_or_else(|| self.transport.connection());
        let path = mount3::DirPath(Bytes::copy_from_slice(path));
        let numbers = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
        let reply = self.transport.call(connection, numbers, Request::Mount, |to| to.put(&path)).await?;
        if let Some(elsewhere) = &elsewhere {
            elsewhere.disconnect();
        }
        match reply {
            mount3::MntReply::Ok(ok) => Ok(ok.handle),
            mount3::MntReply::Err(status) => Err(Error::server("MNT", status)),
        }
    }

    /// The lock manager's connection.
    pub(super) async fn lock_manager(&self) -> Result<&Client> {
        self.lock_manager
            .get_or_try_init(|| async {
                let port = self.lock_port().await?;
                Ok(match port {
                    Some(port) => {
                        let program = (nlm4::PROGRAM, nlm4::VERSION);
                        connect(&self.server.at_port(port), program, &self.options).await?
                    }
                    None => self.transport.connection().clone(),
                })
            })
            .await
    }

    /// Where the lock manager is; `None` on the NFS port.
    async fn lock_port(&self) -> Result<Option<u16>> {
        let numbers = (nlm4::PROGRAM, nlm4::VERSION);
        port_of(&self.transport, &self.server, &self.options, self.options.lock_port, numbers).await
    }

    /// See [`crate::Client::program_ports`].
    pub(crate) async fn program_ports(&self) -> Result<ProgramPorts> {
        let mount = mount_port(&self.transport, &self.server, &self.options).await?;
        // A server without a lock manager is one for everything but locks.
        let lock = self.lock_port().await.ok().flatten();
        Ok(ProgramPorts { mount, lock })
    }

    pub(super) fn handle(&self, handle: &crate::node::Handle) -> Result<nfs3::FileHandle> {
        to_handle(handle)
    }
}

/// MOUNT's connection: on its own port when that is given, else wherever the port mapper says; `None` on the
/// NFS port.
pub(super) async fn mount_daemon(
    transport: &Transport,
    server: &Server,
    options: &Options,
) -> Result<Option<Client>> {
    match mount_port(transport, server, options).await? {
        Some(port) => {
            let program = (mount3::PROGRAM, mount3::VERSION);
            Ok(Some(connect(&server.at_port(port), program, options).await?))
        }
        None => Ok(None),
    }
}

/// Where MOUNT is; `None` on the NFS port.
async fn mount_port(transport: &Transport, server: &Server, options: &Options) -> Result<Option<u16>> {
    port_of(transport, server, options, options.mount_port, (mount3::PROGRAM, mount3::VERSION)).await
}

/// Where a program is that is not on the NFS port; `None` when it is there. Nobody is asked where the user
/// has `named` a port.
async fn port_of(
    transport: &Transport,
    server: &Server,
    options: &Options,
    named: Option<u16>,
    (program, version): (u32, u32),
) -> Result<Option<u16>> {
    if named.is_some() {
        return Ok(named);
    }
    match transport.connection().call(program, version, 0, |_| {}).await {
        Ok(_) => return Ok(None),
        Err(error) if is_unavailable(&error) => {}
        Err(error) => return Err(Error::Transport(error.to_string())),
    }
    // Port mappers speak no TLS. A false port leads to a program that has no certificate of the server.
    let plain = Options { transport_security: TransportSecurity::None, ..options.clone() };
    let mapper = connect(&server.at_port(portmap::PORT), (portmap::PROGRAM, portmap::VERSION), &plain)
        .await
        .map_err(|error| {
            Error::Transport(format!(
                "program {program} is not on the NFS port, and the port mapper cannot be asked: {error}"
            ))
        })?;
    let wanted = portmap::Mapping { program, version, protocol: portmap::PROTOCOL_TCP, port: 0 };
    let numbers = (portmap::PROGRAM, portmap::VERSION, portmap::Procedure::GetPort.number());
    let port: u32 = transport.call(&mapper, numbers, Request::GetPort, |to| to.put(&wanted)).await?;
    mapper.disconnect();
    match u16::try_from(port) {
        Ok(port @ 1..) => Ok(Some(port)),
        _ => Err(Error::Transport(format!("the server does not have program {program} version {version}"))),
    }
}

/// The smaller of what is wanted and what the server allows; never nothing.
fn agreed(wanted: u32, server_max: u32) -> u32 {
    match server_max {
        0 => wanted,
        max => wanted.min(max),
    }
    .clamp(512, nfs3::DATA_BYTES_MAX)
}
