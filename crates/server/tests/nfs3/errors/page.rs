//! Reads `docs/errors-v3.md`.

use super::table::{Pairs, procedure, status, table};

/// What the page says.
pub struct Page {
    /// In the standard's lists, and never answered.
    pub impossible: Pairs,
    /// Answered, and not in the standard's lists.
    pub beyond: Pairs,
}

/// The page as it is in the tree.
pub fn read() -> Page {
    let page = include_str!("../../../../../docs/errors-v3.md");
    let (_, sections) = page.split_once("## Cannot occur").expect("a section of the page");
    let (impossible, beyond) =
        sections.split_once("## Beyond the standard's lists").expect("a section of the page");
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

/// `STATUS[, STATUS …]: PROCEDURE[, PROCEDURE …] — reason`. All procedures are those that the standard lists
/// the status for; where it lists it for none, all that have one.
fn line(line: &str) -> Vec<(proto::nfs3::Procedure, u32)> {
    let (head, _) = line.split_once(" — ").unwrap_or_else(|| panic!("no reason is given: {line}"));
    let (statuses, procedures) = head.split_once(": ").unwrap_or_else(|| panic!("no procedure: {line}"));
    let statuses: Vec<_> = statuses.split(", ").map(status).collect();
    let of = |code: u32| -> Vec<_> {
        let named = |names: &str| names.split(", ").map(procedure).collect::<Vec<_>>();
        match procedures.strip_prefix("all procedures") {
            None => named(procedures),
            Some(rest) => {
                let except = rest.strip_prefix(" except ").map(named).unwrap_or_default();
                let listed = table().into_iter().filter(|(_, other)| *other == code);
                listed.map(|(procedure, _)| procedure).filter(|p| !except.contains(p)).collect()
            }
        }
    };
    statuses.into_iter().flat_map(|code| of(code).into_iter().map(move |p| (p, code))).collect()
}
