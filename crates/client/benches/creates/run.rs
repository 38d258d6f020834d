//! The creates that are counted.

use client::{Client, Options, Url, Version};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::world;

pub fn run(version: Version, creates: usize, at_once: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url: Url = format!("nfs://{}/", world::serve().await).parse().unwrap();
        let options = Options { versions: vec![version], ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        create(&client, creates, at_once).await;
        client.shutdown().await.unwrap();
    });
}

async fn create(client: &Client, creates: usize, at_once: usize) {
    let mut tasks = JoinSet::new();
    for first in 0..at_once {
        let client = client.clone();
        tasks.spawn(async move {
            for file in (first..creates).step_by(at_once) {
                client.create_file(format!("/file-{file:08}"), 0o644).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}
