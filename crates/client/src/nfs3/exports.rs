//! EXPORT: what a server exports (RFC 1813 §5.2.5).

use std::sync::Arc;

use bytes::Bytes;
use proto::mount3::{ExportList, PROGRAM, Procedure, VERSION};

use super::connect::mount_daemon;
use super::transport::Transport;
use crate::error::Result;
use crate::options::Options;
use crate::server::Server;
use crate::tap::{Request, Tap};

/// The paths of all exports.
pub(crate) async fn exports(server: &Server, options: &Options) -> Result<Vec<Bytes>> {
    let transport = Transport::connect(server, options, &Arc::new(Tap::default()), &Arc::default()).await?;
    let elsewhere = mount_daemon(&transport, server, options).await?;
    let connection = elsewhere.as_ref().unwrap_or_else(|| transport.connection());
    let numbers = (PROGRAM, VERSION, Procedure::Export.number());
    let list: Result<ExportList> = transport.call(connection, numbers, Request::Mount, |_| {}).await;
    for connection in transport.all().iter().chain(&elsewhere) {
        connection.disconnect();
    }
    Ok(list?.0.0.into_iter().map(|export| export.dir).collect())
}
