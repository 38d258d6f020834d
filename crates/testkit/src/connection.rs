//! A connection without a network, as a service sees it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rpc::auth::Pass;
use rpc::{BoxFuture, CallError, Connection, Credential};

use crate::ProcedureNumber;

/// A client on this machine with a reserved port, which exports may demand.
pub const LOCAL_PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 900);

/// A call that a service makes over the connection.
#[derive(Debug, Clone)]
pub struct Callback {
    /// Program, version and procedure.
    pub number: ProcedureNumber,
    /// The credential of the server; arguments stay without the protection that it may have.
    pub credential: Credential,
    /// The arguments.
    pub arguments: Bytes,
    /// How long the service waits for the reply.
    pub timeout: Duration,
}

type Script = Box<dyn Fn(Callback) -> BoxFuture<Result<Bytes, CallError>> + Send + Sync>;

/// A connection that is open until it is closed, and carries callbacks if it has a script for them.
pub struct TestConnection {
    id: u64,
    peer: SocketAddr,
    local: Option<SocketAddr>,
    is_open: AtomicBool,
    script: Option<Script>,
}

impl TestConnection {
    /// Returns connection 1 of this peer. Callbacks fail with [`CallError::Disconnected`].
    #[must_use]
    pub fn new(peer: SocketAddr) -> Self {
        Self { id: 1, peer, local: None, is_open: AtomicBool::new(true), script: None }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(self, id: u64) -> Self {
        Self { id, ..self }
    }

    /// Sets the address of the server's end; it is unknown otherwise.
    #[must_use]
    pub fn with_local(self, local: Option<SocketAddr>) -> Self {
        Self { local, ..self }
    }

    /// Answers callbacks by `script`.
    #[must_use]
    pub fn with_callbacks(
        self,
        script: impl Fn(Callback) -> BoxFuture<Result<Bytes, CallError>> + Send + Sync + 'static,
    ) -> Self {
        Self { script: Some(Box::new(script)), ..self }
    }

    /// Closes the connection: callbacks fail from now on.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
    }
}

impl Connection for TestConnection {
    fn id(&self) -> u64 {
        self.id
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    fn call(
        &self,
        program: u32,
        version: u32,
        procedure: u32,
        pass: Pass,
        arguments: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        match self.script.as_ref().filter(|_| self.is_open()) {
            Some(script) => script(Callback {
                number: (program, version, procedure),
                credential: match pass {
                    Pass::Plain(credential) => Arc::unwrap_or_clone(credential),
                    Pass::Protected(protection) => protection.credential(),
                },
                arguments: arguments.into(),
                timeout,
            }),
            None => Box::pin(std::future::ready(Err(CallError::Disconnected))),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn call(connection: &TestConnection) -> Result<Bytes, CallError> {
        let call =
            connection.call(1, 2, 3, Credential::None.into(), b"args".to_vec(), Duration::from_secs(4));
        call.now_or_never().unwrap()
    }

    #[test]
    fn script_receives_the_call_and_answers_it() {
        let connection = TestConnection::new(LOCAL_PEER).with_callbacks(|callback| {
            assert_eq!((callback.number, callback.timeout), ((1, 2, 3), Duration::from_secs(4)));
            Box::pin(std::future::ready(Ok(callback.arguments)))
        });
        assert_eq!(call(&connection).unwrap(), "args");
        connection.close();
        assert!(!connection.is_open());
        assert!(matches!(call(&connection), Err(CallError::Disconnected)));
    }

    #[test]
    fn callbacks_fail_without_a_script() {
        let connection = TestConnection::new(LOCAL_PEER).with_id(7).with_local(Some(LOCAL_PEER));
        assert!(matches!(call(&connection), Err(CallError::Disconnected)));
        assert_eq!((connection.id(), connection.local()), (7, Some(LOCAL_PEER)));
    }
}
