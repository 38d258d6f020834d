//! The clean-up at a hostile server: it ends, and removes nothing outside of directories of benchmarks.

use std::fs;
use std::process::Output;
use std::sync::Arc;

use proto::nfs3::{MkDirFail, Procedure, ReadDirPlusFail, Status};
use tokio::runtime::Runtime;

use crate::leftovers::SCAN;
use crate::peer::{Listed, Peer, Tree};
use crate::support::Place;

/// The directory of a benchmark that has ended, and its handle.
const NAME: &str = "primetime-bench-77-0123abcd";
const HANDLE: &str = "dleft";

fn listed(name: &str, handle: &str, cookie: u64) -> Listed {
    (name.to_owned(), handle.to_owned(), cookie)
}

/// A server with such a directory. It lets no new one be made, so that a benchmark ends behind its clean-up.
struct Hostile {
    peer: Arc<Peer>,
    url: String,
    place: Place,
    // Serves until it is dropped.
    _runtime: Runtime,
}

impl Hostile {
    fn new(list: impl FnMut(&[u8], u64) -> (Vec<Listed>, bool) + Send + 'static) -> Self {
        let runtime = Runtime::new().unwrap();
        let (peer, url) = runtime.block_on(Peer::listen(7));
        let mark = mark();
        let mut tree = Tree::new(list);
        tree.size = mark.len() as u64;
        tree.look_up = Some(Box::new(|_, name| match name {
            name if name == NAME.as_bytes() => HANDLE.to_owned(),
            name => String::from_utf8(name.to_vec()).unwrap(),
        }));
        {
            let mut state = peer.state.lock();
            state.tree = Some(tree);
            state.content = mark.into_bytes();
        }
        let hostile = Self { peer, url: format!("{url}?version=3"), place: Place::new(), _runtime: runtime };
        hostile.answer(false);
        hostile
    }

    /// Refuses MKDIR, and READDIRPLUS if only names are to be listed.
    fn answer(&self, only_names: bool) {
        self.peer.state.lock().answer3 = Some(Box::new(move |procedure, _, to| {
            match procedure {
                Procedure::MkDir => {
                    to.put(&Status::ReadOnly);
                    to.put(&MkDirFail::default());
                }
                Procedure::ReadDirPlus if only_names => {
                    to.put(&Status::NotSupported);
                    to.put(&ReadDirPlusFail::default());
                }
                _ => return false,
            }
            true
        }));
    }

    /// Runs a benchmark, which fails; gives what it said.
    fn bench(&self) -> String {
        let experiment = self.place.experiment("scan", "MB/s", SCAN);
        let arguments = ["--experiment", &experiment, "--runs", "1", "--rtt-ms", "0", "--versions", "3"];
        let output: Output =
            self.place.bench(&[&arguments[..], &["--out", "out", "--server", &self.url, "--clean"]].concat());
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Directory and name of everything that was removed.
    fn removed(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let state = self.peer.state.lock();
        state.removed3.iter().map(|place| (text(place.dir.as_bytes()), text(&place.name))).collect()
    }
}

/// The mark of a process of this machine that has ended.
fn mark() -> String {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    serde_json::json!({
        "host": "here",
        "boot_id": boot_id.trim(),
        "pid_namespace": namespace.to_str().unwrap(),
        "pid": 1,
        "started_ticks": u64::MAX,
    })
    .to_string()
}

#[test]
fn leftover_is_removed_with_its_mark_last() {
    let hostile = Hostile::new(|dir: &[u8], _| match dir {
        b"root" => (vec![listed(NAME, HANDLE, 1), listed("other", "dother", 2)], true),
        b"dleft" => (vec![listed("owner.json", "owner.json", 1), listed("da", "da", 2)], true),
        _ => (vec![listed("f", "f", 1)], true),
    });
    hostile.bench();
    let expected = [("da", "f"), (HANDLE, "da"), (HANDLE, "owner.json"), ("root", NAME)];
    assert_eq!(hostile.removed(), expected.map(|(dir, name)| (dir.to_owned(), name.to_owned())));
}

#[test]
fn directories_in_themselves_and_false_names_are_not_entered() {
    let hostile = Hostile::new(|dir: &[u8], _| match dir {
        b"root" => (vec![listed(NAME, HANDLE, 1), listed("f", "f", 2)], true),
        b"dleft" => {
            let names = [
                ("owner.json", "owner.json"),
                ("up", "root"),
                ("itself", HANDLE),
                ("../f", "f"),
                ("..", "root"),
                ("a\0b", "f"),
                ("good", "good"),
            ];
            let entries = names.iter().zip(1..).map(|((name, handle), cookie)| listed(name, handle, cookie));
            (entries.collect(), true)
        }
        _ => panic!("no other directory is to be listed"),
    });
    // The root is no directory above the leftover on the way, but an ordinary one with a leftover in it.
    let said = hostile.bench();
    assert!(said.contains("READDIR breaks the protocol"), "{said}");
    for (dir, _) in hostile.removed() {
        assert!(dir == HANDLE, "{:?}", hostile.removed());
    }
}

#[test]
fn lists_without_end_end_the_clean_up() {
    for endless in [&b"root"[..], HANDLE.as_bytes()] {
        let hostile = Hostile::new(move |dir: &[u8], cookie| match dir {
            dir if dir == endless => (vec![listed(NAME, HANDLE, 1 + (cookie + 1) % 3)], false),
            b"root" => (vec![listed(NAME, HANDLE, 1)], true),
            _ => panic!("no other directory is to be listed"),
        });
        let said = hostile.bench();
        assert!(said.contains("READDIR breaks the protocol"), "{said}");
        assert_eq!(hostile.removed(), []);
    }
}

#[test]
fn link_with_the_name_of_a_leftover_is_not_followed() {
    for only_names in [false, true] {
        let hostile = Hostile::new(|dir: &[u8], _| match dir {
            b"root" => (vec![listed(NAME, "lhome", 1)], true),
            _ => (vec![listed("f", "f", 1)], true),
        });
        hostile.answer(only_names);
        {
            let mut state = hostile.peer.state.lock();
            let tree = state.tree.as_mut().unwrap();
            tree.target = "dhome".into();
            tree.look_up = Some(Box::new(|_, name| match name {
                name if name == NAME.as_bytes() => "lhome".to_owned(),
                name => String::from_utf8(name.to_vec()).unwrap(),
            }));
        }
        hostile.bench();
        assert_eq!(hostile.removed(), []);
    }
}
