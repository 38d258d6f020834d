//! One host with an agent, as who measures sees it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::channel::{Receiver, Sender, channel, over_tcp};
use super::clock::{Clock, Exchange};
use super::message::{Answer, Order};
use super::secret::Secret;
use crate::results;

/// How long an agent may take to answer at first.
const REACHED_WITHIN: Duration = Duration::from_secs(20);
/// Questions for the time before each run.
const EXCHANGES: usize = 16;
/// Of what ssh says when it fails, this much is read, in bytes.
const COMPLAINT_BYTES_MAX: u64 = 4096;

/// An agent that was reached.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) facts: results::Host,
    to: Sender,
    from: Receiver,
    clock: Option<Clock>,
    /// ssh; it ends with this, and the agent with it.
    _child: Option<Child>,
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
            Err(format!(
                "the agent on {name} has not answered within {} s; another benchmark may be using it",
                REACHED_WITHIN.as_secs()
            ))
        })
    }

    async fn connect(name: &str, access: &Access<'_>) -> Result<Self, String> {
        let failed = |cause: String| {
            format!(
                "cannot use the agent at {name}: {cause}; `primetime bench agent --listen ADDR:PORT --secret-file FILE` starts one there"
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
            Ok(true) => Self::greet(name, to, from, None, access).await.map_err(failed),
            _ => Err(failed("it has another secret".to_owned())),
        }
    }

    async fn start(name: &str, access: &Access<'_>) -> Result<Self, String> {
        let failed = |cause: String| {
            format!(
                "cannot start an agent on {name} by ssh: {cause}; see what `ssh {name} {} --version` says",
                access.command
            )
        };
        let mut child = Command::new("ssh")
            .args([
                "-o",
                "BatchMode=yes",
                "-o",
                "ServerAliveInterval=10",
                "-T",
                "--",
                name,
                access.command,
                "bench",
                "agent",
                "--stdio",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no standard input and output".to_owned()));
        };
        let (to, from) = channel(stdout, stdin);
        match Self::greet(name, to, from, Some(child), access).await {
            Ok(host) => {
                // What it says later must not stop it.
                tokio::spawn(async move {
                    let mut stderr = stderr;
                    tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await
                });
                Ok(host)
            }
            Err(cause) => {
                let mut said = String::new();
                let _ = stderr.take(COMPLAINT_BYTES_MAX).read_to_string(&mut said).await;
                let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
                Err(failed(last.map_or(cause, str::to_owned)))
            }
        }
    }

    async fn greet(
        name: &str,
        to: Sender,
        mut from: Receiver,
        child: Option<Child>,
        access: &Access<'_>,
    ) -> Result<Self, String> {
        match from.receive::<Answer>().await {
            Ok(Some(Answer::Hello { version, host })) if version == access.version => {
                let facts = results::Host { name: name.to_owned(), ..host };
                Ok(Self { name: name.to_owned(), facts, to, from, clock: None, _child: child })
            }
            Ok(Some(Answer::Hello { version, .. })) => {
                Err(format!("it is version {version}, and this is {}: both must be the same", access.version))
            }
            Ok(_) => Err("it has ended at once".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) async fn send(&mut self, order: &Order) -> Result<(), String> {
        self.to.send(order).await.map_err(|error| error.to_string())
    }

    pub(super) async fn receive(&mut self) -> Result<Answer, String> {
        let answer = self.from.receive().await.map_err(|error| error.to_string())?;
        answer.ok_or_else(|| "it does not answer any more".to_owned())
    }

    /// Compares the clocks; gives by how much the result may be wrong.
    pub(super) async fn compare_clocks(&mut self) -> Result<Duration, String> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let asked = Instant::now();
            self.send(&Order::Ping).await?;
            let Answer::Pong { at_ns } = self.receive().await? else {
                return Err("it answers something else than the time".to_owned());
            };
            exchanges.push(Exchange { asked, answered: Instant::now(), there_ns: at_ns });
        }
        self.clock = Clock::of(&exchanges);
        let error = self.clock.map_or(Duration::ZERO, |clock| clock.error);
        self.facts.clock_error_ms = self.facts.clock_error_ms.max(error.as_secs_f64() * 1000.0);
        Ok(error)
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

/// `host:port` or `[address]:port`, but no bare IPv6 address.
fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(host, port)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_makes_an_agent_that_runs_already() {
        assert!(has_port("node1:7000") && has_port("10.0.0.1:7000") && has_port("[fe80::1]:7000"));
        assert!(!has_port("node1") && !has_port("user@node1") && !has_port("fe80::1"));
    }
}
