//! Callers that wait for a lock over NFSv3 in the queue of a foreign server, which calls them
//! by GRANTED_MSG.

use std::time::Duration;

use client::{Client, LockKind, OpenOptions, Version};

use crate::Place;

const WRITE: OpenOptions = OpenOptions::new().read(true).write(true).create(true);
const ROUNDS: u64 = 5;

pub(crate) async fn callers_are_called_over_nfsv3(place: &Place) {
    let clients = [place.client(Version::V3).await, place.client(Version::V3).await];
    let mut files = Vec::new();
    for client in &clients {
        files.push(client.open("/waited-for", WRITE).await.unwrap());
    }
    for round in 0..ROUNDS {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let [holder, waiter] = order.map(|index| files[index].clone());
        let waiting_client = &clients[order[1]];
        holder.lock(..10, LockKind::Exclusive).await.unwrap();
        let before = count(waiting_client, "LOCK");
        let waiting = tokio::spawn(async move {
            waiter.lock(5..15, LockKind::Exclusive).await.unwrap();
            waiter
        });
        // Denied for the first time, and queued.
        let requests = if round < 2 { 2 } else { 1 };
        until(|| count(waiting_client, "LOCK") >= before + requests).await;
        holder.unlock(..).await.unwrap();
        let waiter = waiting.await.unwrap();
        assert!(holder.try_lock(.., LockKind::Shared).await.is_err());
        // Over the connection of either client: the lock manager is that of the process.
        until(|| clients.iter().map(|client| count(client, "GRANTED_RES")).sum::<u64>() > round).await;
        waiter.unlock(..).await.unwrap();
    }
    // One that gives up leaves nothing behind.
    let [holder, waiter] = [files[0].clone(), files[1].clone()];
    holder.lock(.., LockKind::Exclusive).await.unwrap();
    let (locks, unlocks) = (count(&clients[1], "LOCK"), count(&clients[1], "UNLOCK"));
    let waiting = tokio::spawn(async move { waiter.lock(5..15, LockKind::Exclusive).await });
    until(|| count(&clients[1], "LOCK") > locks).await;
    waiting.abort();
    until(|| count(&clients[1], "UNLOCK") > unlocks).await;
    for _ in 0..3 {
        holder.unlock(..).await.unwrap();
        holder.try_lock(.., LockKind::Exclusive).await.unwrap();
    }
    for client in clients {
        client.shutdown().await.unwrap();
    }
}

fn count(client: &Client, name: &str) -> u64 {
    client.tap().snapshot().requests.get(name).map_or(0, |stats| stats.requests)
}

async fn until(holds: impl Fn() -> bool) {
    let come = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), come).await.expect("it comes to that");
}
