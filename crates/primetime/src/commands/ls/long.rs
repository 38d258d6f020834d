//! The long list, as `ls -l` shows it.

use std::cell::RefCell;
use std::collections::HashMap;

use client::{Attributes, FileType};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::unistd::{Gid, Group, Uid, User};

use super::row::{Entry, shown};
use crate::remote::text::{human_size, mode_string};
use crate::remote::time::short;

/// How lines look, and the names of owners that were looked up.
pub(super) struct Long {
    human: bool,
    numeric: bool,
    now: Timestamp,
    zone: TimeZone,
    users: RefCell<HashMap<u32, String>>,
    groups: RefCell<HashMap<u32, String>>,
}

/// Mode, links, owner, group, size, time.
type Cells = [String; 6];
/// Which of them stand at the right.
const RIGHT: [bool; 6] = [false, true, false, false, true, false];

impl Long {
    pub(super) fn new(human: bool, numeric: bool) -> Self {
        Self {
            human,
            numeric,
            now: Timestamp::now(),
            zone: TimeZone::system(),
            users: RefCell::default(),
            groups: RefCell::default(),
        }
    }

    /// The space that all of them take.
    pub(super) fn total(&self, entries: &[Entry]) -> String {
        let used = entries.iter().filter_map(|entry| entry.attributes).map(|known| known.used);
        let used = used.fold(0, u64::saturating_add);
        match self.human {
            true => format!("total {}", human_size(used)),
            false => format!("total {}", used.div_ceil(1024)),
        }
    }

    /// Lines whose columns stand below each other.
    pub(super) fn lines(&self, entries: &[Entry], terminal: bool) -> Vec<Vec<u8>> {
        let cells: Vec<Cells> = entries.iter().map(|entry| self.cells(entry.attributes.as_ref())).collect();
        let width = |column: usize| cells.iter().map(|row: &Cells| row[column].chars().count()).max();
        let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
        cells.iter().zip(entries).map(|(row, entry)| line(row, &widths, entry, terminal)).collect()
    }

    fn cells(&self, known: Option<&Attributes>) -> Cells {
        let Some(known) = known else { return std::array::from_fn(|_| "?".to_owned()) };
        let size = match known.kind {
            FileType::Block | FileType::Character => format!("{}, {}", known.device.0, known.device.1),
            _ if self.human => human_size(known.size),
            _ => known.size.to_string(),
        };
        [
            mode_string(known.kind, known.mode),
            known.links.to_string(),
            self.owner(known.uid),
            self.group(known.gid),
            size,
            short(known.modified, self.now, &self.zone),
        ]
    }

    fn owner(&self, uid: u32) -> String {
        let find = |uid| User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name);
        self.name(&self.users, uid, find)
    }

    fn group(&self, gid: u32) -> String {
        let find = |gid| Group::from_gid(Gid::from_raw(gid)).ok().flatten().map(|group| group.name);
        self.name(&self.groups, gid, find)
    }

    /// What this host calls the number.
    fn name(
        &self,
        known: &RefCell<HashMap<u32, String>>,
        number: u32,
        find: impl FnOnce(u32) -> Option<String>,
    ) -> String {
        if self.numeric {
            return number.to_string();
        }
        let mut known = known.borrow_mut();
        known.entry(number).or_insert_with(|| find(number).unwrap_or_else(|| number.to_string())).clone()
    }
}

fn line(row: &Cells, widths: &[usize; 6], entry: &Entry, terminal: bool) -> Vec<u8> {
    let mut line = String::new();
    for ((cell, width), right) in row.iter().zip(widths).zip(RIGHT) {
        match right {
            true => line.push_str(&format!("{cell:>width$} ")),
            false => line.push_str(&format!("{cell:<width$} ")),
        }
    }
    let mut line = line.into_bytes();
    line.extend_from_slice(&entry.shown(terminal));
    if let Some(target) = &entry.target {
        line.extend_from_slice(b" -> ");
        line.extend_from_slice(&shown(target, terminal));
    }
    line
}
