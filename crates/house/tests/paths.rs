//! Paths of the tree that the pages name exist.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use house::{assert_none, texts};
use regex_lite::Regex;

/// A path in backticks. One with `<…>`, `*` or `{…}` stands for several.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"`((?:crates|docs|experiments|\.ci)/[\w./-]+)`").expect("valid"));

/// The paths that a page names, each once.
fn named(page: &str) -> Vec<String> {
    let mut all: Vec<_> = PATH.captures_iter(page).map(|found| found[1].to_owned()).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn pages_name_paths_that_exist() {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let mut found = 0;
    let mut missing = Vec::new();
    for page in texts(&["md"]) {
        // What has changed names what was there.
        if page.path.ends_with("CHANGELOG.md") {
            continue;
        }
        for path in named(&page.content) {
            found += 1;
            if !root.join(Path::new(&path)).exists() {
                missing.push(format!("{}: {path}", page.path.display()));
            }
        }
    }
    assert!(found > 100, "{found}");
    assert_none("Pages name files and folders that exist.", &missing);
}

#[test]
fn paths_are_found_in_backticks_only() {
    let page = "`crates/a/b.rs`, `crates/a/<name>.rs`, crates/c.rs, `docs/d.md` and `docs/d.md`.";
    assert_eq!(named(page), ["crates/a/b.rs", "docs/d.md"]);
}
