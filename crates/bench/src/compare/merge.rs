//! Several documents as one: the same question asked of several servers, or by several clients, in one
//! report.
//!
//! Owns what becomes of each part. Nothing is measured again and no number changes; the comparisons stay
//! within their documents, and only their correction is for one larger family. The verdicts are those of the
//! documents.

use std::collections::BTreeSet;

use super::comparisons;
use crate::results::{Asked, Cell, Environment, Link, Results, SCHEMA, Verdict, labelled};
use crate::text::list;

/// More documents than this are no report that anybody reads.
const PARTS_MAX: usize = 16;

/// Why documents cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing, or too much, to put together.
    #[error("{0} results cannot be put together; name 1 to {PARTS_MAX}")]
    Count(usize),
    /// A label is missing, or two are the same.
    #[error("`{0}` does not tell the results apart; give each a name of its own, as in NAME=DIR")]
    Label(String),
}

/// One document of all `parts`, each with the label that tells it from the others. Settings stand in the
/// order of the first document that has them, each with all labels one after the other.
///
/// # Errors
/// When the labels do not tell the parts apart, or their number is out of bounds.
pub fn merge(parts: Vec<(String, Results)>) -> Result<Results, MergeError> {
    if !(1..=PARTS_MAX).contains(&parts.len()) {
        return Err(MergeError::Count(parts.len()));
    }
    let mut labels = BTreeSet::new();
    for (label, _) in &parts {
        if label.trim().is_empty() || !labels.insert(label.clone()) {
            return Err(MergeError::Label(label.clone()));
        }
    }
    let (environment, experiments) = (environment(&parts), experiments(&parts));
    let verdict = verdict(&parts);
    let partial = parts.iter().any(|(_, part)| part.partial);
    let cells = parts.into_iter().flat_map(|(label, part)| {
        part.cells.into_iter().map(move |mut cell| {
            cell.setting.label.clone_from(&label);
            cell
        })
    });
    let cells = in_order(cells.collect());
    let comparisons = comparisons(&cells, environment.same_within);
    Ok(Results { schema: SCHEMA, environment, experiments, cells, comparisons, verdict, partial })
}

/// What each part says; a recommendation where all have the same.
fn verdict(parts: &[(String, Results)]) -> Verdict {
    let of_each = |sentences: fn(&Verdict) -> &[String]| {
        let said = |(label, part): &(String, Results)| -> Vec<String> {
            sentences(&part.verdict).iter().map(|sentence| format!("{label}: {sentence}")).collect()
        };
        parts.iter().flat_map(said).collect()
    };
    let same = |value: fn(&Verdict) -> &str| {
        let values: BTreeSet<&str> = parts.iter().map(|(_, part)| value(&part.verdict)).collect();
        values.first().filter(|_| values.len() == 1).map(|value| (*value).to_owned())
    };
    let texts: Vec<String> =
        parts.iter().map(|(label, part)| format!("{label}: {}", part.verdict.text)).collect();
    Verdict {
        recommend: same(|verdict| &verdict.recommend).unwrap_or_else(|| "either".to_owned()),
        text: texts.join(" "),
        profile: same(|verdict| &verdict.profile).unwrap_or_else(|| "of each".to_owned()),
        weights: parts.first().map(|(_, part)| part.verdict.weights.clone()).unwrap_or_default(),
        flips: of_each(|verdict| &verdict.flips),
        levers: of_each(|verdict| &verdict.levers),
    }
}

/// Cells of the same setting side by side.
fn in_order(cells: Vec<Cell>) -> Vec<Cell> {
    let key = |cell: &Cell| (cell.setting.name(), cell.setting.rtt_ms.to_bits());
    let mut groups: Vec<((String, u64), Vec<Cell>)> = Vec::new();
    for cell in cells {
        let own = key(&cell);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(cell),
            None => groups.push((own, vec![cell])),
        }
    }
    groups.into_iter().flat_map(|(_, group)| group).collect()
}

/// Every experiment once.
fn experiments(parts: &[(String, Results)]) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for asked in parts.iter().flat_map(|(_, part)| &part.experiments) {
        if !all.iter().any(|known| known.name == asked.name) {
            all.push(asked.clone());
        }
    }
    all
}

/// That of the first part, with what is another's beside it.
fn environment(parts: &[(String, Results)]) -> Environment {
    let mut all = parts.first().map(|(_, part)| part.environment.clone()).unwrap_or_default();
    all.links.clear();
    all.negotiated.clear();
    all.doubts.clear();
    all.command_line.clear();
    for (label, Results { environment, .. }) in parts {
        all.links.extend(
            environment
                .links
                .iter()
                .map(|link| Link { kind: format!("{}, {label}", link.kind), ..link.clone() }),
        );
        let agreed = environment.negotiated.iter();
        all.negotiated
            .extend(agreed.map(|(version, options)| (labelled(version.clone(), label), options.clone())));
        all.doubts.extend(environment.doubts.iter().map(|doubt| format!("{label}: {doubt}")));
        let words = environment.command_line.join(" ");
        all.command_line.push(format!("[{label}] {words}"));
    }
    all.doubts.extend(differences(parts));
    all
}

/// Something of an environment that can be compared.
type Value = fn(&Environment) -> String;

/// What should be the same in all parts, and is not: then a difference between labels may come from it.
fn differences(parts: &[(String, Results)]) -> Option<String> {
    let values: [(&str, Value); 5] = [
        ("the kernel", |one| one.kernel.clone()),
        ("the processor", |one| one.cpu_model.clone()),
        ("the number of processors", |one| one.cores.to_string()),
        ("the seed", |one| one.seed.to_string()),
        ("the sizes", |one| one.plan.get("sizes").cloned().unwrap_or_default()),
    ];
    let differs = |value: Value| {
        parts.iter().map(|(_, part)| value(&part.environment)).collect::<BTreeSet<_>>().len() > 1
    };
    let names: Vec<&str> =
        values.iter().filter(|(_, value)| differs(*value)).map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not everything is the same in the results that were put together: {} differ, which may be why \
             their values do.",
            list(&names)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_cell_and_every_comparison_is_there_with_its_label() {
        let one = samples::results();
        let merged =
            merge(vec![("knfsd".to_owned(), one.clone()), ("primetime".to_owned(), one.clone())]).unwrap();
        assert_eq!(merged.cells.len(), 2 * one.cells.len());
        assert_eq!(merged.comparisons.len(), 2 * one.comparisons.len());
        assert_eq!(merged.experiments, one.experiments);
        for comparison in &merged.comparisons {
            let (baseline, candidate) = merged.cells_of(comparison).unwrap();
            assert_eq!(baseline.setting.label, comparison.label);
            assert_eq!(candidate.setting.label, comparison.label);
            assert!(comparison.name().ends_with(&comparison.label));
        }
        let beside: Vec<&str> = merged.cells[..4].iter().map(|cell| cell.setting.label.as_str()).collect();
        assert_eq!(beside, ["knfsd", "knfsd", "primetime", "primetime"], "v3 and v4.1 of each");
        assert!(merged.cells.iter().all(|cell| cell.version_name().contains(" · ")));
        assert!(merged.verdict.text.starts_with("knfsd: ") && merged.verdict.text.contains(" primetime: "));
        assert!(merged.environment.negotiated.keys().all(|version| version.contains(" · ")));
    }

    #[test]
    fn result_of_another_machine_or_method_is_doubtful() {
        let one = samples::results();
        let mut other = one.clone();
        let parts = |other: &Results| vec![("a".to_owned(), one.clone()), ("b".to_owned(), other.clone())];
        let told = |merged: Results| {
            merged.environment.doubts.iter().find(|doubt| doubt.starts_with("Not everything")).cloned()
        };
        assert_eq!(told(merge(parts(&other)).unwrap()), None);
        other.environment.kernel = "Linux 2.6.32".to_owned();
        other.environment.seed += 1;
        let doubt = told(merge(parts(&other)).unwrap()).unwrap();
        assert!(doubt.contains("the kernel and the seed differ"), "{doubt}");
    }

    #[test]
    fn labels_must_tell_the_parts_apart() {
        let one = samples::results();
        let with = |labels: &[&str]| {
            merge(labels.iter().map(|label| ((*label).to_owned(), one.clone())).collect()).unwrap_err()
        };
        assert_eq!(with(&["a", "a"]), MergeError::Label("a".to_owned()));
        assert_eq!(with(&["a", " "]), MergeError::Label(" ".to_owned()));
        assert_eq!(with(&[]), MergeError::Count(0));
        assert_eq!(with(&["x"; 17]), MergeError::Count(17));
    }
}
