//! The files of the tree and the report of breaches, for the tests of the tree's rules.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold no text of ours.
const LEFT_OUT: [&str; 3] = ["target", "corpus", "rfc-sections"];

/// A text file of the tree.
#[derive(Debug)]
pub struct Text {
    /// From the root of the tree.
    pub path: PathBuf,
    /// Its content.
    pub content: String,
}

impl Text {
    /// True for tests, benchmarks and examples.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let folders = ["tests", "benches", "examples"];
        self.path.iter().any(|part| folders.iter().any(|folder| part == *folder))
            || self.path.ends_with("tests.rs")
    }

    /// "path:line: message", as compilers write it.
    #[must_use]
    pub fn at(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }
}

/// Returns the root of the tree.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/house is in it").to_owned()
}

/// Returns all files of the tree with one of these extensions, in the order of their paths.
///
/// # Panics
/// When the tree cannot be read.
#[must_use]
pub fn texts(extensions: &[&str]) -> Vec<Text> {
    let root = root();
    let mut texts = Vec::new();
    collect(&root, &root, extensions, &mut texts);
    texts.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(texts.len() > 10, "the tree is read from {}", root.display());
    texts
}

fn collect(root: &Path, folder: &Path, extensions: &[&str], texts: &mut Vec<Text>) {
    for entry in fs::read_dir(folder).expect("a folder of the tree").map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type().expect("a file of the tree").is_dir() {
            if !is_hidden && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                collect(root, &path, extensions, texts);
            }
        } else if path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension)) {
            let content = fs::read_to_string(&path).expect("a text of the tree");
            let path = path.strip_prefix(root).expect("it is below").to_owned();
            texts.push(Text { path, content });
        }
    }
}

/// Fails with a line for each breach.
///
/// # Panics
/// Unless `breaches` is empty.
pub fn assert_none(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}\n{} times:\n{}", breaches.len(), breaches.join("\n"));
}
