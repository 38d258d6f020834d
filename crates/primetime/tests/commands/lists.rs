//! `ls`, `stat` and `find`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::{Duration, SystemTime};

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::{objects, plant};

in_all_versions! {
    names_are_sorted_and_as_they_are
    the_long_list_is_that_of_ls
    a_tree_is_listed_in_few_requests
    json_has_everything_that_is_known
    find_shows_what_passes_all_tests
    find_removes_what_it_finds
    list_reports_failures_and_shows_the_rest
}

fn names_are_sorted_and_as_they_are(version: &'static str) {
    let place = Place::new(version);
    for name in [&b"b"[..], b"B", b"a", b".hidden", b"odd\n\xff", "ü".as_bytes()] {
        fs::write(place.exported(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
    assert_eq!(place.bytes(&["ls", &place.url("")]), b"B\na\nb\nodd\n\xff\n\xc3\xbc\n");
    assert!(place.bytes(&["ls", "-a", &place.url("")]).starts_with(b".hidden\nB\n"));
    assert_eq!(place.text(&["ls", "-C", &place.url("")]), "B  a  b  odd\\n\\377  ü\n");
    assert_eq!(place.text(&["ls", &place.url("a")]), format!("{}\n", place.url("a")));
    assert_eq!(place.text(&["ls", "-d", &place.url("")]), format!("{}\n", place.url("")));
    let unsorted: BTreeSet<_> =
        place.bytes(&["ls", "-U", &place.url("")]).split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(unsorted.len(), 7, "six pieces of lines, and what is behind the last one");
    assert_eq!(place.bytes(&["cat", &place.url("odd%0A%FF")]), b"");
}

fn the_long_list_is_that_of_ls(version: &'static str) {
    let place = Place::new(version);
    fs::write(place.exported("file"), vec![0; 2000]).unwrap();
    fs::create_dir(place.exported("dir")).unwrap();
    symlink("file", place.exported("link")).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(place.exported("file")).unwrap().set_modified(time).unwrap();
    let ours = place.command(&["ls", "-l", &place.url("")]).env("TZ", "UTC").output().unwrap();
    let theirs = std::process::Command::new("ls")
        .args(["-l", place.exported("").to_str().unwrap()])
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let lines = |text: &[u8]| -> Vec<String> {
        // Whoever follows the widths of the columns follows the size of directories, which differs.
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(lines(&ours.stdout), lines(&theirs.stdout));
    let human = place.text(&["ls", "-lhn", &place.url("file")]);
    assert!(human.contains(" 2.0K ") && human.contains("2001"), "{human}");
    let uid = fs::metadata(place.exported("file")).unwrap().uid().to_string();
    assert_eq!(human.split_whitespace().nth(2), Some(&uid[..]));
}

fn a_tree_is_listed_in_few_requests(version: &'static str) {
    let place = Place::new(version);
    plant(&place.exported(""));
    let listing = place.bytes(&["ls", "-R", &place.url("")]);
    let text = String::from_utf8_lossy(&listing);
    let heads: Vec<_> = text.lines().filter(|line| line.starts_with("nfs://")).collect();
    // The root, three in a place, thirty with files.
    assert_eq!(heads.len(), 34);
    assert_eq!(heads[1], format!("{}:", place.url("a")));
    assert_eq!(text.lines().filter(|line| line.starts_with("file ")).count(), 300);
    // One for each directory, and some for connecting and leaving.
    let requests = place.requests(&["ls", "-R", &place.url("")]);
    assert!(requests <= 34 + 12, "{requests}");
    let long = place.text(&["ls", "-lR", &place.url("a")]);
    assert!(long.contains("link -> ../nowhere\n"), "{long}");
}

fn json_has_everything_that_is_known(version: &'static str) {
    let place = Place::new(version);
    fs::write(place.exported("file"), "12345").unwrap();
    symlink("to\n", place.exported("link")).unwrap();
    let text = place.text(&["stat", "--json", &place.url("file"), &place.url("link")]);
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let real = fs::metadata(place.exported("file")).unwrap();
    assert_eq!(rows[0]["name"], "file");
    assert_eq!(rows[0]["url"], place.url("file"));
    assert_eq!(rows[0]["type"], "file");
    assert_eq!(rows[0]["mode"], "0644");
    assert_eq!(rows[0]["size_bytes"], 5);
    assert_eq!(rows[0]["links"], 1);
    assert_eq!(rows[0]["fileid"], real.ino());
    assert_eq!(rows[0].get("change").is_some(), version != "3");
    assert!(rows[0]["modified"].as_str().unwrap().ends_with('Z'));
    assert_eq!((&rows[1]["type"], &rows[1]["target"]), (&"symlink".into(), &"to\n".into()));
    let followed = place.refusal(1, &["stat", "-L", &place.url("link")]);
    assert!(followed.contains("no such file"), "{followed}");
    let listed = place.text(&["ls", "--json", &place.url("")]);
    let listed: Vec<serde_json::Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (listed, row) in listed.iter().zip(&rows) {
        // Reading a link changes the time of the last access.
        for key in ["name", "url", "type", "mode", "size_bytes", "fileid", "change", "modified", "target"] {
            assert_eq!(listed.get(key), row.get(key), "ls says the same of {key}");
        }
    }
    let shown = place.text(&["stat", &place.url("file")]);
    assert!(shown.contains("Size: 5 bytes") && shown.contains("Mode: 0644 -rw-r--r--"), "{shown}");
}

fn find_shows_what_passes_all_tests(version: &'static str) {
    let place = Place::new(version);
    plant(&place.exported(""));
    let found = |tests: &[&str]| -> Vec<String> {
        let text = place.text(&[&["find", &place.url("")], tests].concat());
        text.lines().map(str::to_owned).collect()
    };
    assert_eq!(found(&[]).len(), objects(&place.exported("")).len() + 1);
    assert_eq!(found(&["-name", "file [12]", "-type", "f"]).len(), 60);
    assert_eq!(found(&["--type", "l"]), [place.url("a/link")]);
    assert_eq!(found(&["-size", "+1M"]), [place.url("large")]);
    assert_eq!(found(&["-type", "d", "-maxdepth", "1"]).len(), 3);
    assert_eq!(found(&["-mtime", "+1000", "-type", "f"]), [place.url("large")]);
    assert_eq!(found(&["-mtime", "-1", "-type", "f"]).len(), 301);
    fs::write(place.beside("stamp"), "").unwrap();
    let time = SystemTime::now() + Duration::from_secs(3600);
    fs::File::open(place.beside("stamp")).unwrap().set_modified(time).unwrap();
    assert_eq!(found(&["-newer", "stamp"]), [""; 0]);
    assert_eq!(found(&["-newer", &place.url("large"), "-type", "f"]).len(), 301);
    // What is found can be handed on.
    let odd = place.bytes(&["find", &place.url(""), "-name", "odd*", "-print0"]);
    let odd = String::from_utf8(odd).unwrap();
    assert_eq!(odd, format!("{}\0", place.url("odd%0A%FF%2541")));
    assert_eq!(place.bytes(&["cat", odd.trim_end_matches('\0')]), b"odd");
    assert!(place.refusals(3, &["find", &place.url(""), "-size", "7X"])[0].contains("`7X` is no size"));
}

fn find_removes_what_it_finds(version: &'static str) {
    let place = Place::new(version);
    plant(&place.exported(""));
    place.bytes(&["find", &place.url("a"), "-name", "file 3", "-delete"]);
    assert_eq!(place.text(&["find", &place.url(""), "-name", "file 3"]).lines().count(), 10);
    place.bytes(&["find", &place.url("c"), "-delete"]);
    assert!(!place.exported("c").exists());
}

fn list_reports_failures_and_shows_the_rest(version: &'static str) {
    // Root may everything: somebody else asks.
    let place = Place::new(version);
    for dir in ["open", "closed"] {
        fs::create_dir(place.exported(dir)).unwrap();
        fs::write(place.exported(format!("{dir}/file")), "").unwrap();
    }
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(place.exported("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let root = fs::metadata(place.exported("closed")).unwrap().uid() == 0;
    if !root {
        // A server without root makes everybody itself.
        return;
    }
    let url = format!("{}&uid=4321&gid=4321", place.url(""));
    let output = place.run(&["ls", "-R", &url]);
    let (shown, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(shown.contains("closed\nopen\n") && shown.ends_with("file\n"), "{shown}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("/closed?") && said.contains("?uid=N&gid=N"), "{said}");
}
