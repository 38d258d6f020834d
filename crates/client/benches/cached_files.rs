//! What a cached file costs in memory: handle, attributes, name, data. Prints bytes per file besides the
//! data.
//!
//! `cargo bench -p primetime-client --bench cached_files`. The server runs in the same process, so everything
//! is read once by another client first; what grows after that is the client's.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use client::{Client, Options, Url};
use server_shell::{Running, ServeOptions};

const FILES: usize = 20_000;
const FILE_BYTES: usize = 4096;

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("export")).unwrap();
    for index in 0..FILES {
        std::fs::write(directory.path().join(format!("export/{index}")), [0x5a; FILE_BYTES]).unwrap();
    }
    let mut options = ServeOptions::new(directory.path().join("export"));
    options.state_directory = Some(directory.path().join("state"));
    let server = Running::start(&options).await.unwrap();
    for delegations in [false, true] {
        let warming = connect(&server, delegations).await;
        read_all(&warming).await;
        let client = connect(&server, delegations).await;
        client.read_dir("/").await.unwrap();
        let before = resident_bytes();
        read_all(&client).await;
        let grown = resident_bytes().saturating_sub(before) / FILES;
        println!(
            "{} delegations: {grown} bytes for each cached file of {FILE_BYTES} bytes, {} besides the data",
            if delegations { "with" } else { "without" },
            grown.saturating_sub(FILE_BYTES),
        );
        client.shutdown().await.unwrap();
        warming.shutdown().await.unwrap();
    }
    server.stop().await.unwrap();
}

async fn connect(server: &Running, delegations: bool) -> Client {
    let url: Url = format!("nfs://{}/", server.address()).parse().unwrap();
    Client::connect(&url, Options { delegations, ..Options::default() }).await.unwrap()
}

async fn read_all(client: &Client) {
    for index in 0..FILES {
        assert_eq!(client.read(index.to_string()).await.unwrap().len(), FILE_BYTES);
    }
}

/// As the kernel counts it: the second number of `/proc/self/statm`, in pages.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}
