//! `tar`, with archives of and for the system's tar(1).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::{contents, pattern, plant, sparse};

in_all_versions! {
    archive_of_tar_is_unpacked
    archive_is_unpacked_by_tar
    an_archive_that_ends_early_is_told
    members_behind_a_symlink_are_failures
    sparse_files_of_all_forms_are_unpacked_with_their_holes
    times_before_1970_survive_both_ways
    records_that_change_a_member_are_failures
    archive_over_an_existing_tree_replaces_all_files
}

fn tar(place: &Place, arguments: &[&str]) {
    let status = Command::new("tar").args(arguments).current_dir(place.beside("")).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn archive_of_tar_is_unpacked(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    fs::hard_link(place.beside("tree/large"), place.beside("tree/large too")).unwrap();
    tar(&place, &["--create", "--file", "plain.tar", "--directory", "tree", "."]);
    tar(&place, &["--create", "--gzip", "--file", "packed.tar.gz", "--directory", "tree", "."]);
    place.bytes(&["tar", "-x", "-f", "plain.tar", "-C", &place.url("plain")]);
    assert!(contents(&place.exported("plain")) == contents(&place.beside("tree")), "plain");
    let piped = place
        .command(&["tar", "-x", "-C", &place.url("packed")])
        .stdin(fs::File::open(place.beside("packed.tar.gz")).unwrap())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(piped.success());
    assert!(contents(&place.exported("packed")) == contents(&place.beside("tree")), "packed");
    let found = fs::metadata(place.exported("packed/large too")).unwrap();
    assert_eq!((found.nlink(), found.mtime()), (2, 1_000_000_000));
}

fn archive_is_unpacked_by_tar(version: &'static str) {
    let place = Place::new(version);
    plant(&place.exported(""));
    fs::hard_link(place.exported("large"), place.exported("large too")).unwrap();
    let archive = place.bytes(&["tar", "-c", "-C", &place.url("")]);
    fs::write(place.beside("made.tar"), archive).unwrap();
    fs::create_dir(place.beside("out")).unwrap();
    tar(&place, &["--extract", "--same-permissions", "--file", "made.tar", "--directory", "out"]);
    assert!(contents(&place.beside("out")) == contents(&place.exported("")));
}

fn an_archive_that_ends_early_is_told(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    tar(&place, &["--create", "--file", "whole.tar", "tree"]);
    let whole = fs::read(place.beside("whole.tar")).unwrap();
    fs::write(place.beside("cut.tar"), &whole[..whole.len() / 2]).unwrap();
    let said = place.refusal(1, &["tar", "-x", "-f", "cut.tar", "-C", &place.url("cut")]);
    assert!(said.contains("cannot unpack"), "{said}");
    let said = place.refusal(3, &["tar", "-x", "-f", "none.tar", "-C", &place.url("cut")]);
    assert!(said.contains("none.tar"), "{said}");
}

/// The header of a member with so many bytes.
fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn members_behind_a_symlink_are_failures(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.exported("other")).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    let mut link = header(0);
    link.set_entry_type(tar::EntryType::Symlink);
    archive.append_link(&mut link, "to/l", "../other").unwrap();
    for name in ["to/l/evil", "to/l/deep/evil", "to/good"] {
        archive.append_data(&mut header(4), name, &b"data"[..]).unwrap();
    }
    fs::write(place.beside("evil.tar"), archive.into_inner().unwrap()).unwrap();
    let url = place.url("");
    let said = place.refusals(1, &["tar", "-x", "--continue-on-error", "-f", "evil.tar", "-C", &url]);
    assert!(said.iter().any(|line| line.contains("/to/l/evil")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("/to/l/deep")), "{said:?}");
    assert_eq!(fs::read(place.exported("to/good")).unwrap(), b"data");
    assert_eq!(fs::read_dir(place.exported("other")).unwrap().count(), 0);
    let said = place.refusals(1, &["tar", "-x", "-f", "evil.tar", "-C", &url]);
    assert!(said[0].contains("/to/l"), "{said:?}");
}

fn archive_over_an_existing_tree_replaces_all_files(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    tar(&place, &["--create", "--file", "plain.tar", "--directory", "tree", "."]);
    place.bytes(&["tar", "-x", "-f", "plain.tar", "-C", &place.url("twice")]);
    for name in ["twice/a/0/file 0", "twice/c/2/file 9", "twice/large"] {
        fs::write(place.exported(name), "another").unwrap();
    }
    place.bytes(&["tar", "-x", "-f", "plain.tar", "-C", &place.url("twice")]);
    assert!(contents(&place.exported("twice")) == contents(&place.beside("tree")), "unpacked again");
    fs::write(place.exported("twice/a/0/file 0"), "another").unwrap();
    place.bytes(&["cp", "-rp", "tree/.", &place.url("twice")]);
    assert!(contents(&place.exported("twice")) == contents(&place.beside("tree")), "copied again");
}

fn sparse_files_of_all_forms_are_unpacked_with_their_holes(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    let pieces = [(1 << 20, 70_000), (3 << 20, 5), ((5 << 20) + 123, 200_000)];
    sparse(&place.beside("tree/sparse"), 8 << 20, &pieces);
    sparse(&place.beside("tree/small"), 100_000, &[(50_000, 10)]);
    sparse(&place.beside("tree/hole"), 8 << 20, &[]);
    fs::write(place.beside("tree/dense"), pattern(100_000)).unwrap();
    for form in ["--format=gnu", "--sparse-version=0.0", "--sparse-version=0.1", "--sparse-version=1.0"] {
        let format = if form.starts_with("--sparse") { "--format=posix" } else { form };
        tar(&place, &["--create", "--sparse", format, form, "--file", "s.tar", "--directory", "tree", "."]);
        let to = place.url("out");
        place.bytes(&["tar", "-x", "-f", "s.tar", "-C", &to]);
        assert!(contents(&place.exported("out")) == contents(&place.beside("tree")), "{form}");
        let blocks = |name: &str| fs::metadata(place.exported("out").join(name)).unwrap().blocks();
        assert!(blocks("sparse") * 512 < 2 << 20 && blocks("hole") == 0, "{form}");
        fs::remove_dir_all(place.exported("out")).unwrap();
    }
}

fn times_before_1970_survive_both_ways(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    fs::write(place.beside("tree/old"), "data").unwrap();
    let time = |seconds| SystemTime::UNIX_EPOCH - Duration::from_secs(seconds);
    fs::File::open(place.beside("tree/old")).unwrap().set_modified(time(86_400)).unwrap();
    tar(&place, &["--create", "--format=gnu", "--file", "old.tar", "--directory", "tree", "."]);
    place.bytes(&["tar", "-x", "-p", "-f", "old.tar", "-C", &place.url("")]);
    // NFSv3 has no times before 1970 (RFC 1813 §2.5, nfstime3).
    let expected = if version == "3" { 0 } else { -86_400 };
    assert_eq!(fs::metadata(place.exported("old")).unwrap().mtime(), expected);
    if version == "3" {
        return;
    }
    let archive = place.bytes(&["tar", "-c", "-C", &place.url("")]);
    fs::write(place.beside("made.tar"), archive).unwrap();
    fs::create_dir(place.beside("out")).unwrap();
    tar(&place, &["--extract", "--file", "made.tar", "--directory", "out"]);
    assert_eq!(fs::metadata(place.beside("out/old")).unwrap().mtime(), -86_400);
}

fn records_that_change_a_member_are_failures(version: &'static str) {
    let place = Place::new(version);
    let mut archive = tar::Builder::new(Vec::new());
    for (name, key) in
        [("refused", "SCHILY.realsize"), ("refused too", "GNU.volume.offset"), ("good", "comment")]
    {
        archive.append_pax_extensions([(key, &b"7"[..])]).unwrap();
        archive.append_data(&mut header(4), name, &b"data"[..]).unwrap();
    }
    fs::write(place.beside("odd.tar"), archive.into_inner().unwrap()).unwrap();
    let url = place.url("");
    let said = place.refusals(1, &["tar", "-x", "--continue-on-error", "-f", "odd.tar", "-C", &url]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("SCHILY.realsize") && said[1].contains("GNU.volume.offset"), "{said:?}");
    assert_eq!(fs::read(place.exported("good")).unwrap(), b"data");
    assert_eq!(fs::read_dir(place.exported("")).unwrap().count(), 1);
}
