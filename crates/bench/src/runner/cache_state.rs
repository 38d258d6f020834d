//! Whether the clients' caches were as the workload asks: cold where it is about the network, warm where it
//! is not.

use crate::experiment::Workload;
use crate::results::Run;
use crate::text::percent;

/// So much of it may be otherwise.
const SHARE_MAX: f64 = 0.01;

/// Why `run` did not measure what was asked; none when it did, or when the workload asks for nothing.
pub(crate) fn doubt(workload: &Workload, run: &Run) -> Option<String> {
    match workload {
        Workload::SequentialRead { .. } => {
            let wanted = run.application_bytes as f64;
            let cached = 1.0 - run.wire_bytes.received as f64 / wanted.max(1.0);
            (cached > SHARE_MAX).then(|| {
                format!(
                    "Every byte was to come over the network, but the clients had {} in their caches.",
                    percent(cached)
                )
            })
        }
        Workload::SmallFileRead { warm: true, .. } => {
            let reads = run.rpcs.get("READ").copied().unwrap_or_default();
            let fetched = reads as f64 / run.operations.max(1) as f64;
            (fetched > SHARE_MAX).then(|| {
                format!(
                    "The files were to be in the clients' caches, but {} of the reads went to the server.",
                    percent(fetched)
                )
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::WireBytes;

    #[test]
    fn a_scan_that_the_cache_served_is_a_doubt() {
        let scan = Workload::SequentialRead { file_bytes: 1 << 20, io_bytes: 1 << 16, seconds: 1.0 };
        let run = |received| Run {
            application_bytes: 1_000_000,
            wire_bytes: WireBytes { sent: 0, received },
            ..Run::default()
        };
        assert_eq!(doubt(&scan, &run(1_010_000)), None);
        assert_eq!(doubt(&scan, &run(995_000)), None);
        assert!(doubt(&scan, &run(250_000)).unwrap().contains("75 %"));
    }

    #[test]
    fn warm_files_that_are_fetched_again_are_a_doubt() {
        let warm =
            |warm| Workload::SmallFileRead { files: 10, file_bytes: 4096, threads: 1, warm, seconds: 1.0 };
        let run = |reads| Run {
            operations: 1000,
            rpcs: [("READ".to_owned(), reads), ("GETATTR".to_owned(), 1000)].into(),
            ..Run::default()
        };
        assert_eq!(doubt(&warm(true), &run(10)), None);
        assert!(doubt(&warm(true), &run(400)).unwrap().contains("40 %"));
        assert_eq!(doubt(&warm(false), &run(400)), None);
    }
}
