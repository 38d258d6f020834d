//! Lists a tree with sizes: `cargo run --example list -- nfs://server/export`.

#![allow(clippy::print_stdout)]

use std::error::Error;

use client::{Client, Url};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("which tree? list nfs://server/export")?;
    for line in lines(&address).await? {
        println!("{line}");
    }
    Ok(())
}

/// One line for each object below the address, its directory's before its own.
pub async fn lines(address: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let url: Url = address.parse()?;
    let client = Client::connect(&url, url.options()).await?;
    let mut lines = Vec::new();
    let mut todo = vec![Vec::new()];
    while let Some(directory) = todo.pop() {
        let mut entries = client.read_dir(&directory).await?;
        while let Some(entry) = entries.next_entry().await? {
            let path = [&directory, &b"/"[..], &entry.name].concat();
            let attributes = match entry.attributes {
                Some(attributes) => attributes,
                None => client.symlink_metadata(&path).await?,
            };
            lines.push(format!("{:>12} {}", attributes.size, String::from_utf8_lossy(&path)));
            if attributes.is_directory() {
                todo.push(path);
            }
        }
    }
    client.shutdown().await?;
    Ok(lines)
}
