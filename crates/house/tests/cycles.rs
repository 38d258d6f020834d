//! Folders of a crate import each other in one direction only. Tests may look everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::LazyLock;

use house::{Text, assert_none, texts};
use regex_lite::Regex;

/// Circles that are left, by crate: every folder reaches every other one. `docs/plan.md` says how they end. A
/// circle that has become smaller is written down here as it is then.
const LEFT: [(&str, &[&str]); 2] =
    [("bench", &["agents", "runner"]), ("server", &["nfs4", "nlm4", "recall"])];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The crate and the folder of a source file in one.
fn place(path: &Path) -> Option<(String, String)> {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match parts[..] {
        ["crates", package, "src", folder, _, ..] => Some((package.to_owned(), folder.to_owned())),
        _ => None,
    }
}

static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"crate::(\w+)").expect("valid"));
static GROUP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"use crate::\{([^;]*)\};").expect("valid"));
static MEMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|,)\s*(\w+)").expect("valid"));

/// The modules at the top of its crate that the code of a text names.
fn imported(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let paths = PATH.captures_iter(code).map(|found| found[1].to_owned());
    let groups = GROUP.captures_iter(code).flat_map(|found| {
        MEMBER.captures_iter(&found[1]).map(|found| found[1].to_owned()).collect::<Vec<_>>()
    });
    paths.chain(groups).collect()
}

fn graphs(sources: &[Text]) -> BTreeMap<String, Graph> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for text in sources.iter().filter(|text| !text.is_test()) {
        if let Some((package, folder)) = place(&text.path) {
            graphs.entry(package).or_default().entry(folder).or_default().extend(imported(&text.content));
        }
    }
    graphs
}

/// The folders from which imports lead back to themselves, in groups that reach each other.
fn circles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(folder) = left.pop() {
            for next in graph.get(&folder).into_iter().flatten() {
                if next != &folder && graph.contains_key(next) && seen.insert(next.clone()) {
                    left.push(next.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|folder| (folder, reached(folder))).collect();
    let circle = |folder: &String| -> Vec<String> {
        let both = |other: &&String| reach[*other].contains(folder) && reach[folder].contains(*other);
        graph.keys().filter(both).cloned().collect()
    };
    graph.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn imports_between_folders_go_one_way() {
    let left: BTreeSet<(String, Vec<String>)> = LEFT
        .iter()
        .map(|(package, circle)| {
            ((*package).to_owned(), circle.iter().map(|name| (*name).to_owned()).collect())
        })
        .collect();
    let found: BTreeSet<(String, Vec<String>)> = graphs(&texts(&["rs"]))
        .iter()
        .flat_map(|(package, graph)| circles(graph).into_iter().map(|circle| (package.clone(), circle)))
        .collect();
    let told = |(package, circle): &(String, Vec<String>)| format!("{package}: {}", circle.join(" ↔ "));
    let new: Vec<String> = found.difference(&left).map(told).collect();
    assert_none("Folders import each other in one direction.", &new);
    let gone: Vec<String> = left.difference(&found).map(told).collect();
    assert_none("These circles are gone: take them out of LEFT.", &gone);
}

#[test]
fn circles_are_found_through_other_folders() {
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        edges.iter().map(|(from, to)| ((*from).to_owned(), named(to))).collect()
    };
    assert_eq!(circles(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])).len(), 0);
    let found = circles(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a", "d"])]));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [["a", "b", "c"]]);
    assert_eq!(imported("use crate::{a::B, c};\nfn f() { crate::d::e() }"), ["d", "a", "c"]);
}
