//! Every status that RFC 1813 §3.3 lists for a procedure is produced here, or `docs/errors-v3.md` says why it
//! cannot be.

mod cases;
#[allow(dead_code, reason = "a part is for others")]
#[path = "../../nfs4/errors/fault.rs"]
mod fault;
mod good;
#[path = "../../nfs4/errors/kinds.rs"]
mod kinds;
mod lab;
mod page;
mod table;

use proto::nfs3::Status;

use lab::Ledger;
use page::Page;
use table::Pairs;

fn listing<'a>(title: &str, pairs: impl Iterator<Item = &'a (proto::nfs3::Procedure, u32)>) -> String {
    let names: Vec<_> =
        pairs.map(|(procedure, code)| format!("{procedure} {}", Status::from_code(*code))).collect();
    if names.is_empty() { String::new() } else { format!("{title}:\n{}\n", names.join("\n")) }
}

/// What does not fit together of what was seen, what the standard lists and what the page says.
fn complaints(seen: &Pairs, listed: &Pairs, page: &Page) -> String {
    let allowed: Pairs = listed.union(&page.beyond).copied().collect();
    let accounted: Pairs = seen.union(&page.impossible).copied().collect();
    [
        listing("Listed, neither seen nor explained", listed.difference(&accounted)),
        listing("Explained as impossible and seen", page.impossible.intersection(seen)),
        listing("Seen and not listed", seen.difference(&allowed)),
        listing("Explained as deviations and not seen", page.beyond.difference(seen)),
        listing("Explained and listed nowhere", page.impossible.difference(listed)),
        listing("Explained as deviations and listed", page.beyond.intersection(listed)),
    ]
    .concat()
}

#[test]
fn procedures_end_as_the_standard_and_the_page_list_it() {
    let ledger = Ledger::default();
    for cases in [
        cases::faults,
        cases::objects,
        cases::other_servers,
        cases::names,
        cases::moves,
        cases::values,
        cases::pieces,
    ] {
        cases(&ledger);
    }
    let noted = ledger.into_inner();
    let (seen, listed): (Pairs, _) = (noted.keys().copied().collect(), table::table());
    let complaints = complaints(&seen, &listed, &page::read());
    let unlisted = noted.iter().filter(|(pair, _)| !listed.contains(pair));
    let seen_in: Vec<_> = unlisted
        .map(|((procedure, code), call)| format!("{procedure} {}: {call}", Status::from_code(*code)))
        .collect();
    assert!(complaints.is_empty(), "{complaints}\nNot listed, with these arguments:\n{}", seen_in.join("\n"));
}
