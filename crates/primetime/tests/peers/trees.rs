//! Whole trees, which the client carries out in long COMPOUNDs as far as a server of others can be trusted with them.

use std::io::Cursor;

use client::{Descend, TreeOptions, Version};

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
