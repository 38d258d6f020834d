//! TLS of a server, as a configuration asks for it (RFC 9289).

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tls::{CertificateFiles, ClientTrust, ServerUpgrade};
use tokio::runtime::Handle;
use tokio::task::JoinError;
use tokio::time::MissedTickBehavior;

use super::own_work::spawn_blocking;

/// How often the files are looked at. A change counts when it is seen twice, so a certificate that is revoked
/// ends its connections within a second.
const REVIEW: Duration = Duration::from_millis(300);

/// The certificate of a server, and its trust in those of clients: the table `[tls]` of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// The file of the certificate, followed by those of its issuers, in PEM form.
    pub certificate: PathBuf,
    /// The file of the private key in PEM form.
    pub key: PathBuf,
    /// The file of the authorities whose certificates clients may show (`mtls`), in PEM form. Without it no
    /// client is asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_authorities: Option<PathBuf>,
    /// The file of the lists of certificates that these authorities have revoked (CRL), in PEM form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_revocations: Option<PathBuf>,
}

impl TlsTable {
    pub(super) fn upgrade(&self) -> Result<ServerUpgrade, tls::Error> {
        let identity = CertificateFiles { certificate: self.certificate.clone(), key: self.key.clone() };
        let clients = self
            .client_authorities
            .clone()
            .map(|authorities| ClientTrust { authorities, revocations: self.client_revocations.clone() });
        ServerUpgrade::new(identity, clients)
    }
}

/// Reads the files again.
pub(super) async fn reload(upgrade: ServerUpgrade) {
    tell(spawn_blocking(&Handle::current(), move || upgrade.reload()).await);
}

/// Reads changed files again, and ends the connections of clients that are not trusted any more.
pub(super) async fn review_forever(upgrade: Option<ServerUpgrade>) -> Infallible {
    let Some(upgrade) = upgrade else { return std::future::pending().await };
    let mut ticks = tokio::time::interval(REVIEW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let reviewed = upgrade.clone();
        let review = move || reviewed.review(SystemTime::now());
        tell(spawn_blocking(&Handle::current(), review).await);
    }
}

/// Says when files were not read again.
fn tell(outcome: Result<Result<(), tls::Error>, JoinError>) {
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "the files of TLS were not read again; their old content stays in use");
        }
        Err(panicked) => tracing::error!(%panicked, "the files of TLS were not looked at"),
    }
}
