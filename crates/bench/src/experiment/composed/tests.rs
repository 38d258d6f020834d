//! What an experiment file with a composed workload may say, and what it is told when it may not.

use crate::experiment::{Experiment, Space, Workload, parse};

const GOOD: &str = r#"name = "mine"
question = "Is it fast?"
study = "none"
[metric]
name = "throughput"
unit = "op/s"
better = "higher"
[default]
clients = 2
[default.workload.composed]
threads = 3
sets.files = { entries = 100, size = "gamma 16 KiB shape 1.5", preallocated = 0.5 }
[[default.workload.composed.phases]]
name = "fill"
passes = 10
loop = [
    "create files",
    "2 * append 4 KiB",
    "close",
]
[[default.workload.composed.phases]]
name = "use"
threads = 1
seconds = 0.5
first = ["open files rw"]
loop = [
    "read-at random 4 KiB",
    "write-at same 4 KiB",
    "think 1 ms",
]
last = ["fsync"]
[quick]
clients = 1
[quick.change]
threads = 2
"phases.use.seconds" = 0.25
"sets.files.entries" = 9
[paper.factors]
threads = [1, 64]
"sets.files.size" = ["0 B", "4 KiB", "64 KiB"]
"#;

fn complaint(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replacen(from, to, 1), "mine.toml").unwrap_err().to_string()
}

fn good() -> Experiment {
    parse(GOOD, "mine.toml").unwrap()
}

#[test]
fn phases_have_their_own_threads_and_limits() {
    let Workload::Composed(workload) = good().default.workload else { panic!("another kind") };
    let threads: Vec<u32> = workload.phases.iter().map(|phase| workload.threads_of(phase)).collect();
    assert_eq!(threads, [3, 1]);
    assert_eq!(workload.seconds(), None, "the first phase is limited by its passes alone");
    assert!(workload.changes("files") && workload.is_made_anew("files"));
    // Of each client: 50 files, ten more, and twice 4 KiB at the end of each of these.
    let bytes = 2.0 * (60.0 * 16_384.0 + 10.0 * 2.0 * 4096.0);
    assert_eq!(workload.space(2), Space { lasting: 0.0, passing: bytes, grows: false });
}

/// The space of the good workload for three clients, with some words replaced.
fn space(replaced: &[(&str, &str)]) -> Space {
    let text = replaced.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let Workload::Composed(workload) = parse(&text, "mine.toml").unwrap().default.workload else {
        panic!("another kind")
    };
    workload.space(3)
}

#[test]
fn phases_take_space_for_their_names_only() {
    const FILE: f64 = 16_384.0;
    let no_append = ("\"2 * append 4 KiB\",", "");
    let of = |files: f64| Space { lasting: 0.0, passing: files * FILE, grows: false };
    assert_eq!(space(&[no_append]), of(3.0 * 60.0));
    assert_eq!(space(&[no_append, ("passes = 10\n", "passes = 70\n")]), of(3.0 * 100.0));
    assert_eq!(space(&[no_append, ("passes = 10\n", "seconds = 1.0\n")]), of(3.0 * 100.0));
    let first = ("passes = 10\n", "passes = 10\nclients = \"first\"\n");
    assert_eq!(space(&[no_append, first]), of(3.0 * 50.0 + 10.0), "two clients make none");
}

#[test]
fn append_by_time_has_no_bound() {
    let timed = space(&[("passes = 10\n", "seconds = 1.0\n")]);
    assert_eq!(timed, Space { lasting: 0.0, passing: 3.0 * 100.0 * 16_384.0, grows: true });
    let once = space(&[("last = [\"fsync\"]", "last = [\"append 1 KiB\", \"fsync\"]")]);
    let bounded = space(&[]);
    assert_eq!(once.passing - bounded.passing, 3.0 * 1024.0, "once by each client's only thread");
}

#[test]
fn files_that_clients_share_for_writing_are_new_in_each_run() {
    let files = |shared: &str, mode: &str| {
        let text = GOOD
            .replace("\"create files\",", "\"open files read\",")
            .replace("\"2 * append 4 KiB\",", "")
            .replace("\"write-at same 4 KiB\",", "")
            .replace("open files rw", &format!("open files {mode}"))
            .replace("preallocated = 0.5", shared);
        let Workload::Composed(workload) = parse(&text, "mine.toml").unwrap().default.workload else {
            panic!("another kind")
        };
        assert!(!workload.changes("files"));
        workload.is_made_anew("files")
    };
    assert!(files("shared = true", "rw"));
    assert!(!files("shared = true", "read"));
    assert!(!files("shared = false", "rw"));
}

#[test]
fn another_size_says_what_differs() {
    let quick = good().quick.unwrap();
    assert_eq!(quick.clients, 1);
    let Workload::Composed(workload) = quick.workload else { panic!("another kind") };
    assert_eq!((workload.threads, workload.sets["files"].entries), (2, 9));
    assert_eq!(workload.phases[1].seconds, Some(0.25));
    assert_eq!(workload.phases[0].passes, Some(10));
}

#[test]
fn every_combination_of_levels_is_a_point() {
    let paper = good().paper.unwrap();
    let points = paper.points();
    assert_eq!(points.len(), 6);
    let named: Vec<Vec<&str>> =
        points.iter().map(|point| point.levels.values().map(String::as_str).collect()).collect();
    assert_eq!(named[0], ["0 B", "1"]);
    assert_eq!(named[5], ["64 KiB", "64"]);
    let Workload::Composed(workload) = &points[5].setup.workload else { panic!("another kind") };
    assert_eq!((workload.threads, workload.sets["files"].size.mean()), (64, 65_536.0));
    assert_eq!(good().default.points().len(), 1);
    assert!(good().default.points()[0].levels.is_empty());
}

#[test]
fn a_wrong_word_is_named_with_its_line_and_the_nearest_valid_one() {
    for (from, to, line, meant) in [
        ("\"create files\"", "\"craete files\"", 17, "create"),
        ("\"create files\"", "\"create fils\"", 17, "files"),
        ("random 4 KiB", "radnom 4 KiB", 27, "random"),
        ("same 4 KiB", "same 4 Kib", 28, "KiB"),
        ("files rw", "files rv", 25, "rw"),
        ("\"fsync\"", "\"fsnyc\"", 31, "fsync"),
        ("gamma", "gama", 12, "gamma"),
        ("preallocated", "prealocated", 12, "preallocated"),
        ("passes = 10", "passs = 10", 15, "passes"),
        ("\"sets.files.entries\" = 9", "\"sets.file.entries\" = 9", 37, "files"),
        ("\"sets.files.entries\" = 9", "\"sets.files.entrise\" = 9", 37, "entries"),
        ("\"phases.use.seconds\"", "\"phases.usw.seconds\"", 36, "use"),
    ] {
        let error = complaint(from, to);
        assert!(error.starts_with(&format!("mine.toml:{line}: ")), "{to}: {error}");
        assert!(error.ends_with(&format!("did you mean `{meant}`?")), "{to}: {error}");
    }
}

#[test]
fn contradictory_steps_are_refused() {
    for (from, to, part) in [
        ("    \"close\",\n", "", "must leave a file open or closed as it found it"),
        ("\"create files\",", "\"create files\", \"create files\",", "while another is open"),
        ("\"open files rw\"", "\"open files read\"", "`write-at` needs a file that is open for writing"),
        ("first = [\"open files rw\"]\n", "", "`read-at` needs an open file"),
        ("passes = 10\n", "", "`fill` needs `seconds`, `passes` or both"),
        ("name = \"use\"", "name = \"fill\"", "two phases are called `fill`"),
        ("name = \"use\"", "name = \"Use it\"", "is no name"),
        ("preallocated = 0.5", "preallocated = 1.5", "share from 0 to 1"),
        ("preallocated = 0.5", "shared = true", "must not be created"),
        ("entries = 100", "entries = 0", "`entries` is 0"),
        ("entries = 100", "entries = 99999999", "`entries` is 99999999"),
        ("threads = 3", "threads = 0", "`threads` is 0"),
        ("2 * append", "0 * append", "cannot be done 0 times"),
        ("2 * append", "200000 * append", "`times` is 2000"),
        ("append 4 KiB", "append 4096 MiB", "must be from 1 to"),
        ("think 1 ms", "think 9999 s", "more than an hour"),
        ("seconds = 0.5", "seconds = 0.5\ncounts = [\"stat\"]", "`stat` counts, but"),
        ("seconds = 0.5", "seconds = 0.5\ncounts = [\"fsync\"]", "nothing that counts"),
        ("threads = [1, 64]", "threads = []", "`threads` has no level"),
        ("threads = [1, 64]", "threads = [1, 1]", "there twice"),
        ("threads = [1, 64]", "threads = [1, 0]", "`threads` is 0"),
        ("threads = [1, 64]", "threds = [1, 2]", "unknown field `threds`"),
        ("threads = 2\n", "threads = \"two\"\n", "invalid type"),
    ] {
        let error = complaint(from, to);
        assert!(error.starts_with("mine.toml:") && error.contains(part), "{to}: {error}");
    }
    let nothing = "measured = false\npasses = 10";
    let error = GOOD.replacen("passes = 10", nothing, 1).replacen(
        "seconds = 0.5",
        "seconds = 0.5\nmeasured = false",
        1,
    );
    let error = parse(&error, "mine.toml").unwrap_err().to_string();
    assert!(error.contains("no phase is measured"), "{error}");
}
