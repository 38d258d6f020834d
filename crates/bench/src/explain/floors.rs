//! The fewest requests with which the operations of a workload can be done in a version.
//!
//! Pure; the argument for each formula is in `docs/floors.md`. A workload whose floor depends on what only
//! happens while it runs has none: a floor is never estimated.

use crate::experiment::{Setup, Workload};
use crate::results::Floors;

/// What the floors depend on beside the workload.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// "3", "4.1", …
    pub version: &'a str,
    /// Whether the client may have read delegations.
    pub delegations: bool,
    /// The kind of client, by its name in results.
    pub client: &'a str,
    /// The most bytes of a file in one request that reads; above 0.
    pub rsize: u64,
    /// The same of one that writes.
    pub wsize: u64,
    /// Whether locks are the server's matter, and what is said about them is counted.
    pub counts_locks: bool,
}

/// What a version can do, as far as floors depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// NFSv3 with NLM: one procedure in each request.
    Single,
    /// NFSv4.1 and later: COMPOUNDs in which later operations use the state that earlier ones made.
    Compound {
        /// Whether opens and locks of a file that was opened before are the client's own matter.
        delegated: bool,
    },
}

use Protocol::{Compound, Single};

/// The floors of what `setup` measures; none where no sound argument gives them.
#[must_use]
pub fn floors(setup: &Setup, terms: &Terms<'_>) -> Option<Floors> {
    let protocol = match terms.version {
        "3" => Single,
        "4.1" | "4.2" => Compound { delegated: terms.delegations },
        _ => return None,
    };
    // A kernel takes a write delegation if it gets one, and need not write before it gives that back.
    let may_keep_writes = terms.client == "kernel" && protocol == Compound { delegated: true };
    match setup.workload {
        Workload::SequentialRead { file_bytes, io_bytes, .. } => {
            Some(scan(file_bytes, io_bytes, terms.rsize, setup.readahead))
        }
        Workload::RandomRead { io_bytes, .. } if !setup.data_cache => {
            Some(both(count(io_bytes, terms.rsize)))
        }
        Workload::SequentialWrite { file_bytes, io_bytes, sync: true, .. } => {
            Some(both(each_piece(file_bytes, io_bytes, terms.wsize)))
        }
        Workload::RandomWrite { io_bytes, sync: true, .. } => Some(both(count(io_bytes, terms.wsize))),
        Workload::Create { file_bytes, .. } if !may_keep_writes => {
            let in_one_call = file_bytes == 0 && terms.client == "builtin";
            Some(create(count(file_bytes, terms.wsize), in_one_call, protocol))
        }
        Workload::SmallFileRead { file_bytes, warm: true, .. } => {
            let reads = if setup.data_cache { 0.0 } else { count(file_bytes, terms.rsize) };
            Some(warm_read(reads, protocol))
        }
        Workload::LockedRead { file_bytes, rounds, reopen, .. } if terms.counts_locks => {
            let reads = count(file_bytes, terms.rsize);
            let again = if setup.data_cache { 0.0 } else { reads };
            let rounds = f64::from(rounds);
            Some(if reopen {
                locked_read(rounds, reads, again, protocol)
            } else {
                locked_read_once(rounds, reads, again, protocol)
            })
        }
        _ => None,
    }
}

/// Requests that carry `bytes`, `most` each.
fn count(bytes: u64, most: u64) -> f64 {
    bytes.div_ceil(most.max(1)) as f64
}

/// The mean of [`count`] over the pieces of `io_bytes` that a file has; the last one may be shorter.
fn each_piece(file_bytes: u64, io_bytes: u64, most: u64) -> f64 {
    let (whole, rest) = (file_bytes / io_bytes.max(1), file_bytes % io_bytes.max(1));
    let requests = whole as f64 * count(io_bytes, most) + count(rest, most);
    requests / pieces(file_bytes, io_bytes)
}

fn pieces(file_bytes: u64, io_bytes: u64) -> f64 {
    count(file_bytes, io_bytes).max(1.0)
}

fn both(requests: f64) -> Floors {
    Floors { posix: requests, compound: requests }
}

/// Who knows that a scan goes on reads it in the largest requests.
fn scan(file_bytes: u64, io_bytes: u64, rsize: u64, readahead: bool) -> Floors {
    let posix = each_piece(file_bytes, io_bytes, rsize);
    let largest = file_bytes as f64 / pieces(file_bytes, io_bytes) / rsize.max(1) as f64;
    Floors { posix, compound: if readahead { largest.min(posix) } else { posix } }
}

/// Make, write, close.
fn create(writes: f64, in_one_call: bool, protocol: Protocol) -> Floors {
    match protocol {
        Single => both(1.0 + writes),
        Compound { .. } => {
            // The last WRITE and CLOSE go together.
            let whole = writes.max(1.0);
            Floors { posix: if in_one_call { whole } else { 1.0 + whole }, compound: whole }
        }
    }
}

/// Open, read, close a file that was read before; `reads` is 0 where what was read is kept.
fn warm_read(reads: f64, protocol: Protocol) -> Floors {
    match protocol {
        Single => Floors { posix: 1.0 + reads, compound: reads.max(1.0) },
        Compound { delegated: false } => Floors { posix: 2.0 + reads, compound: reads.max(1.0) },
        Compound { delegated: true } => both(reads),
    }
}

/// `rounds` times open, lock, read, unlock, close: a cold file takes `reads` in its first round and `again`
/// in each later one.
fn locked_read(rounds: f64, reads: f64, again: f64, protocol: Protocol) -> Floors {
    let later = rounds - 1.0;
    let (posix, compound) = match protocol {
        Single => {
            let data = reads + later * again.max(1.0);
            (3.0 * rounds + data, 1.0 + 2.0 * rounds + data)
        }
        Compound { delegated: false } => {
            (4.0 * rounds + reads + later * again, reads + later * again.max(1.0))
        }
        Compound { delegated: true } => (1.0 + reads + later * again, reads + later * again),
    };
    Floors { posix: posix / rounds, compound: compound / rounds }
}

/// Open, `rounds` times lock, read, unlock, and close.
fn locked_read_once(rounds: f64, reads: f64, again: f64, protocol: Protocol) -> Floors {
    let later = rounds - 1.0;
    let (posix, compound) = match protocol {
        Single => {
            let all = 1.0 + 2.0 * rounds + reads + later * again.max(1.0);
            (all, all)
        }
        Compound { delegated: false } => {
            (2.0 + 2.0 * rounds + reads + later * again, reads + later * again.max(1.0))
        }
        Compound { delegated: true } => (1.0 + reads + later * again, reads + later * again),
    };
    Floors { posix: posix / rounds, compound: compound / rounds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{builtin, find};

    const MIB: u64 = 1 << 20;

    fn terms(version: &str, delegations: bool) -> Terms<'_> {
        Terms { version, delegations, client: "builtin", rsize: MIB, wsize: MIB, counts_locks: true }
    }

    /// Posix and compound of this TOML over v3, v4.1, and v4.1 with delegations.
    fn of(setup: &str) -> [Option<[f64; 2]>; 3] {
        let setup: Setup = toml::from_str(&format!("clients = 1\n{setup}")).unwrap();
        [terms("3", false), terms("4.1", false), terms("4.1", true)]
            .map(|terms| floors(&setup, &terms).map(|floors| [floors.posix, floors.compound]))
    }

    fn create(file_bytes: &str) -> String {
        format!("[workload.create]\nthreads = 1\nfiles = 9\nfile_bytes = \"{file_bytes}\"\n")
    }

    fn locked(rounds: u32, reopen: bool) -> String {
        format!(
            "[workload.locked-read]\nfiles = 9\nthreads = 1\nfile_bytes = \"4 KiB\"\nrounds = \
             {rounds}\nreopen = {reopen}\n"
        )
    }

    fn read_at_random(data_cache: bool, io_bytes: &str) -> String {
        format!(
            "data_cache = {data_cache}\n[workload.random-read]\nfile_bytes = \"32 MiB\"\nio_bytes \
             = \"{io_bytes}\"\n\
             threads = 1\nseconds = 1.0\n"
        )
    }

    fn write(kind: &str, io_bytes: &str, sync: bool) -> String {
        let threads = if kind == "random-write" { "threads = 2\n" } else { "" };
        format!(
            "[workload.{kind}]\nfile_bytes = \"6 MiB\"\nio_bytes = \"{io_bytes}\"\nsync = {sync}\nseconds = \
             1.0\n{threads}"
        )
    }

    fn small(start: &str, warm: bool) -> String {
        format!(
            "{start}[workload.small-file-read]\nfiles = 9\nthreads = 1\nfile_bytes = \"4 KiB\"\nwarm = \
             {warm}\nseconds = 1.0\n"
        )
    }

    fn scan(readahead: bool, file_bytes: &str, io_bytes: &str) -> String {
        format!(
            "readahead = {readahead}\n[workload.sequential-read]\nfile_bytes = \"{file_bytes}\"\nio_bytes \
             = \"{io_bytes}\"\n\
             seconds = 1.0\n"
        )
    }

    #[test]
    fn a_new_file_is_opened_written_and_closed() {
        // CREATE alone; OPEN and CLOSE together, as one call asks for both.
        assert_eq!(of(&create("0 B")), [Some([1.0, 1.0]), Some([1.0, 1.0]), Some([1.0, 1.0])]);
        // CREATE, WRITE. OPEN; WRITE, CLOSE. OPEN, WRITE, CLOSE in one.
        assert_eq!(of(&create("4 KiB")), [Some([2.0, 2.0]), Some([2.0, 1.0]), Some([2.0, 1.0])]);
        // Three WRITEs, of which the last goes with CLOSE and the first may go with OPEN.
        assert_eq!(of(&create("2500 KiB")), [Some([4.0, 4.0]), Some([4.0, 3.0]), Some([4.0, 3.0])]);
    }

    #[test]
    fn through_a_mount_an_empty_file_takes_an_open_and_a_close() {
        let setup: Setup = toml::from_str(&format!("clients = 1\n{}", create("0 B"))).unwrap();
        let through = |client, version, delegations| {
            floors(&setup, &Terms { client, ..terms(version, delegations) })
                .map(|floors| [floors.posix, floors.compound])
        };
        assert_eq!(through("fuse", "3", false), Some([1.0, 1.0]));
        assert_eq!(through("fuse", "4.1", true), Some([2.0, 1.0]));
        assert_eq!(through("kernel", "4.2", false), Some([2.0, 1.0]));
        assert_eq!(through("kernel", "4.2", true), None, "it may hold a write delegation");
    }

    #[test]
    fn a_warm_file_is_opened_and_closed_or_not_even_that() {
        // LOOKUP. OPEN; CLOSE; both in one. Nothing.
        assert_eq!(of(&small("", true)), [Some([1.0, 1.0]), Some([2.0, 1.0]), Some([0.0, 0.0])]);
        // The same with a READ, which a client that knows the handle may send at once.
        assert_eq!(
            of(&small("data_cache = false\n", true)),
            [Some([2.0, 1.0]), Some([3.0, 1.0]), Some([1.0, 1.0])]
        );
        assert_eq!(of(&small("", false)), [None; 3], "how often a file comes again is not known before");
    }

    #[test]
    fn ten_locked_reads_of_a_file_add_up_to_what_the_page_says() {
        let total = |[posix, compound]: [f64; 2]| [(posix * 10.0).round(), (compound * 10.0).round()];
        // v3: ten times LOOKUP, LOCK, READ, UNLOCK; one LOOKUP. v4.1: ten times OPEN, LOCK, LOCKU, CLOSE, and
        // one READ; ten times all in one. With delegations: OPEN, READ; both in one.
        let expected = [[40.0, 31.0], [41.0, 10.0], [2.0, 1.0]].map(Some);
        assert_eq!(of(&locked(10, true)).map(|floors| floors.map(total)), expected);
        // v3: one LOOKUP. v4.1: OPEN, READ, CLOSE, and ten times LOCK and LOCKU.
        let expected = [[31.0, 31.0], [23.0, 10.0], [2.0, 1.0]].map(Some);
        assert_eq!(of(&locked(10, false)).map(|floors| floors.map(total)), expected);
        assert_eq!(of(&locked(1, true)), [Some([4.0, 4.0]), Some([5.0, 1.0]), Some([2.0, 1.0])]);
    }

    #[test]
    fn without_a_cache_every_round_reads() {
        let total = |[posix, compound]: [f64; 2]| [(posix * 10.0).round(), (compound * 10.0).round()];
        let setup = format!("data_cache = false\n{}", locked(10, true));
        let expected = [[40.0, 31.0], [50.0, 10.0], [11.0, 10.0]].map(Some);
        assert_eq!(of(&setup).map(|floors| floors.map(total)), expected);
    }

    #[test]
    fn a_scan_takes_a_read_for_each_call_or_as_few_as_hold_the_file() {
        assert_eq!(of(&scan(true, "16 MiB", "64 KiB")), [Some([1.0, 0.0625]); 3]);
        assert_eq!(of(&scan(false, "16 MiB", "64 KiB")), [Some([1.0, 1.0]); 3]);
        // Pieces of 4, 4 and 2 MiB: ten READs for three of them.
        let thirds = Some([10.0 / 3.0, 10.0 / 3.0]);
        assert_eq!(of(&scan(true, "10 MiB", "4 MiB")), [thirds; 3]);
    }

    #[test]
    fn uncached_attributes_are_requested_each_time() {
        assert_eq!(of(&read_at_random(false, "4 KiB")), [Some([1.0, 1.0]); 3]);
        assert_eq!(of(&read_at_random(false, "2 MiB")), [Some([2.0, 2.0]); 3]);
        assert_eq!(of(&read_at_random(true, "4 KiB")), [None; 3], "a place may be drawn again");
        assert_eq!(of(&write("sequential-write", "64 KiB", true)), [Some([1.0, 1.0]); 3]);
        // Pieces of 4 and 2 MiB: six WRITEs for two of them.
        assert_eq!(of(&write("sequential-write", "4 MiB", true)), [Some([3.0, 3.0]); 3]);
        assert_eq!(of(&write("random-write", "4 KiB", true)), [Some([1.0, 1.0]); 3]);
        assert_eq!(
            of(&write("sequential-write", "64 KiB", false)),
            [None; 3],
            "it may be written over first"
        );
    }

    #[test]
    fn request_that_version_or_client_may_omit_has_no_floor() {
        let setup: Setup = toml::from_str(&format!("clients = 1\n{}", locked(10, true))).unwrap();
        for version in ["local", "4.0"] {
            assert_eq!(floors(&setup, &terms(version, false)), None, "{version}");
        }
        let local = Terms { counts_locks: false, ..terms("3", false) };
        assert_eq!(floors(&setup, &local), None, "locks that stay with the client cost nothing");
    }

    #[test]
    fn client_with_more_knowledge_never_needs_more_requests() {
        let mut known = 0;
        for point in builtin().iter().flat_map(|one| one.default.points()) {
            for terms in [terms("3", false), terms("4.1", false), terms("4.1", true)] {
                let Some(floors) = floors(&point.setup, &terms) else { continue };
                assert!(floors.compound <= floors.posix && floors.compound >= 0.0, "{floors:?}");
                known += 1;
            }
        }
        assert!(known >= 30, "{known}");
        assert_eq!(floors(&find("file-server").unwrap().default, &terms("3", false)), None);
    }
}
