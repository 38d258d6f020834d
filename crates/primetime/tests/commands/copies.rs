//! `cp`, `cat` and `mkdir`.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::{FILES, contents, objects, pattern, plant, sparse};

in_all_versions! {
    files_go_up_and_down_and_are_read_as_they_were
    the_target_of_a_copy_is_that_of_cp
    a_tree_goes_up_across_and_down_as_it_was
    copy_replaces_or_keeps_existing_files_by_option
    a_copy_stops_at_the_first_failure_or_goes_on
    failed_copy_is_one_sentence
    directories_are_made_as_asked
    holes_stay_holes_up_across_and_down
    pipes_and_files_without_a_size_are_read_to_their_end
    second_source_of_one_name_is_refused
    link_in_a_merged_tree_leads_no_other_source_elsewhere
}

fn files_go_up_and_down_and_are_read_as_they_were(version: &'static str) {
    let place = Place::new(version);
    for length in [0, 1, 300_000, (1 << 20) + 1, 5_000_001] {
        fs::write(place.beside("given"), pattern(length)).unwrap();
        place.bytes(&["cp", "given", &place.url("file")]);
        assert!(fs::read(place.exported("file")).unwrap() == pattern(length), "{length} bytes up");
        place.bytes(&["cp", &place.url("file"), &place.url("other")]);
        assert!(fs::read(place.exported("other")).unwrap() == pattern(length), "{length} bytes across");
        place.bytes(&["cp", &place.url("other"), "back"]);
        assert!(fs::read(place.beside("back")).unwrap() == pattern(length), "{length} bytes down");
        let twice = place.bytes(&["cat", &place.url("file"), &place.url("other")]);
        assert!(twice == [pattern(length), pattern(length)].concat(), "{length} bytes read twice");
    }
}

fn the_target_of_a_copy_is_that_of_cp(version: &'static str) {
    let place = Place::new(version);
    for name in ["one", "two"] {
        fs::write(place.beside(name), name).unwrap();
    }
    fs::set_permissions(place.beside("one"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::create_dir(place.exported("dir")).unwrap();
    place.bytes(&["cp", "one", "two", &place.url("dir")]);
    place.bytes(&["cp", "one", &place.url("dir/three")]);
    place.bytes(&["cp", &place.url("dir/two"), &place.url("")]);
    assert_eq!(fs::read(place.exported("dir/two")).unwrap(), b"two");
    assert_eq!(fs::read(place.exported("dir/three")).unwrap(), b"one");
    assert_eq!(fs::read(place.exported("two")).unwrap(), b"two");
    assert_eq!(fs::metadata(place.exported("dir/one")).unwrap().mode() & 0o777, 0o750);
    let said = place.refusal(1, &["cp", "one", "two", &place.url("dir/one")]);
    assert!(said.contains("no directory") && said.contains("name a directory"), "{said}");
    // A link is followed, or copied as one.
    symlink("one", place.beside("link")).unwrap();
    place.bytes(&["cp", "link", &place.url("followed")]);
    place.bytes(&["cp", "-r", "link", &place.url("copied")]);
    assert_eq!(fs::read(place.exported("followed")).unwrap(), b"one");
    assert_eq!(fs::read_link(place.exported("copied")).unwrap().as_os_str(), "one");
}

fn a_tree_goes_up_across_and_down_as_it_was(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    let requests = place.requests(&["cp", "-rp", "tree", &place.url("up")]);
    assert!(objects(&place.exported("up")) == objects(&place.beside("tree")), "up");
    let root = fs::metadata(place.exported("up")).unwrap();
    assert_eq!((root.mtime(), root.mtime_nsec()), (1_000_000_000, 123_456_789));
    // OPEN, WRITE and attributes each, at the worst; what connecting and leaving take.
    assert!(requests < 5 * FILES as u64, "{requests} requests for {FILES} files");
    place.bytes(&["cp", "-rp", &place.url("up"), &place.url("across")]);
    assert!(objects(&place.exported("across")) == objects(&place.beside("tree")), "across");
    // Into a directory that is there, under the name of the source.
    fs::create_dir(place.beside("down")).unwrap();
    place.bytes(&["cp", "-rp", &place.url("across"), "down"]);
    assert!(objects(&place.beside("down/across")) == objects(&place.beside("tree")), "down");
    // Without -p the permissions are those of the source without the umask, as with cp(1).
    place.bytes(&["cp", "-r", "tree", &place.url("plain")]);
    place.bytes(&["cp", "-r", &place.url("plain"), "plain"]);
    let umasked = |mode: u32| if mode & 0o170_000 == 0o120_000 { mode } else { mode & !0o022 };
    let mut expected = contents(&place.beside("tree"));
    expected.values_mut().for_each(|(mode, _)| *mode = umasked(*mode));
    for mut found in [contents(&place.exported("plain")), contents(&place.beside("plain"))] {
        found.values_mut().for_each(|(mode, _)| *mode = umasked(*mode));
        assert!(found == expected, "without -p");
    }
}

fn copy_replaces_or_keeps_existing_files_by_option(version: &'static str) {
    let place = Place::new(version);
    for dir in ["tree", "export/tree"] {
        fs::create_dir(place.beside(dir)).unwrap();
        for name in ["a", "b"] {
            fs::write(place.beside(format!("{dir}/{name}")), dir).unwrap();
        }
    }
    fs::remove_file(place.beside("export/tree/b")).unwrap();
    let inode = |name: &str| fs::metadata(place.exported(name)).unwrap().ino();
    let before = inode("tree/a");
    place.bytes(&["cp", "-n", "tree/a", &place.url("tree/a")]);
    place.bytes(&["cp", "-rn", "tree", &place.url("")]);
    assert_eq!(fs::read(place.exported("tree/a")).unwrap(), b"export/tree");
    assert_eq!(fs::read(place.exported("tree/b")).unwrap(), b"tree");
    place.bytes(&["cp", "-r", "tree", &place.url("")]);
    assert_eq!((fs::read(place.exported("tree/a")).unwrap(), inode("tree/a")), (b"tree".to_vec(), before));
    // As long as it is open it keeps its number.
    let _held = fs::File::open(place.exported("tree/a")).unwrap();
    place.bytes(&["cp", "-rf", "tree", &place.url("")]);
    assert_ne!(inode("tree/a"), before);
    // A file is not emptied by copying it onto itself.
    let said = place.refusal(1, &["cp", &place.url("tree/a"), &place.url("tree/a")]);
    assert!(said.contains("the same file"), "{said}");
    assert_eq!(fs::read(place.exported("tree/a")).unwrap(), b"tree");
}

fn a_copy_stops_at_the_first_failure_or_goes_on(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    // In the way of a file.
    fs::create_dir_all(place.exported("all/large/in the way")).unwrap();
    let said = place.refusal(1, &["cp", "-r", "--continue-on-error", "tree/.", &place.url("all")]);
    assert!(said.contains("tree/./large") || said.contains("tree/large"), "{said}");
    assert_eq!(objects(&place.exported("all")).len(), objects(&place.beside("tree")).len() + 1);
    let said = place.refusal(1, &["cp", "missing", "tree/large", &place.url("")]);
    assert!(said.contains("missing"), "{said}");
    assert!(!place.exported("large").exists(), "it has stopped before");
    place.refusal(1, &["cp", "--continue-on-error", "missing", "tree/large", &place.url("")]);
    assert!(place.exported("large").exists());
}

fn failed_copy_is_one_sentence(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.exported("dir")).unwrap();
    for (arguments, told) in [
        (["cp", "none", &place.url("x")], "cannot read none:"),
        (["cp", &place.url("none"), "x"], "no such file or directory; see what is there with `primetime ls`"),
        (["cp", &place.url("dir"), "x"], "it is a directory; give -r"),
        (["cp", "export", &place.url("x")], "it is a directory; give -r"),
        (["cat", &place.url("none"), &place.url("")], "cannot read"),
    ] {
        let said = place.refusals(1, &arguments);
        assert!(said[0].contains(told), "{arguments:?}: {said:?}");
    }
    let said = place.refusal(3, &["cp", "a", "b"]);
    assert!(said.contains("both a and b are local"), "{said}");
    let nobody = "nfs://127.0.0.1:1/x";
    let said = place.refusal(3, &["cat", nobody]);
    assert!(said.contains(nobody) && said.contains("see whether it runs"), "{said}");
    let said = place.refusals(3, &["cat", "file"]);
    assert!(said[0].contains("is no NFS address"), "{said:?}");
}

fn directories_are_made_as_asked(version: &'static str) {
    let place = Place::new(version);
    let mode = |name: &str| fs::metadata(place.exported(name)).unwrap().mode() & 0o7777;
    let mut command = place.command(&["mkdir", "-p", "-m", "1750", &place.url("a/b/c")]);
    assert!(command.status().unwrap().success());
    assert_eq!(mode("a/b/c"), 0o1750);
    place.bytes(&["mkdir", "-p", &place.url("a/b"), &place.url("")]);
    let said = place.refusals(1, &["mkdir", &place.url("a"), &place.url("x/y"), &place.url("z")]);
    assert!(said[0].contains("the name is taken") && said[1].contains("no such file"), "{said:?}");
    assert!(place.exported("z").is_dir(), "the rest was done");
    // A name that an address cannot hold.
    place.bytes(&["mkdir", &place.url("odd%0A%FF")]);
    assert!(place.exported(std::ffi::OsStr::from_bytes(b"odd\n\xff")).is_dir());
    assert!(place.refusals(3, &["mkdir", "-m", "u+x", &place.url("q")])[0].contains("octal"));
}

fn holes_stay_holes_up_across_and_down(version: &'static str) {
    let place = Place::new(version);
    let cases: [&[(u64, usize)]; 3] =
        [&[(1 << 20, 70_000), ((5 << 20) + 123, 200_000)], &[], &[(0, 5), ((8 << 20) - 1, 1)]];
    for pieces in cases {
        fs::create_dir(place.beside("tree")).unwrap();
        sparse(&place.beside("tree/given"), 8 << 20, pieces);
        let expected = fs::read(place.beside("tree/given")).unwrap();
        let same = |path: std::path::PathBuf| {
            let blocks = fs::metadata(&path).unwrap().blocks() * 512;
            assert!(fs::read(&path).unwrap() == expected, "{}: {pieces:?}", path.display());
            assert!(blocks < 2 << 20, "{}: {blocks} bytes: {pieces:?}", path.display());
        };
        place.bytes(&["cp", "tree/given", &place.url("up")]);
        same(place.exported("up"));
        place.bytes(&["cp", &place.url("up"), &place.url("across")]);
        same(place.exported("across"));
        place.bytes(&["cp", &place.url("across"), "down"]);
        same(place.beside("down"));
        place.bytes(&["cp", "-r", "tree", &place.url("tree")]);
        place.bytes(&["cp", "-r", &place.url("tree"), &place.url("twice")]);
        same(place.exported("twice/given"));
        place.bytes(&["cp", "-r", &place.url("twice"), "back"]);
        same(place.beside("back/given"));
        for dir in ["tree", "back", "export/tree", "export/twice"] {
            fs::remove_dir_all(place.beside(dir)).unwrap();
        }
    }
}

fn pipes_and_files_without_a_size_are_read_to_their_end(version: &'static str) {
    let place = Place::new(version);
    let pipe = place.beside("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let data = pattern(1_300_000);
    let writer = std::thread::spawn({
        let data = data.clone();
        move || fs::write(pipe, data).unwrap()
    });
    place.bytes(&["cp", "pipe", &place.url("piped")]);
    writer.join().unwrap();
    assert!(fs::read(place.exported("piped")).unwrap() == data);
    place.bytes(&["cp", "/proc/self/status", "/proc/version", &place.url("")]);
    assert_eq!(fs::read(place.exported("version")).unwrap(), fs::read("/proc/version").unwrap());
    assert!(fs::read_to_string(place.exported("status")).unwrap().starts_with("Name:"));
    // A file with a size of 0 and the content of a large one.
    assert_eq!(fs::metadata("/proc/kallsyms").unwrap().len(), 0);
    place.bytes(&["cp", "/proc/kallsyms", &place.url("symbols")]);
    assert!(fs::metadata(place.exported("symbols")).unwrap().len() > 1 << 20);
}

fn second_source_of_one_name_is_refused(version: &'static str) {
    let place = Place::new(version);
    for dir in ["export/a", "export/b", "export/a/both", "export/b/both", "to", "outside"] {
        fs::create_dir(place.beside(dir)).unwrap();
    }
    symlink("../outside", place.exported("a/name")).unwrap();
    fs::create_dir(place.exported("b/name")).unwrap();
    fs::write(place.exported("b/name/evil"), "data").unwrap();
    fs::create_dir(place.exported("c")).unwrap();
    fs::write(place.exported("c/name"), "data").unwrap();
    for second in ["b/name", "c/name"] {
        let sources = [place.url("a/name"), place.url(second)];
        let said = place.refusal(1, &["cp", "-r", &sources[0], &sources[1], "to"]);
        assert!(said.contains("another source"), "{said}");
        assert_eq!(fs::read_dir(place.beside("outside")).unwrap().count(), 0);
        assert!(fs::symlink_metadata(place.beside("to/name")).unwrap().is_symlink());
    }
    place.bytes(&["cp", "-r", &place.url("a/both"), &place.url("b/both"), "to"]);
}

fn link_in_a_merged_tree_leads_no_other_source_elsewhere(version: &'static str) {
    let place = Place::new(version);
    for dir in ["export/a", "export/a/dir", "outside"] {
        fs::create_dir(place.beside(dir)).unwrap();
    }
    symlink("../outside", place.exported("dir")).unwrap();
    fs::write(place.exported("a/dir/evil"), "data").unwrap();
    symlink("../outside/evil", place.exported("file")).unwrap();
    fs::write(place.exported("a/file"), "data").unwrap();
    for name in ["a/dir", "a/file"] {
        let to = format!("to {}", &name[2..]);
        fs::create_dir(place.beside(&to)).unwrap();
        // The tree has no name: it is the root of the server.
        place.run(&["cp", "-r", "--continue-on-error", &place.url(""), &place.url(name), &to]);
        assert!(place.beside(&to).join("a/file").is_file());
        assert_eq!(fs::read_dir(place.beside("outside")).unwrap().count(), 0, "{name}");
    }
}
