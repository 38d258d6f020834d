//! The network cards of this machine: how many transmit queues each has, and how packets wait in front of it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// More cards than a machine has.
const CARDS_MAX: usize = 64;

/// A network card, real or of a virtual machine; devices of software alone are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its name, such as "eth0".
    pub name: String,
    /// Its transmit queues.
    pub transmit_queues: u32,
    /// The queueing discipline at its root, such as "mq", "fq" or "pfifo_fast"; none where tc(8) cannot say.
    pub discipline: Option<String>,
}

/// The cards in the order of their names; none where the kernel does not show them.
#[must_use]
pub fn cards() -> Vec<Card> {
    let mut found = cards_in(Path::new("/sys/class/net"));
    for card in &mut found {
        card.discipline = discipline(&card.name);
    }
    found
}

fn cards_in(folder: &Path) -> Vec<Card> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<Card> =
        entries.flatten().filter_map(|entry| card(&entry.path())).take(CARDS_MAX).collect();
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found
}

fn card(folder: &Path) -> Option<Card> {
    // Devices of software alone have no device behind them.
    if !folder.join("device").exists() {
        return None;
    }
    let queues = fs::read_dir(folder.join("queues")).ok()?.flatten();
    let transmit = queues.filter(|queue| queue.file_name().to_string_lossy().starts_with("tx-")).count();
    Some(Card {
        name: folder.file_name()?.to_str()?.to_owned(),
        transmit_queues: u32::try_from(transmit).ok()?,
        discipline: None,
    })
}

fn discipline(card: &str) -> Option<String> {
    let mut tc = Command::new("tc");
    tc.args(["qdisc", "show", "dev", card, "root"]).stdin(Stdio::null()).stderr(Stdio::null());
    root_discipline(&String::from_utf8_lossy(&tc.output().ok()?.stdout))
}

/// From `qdisc mq 0: root …`.
fn root_discipline(shown: &str) -> Option<String> {
    let mut words = shown.lines().next()?.split_whitespace();
    (words.next()? == "qdisc").then(|| words.next().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_have_a_device_behind_them_and_queues_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "eth1/device",
            "eth1/queues/tx-0",
            "eth1/queues/tx-1",
            "eth1/queues/rx-0",
            "eth0/device",
            "lo/queues/tx-0",
        ] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let found = cards_in(folder.path());
        // What shows no queues is passed over.
        assert_eq!(found, [Card { name: "eth1".into(), transmit_queues: 2, discipline: None }]);
        assert_eq!(cards_in(&folder.path().join("absent")), []);
    }

    #[test]
    fn the_discipline_is_the_second_word_that_tc_says() {
        assert_eq!(root_discipline("qdisc mq 0: root \n").as_deref(), Some("mq"));
        assert_eq!(root_discipline("qdisc fq 8001: root refcnt 2 limit 10000p\nmore").as_deref(), Some("fq"));
        assert_eq!(root_discipline(""), None);
        assert_eq!(root_discipline("Cannot find device"), None);
    }
}
