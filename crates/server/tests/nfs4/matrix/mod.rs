//! Every caller under every rule with every operation, against what the manual says and not the code.

mod expected;
mod nfs3;
mod nfs4;
mod place;

use expected::{Need, Said};
use place::{Approach, Caller, Place, RuleOf, Squashing};

/// Everything that a rule can say, with every way that a caller can come.
fn every_case() -> impl Iterator<Item = (RuleOf, Caller, Approach)> {
    let rules = [false, true]
        .into_iter()
        .flat_map(|read_only| Squashing::ALL.map(|squashing| RuleOf { read_only, squashing }));
    rules.flat_map(|rule| {
        Caller::ALL.into_iter().flat_map(move |caller| Approach::ALL.map(|approach| (rule, caller, approach)))
    })
}

/// What an operation does, as the manual has it.
#[derive(Debug, Clone, Copy)]
struct Does {
    changes: bool,
    need: Need,
}

impl Does {
    const fn look(need: Need) -> Self {
        Self { changes: false, need }
    }

    const fn change(need: Need) -> Self {
        Self { changes: true, need }
    }
}

#[test]
fn nfs3_says_what_the_manual_says() {
    let mut seen = std::collections::BTreeSet::new();
    for (rule, caller, approach) in every_case() {
        for (name, does) in nfs3::OPERATIONS {
            let place = Place::new(rule, approach);
            let said = nfs3::run(&place, name, &place.caller(caller, approach));
            let expected = expected::of(rule, caller, approach, *does);
            assert_eq!(said, expected, "{name} by {caller:?}, {approach:?}, under {rule:?}");
            seen.insert(expected);
        }
    }
    let all = [Said::Done, Said::Absent, Said::Denied, Said::ReadOnly, Said::NotPermitted];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all, "every answer was given to somebody");
}

#[test]
fn nfs4_says_what_the_manual_says() {
    let mut seen = std::collections::BTreeSet::new();
    for (rule, caller, approach) in every_case() {
        for (name, does) in nfs4::OPERATIONS {
            let place = Place::new(rule, approach);
            let said = nfs4::run(&place, name, place.caller(caller, approach));
            let expected = match expected::of(rule, caller, approach, *does) {
                // NFSv4 has a word for it, and it must not stand in the way of who asks for the right one.
                Said::Denied if matches!(approach, Approach::WrongFlavor | Approach::Unprotected) => {
                    nfs4::wrong_flavor(name)
                }
                other => other,
            };
            assert_eq!(said, expected, "{name} by {caller:?}, {approach:?}, under {rule:?}");
            seen.insert(expected);
        }
    }
    assert!(seen.contains(&Said::WrongFlavor) && seen.len() == 6, "{seen:?}");
}

#[test]
fn two_objects_must_both_be_within_reach() {
    for (rule, caller, approach) in every_case() {
        if approach == Approach::Right {
            continue;
        }
        for name in ["rename", "link"] {
            let place = Place::new(rule, approach);
            let peer = place.caller(caller, approach);
            for said in nfs3::across(&place, name, &peer) {
                assert!(matches!(said, Said::Absent | Said::Denied), "{name}: {said:?}, {approach:?}");
            }
        }
    }
}
