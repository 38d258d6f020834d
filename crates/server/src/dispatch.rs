//! Which program and version answers a call.

use std::net::IpAddr;
use std::sync::Arc;

use proto::{mount3, nfs3, nlm4, nsm1};
use rpc::auth::{Authenticator, SystemAuthenticator};
use rpc::{Call, CallHeader, Disposition, Refusal};
use vfs::FileSystem;
use xdr::Encoder;

use crate::conflicts::Conflicts;
use crate::exports::{ExportPath, Exports, Version};
use crate::metrics::Metrics;
use crate::mount3::Mount3;
use crate::nfs3::Nfs3;
use crate::nfs4::Nfs4;
use crate::nlm4::{LockTable, Nlm4};
use crate::nsm1::Nsm1;
use crate::retries::{Retries, Turn, runs_once};

/// All programs of the server on one port: NFS, MOUNT, the lock manager and the status monitor.
#[derive(Debug)]
pub struct Programs<F, C, L> {
    nfs3: Nfs3<F, C>,
    nfs4: Option<Nfs4<F>>,
    mount3: Mount3<F>,
    nlm4: Nlm4<F, L>,
    retries: Option<Retries>,
    nsm1: Option<Nsm1<L>>,
    authenticator: Arc<dyn Authenticator>,
    exports: Arc<Exports<F>>,
}

impl<F: FileSystem, C: Conflicts, L: LockTable> Programs<F, C, L> {
    /// Serves `exports`; `conflicts` is asked by NFSv3, `locks` hold the lock manager's locks.
    pub fn new(exports: Arc<Exports<F>>, conflicts: C, locks: L) -> Self {
        Self {
            nfs3: Nfs3::new(Arc::clone(&exports), conflicts),
            nfs4: None,
            mount3: Mount3::new(Arc::clone(&exports)),
            nlm4: Nlm4::new(Arc::clone(&exports), locks),
            retries: None,
            nsm1: None,
            authenticator: Arc::new(SystemAuthenticator),
            exports,
        }
    }

    /// Serves NFSv4 as well.
    #[must_use]
    pub fn with_nfs4(self, nfs4: Nfs4<F>) -> Self {
        Self { nfs4: Some(nfs4), ..self }
    }

    /// Judges callers by another authenticator than [`SystemAuthenticator`].
    #[must_use]
    pub fn with_authenticator(self, authenticator: Arc<dyn Authenticator>) -> Self {
        Self { authenticator, ..self }
    }

    /// Runs what clients without sessions send again only once.
    #[must_use]
    pub fn with_retries(self, retries: Retries) -> Self {
        Self { retries: Some(retries), ..self }
    }

    /// Runs a call, unless it is a retry: then it is answered as the first time.
    async fn once(
        &self,
        retries: &Retries,
        call: Call<'_>,
        reply: &mut Encoder,
    ) -> Result<Disposition, Refusal> {
        let header = call.header;
        let ticket = match retries.turn(&call).await {
            Turn::Run(ticket) => ticket,
            Turn::Repeat(results) => {
                reply.buffer_mut().extend_from_slice(&results);
                return Ok(Disposition::Reply);
            }
        };
        let start = reply.len();
        let outcome = self.route(call, reply).await;
        let answered = matches!(outcome, Ok(Disposition::Reply));
        let results = &reply.as_slice()[start..];
        ticket.finish((answered && !is_for_later(header, results)).then_some(results));
        outcome
    }

    /// Counts what is done.
    #[must_use]
    pub fn with_metrics(mut self, metrics: &Arc<Metrics>) -> Self {
        self.nfs3.set_metrics(Arc::clone(metrics));
        self.mount3.set_metrics(Arc::clone(metrics));
        self.nlm4.set_metrics(Arc::clone(metrics));
        if let Some(nfs4) = &mut self.nfs4 {
            nfs4.set_metrics(Arc::clone(metrics));
        }
        self
    }

    /// Hears of hosts that restart.
    #[must_use]
    pub fn with_nsm1(self, nsm1: Nsm1<L>) -> Self {
        Self { nsm1: Some(nsm1), ..self }
    }

    /// The memory of the replies that are kept for retries, in bytes.
    pub fn retry_bytes(&self) -> u64 {
        self.retries.as_ref().map_or(0, Retries::bytes)
    }

    /// Who has mounted what through MOUNT, as far as clients have told.
    pub fn mounts(&self) -> Vec<(IpAddr, ExportPath)> {
        self.mount3.mounts()
    }

    /// Whether there is an export for NFSv3, and who serves NFSv4 if there is one for that.
    fn served(&self) -> (bool, Option<&Nfs4<F>>) {
        let versions = self.exports.load().versions();
        let has_v4 = versions.iter().any(|version| version != Version::V3);
        (versions.contains(Version::V3), self.nfs4.as_ref().filter(|_| has_v4))
    }

    /// Routes a call. RFC 5531 §9: an unknown program and a known one in an unknown version have answers of
    /// their own, the latter with the lowest and highest version that is there.
    async fn route(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        match (call.header.program, call.header.version) {
            (nfs3::PROGRAM, version) => match (version, self.served()) {
                (nfs3::VERSION, (true, _)) => self.nfs3.call(&call, reply).await,
                (proto::nfs4::VERSION, (_, Some(nfs4))) => nfs4.call(call, reply).await,
                (_, served) => Err(no_version(served.0, served.1.is_some())),
            },
            // They serve NFSv3 clients only.
            (mount3::PROGRAM | nlm4::PROGRAM, _) if !self.served().0 => Err(Refusal::ProgramUnavailable),
            (mount3::PROGRAM, mount3::VERSION) => self.mount3.call(&call, reply).await,
            (mount3::PROGRAM, _) => {
                Err(Refusal::ProgramMismatch { low: mount3::VERSION, high: mount3::VERSION })
            }
            (nlm4::PROGRAM, nlm4::VERSION) => self.nlm4.call(&call, reply).await,
            (nlm4::PROGRAM, _) => Err(Refusal::ProgramMismatch { low: nlm4::VERSION, high: nlm4::VERSION }),
            (nsm1::PROGRAM, version) => match &self.nsm1 {
                Some(nsm) if version == nsm1::VERSION => nsm.call(&call, reply),
                Some(_) => Err(Refusal::ProgramMismatch { low: nsm1::VERSION, high: nsm1::VERSION }),
                None => Err(Refusal::ProgramUnavailable),
            },
            _ => Err(Refusal::ProgramUnavailable),
        }
    }
}

/// What of the programs is offered by datagrams: all but NFS, whose requests and replies are large.
#[derive(Debug)]
pub struct WithoutNfs<S>(pub Arc<S>);

impl<S: rpc::Service> rpc::Service for WithoutNfs<S> {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.program == nfs3::PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        self.0.call(call, reply).await
    }
}

/// Which versions of NFS there are instead.
fn no_version(has_v3: bool, has_v4: bool) -> Refusal {
    let (v3, v4) = (nfs3::VERSION, proto::nfs4::VERSION);
    match (has_v3, has_v4) {
        (true, true) => Refusal::ProgramMismatch { low: v3, high: v4 },
        (true, false) => Refusal::ProgramMismatch { low: v3, high: v3 },
        (false, true) => Refusal::ProgramMismatch { low: v4, high: v4 },
        (false, false) => Refusal::ProgramUnavailable,
    }
}

impl<F: FileSystem, C: Conflicts, L: LockTable> rpc::Service for Programs<F, C, L> {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        match &self.retries {
            Some(retries) if runs_once(call.header) => self.once(retries, call, reply).await,
            _ => {
                call.connection.set_cancellable(only_looks(call.header));
                self.route(call, reply).await
            }
        }
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::clone(&self.authenticator)
    }

    fn connected(&self) {
        if let Some(nfs4) = &self.nfs4 {
            nfs4.services().events().connected.add(1);
        }
    }

    fn refused(&self) {
        if let Some(nfs4) = &self.nfs4 {
            nfs4.services().events().connections_refused.add(1);
        }
    }

    fn gave_way(&self) {
        if let Some(nfs4) = &self.nfs4 {
            nfs4.services().events().connections_closed_for_others.add(1);
        }
    }

    fn upgrade_failed(&self) {
        if let Some(nfs4) = &self.nfs4 {
            nfs4.services().events().upgrades_failed.add(1);
        }
    }

    fn is_only_backchannel(&self, connection: u64) -> bool {
        self.nfs4
            .as_ref()
            .is_some_and(|nfs4| nfs4.services().callbacks().backchannels().is_only_path(connection))
    }

    fn disconnected(&self, connection: u64) {
        if let Some(nfs4) = &self.nfs4 {
            nfs4.services().events().disconnected.add(1);
            nfs4.disconnected(connection);
        }
    }
}

/// True for a call of NFSv3 that changes nothing, not even what is on stable storage: it may be cancelled.
fn only_looks(header: &CallHeader) -> bool {
    let is_nfs3 = header.program == nfs3::PROGRAM && header.version == nfs3::VERSION;
    is_nfs3 && !runs_once(header) && header.procedure != nfs3::Procedure::Commit.number()
}

/// NFS3ERR_JUKEBOX says that nothing was done, and that the same may be asked again (RFC 1813 §2.6).
fn is_for_later(header: &CallHeader, results: &[u8]) -> bool {
    header.program == nfs3::PROGRAM && results.starts_with(&nfs3::Status::Jukebox.code().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use rpc::Refusal;

    use super::{CallHeader, no_version, only_looks};
    use crate::exports::{ExportOptions, Version};
    use crate::fixture::{Server, user};

    #[test]
    fn every_program_answers_null_in_its_version() {
        let server = Server::new();
        for (program, version) in [(100_003, 3), (100_005, 3), (100_021, 4), (100_024, 1)] {
            let outcome = server.raw((program, version, 0), user(0), "127.0.0.1", Bytes::new());
            assert_eq!(outcome, Ok(Bytes::new()), "{program}");
        }
    }

    #[test]
    fn only_calls_that_change_nothing_may_be_cancelled() {
        use proto::nfs3::Procedure as P;
        let call =
            |program, version, procedure| only_looks(&CallHeader { xid: 1, program, version, procedure });
        let looks: Vec<_> = P::ALL.iter().filter(|known| call(100_003, 3, known.number())).copied().collect();
        let expected = [
            P::Null,
            P::GetAttr,
            P::Lookup,
            P::Access,
            P::ReadLink,
            P::Read,
            P::ReadDir,
            P::ReadDirPlus,
            P::FsStat,
            P::FsInfo,
            P::PathConf,
        ];
        assert_eq!(looks, expected);
        assert!(!call(100_003, 4, 1) && !call(100_005, 3, 1) && !call(100_021, 4, 1));
    }

    #[test]
    fn a_version_without_an_export_is_not_served() {
        let options = |versions: &[Version]| ExportOptions {
            versions: versions.iter().copied().collect(),
            ..ExportOptions::default()
        };
        let refusal = |server: &Server, program, version| {
            server.raw((program, version, 0), user(0), "127.0.0.1", Bytes::new()).unwrap_err()
        };
        let server = Server::with_options(options(&[Version::V4_1, Version::V4_2]));
        // The fixture has no NFSv4 either.
        for (program, version) in [(100_003, 3), (100_003, 4), (100_005, 3), (100_021, 4)] {
            assert_eq!(refusal(&server, program, version), Refusal::ProgramUnavailable, "{program}");
        }
        assert_eq!(no_version(false, true), Refusal::ProgramMismatch { low: 4, high: 4 });
    }

    #[test]
    fn other_versions_are_prog_mismatch_and_other_programs_prog_unavail() {
        let server = Server::new();
        let refusal = |program, version| {
            server.raw((program, version, 0), user(0), "127.0.0.1", Bytes::new()).unwrap_err()
        };
        assert_eq!(refusal(100_003, 2), Refusal::ProgramMismatch { low: 3, high: 3 });
        assert_eq!(refusal(100_005, 1), Refusal::ProgramMismatch { low: 3, high: 3 });
        assert_eq!(refusal(100_021, 3), Refusal::ProgramMismatch { low: 4, high: 4 });
        assert_eq!(refusal(100_024, 2), Refusal::ProgramMismatch { low: 1, high: 1 });
        assert_eq!(refusal(100_000, 2), Refusal::ProgramUnavailable);
    }
}
