//! Whole trees, many operations at a time against one call at a time, over loopback with and without a delay:
//! `cargo bench -p primetime-client --bench trees -- [--quick]`. Requests and time stand beside each other;
//! figures of one run are comparable with each other and with nothing else.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use client::{Client, Descend, Location, OpenOptions, Options, TreeOptions, Url, Version};
use netlab::relay::{LinkOptions, Relay};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};

const FILES_PER_DIRECTORY: usize = 10;
const FILE_BYTES: usize = 4096;

#[tokio::main]
async fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (directories, delays): (usize, &[f64]) =
        if quick { (50, &[0.0, 1.0]) } else { (500, &[0.0, 1.0, 10.0]) };
    // One call at a time is measured on a part of the tree and told for all of it.
    let part = if quick { 10 } else { 25 };
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("export")).unwrap();
    let mut options = ServeOptions::new(place.path().join("export"));
    options.exports[0].asynchronous = true;
    options.exports[0].options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
    let server = Running::start(&options).await.unwrap();
    let (whole, small) = (archive(place.path(), directories), archive(place.path(), part));
    println!(
        "{} files of {FILE_BYTES} bytes in {directories} directories",
        directories * FILES_PER_DIRECTORY
    );
    for delay in delays {
        let relay = Relay::start(server.address(), LinkOptions::round_trip_ms(*delay)).unwrap();
        for version in [Version::V3, Version::V4_1] {
            let url: Url = format!("nfs://{}/", relay.address()).parse().unwrap();
            let options = Options { versions: vec![version], ..Options::default() };
            let client = Client::connect(&url, options).await.unwrap();
            batched(&client, &whole, &format!("NFSv{version}, {delay} ms")).await;
            one_by_one(&client, &small, directories as f64 / part as f64).await;
            client.shutdown().await.unwrap();
        }
        relay.shutdown().await;
    }
    server.stop().await.unwrap();
}

fn archive(place: &Path, directories: usize) -> Vec<u8> {
    let root = place.join(format!("source {directories}"));
    for index in 0..directories {
        let dir = root.join(format!("{}/{index}", index % 10));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..FILES_PER_DIRECTORY {
            fs::write(dir.join(format!("{file}")), [7; FILE_BYTES]).unwrap();
        }
    }
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all(".", &root).unwrap();
    builder.into_inner().unwrap()
}

fn show(what: &str, requests: f64, time: Duration) {
    println!("  {what:<22} {requests:>8.0} requests {:>9.0} ms", time.as_secs_f64() * 1e3);
}

async fn batched(client: &Client, archive: &[u8], title: &str) {
    println!("{title}");
    let options = TreeOptions::default();
    let started = Instant::now();
    let done = client.extract_tar(Cursor::new(archive.to_vec()), "/a", &options).await.unwrap().into_result();
    show("unpack", done.unwrap().requests as f64, started.elapsed());
    let started = Instant::now();
    let copied = client.copy_tree(&Location::remote("/a"), &Location::remote("/b"), &options).await.unwrap();
    show("copy", copied.into_result().unwrap().requests as f64, started.elapsed());
    let started = Instant::now();
    let listed = client.list_tree("/b", &options, |_| Descend::Into).await.unwrap();
    show("list", listed.into_result().unwrap().requests as f64, started.elapsed());
    let started = Instant::now();
    let removed = client.remove_tree("/b", &options).await.unwrap();
    show("remove", removed.into_result().unwrap().requests as f64, started.elapsed());
    client.remove_tree("/a", &options).await.unwrap().into_result().unwrap();
}

/// Unpacks as a loop over calls does, and tells what the whole tree would take at that rate.
async fn one_by_one(client: &Client, archive: &[u8], factor: f64) {
    let (before, started) = (client.tap().requests(), Instant::now());
    let mut archive = tar::Archive::new(Cursor::new(archive));
    client.create_dir("/c", 0o755).await.unwrap();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = format!("/c/{}", entry.path().unwrap().display());
        if entry.header().entry_type().is_dir() {
            let _there_already = client.create_dir(&path, 0o755).await;
            continue;
        }
        let mut data = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut data).unwrap();
        let new = OpenOptions::new().write(true).create_new(true);
        let file = client.open(&path, new).await.unwrap();
        file.write_at(0, data.into()).await.unwrap();
        file.close().await.unwrap();
    }
    let requests = (client.tap().requests() - before) as f64 * factor;
    show("unpack, one by one", requests, started.elapsed().mul_f64(factor));
    client.remove_tree("/c", &TreeOptions::default()).await.unwrap().into_result().unwrap();
}
