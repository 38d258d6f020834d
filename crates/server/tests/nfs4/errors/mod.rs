//! Every status that RFC 8881 §15.2 lists for an operation is produced here, or `docs/errors.md` says why it cannot be.

mod anything;
mod arguments;
mod fault;
mod general;
mod good;
mod grace;
mod kinds;
mod lab;
mod ledger;
mod names;
mod page;
mod scene;
mod sessions;
mod stateids;
mod table;
mod values;

use proto::nfs4::{Operation, Status};

use ledger::Ledger;
use page::Pairs;

fn listing(title: &str, pairs: impl Iterator<Item = (Operation, u32)>) -> String {
    let names: Vec<_> =
        pairs.map(|(operation, code)| format!("{operation} {}", Status::from_code(code))).collect();
    if names.is_empty() { String::new() } else { format!("{title}:\n{}\n", names.join("\n")) }
}

#[test]
fn operations_end_as_the_standard_and_the_page_list_it() {
    let ledger = Ledger::default();
    for cases in
        [general::run, names::run, values::run, stateids::run, grace::run, sessions::run, anything::run]
    {
        cases(&ledger);
    }
    let seen: Pairs = ledger.seen().into_keys().collect();
    let listed: Pairs = table::table()
        .into_iter()
        .flat_map(|(operation, statuses)| statuses.into_iter().map(move |s| (operation, s.code())))
        .collect();
    let page = page::read();
    let allowed: Pairs = listed.union(&page.beyond).copied().collect();
    let accounted: Pairs = seen.union(&page.impossible).copied().collect();
    let complaints = [
        listing("Listed, neither seen nor explained", listed.difference(&accounted).copied()),
        listing("Explained as impossible and seen", page.impossible.intersection(&seen).copied()),
        listing("Seen and not listed", seen.difference(&allowed).copied()),
        listing("Explained as deviations and not seen", page.beyond.difference(&seen).copied()),
        listing("Explained and listed nowhere", page.impossible.difference(&listed).copied()),
        listing("Explained as deviations and listed", page.beyond.intersection(&listed).copied()),
    ]
    .concat();
    assert!(complaints.is_empty(), "{complaints}");
}
