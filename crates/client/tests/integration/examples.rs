//! The programs in `examples/` do what they say.

use client::Version;

use crate::fixture::{Fixture, in_every_version, pattern};

#[allow(dead_code)]
#[path = "../../examples/cost.rs"]
mod cost;
#[allow(dead_code)]
#[path = "../../examples/list.rs"]
mod list;
#[allow(dead_code)]
#[path = "../../examples/put.rs"]
mod put;

in_every_version! {
    a_tree_is_listed
    a_file_is_put_on_the_server
    a_small_file_costs_few_requests
}

async fn a_tree_is_listed(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::create_dir_all(fixture.path("a/b")).unwrap();
    std::fs::write(fixture.path("a/b/file"), b"12345").unwrap();
    let address = format!("nfs://{}/a?version={version}", fixture.address());
    let lines = list::lines(&address).await.unwrap();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with(" /b"), "{lines:?}");
    assert_eq!(lines[1], "           5 /b/file");
}

async fn a_file_is_put_on_the_server(version: Version) {
    let fixture = Fixture::new().await;
    let (source, data) = (fixture.root().join("local"), pattern(3 << 20));
    std::fs::write(&source, &data).unwrap();
    let address = format!("nfs://{}/?version={version}", fixture.address());
    // On a thread of its own, which no runtime has.
    let put = std::thread::spawn(move || put::put(&source, &address).map_err(|error| error.to_string()));
    let outcome = tokio::task::spawn_blocking(move || put.join().unwrap()).await.unwrap();
    assert_eq!(outcome, Ok(3 << 20));
    assert!(std::fs::read(fixture.path("local")).unwrap() == data);
    assert!(!fixture.path("local.part").exists());
}

async fn a_small_file_costs_few_requests(version: Version) {
    let fixture = Fixture::new().await;
    let cost = cost::cost(&format!("nfs://{}/", fixture.address()), version).await.unwrap();
    assert!(cost.contains("1 "), "{cost}");
    assert!(!fixture.path("cost-example").exists());
}
