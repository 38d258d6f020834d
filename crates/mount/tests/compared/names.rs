//! Each call on a fresh tree on both sides.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::cases::CASES;
use super::{stat, told};

fn prepare(root: &Path) {
    fs::write(root.join("file"), "content").unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::create_dir(root.join("full")).unwrap();
    fs::write(root.join("full/file"), "x").unwrap();
    symlink("file", root.join("link")).unwrap();
    symlink("nothing", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("full", root.join("to-full")).unwrap();
    fs::hard_link(root.join("file"), root.join("second")).unwrap();
}

/// Of calls of two names each is tried with every pair of these.
pub const ALL: [&str; 10] = [
    "file",
    "second",
    "empty",
    "full",
    "link",
    "dangling",
    "missing",
    "missing/child",
    "file/child",
    "full/file",
];

/// How many calls were made, and in a line each those that did not come to the same `here` and `there`.
pub fn differences(here: &Path, there: &Path, pairs: &[&str]) -> (usize, String) {
    let mut differences = String::new();
    let mut count = 0;
    let mut compare = |name: &str, call: &dyn Fn(&Path) -> String| {
        let sides = [here, there].map(|side| {
            let root = side.join(format!("case {count}"));
            fs::create_dir(&root).unwrap();
            prepare(&root);
            call(&root)
        });
        if sides[0] != sides[1] {
            writeln!(differences, "{name}: {} and not {}", sides[0], sides[1]).unwrap();
        }
        count += 1;
    };
    for (name, call) in CASES {
        compare(name, call);
    }
    for from in pairs {
        for to in pairs {
            compare(&format!("rename {from} {to}"), &|root| {
                let renamed = told(fs::rename(root.join(from), root.join(to)));
                renamed + &told(stat(&root.join(from))) + &told(stat(&root.join(to)))
            });
            compare(&format!("link {from} {to}"), &|root| {
                let linked = told(fs::hard_link(root.join(from), root.join(to)));
                linked + &told(stat(&root.join(from))) + &told(stat(&root.join(to)))
            });
        }
    }
    (count, differences)
}
