//! The tables of hosts that lock through NLM, and the server's state number.
//!
//! A host stands in one of them as long as it may hold locks. When a server starts, those hosts may take back
//! what they held, until the grace period is over, and must be told of the restart, until they have been.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use redb::{Database, ReadableTable, Table, TableDefinition, WriteTransaction};
use rpc::Transport;
use server::host_monitor::Restart;
use server::hosts::HostRoute;
use server::stable::StoredHost;

/// By name: the transport, and the address that the host knows the server by.
type HostTable = TableDefinition<'static, &'static [u8], (bool, &'static str)>;

/// Hosts that may hold locks now.
const CURRENT: HostTable = TableDefinition::new("hosts");
/// Hosts that may take back locks.
const RECOVERY: HostTable = TableDefinition::new("hosts-recovery");
/// Hosts that must be told of a restart.
const UNTOLD: HostTable = TableDefinition::new("hosts-untold");
/// The state number, under 0.
const STATE_NUMBER: TableDefinition<'static, u8, i32> = TableDefinition::new("state-number");

/// Moves hosts that held locks to those who may take them back, and to those who must be told; counts the
/// start.
pub(super) fn begin(database: &Database) -> Result<Restart, redb::Error> {
    let transaction = database.begin_write()?;
    let restart = {
        let mut numbers = transaction.open_table(STATE_NUMBER)?;
        let before = numbers.get(0)?.map(|number| number.value());
        let state_number = next_state_number(before);
        numbers.insert(0, state_number)?;
        let mut current = transaction.open_table(CURRENT)?;
        let mut recovery = transaction.open_table(RECOVERY)?;
        let mut untold = transaction.open_table(UNTOLD)?;
        for entry in current.iter()? {
            let (name, route) = entry?;
            recovery.insert(name.value(), route.value())?;
            untold.insert(name.value(), route.value())?;
        }
        current.retain(|_, _| false)?;
        Restart { state_number, name: None, may_reclaim: all(&recovery)?, untold: all(&untold)? }
    };
    transaction.commit()?;
    Ok(restart)
}

/// Odd while the server is up, and larger with every start.
fn next_state_number(before: Option<i32>) -> i32 {
    match before {
        Some(before) if before < i32::MAX - 2 => (before + 2) | 1,
        _ => 1,
    }
}

fn all(hosts: &Table<'_, &'static [u8], (bool, &'static str)>) -> Result<Vec<StoredHost>, redb::Error> {
    let mut found = Vec::new();
    for entry in hosts.iter()? {
        let (name, route) = entry?;
        let (is_datagram, local) = route.value();
        // What names no address cannot be reached.
        if let Some(address) = address_of(name.value()) {
            let transport = if is_datagram { Transport::Udp } else { Transport::Tcp };
            let route = HostRoute { address, local: local.parse().ok(), transport };
            found.push(StoredHost { name: Bytes::copy_from_slice(name.value()), route });
        }
    }
    Ok(found)
}

/// A host is called by its address, a space and its own name.
fn address_of(name: &[u8]) -> Option<IpAddr> {
    let end = name.iter().position(|byte| *byte == b' ')?;
    std::str::from_utf8(&name[..end]).ok()?.parse().ok()
}

pub(super) fn add(transaction: &WriteTransaction, host: &StoredHost) -> Result<(), redb::Error> {
    let local = host.route.local.map(|local| local.to_string()).unwrap_or_default();
    let route = (host.route.transport == Transport::Udp, local.as_str());
    transaction.open_table(CURRENT)?.insert(&host.name[..], route)?;
    Ok(())
}

pub(super) fn remove(transaction: &WriteTransaction, name: &[u8]) -> Result<(), redb::Error> {
    transaction.open_table(CURRENT)?.remove(name)?;
    Ok(())
}

pub(super) fn told(transaction: &WriteTransaction, name: &[u8]) -> Result<(), redb::Error> {
    transaction.open_table(UNTOLD)?.remove(name)?;
    Ok(())
}

pub(super) fn end_grace(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(RECOVERY)?.retain(|_, _| false)?;
    Ok(())
}

/// The tables in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    current: HostsInMemory,
    recovery: HostsInMemory,
    untold: HostsInMemory,
    state_number: Option<i32>,
}

/// By name: the transport, and the address that the host knows the server by.
type HostsInMemory = BTreeMap<Bytes, (bool, String)>;

impl Hosts {
    pub(super) fn read(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            current: read(&transaction.open_table(CURRENT)?)?,
            recovery: read(&transaction.open_table(RECOVERY)?)?,
            untold: read(&transaction.open_table(UNTOLD)?)?,
            state_number: transaction.open_table(STATE_NUMBER)?.get(0)?.map(|number| number.value()),
        })
    }

    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        for (table, hosts) in [(CURRENT, &self.current), (RECOVERY, &self.recovery), (UNTOLD, &self.untold)] {
            let mut table = transaction.open_table(table)?;
            table.retain(|_, _| false)?;
            for (name, (is_datagram, local)) in hosts {
                table.insert(&name[..], (*is_datagram, local.as_str()))?;
            }
        }
        let mut numbers = transaction.open_table(STATE_NUMBER)?;
        numbers.retain(|_, _| false)?;
        if let Some(number) = self.state_number {
            numbers.insert(0, number)?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, host: &StoredHost) {
        let local = host.route.local.map(|local| local.to_string()).unwrap_or_default();
        self.current.insert(host.name.clone(), (host.route.transport == Transport::Udp, local));
    }

    pub(super) fn remove(&mut self, name: &Bytes) {
        self.current.remove(name);
    }

    pub(super) fn told(&mut self, name: &Bytes) {
        self.untold.remove(name);
    }

    pub(super) fn end_grace(&mut self) {
        self.recovery.clear();
    }
}

fn read(hosts: &Table<'_, &'static [u8], (bool, &'static str)>) -> Result<HostsInMemory, redb::Error> {
    let rows = hosts.iter()?.map(|entry| {
        let (name, route) = entry?;
        let (is_datagram, local) = route.value();
        Ok((Bytes::copy_from_slice(name.value()), (is_datagram, local.to_owned())))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Records;
    use super::super::tests::{open as open_records, wait};
    use super::*;
    use server::stable::StableRecords;

    fn host(address: &str, local: Option<&str>, transport: Transport) -> StoredHost {
        let local = local.map(|local| local.parse().unwrap());
        let route = HostRoute { address: address.parse().unwrap(), local, transport };
        StoredHost { name: Bytes::from(format!("{address} name")), route }
    }

    fn open(directory: &Path) -> (Records, Restart) {
        let (records, found) = open_records(directory, false).unwrap();
        (records, found.restart)
    }

    #[test]
    fn hosts_that_held_locks_are_told_and_may_take_them_back() {
        let directory = tempfile::tempdir().unwrap();
        let (records, found) = open(directory.path());
        assert_eq!((found.state_number, found.may_reclaim.len(), found.untold.len()), (1, 0, 0));
        let ann = host("10.0.0.1", Some("10.0.0.9"), Transport::Tcp);
        let bob = host("2001:db8::2", None, Transport::Udp);
        let eve = host("10.0.0.3", None, Transport::Tcp);
        for host in [&ann, &bob, &eve, &ann] {
            wait(records.add_host(host.clone()));
        }
        wait(records.remove_host(eve.name.clone()));
        wait(records.remove_host("nobody".into()));
        drop(records);
        let (records, found) = open(directory.path());
        let both = vec![ann.clone(), bob.clone()];
        assert_eq!((found.state_number, &found.may_reclaim, &found.untold), (3, &both, &both));
        wait(records.host_told(ann.name.clone()));
        drop(records);
        let (records, found) = open(directory.path());
        assert_eq!(
            (&found.may_reclaim, &found.untold),
            (&both, &vec![bob.clone()]),
            "a second crash, in the grace period"
        );
        wait(records.add_host(bob.clone()));
        wait(records.end_grace());
        drop(records);
        let (_, found) = open(directory.path());
        assert_eq!(
            (found.state_number, &found.may_reclaim),
            (7, &vec![bob]),
            "ann has not taken back anything in time"
        );
    }

    #[test]
    fn state_numbers_are_odd_and_grow() {
        assert_eq!([None, Some(1), Some(7), Some(8)].map(next_state_number), [1, 3, 9, 11]);
        assert_eq!(next_state_number(Some(i32::MAX)), 1);
    }
}
