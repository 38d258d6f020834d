//! Reads `docs/errors.md`.

use std::collections::BTreeSet;

use proto::nfs4::{Operation, Status};

use super::table::{operation, status, table};

/// Operations with the codes of their statuses.
pub type Pairs = BTreeSet<(Operation, u32)>;

/// What the page says.
pub struct Page {
    /// In the standard's table, and never answered.
    pub impossible: Pairs,
    /// Answered, and not in the standard's table.
    pub beyond: Pairs,
}

/// The page as it is in the tree.
pub fn read() -> Page {
    let page = include_str!("../../../../../docs/errors.md");
    let (_, sections) = page.split_once("## Cannot occur").expect("a section of the page");
    let (impossible, beyond) =
        sections.split_once("## Beyond the standard's list").expect("a section of the page");
    Page { impossible: pairs(impossible), beyond: pairs(beyond) }
}

fn pairs(section: &str) -> Pairs {
    entries(section).iter().flat_map(|entry| line(entry)).collect()
}

/// The entries of a list. Lines that belong to one are indented.
fn entries(section: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in section.lines() {
        if let Some(entry) = line.strip_prefix("- ") {
            entries.push(entry.to_owned());
        } else if let (Some(rest), Some(entry)) = (line.strip_prefix("  "), entries.last_mut()) {
            entry.push(' ');
            entry.push_str(rest);
        }
    }
    entries
}

/// `STATUS[, STATUS …]: OPERATION[, OPERATION …] — reason`, or `STATUS: all operations[ except OPERATION, …]
/// — reason`.
fn line(line: &str) -> Vec<(Operation, u32)> {
    let (head, _) = line.split_once(" — ").unwrap_or_else(|| panic!("no reason is given: {line}"));
    let (statuses, operations) = head.split_once(": ").unwrap_or_else(|| panic!("no operation: {line}"));
    statuses.split(", ").map(status).flat_map(|status| operations_of(status, operations)).collect()
}

/// All operations are those that the table has the status for.
fn operations_of(status: Status, operations: &str) -> Vec<(Operation, u32)> {
    let named = |names: &str| names.split(", ").map(operation).collect::<Vec<_>>();
    let operations = match operations.strip_prefix("all operations") {
        None => named(operations),
        Some(rest) => {
            let except = rest.strip_prefix(" except ").map(named).unwrap_or_default();
            let listed = table().into_iter().filter(|(_, statuses)| statuses.contains(&status));
            listed.map(|(operation, _)| operation).filter(|o| !except.contains(o)).collect()
        }
    };
    operations.into_iter().map(|operation| (operation, status.code())).collect()
}

#[test]
fn a_line_is_of_statuses_operations_and_a_reason() {
    let two = pairs("text\n- NFS4ERR_IO, NFS4ERR_STALE: READ — why");
    assert_eq!(two, Pairs::from([(Operation::Read, 5), (Operation::Read, 70)]));
    // Of the operations that have it in the table.
    let all = pairs("- NFS4ERR_LOCKS_HELD: all operations — why");
    let held = Status::LocksHeld.code();
    assert_eq!(all, Pairs::from([(Operation::Close, held), (Operation::FreeStateId, held)]));
    let but = pairs("- NFS4ERR_LOCKS_HELD: all operations except CLOSE — why");
    assert_eq!(but, Pairs::from([(Operation::FreeStateId, held)]));
}
