//! Whoever waits for an answer and is killed waits no longer.
//!
//! The FUSE library does not pass the kernel's interrupts on, so threads that wait long are looked at in
//! `/proc`. As with the kernel's own client, nothing but a deadly signal ends a wait: programs do not expect
//! that a file answers EINTR. What only asks is given up. What changes something goes on, so that what is
//! known of the server stays true; nobody is told what comes of it.

use std::sync::Arc;
use std::time::Duration;

use fuser::{Errno, Request};
use tokio::sync::Semaphore;

use crate::errno::Result;

/// When a thread that waits is looked at first. From then on, the pauses double up to the longest.
const LOOK_FIRST: Duration = Duration::from_millis(100);
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(1);
/// How much may go on for which nobody waits. Who is killed beyond that waits until some of it has ended.
const GOING_ON_MAX: usize = 1024;
/// So many look at the same time; while all of them are kept waiting, nobody is found to be killed.
const LOOKERS_MAX: usize = 16;
/// Data that go on count once more for each of so many bytes.
const BYTES_PER_PART: usize = 16 << 10;

/// The flag of a thread that ends (`PF_EXITING`, include/linux/sched.h).
const EXITING: u64 = 0x4;
const SIGKILL: u32 = 9;
/// The signal in a status of exit (wait(2)).
const EXIT_SIGNAL: u64 = 0x7f;

/// Who asks for something, and how much it weighs while it goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// 0 where nobody asks, but the kernel itself.
    thread: u32,
    weight: u32,
}

/// Those who ask.
#[derive(Debug, Clone)]
pub(crate) struct Callers {
    going_on: Arc<Semaphore>,
    lookers: Arc<Semaphore>,
}

impl Caller {
    pub(crate) fn of(request: &Request) -> Self {
        Self { thread: request.pid(), weight: 1 }
    }

    /// It brings data.
    pub(crate) fn with_bytes(self, bytes: usize) -> Self {
        let parts = (bytes / BYTES_PER_PART).min(GOING_ON_MAX / 4);
        Self { weight: 1 + parts as u32, ..self }
    }
}

impl Default for Callers {
    fn default() -> Self {
        Self {
            going_on: Arc::new(Semaphore::new(GOING_ON_MAX)),
            lookers: Arc::new(Semaphore::new(LOOKERS_MAX)),
        }
    }
}

impl Callers {
    /// What `work` comes to. It is given up when the caller is killed.
    pub(crate) async fn ask<T>(&self, caller: Caller, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = self.killed(caller.thread) => Err(Errno::EINTR),
        }
    }

    /// Tells `reply` what `work` comes to. When the caller is killed it goes on, and `late` is told.
    pub(crate) async fn change<T>(
        &self,
        caller: Caller,
        work: impl Future<Output = Result<T>>,
        reply: impl FnOnce(Result<T>),
        late: impl FnOnce(Result<T>),
    ) {
        let mut work = std::pin::pin!(work);
        let room = async {
            self.killed(caller.thread).await;
            self.going_on.acquire_many(caller.weight).await
        };
        let room = tokio::select! {
            biased;
            outcome = &mut work => return reply(outcome),
            room = room => room,
        };
        reply(Err(Errno::EINTR));
        late(work.await);
        drop(room);
    }

    /// Ends when that thread has been killed.
    async fn killed(&self, thread: u32) {
        if thread == 0 {
            return std::future::pending().await;
        }
        let mut pause = LOOK_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            if self.look(thread).await {
                return;
            }
            pause = (2 * pause).min(LOOK_PAUSE_MAX);
        }
    }

    /// Whether that thread has been killed, as far as one can see. The kernel may keep who looks waiting for
    /// the very answer that the thread waits for, so that no thread which is to give answers may look.
    async fn look(&self, thread: u32) -> bool {
        let Ok(looker) = Arc::clone(&self.lookers).try_acquire_owned() else { return false };
        let looking = tokio::task::spawn_blocking(move || {
            let _looker = looker;
            // Where it is gone, nobody waits.
            std::fs::read_to_string(format!("/proc/{thread}/stat")).is_ok_and(|stat| is_killed(&stat))
        });
        looking.await.unwrap_or(false)
    }
}

/// Whether a thread is to end by a signal, or is ending by one and closes its files, by what `/proc` says of
/// it (proc_pid_stat(5)). A process that ends by itself waits until what it has written is on the server.
fn is_killed(stat: &str) -> bool {
    // The second field is a name, in which there may be anything.
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    let (flags, pending, exit_code) = (field(9), field(31), field(52));
    pending & (1 << (SIGKILL - 1)) != 0 || (flags & EXITING != 0 && exit_code & EXIT_SIGNAL != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(flags: u64, pending: u64, exit_code: u64) -> String {
        let mut fields = vec!["0".to_owned(); 50];
        fields[0] = "D".into();
        (fields[9 - 3], fields[31 - 3], fields[52 - 3]) =
            (flags.to_string(), pending.to_string(), exit_code.to_string());
        format!("77 (a ) name) {}\n", fields.join(" "))
    }

    #[test]
    fn only_who_ends_by_a_signal_is_killed() {
        assert!(!is_killed(&stat(0x40, 0, 0)) && !is_killed(""));
        assert!(is_killed(&stat(0x40, 0x100, 0)), "SIGKILL waits");
        assert!(!is_killed(&stat(0x40, 0x2, 0)), "who waits for a file is not woken by SIGINT");
        assert!(is_killed(&stat(0x44, 0, 9)), "it ends by SIGKILL");
        assert!(is_killed(&stat(0x44, 0, 0x86)), "it ends by SIGABRT, with a core");
        assert!(!is_killed(&stat(0x44, 0, 0x100)), "it ends by itself, with status 1");
        assert!(!is_killed(&stat(0x40, 0, 9)), "a status from before that is none");
    }

    #[test]
    fn large_data_weigh_more() {
        let caller = Caller { thread: 1, weight: 1 };
        let weights = [0, BYTES_PER_PART, 1 << 20, usize::MAX].map(|bytes| caller.with_bytes(bytes).weight);
        assert_eq!(weights, [1, 2, 65, 257]);
    }

    #[tokio::test]
    async fn immediate_answer_arrives_although_a_caller_is_killed() {
        let callers = Callers::default();
        let caller = Caller { thread: 0, weight: 1 };
        assert_eq!(callers.ask(caller, async { Ok(5) }).await.ok(), Some(5));
        let mut told = None;
        callers
            .change(caller, async { Ok(6) }, |outcome| told = outcome.ok(), |_| panic!("it is not late"))
            .await;
        assert_eq!(told, Some(6));
    }
}
