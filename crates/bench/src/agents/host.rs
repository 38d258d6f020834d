//! One host with an agent, as who measures sees it.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::channel::{Receiver, Sender, over_tcp};
use super::clock::{Clock, Exchange};
use super::message::{Answer, Order};
use super::secret::Secret;
use super::ssh::Ssh;
use crate::results;

/// How long an agent may take to answer at first.
const REACHED_WITHIN: Duration = Duration::from_secs(20);
/// Questions for the time before and after each run.
const EXCHANGES: usize = 16;
/// How long an agent may take to disconnect and unmount its clients.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// An agent that was reached.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) facts: results::Host,
    to: Sender,
    from: Receiver,
    clock: Option<Clock>,
    /// What has started it, where that was not somebody else.
    ssh: Option<Ssh>,
}

/// How agents are started and admitted.
#[derive(Debug, Clone)]
pub(crate) struct Access<'a> {
    pub(crate) secret: Option<&'a Secret>,
    /// The executable on hosts that are reached by ssh.
    pub(crate) command: &'a str,
    /// Of this tool.
    pub(crate) version: &'a str,
}

/// Why what was reached is of no use.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("it is version {there}, and this is {here}: both must be the same")]
    Version { there: String, here: String },
    #[error("something else than an agent answers")]
    Garbled,
    #[error("it has ended at once")]
    Gone,
}

impl Host {
    /// Reaches the agent at `host:port`, or starts one on `host` by ssh. One sentence when that fails.
    pub(super) async fn reach(name: &str, access: &Access<'_>) -> Result<Self, String> {
        let reaching = async {
            match has_port(name) {
                true => Self::connect(name, access).await,
                false => Self::start(name, access).await,
            }
        };
        tokio::time::timeout(REACHED_WITHIN, reaching).await.unwrap_or_else(|_| {
            let mend = match has_port(name) {
                true => "another benchmark may be using it".to_owned(),
                false => format!("see what `ssh {name} {} --version` says", access.command),
            };
            Err(format!("the agent on {name} has not answered within {} s; {mend}", REACHED_WITHIN.as_secs()))
        })
    }

    async fn connect(name: &str, access: &Access<'_>) -> Result<Self, String> {
        let failed = |cause: String| {
            format!(
                "cannot use the agent at {name}: {cause}; `primetime bench agent --listen ADDR:PORT \
                 --secret-file FILE` starts one there"
            )
        };
        let secret = access.secret.ok_or_else(|| {
            format!(
                "the agent at {name} asks for its secret; name the file that has it with --agent-secret-file"
            )
        })?;
        let stream = TcpStream::connect(name).await.map_err(|error| failed(error.to_string()))?;
        let (mut to, mut from) = over_tcp(stream).map_err(|error| failed(error.to_string()))?;
        match secret.present(&mut to, &mut from).await {
            Ok(true) => {
                let greeted = greeted(to, from, access).await.map_err(|unfit| failed(unfit.to_string()))?;
                let (to, from, host) = greeted;
                Ok(Self::new(name, to, from, host, None))
            }
            _ => Err(failed("it has another secret".to_owned())),
        }
    }

    async fn start(name: &str, access: &Access<'_>) -> Result<Self, String> {
        let failed =
            |cause: &str, mend: &str| format!("cannot start an agent on {name} by ssh: {cause}; {mend}");
        let (ssh, to, from) = Ssh::start(name, access.command)
            .map_err(|error| failed(&error.to_string(), "install OpenSSH's client here"))?;
        let (to, from, host) = match greeted(to, from, access).await {
            Ok(greeted) => greeted,
            Err(Unfit::Gone) => {
                let ended = ssh.end().await;
                let cause = ended.last_words().unwrap_or("it has ended at once");
                return Err(failed(cause, &ended.mend(name, access.command)));
            }
            Err(unfit @ Unfit::Version { .. }) => {
                return Err(failed(
                    &unfit.to_string(),
                    "install the same there, or name it with --agent-command",
                ));
            }
            Err(unfit @ Unfit::Garbled) => {
                return Err(failed(&unfit.to_string(), "the start-up files of its shell must print nothing"));
            }
        };
        Ok(Self::new(name, to, from, host, Some(ssh)))
    }

    fn new(name: &str, to: Sender, from: Receiver, host: results::Host, ssh: Option<Ssh>) -> Self {
        let facts = results::Host { name: name.to_owned(), ..host };
        Self { name: name.to_owned(), facts, to, from, clock: None, ssh }
    }

    /// Lets it go, and waits until it has ended what it was doing, or for a time.
    pub(super) async fn dismiss(self) {
        let Self { to, from, ssh, .. } = self;
        drop(to);
        let ending = async {
            from.drain().await;
            if let Some(ssh) = ssh {
                ssh.end().await;
            }
        };
        let _ = tokio::time::timeout(ENDS_WITHIN, ending).await;
    }

    pub(super) async fn send(&mut self, order: &Order) -> Result<(), String> {
        self.to.send(order).await.map_err(|error| error.to_string())
    }

    pub(super) async fn receive(&mut self) -> Result<Answer, String> {
        if let Some(answer) = self.from.receive().await.map_err(|error| error.to_string())? {
            return Ok(answer);
        }
        let cause = "it does not answer any more";
        let Some(ssh) = self.ssh.take() else { return Err(cause.to_owned()) };
        Err(ssh.end().await.last_words().map_or(cause.to_owned(), |words| format!("{cause}: {words}")))
    }

    /// Compares the clocks before a run.
    pub(super) async fn compare_clocks(&mut self) -> Result<(), String> {
        self.clock = self.asked_for_the_time().await?;
        let error = self.clock.map_or(Duration::ZERO, |clock| clock.error);
        self.facts.clock_error_ms = self.facts.clock_error_ms.max(milliseconds(error));
        Ok(())
    }

    /// Compares the clocks after a run; gives why it deserves less trust, if they have not kept pace. What
    /// was compared before stays what its times are told by.
    pub(super) async fn compare_clocks_again(&mut self) -> Result<Option<String>, String> {
        let later = self.asked_for_the_time().await?;
        let Some((before, later)) = self.clock.zip(later) else { return Ok(None) };
        let drift = before.drift(&later);
        self.facts.clock_drift_ms = self.facts.clock_drift_ms.max(milliseconds(drift.moved));
        Ok(drift.doubt(&self.name))
    }

    async fn asked_for_the_time(&mut self) -> Result<Option<Clock>, String> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let asked = Instant::now();
            self.send(&Order::Ping).await?;
            let Answer::Pong { at_ns } = self.receive().await? else {
                return Err("it answers something else than the time".to_owned());
            };
            exchanges.push(Exchange { asked, answered: Instant::now(), there_ns: at_ns });
        }
        Ok(Clock::of(&exchanges))
    }

    /// What its clock shows at a moment of ours.
    pub(super) fn there(&self, here: Instant) -> u64 {
        self.clock.map_or(0, |clock| clock.there(here))
    }

    /// When its clock showed that.
    pub(super) fn here(&self, there_ns: u64) -> Instant {
        self.clock.map_or_else(Instant::now, |clock| clock.here(there_ns))
    }
}

/// What an agent says first: what it runs on.
async fn greeted(
    to: Sender,
    mut from: Receiver,
    access: &Access<'_>,
) -> Result<(Sender, Receiver, results::Host), Unfit> {
    match from.receive::<Answer>().await {
        Ok(Some(Answer::Hello { version, host })) if version == access.version => Ok((to, from, host)),
        Ok(Some(Answer::Hello { version, .. })) => {
            Err(Unfit::Version { there: version, here: access.version.to_owned() })
        }
        Ok(None) => Err(Unfit::Gone),
        Ok(Some(_)) | Err(_) => Err(Unfit::Garbled),
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// `host:port` or `[address]:port`, but no bare IPv6 address.
fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(host, port)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::channel::channel;
    use super::super::clock::nanos;
    use super::*;

    /// A host whose clock is ahead by as much when it is asked before a run, and after.
    async fn doubt_about(ahead_before: Duration, ahead_after: Duration) -> (Option<String>, results::Host) {
        let (near, far) = tokio::io::duplex(4096);
        let started = Instant::now();
        let agent = tokio::spawn(async move {
            let (from, to) = tokio::io::split(far);
            let (mut to, mut from) = channel(from, to);
            let mut asked = 0;
            while let Ok(Some(Order::Ping)) = from.receive().await {
                let ahead = if asked < EXCHANGES { ahead_before } else { ahead_after };
                asked += 1;
                to.send(&Answer::Pong { at_ns: nanos(started.elapsed() + ahead) }).await.unwrap();
            }
            asked
        });
        let (from, to) = tokio::io::split(near);
        let (to, from) = channel(from, to);
        let mut host = Host::new("node1", to, from, results::Host::default(), None);
        host.compare_clocks().await.unwrap();
        let doubt = host.compare_clocks_again().await.unwrap();
        let facts = host.facts.clone();
        drop(host);
        assert_eq!(agent.await.unwrap(), 2 * EXCHANGES);
        (doubt, facts)
    }

    #[tokio::test]
    async fn a_clock_that_is_set_within_a_run_is_a_doubt_about_that_run() {
        let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(86_400));
        let (doubt, facts) = doubt_about(day, day).await;
        assert_eq!((doubt, facts.clock_drift_ms), (None, 0.0));
        for (before, after) in [(Duration::ZERO, hour), (hour, Duration::ZERO)] {
            let (doubt, facts) = doubt_about(before, after).await;
            assert!(doubt.unwrap().starts_with("The clock of node1 moved by "));
            assert!(facts.clock_drift_ms > 1_800_000.0 && facts.clock_error_ms > 0.0);
        }
    }

    #[test]
    fn a_port_makes_an_agent_that_runs_already() {
        assert!(has_port("node1:7000") && has_port("10.0.0.1:7000") && has_port("[fe80::1]:7000"));
        assert!(!has_port("node1") && !has_port("user@node1") && !has_port("fe80::1"));
    }
}
