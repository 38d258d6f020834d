//! Agents that ssh(1) starts, and what is to be done when it cannot. Users' own configuration of ssh holds,
//! but for what would hurt.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::channel::{Receiver, Sender, channel};

/// What ssh is told, whatever its configuration says: to ask nothing; to give a host up before an agent there
/// would be late, and one that is gone within half a minute; to leave no connection behind for others, which
/// would outlive the benchmark; to forward no ports, which only the first of several could have; and to run
/// the agent, not another command.
const OPTIONS: [&str; 6] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=10",
    "ControlMaster=no",
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
];
/// Of what ssh says, this much is kept, in bytes: the end.
const SAID_BYTES_MAX: usize = 4096;
/// An ssh that has hung up ends within this time, or is not waited for.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// An ssh with an agent at its other end. It is killed with this, and the agent ends then.
pub(super) struct Ssh {
    child: Child,
    said: JoinHandle<String>,
}

/// An ssh that has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Its exit code, which is that of the command where there was one; none after a signal.
    code: Option<i32>,
    /// The end of what it said.
    said: String,
}

impl Ssh {
    /// Starts `command` on `host`.
    pub(super) fn start(host: &str, command: &str) -> io::Result<(Self, Sender, Receiver)> {
        let mut child = Command::new("ssh")
            .args(OPTIONS.iter().flat_map(|option| ["-o", option]))
            .args(["-T", "--", host, command, "bench", "agent", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the benchmark, which has the agents end in good order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("it has no standard input and output"));
        };
        let (to, from) = channel(stdout, stdin);
        Ok((Self { child, said: tokio::spawn(end_of(stderr)) }, to, from))
    }

    /// Waits until it has ended, for a short time.
    pub(super) async fn end(mut self) -> Ended {
        let ending = async {
            let code = self.child.wait().await.ok().and_then(|status| status.code());
            Ended { code, said: (&mut self.said).await.unwrap_or_default() }
        };
        tokio::time::timeout(ENDS_WITHIN, ending).await.unwrap_or_default()
    }
}

impl Ended {
    /// The last that it said.
    pub(super) fn last_words(&self) -> Option<&str> {
        let lines = self.said.lines().rev().map(str::trim);
        lines.map(|line| line.trim_end_matches('.')).find(|line| !line.is_empty())
    }

    /// What to do that `command` can be started on `host`.
    pub(super) fn mend(&self, host: &str, command: &str) -> String {
        let machine = host.rsplit_once('@').map_or(host, |(_, machine)| machine);
        if self.said.contains("IDENTIFICATION HAS CHANGED") {
            return format!(
                "its key is not the one of before; if that is right, `ssh-keygen -R {machine}` forgets the \
                 old one"
            );
        }
        if self.said.contains("Host key verification failed") {
            return format!("`ssh {host}` shows its key and asks whether it is trusted");
        }
        if self.said.contains("Permission denied (") {
            return format!("it must let you in without a question; `ssh-copy-id {host}` brings it your key");
        }
        match self.code {
            // As shells have it of commands that they do not find, or cannot run.
            Some(126 | 127) => {
                format!("install primetime there, or say with --agent-command where `{command}` is")
            }
            _ => format!("see what `ssh {host} {command} --version` says"),
        }
    }
}

/// Reads to the end, so that nobody has to wait because nobody reads.
async fn end_of(mut stream: impl AsyncRead + Unpin) -> String {
    let mut end = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        end.extend_from_slice(&buffer[..length]);
        end.drain(..end.len().saturating_sub(SAID_BYTES_MAX));
    }
    String::from_utf8_lossy(&end).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend(code: i32, said: &str) -> String {
        Ended { code: Some(code), said: said.to_owned() }.mend("user@node1", "primetime")
    }

    #[test]
    fn each_cause_has_its_mend() {
        let changed =
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n";
        assert!(mend(255, changed).contains("`ssh-keygen -R node1`"));
        assert!(mend(255, "Host key verification failed.\r\n").contains("`ssh user@node1`"));
        assert!(
            mend(255, "user@node1: Permission denied (publickey).\r\n").contains("ssh-copy-id user@node1")
        );
        assert!(mend(127, "sh: 1: primetime: not found\n").contains("--agent-command"));
        // Not ssh's refusal: the file may not be run there.
        assert!(mend(126, "bash: line 1: primetime: Permission denied\n").contains("--agent-command"));
        assert!(mend(255, "ssh: No route to host\r\n").contains("`ssh user@node1 primetime --version`"));
    }

    #[tokio::test]
    async fn the_last_that_was_said_is_kept_of_much() {
        let much = format!("{}\r\nthe cause.\r\n\r\n", "a banner\n".repeat(1000));
        let said = end_of(much.as_bytes()).await;
        assert_eq!(said.len(), SAID_BYTES_MAX);
        assert_eq!(Ended { code: None, said }.last_words(), Some("the cause"));
        assert_eq!(Ended::default().last_words(), None);
    }
}
