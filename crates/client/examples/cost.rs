//! What opening, reading and closing a small file costs over each version: `cargo run --example cost --
//! nfs://server/export`. The file is called `cost-example` and removed in the end.

#![allow(clippy::print_stdout)]

use std::error::Error;

use client::{Client, OpenOptions, Options, Url, Version};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("which tree? cost nfs://server/export")?;
    for version in Version::ALL {
        println!("NFSv{version}: {}", cost(&address, version).await?);
    }
    Ok(())
}

/// The requests by name, with how many there were.
pub async fn cost(address: &str, version: Version) -> Result<String, Box<dyn Error>> {
    let url: Url = address.parse()?;
    let options = Options { versions: vec![version], ..url.options() };
    let client = Client::connect(&url, options).await?;
    let new = OpenOptions::new().write(true).create(true).truncate(true);
    let file = client.open("/cost-example", new).await?;
    file.write_at(0, "a few bytes".into()).await?;
    file.close().await?;
    client.forget("/cost-example").await?;
    let before = client.tap().snapshot();
    let file = client.open("/cost-example", OpenOptions::new().read(true)).await?;
    file.read_at(0, 4096).await?;
    file.close().await?;
    let cost = client.tap().snapshot().since(&before);
    let counts: Vec<_> =
        cost.requests.iter().map(|(name, stats)| format!("{} {name}", stats.requests)).collect();
    client.remove_file("/cost-example").await?;
    client.shutdown().await?;
    Ok(counts.join(", "))
}
