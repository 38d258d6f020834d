//! Connections whose clients have shown certificates: each lasts no longer than the trust in its certificate.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::stream::StreamTrust;

/// The longest time for which a certificate is not looked at again.
const REVIEW_AFTER_MAX: Duration = Duration::from_secs(3600);

/// The connections of one server. As many as there are connections.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    list: Mutex<Vec<Session>>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Session {
    peer: SocketAddr,
    chain: Vec<CertificateDer<'static>>,
    trust: Weak<StreamTrust>,
    review_at: UnixTime,
}

impl Session {
    /// A connection that the next review looks at: the trust may have changed since the handshake began.
    pub(crate) fn new(
        peer: SocketAddr,
        chain: Vec<CertificateDer<'static>>,
        trust: &Arc<StreamTrust>,
    ) -> Self {
        Self {
            peer,
            chain,
            trust: Arc::downgrade(trust),
            review_at: UnixTime::since_unix_epoch(Duration::ZERO),
        }
    }
}

/// Verifies a chain at a time.
pub(crate) type Verify<'a> = dyn Fn(&[CertificateDer<'_>], UnixTime) -> Result<(), rustls::Error> + 'a;

impl Sessions {
    pub(crate) fn add(&self, session: Session) {
        self.list.lock().push(session);
    }

    /// Looks at the connections whose time has come, or at all of them, and ends those whose certificate is
    /// refused. No lock is held meanwhile.
    pub(crate) fn review(&self, verify: &Verify<'_>, now: UnixTime, all: bool) {
        let mut list = std::mem::take(&mut *self.list.lock());
        list.retain_mut(|session| {
            let Some(trust) = session.trust.upgrade() else { return false };
            if !all && session.review_at > now {
                return true;
            }
            match verify(&session.chain, now) {
                Ok(()) => {
                    session.review_at = later(now, trusted_for(&session.chain, verify, now));
                    true
                }
                Err(error) => {
                    let peer = session.peer;
                    tracing::warn!(%peer, %error, "a connection ends: its certificate is not trusted now");
                    trust.revoke();
                    false
                }
            }
        });
        self.list.lock().append(&mut list);
    }
}

/// A time for which the certificate is going to be trusted as things are: half of the time until it expires
/// at least, and one second at least.
fn trusted_for(chain: &[CertificateDer<'_>], verify: &Verify<'_>, now: UnixTime) -> Duration {
    let mut time = REVIEW_AFTER_MAX;
    while time > Duration::from_secs(1) && verify(chain, later(now, time)).is_err() {
        time = (time / 2).max(Duration::from_secs(1));
    }
    time
}

fn later(now: UnixTime, time: Duration) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_is_looked_at_again_before_it_expires() {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_000_000));
        for (left_s, least_s, most_s) in
            [(100_000, 3600, 3600), (3599, 1800, 1800), (10, 5, 10), (2, 1, 2), (0, 1, 1)]
        {
            let verify = |_: &[CertificateDer<'_>], at: UnixTime| match at.as_secs() > 1_000_000 + left_s {
                true => Err(rustls::CertificateError::Expired.into()),
                false => Ok(()),
            };
            let time = trusted_for(&[], &verify, now).as_secs();
            assert!((least_s..=most_s).contains(&time), "{time} s of {left_s} s");
        }
    }
}
