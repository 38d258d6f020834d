//! Calling client hosts: their lock managers, about locks that they wait for, and their status monitors,
//! about restarts.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use rpc::{Call, CallError, Transport};

use crate::runtime::BoxFuture;

/// How a host is reached: the way that it came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRoute {
    /// Its address.
    pub address: IpAddr,
    /// The address of ours that it used, where that is known: it may take calls from there alone.
    pub local: Option<IpAddr>,
    /// What carried its calls.
    pub transport: Transport,
}

impl HostRoute {
    /// The way back to where a call came from.
    pub fn of(call: &Call<'_>) -> Self {
        Self {
            address: call.peer.ip().to_canonical(),
            local: call.connection.local().map(|local| local.ip().to_canonical()),
            transport: call.connection.transport(),
        }
    }
}

/// The last port that only the superuser of most hosts may use.
const PRIVILEGED_PORT_MAX: u16 = 1023;

/// True for a call that only the superuser of a host can have made, as far as ports tell.
pub(crate) fn is_privileged(peer: SocketAddr) -> bool {
    peer.port() <= PRIVILEGED_PORT_MAX
}

/// Program, version and procedure.
pub type ProcedureNumber = (u32, u32, u32);

/// Calls programs of hosts, wherever their port mappers say that they listen.
pub trait CallHosts: Send + Sync + 'static {
    /// False when nobody can be called: no lock is then waited for.
    fn can_call(&self) -> bool {
        true
    }

    /// Calls a procedure and yields its results, within `time_limit`.
    fn call(
        &self,
        route: HostRoute,
        procedure: ProcedureNumber,
        arguments: Vec<u8>,
        time_limit: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>>;
}

/// Calls nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHosts;

impl CallHosts for NoHosts {
    fn can_call(&self) -> bool {
        false
    }

    fn call(
        &self,
        _: HostRoute,
        _: ProcedureNumber,
        _: Vec<u8>,
        _: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        Box::pin(std::future::ready(Err(CallError::Disconnected)))
    }
}
