//! Other sizes of an experiment, made from its default one, and the levels of its factors: a parameter is
//! named by its path, such as `clients`, `threads` or `sets.files.entries`, and given another value.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use super::composed::unknown;
use super::parse::{Complaint, check_setup, complain};
use super::{Point, Setup, Workload};

const FACTORS_MAX: usize = 3;
const POINTS_MAX: usize = 256;
/// What stands beside the workload in a set-up.
const OF_SETUP: [&str; 4] = ["clients", "stagger_seconds", "readahead", "data_cache"];

/// A size other than the default: whole, or what differs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    clients: Option<u32>,
    stagger_seconds: Option<f64>,
    readahead: Option<bool>,
    data_cache: Option<bool>,
    workload: Option<Workload>,
    factors: Option<BTreeMap<String, Vec<Value>>>,
    #[serde(default)]
    change: BTreeMap<String, Value>,
}

/// The set-up that `variant` means, given the default one, read and `raw`.
pub(super) fn resolve(variant: Variant, default: &Setup, raw: &Table) -> Result<Setup, Complaint> {
    let kind = default.workload.kind();
    let mut raw = raw.clone();
    let is_whole = variant.workload.is_some();
    if is_whole && !variant.change.is_empty() {
        return complain("change", "a size has a `workload` of its own or `change`, not both");
    }
    let Some(clients) = variant.clients.or((!is_whole).then_some(default.clients)) else {
        return complain("workload", "missing field `clients`");
    };
    if !is_whole {
        for (path, value) in &variant.change {
            put(&mut raw, kind, path, value.clone())?;
        }
    }
    let mut setup = match variant.workload {
        Some(workload) => Setup {
            clients,
            stagger_seconds: 0.0,
            readahead: true,
            data_cache: true,
            workload,
            factors: BTreeMap::new(),
            points: Vec::new(),
        },
        None => read(&raw)?,
    };
    setup.clients = clients;
    setup.stagger_seconds = variant.stagger_seconds.unwrap_or(setup.stagger_seconds);
    setup.readahead = variant.readahead.unwrap_or(setup.readahead);
    setup.data_cache = variant.data_cache.unwrap_or(setup.data_cache);
    setup.factors = variant.factors.unwrap_or(setup.factors);
    check_setup(&setup, kind)?;
    if is_whole && !setup.factors.is_empty() {
        return complain("factors", "a size with a `workload` of its own cannot have factors; use `change`");
    }
    raw.insert("clients".to_owned(), Value::Integer(i64::from(setup.clients)));
    raw.insert("stagger_seconds".to_owned(), Value::Float(setup.stagger_seconds));
    raw.insert("readahead".to_owned(), Value::Boolean(setup.readahead));
    raw.insert("data_cache".to_owned(), Value::Boolean(setup.data_cache));
    add_points(&mut setup, &raw)?;
    Ok(setup)
}

/// Adds every combination of the levels of the factors. `raw` is the set-up as it stands in the file.
pub(super) fn add_points(setup: &mut Setup, raw: &Table) -> Result<(), Complaint> {
    let kind = setup.workload.kind();
    if setup.factors.len() > FACTORS_MAX {
        return complain("factors", format!("more than {FACTORS_MAX} factors are too many to look at"));
    }
    let mut points = vec![(BTreeMap::new(), raw.clone())];
    points[0].1.remove("factors");
    for (factor, levels) in &setup.factors {
        if levels.is_empty() || levels.len() * points.len() > POINTS_MAX {
            return complain(
                factor,
                format!("`{factor}` has no level, or there are more than {POINTS_MAX} settings"),
            );
        }
        let mut more = Vec::new();
        for (names, table) in &points {
            for level in levels {
                let (mut names, mut table) = (names.clone(), table.clone());
                names.insert(factor.clone(), name_of(factor, level)?);
                put(&mut table, kind, factor, level.clone())?;
                more.push((names, table));
            }
        }
        points = more;
    }
    if setup.factors.is_empty() {
        return Ok(());
    }
    for (levels, table) in points {
        let of_level =
            |(_, message): Complaint| ("factors".to_owned(), format!("with {levels:?}: {message}"));
        let point = read(&table).map_err(of_level)?;
        check_setup(&point, kind).map_err(of_level)?;
        if setup.points.iter().any(|other| other.levels == levels) {
            return complain("factors", format!("the levels {levels:?} are there twice"));
        }
        setup.points.push(Point { levels, setup: point });
    }
    Ok(())
}

/// A level as it is shown.
fn name_of(factor: &str, level: &Value) -> Result<String, Complaint> {
    match level {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(is) => Ok(if *is { "yes" } else { "no" }.to_owned()),
        _ => complain(factor, format!("the levels of `{factor}` are numbers, words, true or false")),
    }
}

fn read(table: &Table) -> Result<Setup, Complaint> {
    Setup::deserialize(Value::Table(table.clone())).map_err(|error| {
        let message = super::parse::as_serde_words_it(error.message());
        let word = message.split('`').nth(1).unwrap_or_default().to_owned();
        (word, message)
    })
}

/// Gives the parameter at `path` another value.
fn put(setup: &mut Table, kind: &str, path: &str, value: Value) -> Result<(), Complaint> {
    if OF_SETUP.contains(&path) {
        setup.insert(path.to_owned(), value);
        return Ok(());
    }
    let workload = setup.get_mut("workload").and_then(|workload| workload.get_mut(kind));
    let Some(mut place) = workload else { return complain("workload", "the default size has no workload") };
    let (way, last) = path.rsplit_once('.').unwrap_or(("", path));
    for part in way.split('.').filter(|part| !part.is_empty()) {
        place = step_into(place, part)
            .map_err(|message| (path.rsplit('.').next().unwrap_or(path).to_owned(), message))?;
    }
    match place {
        Value::Table(table) => {
            table.insert(last.to_owned(), value);
            Ok(())
        }
        _ => complain(last, format!("`{path}` names no parameter")),
    }
}

/// The table called `part` in `place`; of a list of tables the one whose `name` that is.
fn step_into<'a>(place: &'a mut Value, part: &str) -> Result<&'a mut Value, String> {
    let known: Vec<String> = match &*place {
        Value::Table(table) => table.keys().cloned().collect(),
        Value::Array(items) => {
            items.iter().filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let found = match place {
        Value::Table(table) => table.get_mut(part),
        Value::Array(items) => {
            items.iter_mut().find(|item| item.get("name").and_then(|name| name.as_str()) == Some(part))
        }
        _ => None,
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    found.ok_or_else(|| unknown("parameter", part, &known))
}
