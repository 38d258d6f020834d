//! A hostile server of NFSv3, and the exit codes of the commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use proto::nfs3::{Procedure, ReadDirPlusFail, Status};
use tokio::runtime::Runtime;

use crate::peer::nfs3::Answer3;
use crate::peer::{Listed, Peer, Tree};

const CONTENT: &[u8] = b"all there is";

/// A scripted server, and a directory for the commands.
struct Hostile {
    peer: Arc<Peer>,
    url: String,
    directory: tempfile::TempDir,
    // Serves until it is dropped.
    _runtime: Runtime,
}

impl Hostile {
    fn new(tree: Tree) -> Self {
        let runtime = Runtime::new().unwrap();
        let (peer, url) = runtime.block_on(Peer::listen(7));
        {
            let mut state = peer.state.lock();
            state.tree = Some(tree);
            state.content = CONTENT.to_vec();
        }
        let url = format!("{url}?version=3");
        Self { peer, url, directory: tempfile::tempdir().unwrap(), _runtime: runtime }
    }

    fn answer(&self, answer: Answer3) {
        self.peer.state.lock().answer3 = Some(answer);
    }

    fn target(&self) -> PathBuf {
        self.directory.path().join("target")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// The commands that walk a tree, each with its exit code.
    fn walks(&self, codes: [(&str, i32); 6]) {
        for (name, code) in codes {
            let arguments: &[&str] = match name {
                "ls" => &["ls", &self.url],
                "ls -R" => &["ls", "-R", &self.url],
                "find" => &["find", &self.url],
                "cp" => &["cp", "-r", "--continue-on-error", &self.url, "target"],
                "tar" => &["tar", "-c", "-C", &self.url, "-f", "archive"],
                _ => &["rm", "-r", "--no-preserve-root", &self.url],
            };
            let output = self.run(arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{name}: {said}");
            assert_eq!(code == 0, said.is_empty(), "{name}: {said}");
        }
    }
}

fn listed(name: impl Into<String>, handle: impl Into<String>, cookie: u64) -> Listed {
    (name.into(), handle.into(), cookie)
}

fn all(code: i32) -> [(&'static str, i32); 6] {
    ["ls", "ls -R", "find", "cp", "tar", "rm"].map(|name| (name, code))
}

/// A server without READDIRPLUS.
fn only_names() -> Answer3 {
    Box::new(|procedure, _, to| {
        let answers = procedure == Procedure::ReadDirPlus;
        if answers {
            to.put(&Status::NotSupported);
            to.put(&ReadDirPlusFail::default());
        }
        answers
    })
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn lists_without_end_are_failures() {
    let repeated = |_: &[u8], cookie: u64| (vec![listed(format!("f{cookie}"), "f", 7)], false);
    let circle = |_: &[u8], cookie: u64| (vec![listed("f", "f", 1 + (cookie + 1) % 3)], false);
    let beginning = |_: &[u8], _| (vec![listed("f", "f", 0)], false);
    let empty = |_: &[u8], _| (Vec::new(), false);
    for tree in [Tree::new(repeated), Tree::new(circle), Tree::new(beginning), Tree::new(empty)] {
        let hostile = Hostile::new(tree);
        hostile.walks(all(1));
        assert!(is_empty(&hostile.target()));
        assert!(hostile.peer.state.lock().removed3.is_empty());
    }
}

#[test]
fn directory_in_itself_is_a_failure_and_not_entered() {
    let hostile = Hostile::new(Tree::new(|_, _| (vec![listed("d", "root", 1), listed("f", "f", 2)], true)));
    hostile.peer.state.lock().tree.as_mut().unwrap().size = CONTENT.len() as u64;
    let mut codes = all(1);
    codes[0].1 = 0;
    hostile.walks(codes);
    assert_eq!(fs::read(hostile.target().join("f")).unwrap(), CONTENT);
    assert!(!hostile.target().join("d").exists());
    assert_eq!(hostile.peer.state.lock().removed3.len(), 1);
}

#[test]
fn special_files_are_failures_of_copies() {
    let hostile = Hostile::new(Tree::new(|_, _| (vec![listed("p", "p", 1), listed("s", "s", 2)], true)));
    let mut codes = all(0);
    codes[3].1 = 1;
    codes[4].1 = 1;
    hostile.walks(codes);
    assert!(is_empty(&hostile.target()));
    assert_eq!(hostile.peer.state.lock().removed3.len(), 2);
}

#[test]
fn archive_of_a_file_of_claimed_size_is_not_filled_up() {
    for sent in [0, 300_000] {
        let hostile = Hostile::new(Tree::new(|_, _| (vec![listed("f", "f", 1), listed("l", "l", 2)], true)));
        {
            let mut state = hostile.peer.state.lock();
            state.tree.as_mut().unwrap().size = (1 << 63) - 1;
            state.content = vec![7; sent];
        }
        let output = hostile.run(&["tar", "-c", "-C", &hostile.url, "-f", "archive"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(fs::metadata(hostile.directory.path().join("archive")).unwrap().len() < 4 << 20);
    }
}

#[test]
fn archive_has_all_of_a_file_that_was_listed_as_a_smaller_one() {
    const LENGTH: usize = 3 << 20;
    let hostile = Hostile::new(Tree::new(|_, _| (vec![listed("f", "f", 1)], true)));
    {
        let mut state = hostile.peer.state.lock();
        let tree = state.tree.as_mut().unwrap();
        (tree.size, tree.listed_size) = (LENGTH as u64, Some(10));
        state.content = vec![7; LENGTH];
    }
    let output = hostile.run(&["tar", "-c", "-C", &hostile.url, "-f", "archive"]);
    assert!(output.status.success(), "{output:?}");
    let archive = fs::File::open(hostile.directory.path().join("archive")).unwrap();
    let sizes: Vec<_> =
        tar::Archive::new(archive).entries().unwrap().map(|entry| entry.unwrap().size()).collect();
    assert_eq!(sizes, [LENGTH as u64]);
}

#[test]
fn entries_without_attributes_are_looked_up() {
    let list = |dir: &[u8], _| match dir {
        b"root" => (vec![listed("d", "d", 1), listed("f", "f", 2), listed("l", "l", 3)], true),
        _ => (Vec::new(), true),
    };
    let hostile = Hostile::new(Tree::new(list));
    hostile.peer.state.lock().tree.as_mut().unwrap().size = CONTENT.len() as u64;
    hostile.answer(only_names());
    hostile.walks(all(0));
    assert_eq!(fs::read(hostile.target().join("f")).unwrap(), CONTENT);
    assert!(hostile.target().join("d").is_dir() && hostile.target().join("l").is_symlink());
    assert_eq!(hostile.peer.state.lock().removed3.len(), 3);
    let long = String::from_utf8(hostile.run(&["ls", "-l", &hostile.url]).stdout).unwrap();
    assert_eq!(long.matches("rwxr-xr-x").count(), 3, "{long}");
    assert!(long.contains("l -> nowhere"), "{long}");
}

#[test]
fn sorted_list_has_a_bounded_number_of_entries() {
    const PART: u64 = 50_000;
    let list = |_: &[u8], cookie: u64| {
        let entry = |number: u64| listed(format!("{number}"), "f", number);
        ((cookie + 1..=cookie + PART).map(entry).collect(), false)
    };
    let hostile = Hostile::new(Tree::new(list));
    hostile.answer(only_names());
    let output = hostile.run(&["ls", &hostile.url]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("2,000,000 entries") && said.contains("-U"), "{said}");
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 2_000_000);
    let lists = hostile.peer.state.lock().tree.as_ref().unwrap().lists;
    assert!(lists as u64 <= 2_000_000 / PART + 1, "{lists}");
}
