//! Whole trees, which the client carries out in long COMPOUNDs as far as a server of others can be trusted
//! with them.

use std::io::Cursor;

use client::{Batch, Client, Descend, Output, TreeOptions, Version};

use crate::Place;

const FILES: u32 = 60;

/// Other bytes for each file, and sizes on both sides of a page.
fn content(file: u32) -> Vec<u8> {
    (0..2500 + file * 97).map(|at| (at.wrapping_mul(31) ^ file.wrapping_mul(131)) as u8).collect()
}

fn archive() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in 0..FILES {
        let content = content(file);
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        let path = format!("directory-{}/file-with-a-long-name-{file}", file % 6);
        archive.append_data(&mut header, path, &content[..]).unwrap();
    }
    archive.into_inner().unwrap()
}

pub(crate) async fn are_what_they_were_made_of(place: &Place, version: Version) {
    let client = place.client(version).await;
    let root = format!("/tree-{version}");
    let options = TreeOptions::default();
    let made = client.extract_tar(Cursor::new(archive()), &root, &options).await.unwrap();
    made.into_result().unwrap();
    // Another client has nothing of it.
    let other = place.client(version).await;
    for file in 0..FILES {
        let path = format!("{root}/directory-{}/file-with-a-long-name-{file}", file % 6);
        assert!(other.read(&path).await.unwrap() == content(file), "{path} holds something else");
    }
    let listed = other.list_tree(&root, &options, |_| Descend::Into).await.unwrap().into_result().unwrap();
    let removed = other.remove_tree(&root, &options).await.unwrap().into_result().unwrap();
    assert_eq!((listed.items, removed.items), (u64::from(FILES) + 6, u64::from(FILES) + 7));
    client.shutdown().await.unwrap();
    other.shutdown().await.unwrap();
}

/// Symbolic links side by side: their results end at every place of a page.
const LINKS: usize = 400;

fn target(link: usize) -> Vec<u8> {
    let length = 1 + link * 29 % 900;
    (0..length).map(|at| b'a' + ((at * 7 + link) % 26) as u8).collect()
}

/// What is asked for together is answered as it would be alone.
pub(crate) async fn answers_are_right_wherever_they_lie(place: &Place, version: Version) {
    let client = place.client(version).await;
    let root = format!("/links-{version}");
    client.create_dir(&root, 0o755).await.unwrap();
    let mut batch = Batch::new();
    for link in 0..LINKS {
        batch.symlink(target(link), format!("{root}/{link}"));
    }
    for result in client.run(batch).await {
        result.unwrap();
    }
    client.shutdown().await.unwrap();
    let client = place.client(version).await;
    targets_and_attributes(&client, &root).await;
    client.shutdown().await.unwrap();
    // Nobody has any of them in memory.
    let client = place.client(version).await;
    attributes_alone(&client, &root).await;
    client.shutdown().await.unwrap();
}

async fn targets_and_attributes(client: &Client, root: &str) {
    let mut batch = Batch::new();
    for link in 0..LINKS {
        batch.symlink_metadata(format!("{root}/{}", (link + 1) % LINKS));
        batch.read_link(format!("{root}/{link}"));
    }
    let results = client.run(batch).await;
    for (link, pair) in results.chunks(2).enumerate() {
        let [Ok(Output::Attributes(next)), Ok(Output::Data(data))] = pair else { panic!("{link}: {pair:?}") };
        assert_eq!(next.size, target((link + 1) % LINKS).len() as u64, "attributes of the link after {link}");
        assert!(data[..] == target(link), "link {link} leads elsewhere");
    }
}

async fn attributes_alone(client: &Client, root: &str) {
    let mut batch = Batch::new();
    for link in 0..LINKS {
        batch.symlink_metadata(format!("{root}/{link}"));
    }
    for (link, result) in client.run(batch).await.into_iter().enumerate() {
        let Output::Attributes(found) = result.unwrap() else { panic!("no attributes of {link}") };
        assert_eq!(found.size, target(link).len() as u64, "attributes of {link}");
    }
}
