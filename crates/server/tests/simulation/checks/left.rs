//! No lock stays at the server that its host does not believe to hold, once everything works and all are
//! done.

use std::collections::BTreeSet;

use crate::action::Life;
use crate::history::{History, Violation, What};
use crate::stranger::NOBODY;

pub fn check(history: &History) -> Result<(), Violation> {
    let mut held: BTreeSet<(u64, Life)> = BTreeSet::new();
    for entry in &history.entries {
        match &entry.what {
            What::Held { life, client, hold, .. } if *client == NOBODY => {
                held.insert((*hold, *life));
            }
            What::Released { hold } => held.retain(|(of, _)| of != hold),
            What::Left(hosts) => {
                let believes = |host: &[u8]| {
                    held.iter().any(|(_, life)| host.ends_with(format!("host {}", life.machine).as_bytes()))
                };
                if let Some(host) = hosts.iter().find(|host| !believes(host)) {
                    return Err(Violation(format!("{host:?} has a lock at the server and does not know it")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
