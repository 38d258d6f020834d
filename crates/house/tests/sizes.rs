//! Files and names are short enough to be read.

use house::{Text, assert_none, texts};
use regex_lite::Regex;

const FILE_LINES_MAX: usize = 1000;
const TEST_NAME_CHARS_MAX: usize = 70;
const CODE_COLUMNS_MAX: usize = 110;
const PROSE_COLUMNS_MAX: usize = 100;

#[test]
fn files_outside_of_tests_have_at_most_1000_lines() {
    let long = |text: &Text| !text.is_test() && text.content.lines().count() > FILE_LINES_MAX;
    let breaches: Vec<String> =
        texts(&["rs"]).iter().filter(|text| long(text)).map(|text| text.at(1, "too long")).collect();
    assert_none("A file has one subject.", &breaches);
}

#[test]
fn names_of_tests_have_at_most_70_characters() {
    let name =
        Regex::new(r"#\[(?:tokio::)?test[^\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn (\w+)").expect("valid");
    let mut breaches = Vec::new();
    for text in texts(&["rs"]) {
        let names = name.captures_iter(&text.content).map(|found| found[1].to_owned());
        let long = names.filter(|name| name.chars().count() > TEST_NAME_CHARS_MAX);
        breaches.extend(long.map(|name| format!("{}: {name}", text.path.display())));
    }
    assert_none("A test's name says the rule in a line.", &breaches);
}

#[test]
fn lines_of_code_have_at_most_110_columns() {
    // Figures, and what stands in macros of tests, which rustfmt leaves alone.
    let is_free = |text: &Text, line: &str| {
        line.contains(['─', '▶']) || text.is_test() && !line.trim_start().starts_with("//")
    };
    let breaches = wide("rs", CODE_COLUMNS_MAX, is_free);
    assert_none("rustfmt does not wrap comments and texts; their author does.", &breaches);
}

#[test]
fn lines_of_prose_have_at_most_100_columns_but_for_tables_and_links() {
    let is_free = |_: &Text, line: &str| line.starts_with('|') || line.contains("](") || line.contains("://");
    let breaches = wide("md", PROSE_COLUMNS_MAX, is_free);
    assert_none("Lines of prose are read in terminals and reviews.", &breaches);
}

/// Lines that are longer, with their places, outside of blocks of code in prose.
fn wide(extension: &str, columns_max: usize, is_free: impl Fn(&Text, &str) -> bool) -> Vec<String> {
    let mut breaches = Vec::new();
    for text in texts(&[extension]) {
        let mut is_code = false;
        for (line, number) in text.content.lines().zip(1..) {
            if extension == "md" && line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let columns = line.chars().count();
            if columns > columns_max && !is_code && !is_free(&text, line) {
                breaches.push(text.at(number, &format!("{columns} columns")));
            }
        }
    }
    breaches
}
