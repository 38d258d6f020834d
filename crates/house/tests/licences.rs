//! All dependencies may be given away with the tree.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use house::{assert_none, root};
use regex_lite::Regex;
use spdx::{Expression, ParseMode};

/// Licences of dependencies, as SPDX names them.
const ACCEPTED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// True when an expression allows an accepted choice.
fn is_accepted(expression: &str) -> bool {
    let Ok(parsed) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    parsed.evaluate(|requirement| ACCEPTED.contains(&requirement.to_string().as_str()))
}

#[test]
fn dependencies_have_accepted_licences() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--workspace", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}|{l}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let repeated = Regex::new(r"\s*\(\*\)$").unwrap();
    let lines: Vec<String> = text.lines().map(|line| repeated.replace(line, "").into_owned()).collect();
    assert!(lines.iter().any(|line| line.starts_with("tokio v")), "the list is read");
    let refused = |line: &&String| line.split_once('|').is_some_and(|(_, licence)| !is_accepted(licence));
    let mut breaches: Vec<String> = lines.iter().filter(refused).cloned().collect();
    breaches.sort();
    breaches.dedup();
    assert_none("A licence must be among the accepted ones.", &breaches);
}

#[test]
fn one_accepted_alternative_is_enough_and_all_its_parts_count() {
    assert!(is_accepted("GPL-3.0-only OR MIT") && is_accepted("MIT/Apache-2.0"));
    assert!(is_accepted("(MIT OR Apache-2.0) AND Unicode-3.0"));
    for refused in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT OR ISC) AND GPL-3.0-only", "", "?"] {
        assert!(!is_accepted(refused), "{refused}");
    }
}
