//! Folders of a crate import each other in one direction only. Tests may look everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::LazyLock;

use house::{Text, assert_none, texts};
use regex_lite::Regex;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The folders that a source file is in: each with the module around it, from the crate on.
fn places(path: &Path) -> Vec<(String, String)> {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let ["crates", package, "src", modules @ .., _] = &parts[..] else { return Vec::new() };
    let around = |depth| [&[*package], &modules[..depth]].concat().join("::");
    modules.iter().enumerate().map(|(depth, folder)| (around(depth), (*folder).to_owned())).collect()
}

static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"crate::((?:\w+::)*\w+)").expect("valid"));
static GROUP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"use crate::((?:\w+::)*)\{([^;]*)\};").expect("valid"));
static MEMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|,)\s*(\w+)").expect("valid"));

/// The modules of its crate that the code of a text names, by their paths.
fn imported(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let paths = PATH.captures_iter(code).map(|found| found[1].to_owned());
    let groups = GROUP.captures_iter(code).flat_map(|found| {
        let member = |member: regex_lite::Captures<'_>| format!("{}{}", &found[1], &member[1]);
        MEMBER.captures_iter(&found[2]).map(member).collect::<Vec<_>>()
    });
    paths.chain(groups).collect()
}

/// The modules directly in the one `around` that are among `paths`, which begin at the crate.
fn within(around: &str, paths: &[String]) -> Vec<String> {
    let prefix = around.split_once("::").map_or(String::new(), |(_, modules)| format!("{modules}::"));
    let inside = paths.iter().filter_map(|path| path.strip_prefix(&prefix));
    inside.filter_map(|path| path.split("::").next()).map(str::to_owned).collect()
}

fn graphs(sources: &[Text]) -> BTreeMap<String, Graph> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for text in sources.iter().filter(|text| !text.is_test()) {
        let paths = imported(&text.content);
        for (around, folder) in places(&text.path) {
            let imports = within(&around, &paths);
            graphs.entry(around).or_default().entry(folder).or_default().extend(imports);
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
    let graphs = graphs(&texts(&["rs"]));
    let found: Vec<String> = graphs
        .iter()
        .flat_map(|(package, graph)| {
            circles(graph).into_iter().map(move |circle| format!("{package}: {}", circle.join(" ↔ ")))
        })
        .collect();
    assert_none("Folders import each other in one direction.", &found);
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
}

#[test]
fn imports_are_found_at_each_depth() {
    let code = "use crate::{a::B, c};\nuse crate::a::{b::C, d};\nfn f() { crate::d::e() }";
    let paths = imported(code);
    assert_eq!(within("server", &paths), ["a", "d", "a", "c", "a", "a"]);
    assert_eq!(within("server::a", &paths), ["b", "d"]);
    let places = places(Path::new("crates/server/src/nfs4/names/link.rs"));
    let place = |around: &str, folder: &str| (around.to_owned(), folder.to_owned());
    assert_eq!(places, [place("server", "nfs4"), place("server::nfs4", "names")]);
}
