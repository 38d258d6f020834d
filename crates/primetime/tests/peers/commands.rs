//! The everyday commands, each as a process of its own, at a server of others: what goes up by one version
//! comes down by another as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use client::Version;
use tempfile::TempDir;

use crate::Foreign;
use crate::tree::{FILES, Object, objects, pattern, plant};

/// Symbolic links that lie beside each other.
const LINKS: usize = 200;
/// Directories of the tree, its root among them, and one for links.
const DIRECTORIES: u64 = 35;
/// What connecting and leaving take, at most.
const AROUND: u64 = 20;

/// Where commands are run, and at which server.
struct Desk {
    folder: TempDir,
    server: Foreign,
    version: Version,
}

pub(crate) fn do_what_they_do_here(server: Foreign, version: Version) {
    let desk = Desk { folder: tempfile::tempdir().unwrap(), server, version };
    desk.run(&["mkdir", "-p", "-m", "2750", &desk.url("deep/down")]);
    let tree = desk.here("tree");
    fs::create_dir_all(tree.join("links")).unwrap();
    plant(&tree);
    for link in 0..LINKS {
        symlink(format!("{link}{}", "/long".repeat(link % 40)), tree.join(format!("links/{link}"))).unwrap();
    }
    copies(&desk);
    lists(&desk);
    archives(&desk);
    removals(&desk);
}

impl Desk {
    fn here(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self, path: &str) -> String {
        self.server.place.url(&format!("/commands-{}/{path}", self.version), self.version)
    }

    /// The same place by another version: nobody there has anything of it in memory.
    fn other_url(&self, path: &str) -> String {
        let other = if self.version == Version::V3 { Version::V4_2 } else { Version::V3 };
        self.server.place.url(&format!("/commands-{}/{path}", self.version), other)
    }

    /// What a command that must succeed writes, and how many requests it took, by `-v`.
    fn count(&self, arguments: &[&str]) -> (Vec<u8>, u64) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.args(arguments).arg("-v").current_dir(self.folder.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.lines().count() == 1, "{arguments:?}: {said}");
        let cost = said.strip_prefix("primetime: ").unwrap();
        let (requests, _) = cost.split_once(" requests over NFSv").unwrap();
        (output.stdout, requests.parse().unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Vec<u8> {
        self.count(arguments).0
    }

    fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.run(arguments)).unwrap()
    }

    /// What is at the server, fetched by another version.
    fn fetched(&self, path: &str) -> BTreeMap<Vec<u8>, Object> {
        let name = path.replace('/', "-");
        self.run(&["cp", "-rp", &self.other_url(path), &name]);
        self.objects(&self.here(&name))
    }

    fn objects(&self, root: &Path) -> BTreeMap<Vec<u8>, Object> {
        let mut all = objects(root);
        if !self.server.times_of_links {
            all.values_mut().filter(|(mode, ..)| is_link(*mode)).for_each(|(_, time, _)| *time = (0, 0));
        }
        all
    }

    fn tar(&self, arguments: &[&str]) {
        let status = Command::new("tar").args(arguments).current_dir(self.folder.path()).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    }
}

fn is_link(mode: u32) -> bool {
    mode & 0o170_000 == 0o120_000
}

/// Panics with the names of those that differ.
fn compare(what: &str, found: &BTreeMap<Vec<u8>, Object>, expected: &BTreeMap<Vec<u8>, Object>) {
    let names = found.keys().chain(expected.keys()).collect::<BTreeSet<_>>();
    let differ = names.into_iter().filter(|name| found.get(*name) != expected.get(*name));
    let told = |of: Option<&Object>| of.map(|(mode, time, content)| (*mode, *time, content.len()));
    let lines: Vec<String> = differ
        .map(|name| {
            format!(
                "{}: {:?} and not {:?}",
                name.escape_ascii(),
                told(found.get(name)),
                told(expected.get(name))
            )
        })
        .collect();
    assert!(lines.is_empty(), "{what}:\n{}", lines.join("\n"));
}

fn copies(desk: &Desk) {
    let tree = desk.objects(&desk.here("tree"));
    let (_, requests) = desk.count(&["cp", "-rp", "tree", &desk.url("up")]);
    // CREATE or OPEN, WRITE, SETATTR of each, at the worst.
    assert!(requests < 3 * tree.len() as u64 + AROUND, "{requests}");
    compare("up and down", &desk.fetched("up"), &tree);
    desk.run(&["cp", "-rp", &desk.url("up"), &desk.url("across")]);
    compare("across and down", &desk.fetched("across"), &tree);
    for length in [0, 1, (1 << 20) + 1, 5_000_001] {
        fs::write(desk.here("given"), pattern(length)).unwrap();
        desk.run(&["cp", "given", &desk.url("deep/down/file")]);
        desk.run(&["cp", &desk.url("deep/down/file"), &desk.url("deep/copy")]);
        let read = desk.run(&["cat", &desk.other_url("deep/down/file"), &desk.other_url("deep/copy")]);
        assert!(read == [pattern(length), pattern(length)].concat(), "{length} bytes");
    }
}

fn lists(desk: &Desk) {
    let (listing, requests) = desk.count(&["ls", "-lR", &desk.url("up")]);
    let listing = String::from_utf8_lossy(&listing).into_owned();
    assert_eq!(listing.lines().filter(|line| line.starts_with("nfs://")).count() as u64, DIRECTORIES);
    assert_eq!(listing.lines().filter(|line| line.contains(" file ")).count(), FILES - 2);
    for link in 0..LINKS {
        let line = format!(" {link} -> {link}{}\n", "/long".repeat(link % 40));
        assert!(listing.contains(&line), "{line:?} is missing");
    }
    assert!(requests <= DIRECTORIES + LINKS as u64 + AROUND, "{requests}");
    let found = |tests: &[&str]| desk.text(&[&["find", &desk.url("up")], tests].concat()).lines().count();
    assert_eq!(found(&[]), desk.objects(&desk.here("tree")).len() + 1);
    assert_eq!((found(&["-type", "l"]), found(&["-name", "file [12]"])), (LINKS + 1, 60));
    assert_eq!((found(&["-size", "+1M"]), found(&["-mtime", "+1000", "-type", "f"])), (1, 1));
    let row = desk.text(&["stat", "--json", &desk.url("up/large")]);
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    let local = fs::metadata(desk.here("tree/large")).unwrap();
    assert_eq!(
        (&row["size_bytes"], &row["mode"], &row["type"]),
        (&local.len().into(), &"0751".into(), &"file".into())
    );
    assert_eq!((&row["links"], &row["modified"]), (&1.into(), &"2001-09-09T01:46:40.123456789Z".into()));
    let row = desk.text(&["stat", "--json", &desk.url("deep/down")]);
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!((&row["mode"], &row["type"]), (&"2750".into(), &"directory".into()));
}

fn archives(desk: &Desk) {
    fs::hard_link(desk.here("tree/large"), desk.here("tree/large too")).unwrap();
    // Where a name has an end of line, the extended records of an archive are not understood
    // (docs/commands.md).
    fs::remove_file(desk.here("tree").join(OsStr::from_bytes(b"odd\n\xff%41"))).unwrap();
    let tree = desk.objects(&desk.here("tree"));
    // The format of POSIX has all of a time.
    desk.tar(&["--create", "--format", "posix", "--file", "made.tar", "--directory", "tree", "."]);
    desk.run(&["tar", "-x", "-f", "made.tar", "-C", &desk.url("unpacked")]);
    compare("unpacked", &desk.fetched("unpacked"), &tree);
    let row = desk.text(&["stat", "--json", &desk.other_url("unpacked/large too")]);
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!(row["links"], 2);
    fs::write(desk.here("back.tar"), desk.run(&["tar", "-c", "-C", &desk.url("unpacked")])).unwrap();
    fs::create_dir(desk.here("back")).unwrap();
    desk.tar(&["--extract", "--same-permissions", "--file", "back.tar", "--directory", "back"]);
    // What `tar -c` writes has whole seconds.
    let whole_seconds =
        tree.into_iter().map(|(name, (mode, time, content))| (name, (mode, (time.0, 0), content)));
    compare("packed", &desk.objects(&desk.here("back")), &whole_seconds.collect());
    assert_eq!(fs::metadata(desk.here("back/large too")).unwrap().nlink(), 2);
}

fn removals(desk: &Desk) {
    let count = desk.objects(&desk.here("tree")).len() as u64;
    let (_, requests) = desk.count(&["rm", "-r", &desk.url("unpacked")]);
    assert!(requests <= count + DIRECTORIES + AROUND, "{requests}");
    desk.run(&["find", &desk.url("across"), "-delete"]);
    assert_eq!(desk.text(&["ls", &desk.other_url("")]), "deep\nup\n");
    desk.run(&["rm", "-r", &desk.url("up"), &desk.url("deep")]);
    assert_eq!(desk.text(&["ls", "-a", &desk.other_url("")]), "");
}
