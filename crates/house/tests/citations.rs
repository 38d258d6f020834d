//! Citations of RFCs name sections that exist. `rfc-sections` has the numbers of each cited RFC.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use house::{Text, assert_none, texts};
use regex_lite::Regex;

/// The RFC of a citation, and the sections behind it: "RFC 8881 §2.10.6.3, §20.2.4".
static CITATION: LazyLock<Regex> = LazyLock::new(|| {
    let section = r"\d[0-9.]*";
    let more = format!(r"(?:(?:,|;| and| or|–)\s?§{{0,2}}\s?{section})*");
    Regex::new(&format!(r"RFC\s+(\d+),?\s+(§§?\s?{section}{more})")).unwrap()
});
static SECTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d[0-9.]*").unwrap());
/// Between the lines of a comment.
static LINE_BREAK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\n\s*(?://[/!]?|#)?\s*").unwrap());

type Sections = BTreeMap<u32, BTreeSet<String>>;

fn sections() -> Sections {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rfc-sections");
    let lists = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let list = |path: &Path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lists.map(|path| (path.file_stem().unwrap().to_str().unwrap().parse().unwrap(), list(&path))).collect()
}

/// The sections that a text cites and that do not exist.
fn missing(text: &str, known: &Sections) -> Vec<String> {
    let text = LINE_BREAK.replace_all(text, " ");
    let mut missing = Vec::new();
    for found in CITATION.captures_iter(&text) {
        let rfc: u32 = found[1].parse().unwrap();
        let Some(known) = known.get(&rfc) else {
            missing.push(format!("RFC {rfc} has no list of sections"));
            continue;
        };
        let numbers = SECTION.find_iter(&found[2]).map(|number| number.as_str().trim_end_matches('.'));
        missing.extend(
            numbers
                .filter(|number| !known.contains(*number))
                .map(|number| format!("RFC {rfc} has no §{number}")),
        );
    }
    missing
}

#[test]
fn cited_sections_exist() {
    let known = sections();
    let of = |text: &Text| {
        let missing = missing(&text.content, &known);
        missing.into_iter().map(|what| format!("{}: {what}", text.path.display())).collect::<Vec<_>>()
    };
    let breaches: Vec<String> = texts(&["rs", "md", "toml"]).iter().flat_map(of).collect();
    assert_none("Citations name sections that exist.", &breaches);
}

#[test]
fn absent_sections_are_found_in_every_form_of_a_citation() {
    let known = sections();
    // Put together here, so that this file cites nothing that is absent.
    for absent in ["§18.99", "§18.1, §99.1", "§18.1–18.99", "§18.1 and §18.99", "§99; and so on"] {
        for text in [format!("RFC 8881 {absent}"), format!("/// (RFC 8881\n/// {absent})")] {
            assert_eq!(missing(&text, &known).len(), 1, "{text}");
        }
    }
    assert_eq!(missing(&format!("RFC {} §1", 99_999), &known).len(), 1);
    for present in ["RFC 8881 §18.46.3.", "RFC 8881 §18.1, RFC 1813 §3.3.4", "RFC 5531 §8, §9, appendix A"]
    {
        assert_eq!(missing(present, &known), Vec::<String>::new(), "{present}");
    }
}
