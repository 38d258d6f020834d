//! The counters of a Linux NFS client: `/proc/self/mountstats`.
//!
//! They are cumulative since the mount; see [`Mount::since`]. Requests of the lock manager (NLM) are not
//! among them.

use std::collections::BTreeMap;

/// One NFS mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// What is mounted, as the mount command named it: `host:/path`.
    pub device: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Bytes of files in the replies to READ.
    pub server_read_bytes: u64,
    /// Requests on their way at the moment of the reading, over TCP. More by those that were sent again, and
    /// by the answers to callbacks, which the kernel counts as sent requests.
    pub in_flight: u64,
    /// The counters of each operation that the protocol version has, by the kernel's name of it (`READ`,
    /// `OPEN_NOATTR`).
    pub operations: BTreeMap<String, OperationCounts>,
}

/// What the client counted of one operation. Times are sums over all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Requests that were completed.
    pub requests: u64,
    /// Times that a request was sent: more than `requests` when some were sent again.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Bytes sent, with RPC headers.
    pub sent_bytes: u64,
    /// Bytes received, with RPC headers.
    pub received_bytes: u64,
    /// Time from the start of a request to its transmission.
    pub queue_ms: u64,
    /// Time from a transmission to its reply.
    pub rtt_ms: u64,
    /// Time from the start of a request to its end.
    pub execution_ms: u64,
    /// Requests that ended with an error status.
    pub errors: u64,
}

/// A text that is not what the kernel writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the mount statistics is not understood: {text:?}")]
pub struct MountstatsError {
    /// Counted from one.
    pub line: usize,
    /// The line.
    pub text: String,
}

/// The NFS mounts in the text of `/proc/self/mountstats`, in its order. Other mounts are left out.
pub fn parse(text: &str) -> Result<Vec<Mount>, MountstatsError> {
    let mut mounts: Vec<Mount> = Vec::new();
    let mut in_operations = false;
    let mut in_nfs = false;
    for (index, line) in text.lines().enumerate() {
        let fault = || MountstatsError { line: index + 1, text: line.to_owned() };
        if line.starts_with("device ") {
            in_operations = false;
            let mount = device_line(line).ok_or_else(fault)?;
            in_nfs = mount.is_some();
            mounts.extend(mount);
        } else if let Some(numbers) = line.trim().strip_prefix("bytes:").filter(|_| in_nfs) {
            let mount = mounts.last_mut().ok_or_else(fault)?;
            mount.server_read_bytes = server_read_bytes(numbers).ok_or_else(fault)?;
        } else if let Some(numbers) = line.trim().strip_prefix("xprt:\ttcp ").filter(|_| in_nfs) {
            let mount = mounts.last_mut().ok_or_else(fault)?;
            mount.in_flight += in_flight(numbers).ok_or_else(fault)?;
        } else if line.trim() == "per-op statistics" {
            in_operations = true;
        } else if in_nfs && in_operations && !line.trim().is_empty() {
            let (name, counts) = operation_line(line).ok_or_else(fault)?;
            let mount = mounts.last_mut().ok_or_else(fault)?;
            mount.operations.insert(name.to_owned(), counts);
        }
    }
    Ok(mounts)
}

impl Mount {
    /// The counters of one operation; zeros if this protocol version has no such operation.
    pub fn operation(&self, name: &str) -> OperationCounts {
        self.operations.get(name).copied().unwrap_or_default()
    }

    /// Completed requests of one operation.
    pub fn requests(&self, name: &str) -> u64 {
        self.operation(name).requests
    }

    /// Completed requests of all operations.
    pub fn requests_total(&self) -> u64 {
        self.operations.values().map(|counts| counts.requests).sum()
    }

    /// What was counted after `earlier`, an older reading of the same mount.
    pub fn since(&self, earlier: &Mount) -> Mount {
        let operations = self
            .operations
            .iter()
            .map(|(name, counts)| (name.clone(), counts.since(earlier.operation(name))));
        Mount {
            operations: operations.collect(),
            server_read_bytes: self.server_read_bytes.saturating_sub(earlier.server_read_bytes),
            ..self.clone()
        }
    }
}

impl OperationCounts {
    fn since(self, earlier: OperationCounts) -> OperationCounts {
        OperationCounts {
            requests: self.requests.saturating_sub(earlier.requests),
            transmissions: self.transmissions.saturating_sub(earlier.transmissions),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
            queue_ms: self.queue_ms.saturating_sub(earlier.queue_ms),
            rtt_ms: self.rtt_ms.saturating_sub(earlier.rtt_ms),
            execution_ms: self.execution_ms.saturating_sub(earlier.execution_ms),
            errors: self.errors.saturating_sub(earlier.errors),
        }
    }
}

/// `device D mounted on M with fstype T …`: the mount if it is of NFS.
fn device_line(line: &str) -> Option<Option<Mount>> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["device", device, "mounted", "on", mount_point, "with", "fstype", kind, ..] = words[..] else {
        // A file system without a device: "no device mounted on …" does not begin with "device".
        return None;
    };
    let mount = || Mount {
        device: unescape(device),
        mount_point: unescape(mount_point),
        server_read_bytes: 0,
        in_flight: 0,
        operations: BTreeMap::new(),
    };
    Some(matches!(kind, "nfs" | "nfs4").then(mount))
}

/// What applications read and wrote, each through the cache and past it; then what the server was asked to
/// read and write; then pages.
fn server_read_bytes(numbers: &str) -> Option<u64> {
    numbers.split_whitespace().nth(4)?.parse().ok()
}

/// Port, binds, connects, time connected, time idle, sends, receipts, and what came of them.
fn in_flight(numbers: &str) -> Option<u64> {
    let mut numbers = numbers.split_whitespace().skip(5).map(str::parse::<u64>);
    let (sends, receipts) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(sends.saturating_sub(receipts))
}

/// `NAME: requests transmissions timeouts sent received queue rtt execution errors`.
fn operation_line(line: &str) -> Option<(&str, OperationCounts)> {
    let (name, numbers) = line.trim().split_once(':')?;
    let numbers = numbers.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    let [
        requests,
        transmissions,
        timeouts,
        sent_bytes,
        received_bytes,
        queue_ms,
        rtt_ms,
        execution_ms,
        errors,
        ..,
    ] = numbers[..]
    else {
        return None;
    };
    let counts = OperationCounts {
        requests,
        transmissions,
        timeouts,
        sent_bytes,
        received_bytes,
        queue_ms,
        rtt_ms,
        execution_ms,
        errors,
    };
    Some((name, counts))
}

/// A path from one of the kernel's lists of mounts, which have blanks and backslashes as `\` and three octal
/// digits.
pub fn unescape(path: &str) -> String {
    let mut rest = path;
    let mut plain = String::with_capacity(path.len());
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                rest = &after[3..];
            }
            _ => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Linux 6.1: a mount of version 3 and one of version 4.1, after one file was read and one written in
    /// each.
    const CAPTURED: &str = include_str!("captured.txt");

    #[test]
    fn the_nfs_mounts_are_found_among_all_others() {
        let mounts = parse(CAPTURED).unwrap();
        let places: Vec<_> =
            mounts.iter().map(|mount| (mount.device.as_str(), mount.mount_point.as_str())).collect();
        assert_eq!(places, [("127.0.0.1:/mnt/export", "/mnt/three"), ("127.0.0.1:/", "/mnt/four")]);
        assert_eq!(mounts[0].operations.len(), 22);
        assert_eq!(mounts[1].operations.len(), 69);
        assert_eq!((mounts[0].requests_total(), mounts[1].requests_total()), (14, 22));
        assert_eq!((mounts[0].server_read_bytes, mounts[1].server_read_bytes), (15, 10_000));
        assert_eq!((mounts[0].in_flight, mounts[1].in_flight), (0, 0));
    }

    #[test]
    fn every_column_has_its_place() {
        let line = "\t        READ: 1 2 3 4 5 6 7 8 9 10";
        let (name, counts) = operation_line(line).unwrap();
        assert_eq!(name, "READ");
        let expected = OperationCounts {
            requests: 1,
            transmissions: 2,
            timeouts: 3,
            sent_bytes: 4,
            received_bytes: 5,
            queue_ms: 6,
            rtt_ms: 7,
            execution_ms: 8,
            errors: 9,
        };
        assert_eq!(counts, expected);
        let write = parse(CAPTURED).unwrap()[0].operation("WRITE");
        assert_eq!((write.requests, write.sent_bytes, write.received_bytes), (1, 10_116, 136));
    }

    #[test]
    fn unanswered_requests_count_as_in_flight() {
        let fewer = CAPTURED.replacen(" 22 22 0 ", " 25 22 0 ", 1);
        assert_ne!(fewer, CAPTURED);
        assert_eq!(parse(&fewer).unwrap().iter().map(|mount| mount.in_flight).sum::<u64>(), 3);
    }

    #[test]
    fn counters_since_an_earlier_reading_are_the_difference() {
        let earlier = parse(CAPTURED).unwrap().remove(0);
        let mut later = earlier.clone();
        let read = later.operations.get_mut("READ").unwrap();
        read.requests += 3;
        read.sent_bytes += 324;
        let since = later.since(&earlier);
        assert_eq!(since.requests_total(), 3);
        assert_eq!(since.operation("READ").sent_bytes, 324);
        assert_eq!(since.requests("NO_SUCH_OPERATION"), 0);
    }

    #[test]
    fn a_blank_in_a_path_is_read_as_one() {
        let text = r"device host:/a\040b mounted on /mnt/c\134d with fstype nfs4 statvers=1.1";
        let mount = parse(text).unwrap().remove(0);
        assert_eq!((mount.device.as_str(), mount.mount_point.as_str()), ("host:/a b", r"/mnt/c\d"));
        assert_eq!(unescape(r"a\9\04é\"), r"a\9\04é\");
    }

    #[test]
    fn a_line_that_is_not_the_kernels_is_named() {
        let text =
            "device h:/ mounted on /m with fstype nfs4 statvers=1.1\n\tper-op statistics\n\tREAD: 1 2 x\n";
        assert_eq!(parse(text), Err(MountstatsError { line: 3, text: "\tREAD: 1 2 x".into() }));
        assert_eq!(parse("device h:/ mounted\n").unwrap_err().line, 1);
    }
}
