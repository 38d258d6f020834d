//! What is left of a client when nobody has it any more.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Version, Watcher};

use crate::fixture::{Fixture, READ, in_every_version, pattern};

/// The client holds it as long as it is there.
struct Witness;

impl Watcher for Witness {
    fn changed(&self, _: u64) {}

    fn returning(&self, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(ready(()))
    }
}

in_every_version! {
    nothing_is_left_of_a_client_that_was_shut_down
    nothing_is_left_of_a_client_that_was_only_dropped
}

async fn nothing_is_left_of_a_client_that_was_shut_down(version: Version) {
    left(version, true).await;
}

async fn nothing_is_left_of_a_client_that_was_only_dropped(version: Version) {
    left(version, false).await;
}

async fn left(version: Version, shuts_down: bool) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), pattern(3 << 20)).unwrap();
    let witness = Arc::new(Witness);
    {
        let client = fixture.client(version).await;
        client.watch(witness.clone());
        let file = client.open("/file", READ).await.unwrap();
        for at in (0..3 << 20).step_by(64 << 10) {
            file.read_at(at, 64 << 10).await.unwrap();
        }
        file.close().await.unwrap();
        client.write("/written", "data").await.unwrap();
        assert_eq!(Arc::strong_count(&witness), 2);
        if shuts_down {
            client.shutdown().await.unwrap();
        }
    }
    // What it has under way may take its time.
    for _ in 0..1000 {
        if Arc::strong_count(&witness) == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the client is still there");
}
