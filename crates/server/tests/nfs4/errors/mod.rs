//! Every status that RFC 8881 §15.2, RFC 7862 §11.2 or RFC 8276 §8.4.5 lists for an operation is produced
//! here, or `docs/errors.md` says why it cannot be.

mod anything;
pub mod arguments;
pub mod fault;
mod general;
mod good;
mod grace;
mod kinds;
mod lab;
mod ledger;
mod names;
mod page;
mod permits;
pub mod scene;
mod sessions;
mod since_2;
mod stateids;
mod table;
mod values;

use std::collections::BTreeMap;

use proto::nfs4::{Operation, Status};

use ledger::Ledger;
use page::{Page, Pairs};

fn listing(title: &str, pairs: impl Iterator<Item = (Operation, u32)>) -> String {
    let names: Vec<_> =
        pairs.map(|(operation, code)| format!("{operation} {}", Status::from_code(code))).collect();
    if names.is_empty() { String::new() } else { format!("{title}:\n{}\n", names.join("\n")) }
}

/// What does not fit together of what was seen, what the standard lists and what the page says.
fn complaints(seen: &Pairs, listed: &Pairs, page: &Page) -> String {
    let allowed: Pairs = listed.union(&page.beyond).copied().collect();
    let accounted: Pairs = seen.union(&page.impossible).copied().collect();
    [
        listing("Listed, neither seen nor explained", listed.difference(&accounted).copied()),
        listing("Explained as impossible and seen", page.impossible.intersection(seen).copied()),
        listing("Seen and not listed", seen.difference(&allowed).copied()),
        listing("Explained as deviations and not seen", page.beyond.difference(seen).copied()),
        listing("Explained and listed nowhere", page.impossible.difference(listed).copied()),
        listing("Explained as deviations and listed", page.beyond.intersection(listed).copied()),
    ]
    .concat()
}

#[test]
fn operations_end_as_the_standard_and_the_page_list_it() {
    let ledgers = [Ledger::new(1), Ledger::new(2)];
    let cases = [
        general::run,
        names::run,
        permits::run,
        values::run,
        stateids::run,
        grace::run,
        sessions::run,
        anything::run,
    ];
    ledgers.iter().for_each(|ledger| cases.iter().for_each(|run| run(ledger)));
    // Of a new minor version what only it has.
    since_2::run(&ledgers[1]);
    let noted: BTreeMap<_, _> = ledgers.iter().flat_map(Ledger::seen).collect();
    let seen: Pairs = noted.keys().copied().collect();
    let listed: Pairs = table::table()
        .into_iter()
        .flat_map(|(operation, statuses)| statuses.into_iter().map(move |s| (operation, s.code())))
        .collect();
    let complaints = complaints(&seen, &listed, &page::read());
    let unlisted = noted.iter().filter(|(pair, _)| !listed.contains(pair));
    let seen_in: Vec<_> = unlisted.map(|((_, code), compound)| format!("{code}: {compound}")).collect();
    assert!(complaints.is_empty(), "{complaints}\nNot listed, in these COMPOUNDs:\n{}", seen_in.join("\n"));
}

#[test]
fn whatever_does_not_fit_together_is_said() {
    let pairs = |statuses: &[Status]| -> Pairs {
        statuses.iter().map(|status| (Operation::Read, status.code())).collect()
    };
    let none = || pairs(&[]);
    let (io, stale) = (pairs(&[Status::Io]), pairs(&[Status::Stale]));
    let page =
        |impossible: &Pairs, beyond: &Pairs| Page { impossible: impossible.clone(), beyond: beyond.clone() };
    for (seen, listed, page, said) in [
        (&io, &io, page(&none(), &none()), ""),
        (&none(), &io, page(&io, &none()), ""),
        (&io, &none(), page(&none(), &io), ""),
        (&none(), &io, page(&none(), &none()), "Listed, neither"),
        (&io, &io, page(&io, &none()), "Explained as impossible and seen"),
        (&io, &none(), page(&none(), &none()), "Seen and not listed"),
        (&io, &io, page(&none(), &stale), "Explained as deviations and not seen"),
        (&io, &io, page(&stale, &none()), "Explained and listed nowhere"),
        (&io, &io, page(&none(), &io), "Explained as deviations and listed"),
    ] {
        let complaint = complaints(seen, listed, &page);
        assert!(
            complaint.starts_with(said) && complaint.is_empty() == said.is_empty(),
            "{said}: {complaint}"
        );
    }
}
