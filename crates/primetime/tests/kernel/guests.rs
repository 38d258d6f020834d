//! How guests are started for a test, and how they end.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use netlab::guest::{Guest, GuestOptions, GuestResult, Lab, mountstats};

use crate::server::PORT;

/// The time limit of a guest, and of a wait for one: it ends a test that hangs. A machine that is busy with
/// something else takes several minutes for work that takes one alone.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(900);

/// A guest that has the export at `/mnt/n`, mounted with NFSv4.1 or as `MOUNT_OPTIONS` in its environment
/// says, and runs `script` with the functions of `prelude.sh`. Every guest has a hostname, and so an NFSv4
/// identity, of its own.
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) script: &'a str,
    /// Lies in `$EXCHANGE` under its first part.
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) env: &'a [(&'a str, &'a str)],
    pub(crate) port: u16,
    /// What its packets to the server are late.
    pub(crate) netem_delay_ms: Option<u32>,
}

impl Default for Member<'_> {
    fn default() -> Self {
        Self { name: "ann", script: "", files: &[], env: &[], port: PORT, netem_delay_ms: None }
    }
}

pub(crate) fn boot(lab: &Lab, member: &Member<'_>) -> Guest {
    let mut files = vec![("prelude.sh".into(), include_bytes!("prelude.sh").to_vec())];
    files.extend(member.files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
    let mut env = vec![("PORT".into(), member.port.to_string())];
    env.extend(member.env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let script = format!(
        ". $EXCHANGE/prelude.sh\nmount_export\n{}\ncat /proc/self/mountstats >$EXCHANGE/mountstats\n",
        member.script
    );
    let options = GuestOptions {
        name: member.name.into(),
        script,
        files,
        env,
        time_limit: TIME_LIMIT,
        memory_mb: 384,
        netem_delay_ms: member.netem_delay_ms,
        ..GuestOptions::default()
    };
    lab.boot(&options).unwrap()
}

/// Waits for guests that must have done what they were to do.
pub(crate) fn finish<const N: usize>(guests: [Guest; N]) -> [GuestResult; N] {
    let results = guests.map(|guest| guest.wait().unwrap());
    let all: Vec<_> =
        results.iter().map(|result| format!("{}--- console\n{}", result.output, result.console)).collect();
    assert!(results.iter().all(|result| result.exit_code == Some(0)), "{}", all.join("=====\n"));
    results
}

/// What the client of a guest counted on its mount.
pub(crate) fn counts(result: &GuestResult) -> mountstats::Mount {
    mountstats::parse(&result.read("mountstats").unwrap()).unwrap().remove(0)
}

/// Waits until `event` has happened; no longer than [`TIME_LIMIT`], and not once a guest has failed: then
/// [`finish`] tells why.
pub(crate) fn wait_until(lab: &Lab, what: &str, mut event: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !event() && !have_failed(lab) {
        if begun.elapsed() > TIME_LIMIT {
            eprintln!("waited in vain: {what}");
            std::fs::create_dir(lab.shared().join("failed")).unwrap();
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// True once a guest has told the others that it has failed.
pub(crate) fn have_failed(lab: &Lab) -> bool {
    lab.shared().join("failed").exists()
}

/// The names in a directory of the host, `.` and `..` apart.
pub(crate) fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}
