//! Directories, links and names.

use std::io::ErrorKind;

use client::{Access, FileType, SetAttributes, SetTime, Time, Version};

use crate::fixture::{Fixture, READ, in_every_version, list, read_whole, write_whole};

in_every_version! {
    directories_are_made_listed_and_removed
    a_long_directory_is_listed_whole
    links_lead_where_they_should
    names_are_changed_and_removed
    a_name_is_known_after_it_was_made_and_gone_after_it_was_removed
    attributes_are_set
    a_directory_handle_names_things_below_it
    the_space_of_the_file_system_is_told
    nothing_is_changed_read_only
    paths_may_climb
    directories_are_made_with_those_above_them
    existing_and_missing_names_are_distinguished
    a_listing_holds_one_reply_at_a_time
    null_calls_and_negotiated_values_are_there
}

async fn directories_are_made_listed_and_removed(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir("/dir", 0o750).await.unwrap();
    client.create_dir("/dir/sub", 0o755).await.unwrap();
    write_whole(&client, "/dir/file", "12345").await;
    let mut entries = list(&client, "/dir").await;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(entries.iter().map(|entry| &entry.name[..]).collect::<Vec<_>>(), [&b"file"[..], b"sub"]);
    let file = entries[0].attributes.unwrap();
    assert_eq!((file.kind, file.size), (FileType::Regular, 5));
    assert_eq!(entries[1].attributes.unwrap().kind, FileType::Directory);
    assert_eq!(client.metadata("/dir").await.unwrap().mode, 0o750);
    assert_eq!(client.remove_dir("/dir").await.unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    client.remove_file("/dir/file").await.unwrap();
    client.remove_dir("/dir/sub").await.unwrap();
    assert!(list(&client, "/dir").await.is_empty());
    client.remove_dir("/dir").await.unwrap();
    assert!(!fixture.path("dir").exists());
    assert_eq!(client.create_dir("/no/dir", 0o755).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn a_long_directory_is_listed_whole(version: Version) {
    let fixture = Fixture::new().await;
    for index in 0..3000 {
        std::fs::write(fixture.path(&format!("a file with a rather long name {index:05}")), b"").unwrap();
    }
    let client = fixture.client(version).await;
    let mut names: Vec<_> = list(&client, "/").await.into_iter().map(|entry| entry.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3000);
    let before = client.tap().snapshot();
    let entries = list(&client, "/").await;
    assert!(entries.iter().all(|entry| entry.attributes.is_some()));
    assert!(client.tap().snapshot().since(&before).requests_total() < 40);
}

async fn links_lead_where_they_should(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir("/dir", 0o755).await.unwrap();
    write_whole(&client, "/dir/file", "data").await;
    client.symlink("dir", "/to-dir").await.unwrap();
    client.symlink("/dir/file", "/dir/to-file").await.unwrap();
    client.symlink("to-loop", "/to-loop").await.unwrap();
    assert_eq!(client.read_link("/to-dir").await.unwrap(), "dir");
    assert_eq!(read_whole(&client, "/to-dir/file").await, "data");
    assert_eq!(read_whole(&client, "/to-dir/to-file").await, "data");
    assert!(client.open("/to-loop", READ).await.is_err());
    assert_eq!(client.symlink_metadata("/to-dir").await.unwrap().kind, FileType::Symlink);
    assert_eq!(client.metadata("/to-dir").await.unwrap().kind, FileType::Directory);
    client.hard_link("/dir/file", "/hard").await.unwrap();
    assert_eq!(client.metadata("/hard").await.unwrap().links, 2);
    write_whole(&client, "/dir/to-file", "through").await;
    assert_eq!(read_whole(&client, "/hard").await, "through");
    let fresh = fixture.client(version).await;
    assert_eq!(read_whole(&fresh, "/to-dir/to-file").await, "through");
}

async fn names_are_changed_and_removed(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir("/a", 0o755).await.unwrap();
    client.create_dir("/b", 0o755).await.unwrap();
    write_whole(&client, "/a/one", "1").await;
    write_whole(&client, "/b/two", "2").await;
    client.rename("/a/one", "/b/two").await.unwrap();
    assert!(client.metadata("/a/one").await.unwrap_err().is_not_found());
    assert_eq!(read_whole(&client, "/b/two").await, "1");
    client.rename("/b/two", "/b/three").await.unwrap();
    assert_eq!(read_whole(&client, "/b/three").await, "1");
    client.remove_file("/b/three").await.unwrap();
    assert!(client.open("/b/three", READ).await.unwrap_err().is_not_found());
    assert!(client.remove_file("/b/three").await.unwrap_err().is_not_found());
}

async fn a_name_is_known_after_it_was_made_and_gone_after_it_was_removed(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    for _ in 0..3 {
        assert!(client.metadata("/name").await.unwrap_err().is_not_found());
        client.create_file("/name", 0o644).await.unwrap();
        assert_eq!(client.metadata("/name").await.unwrap().size, 0);
        client.remove_file("/name").await.unwrap();
    }
}

async fn attributes_are_set(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "12345").await;
    let time = Time { seconds: 1_000_000_000, nanoseconds: 500 };
    let set = SetAttributes {
        mode: Some(0o600),
        size: Some(3),
        modified: Some(SetTime::To(time)),
        ..SetAttributes::default()
    };
    client.set_metadata("/file", set).await.unwrap();
    let now = client.metadata("/file").await.unwrap();
    assert_eq!((now.mode, now.size, now.modified), (0o600, 3, time));
    assert_eq!(read_whole(&client, "/file").await, "123");
    let set = SetAttributes { modified: Some(SetTime::Now), ..SetAttributes::default() };
    client.set_metadata("/file", set).await.unwrap();
    assert!(client.metadata("/file").await.unwrap().modified > time);
}

async fn a_directory_handle_names_things_below_it(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir("/dir", 0o755).await.unwrap();
    let dir = client.directory("/dir").await.unwrap();
    dir.create_dir("sub", 0o755).await.unwrap();
    dir.directory("sub").await.unwrap().create_file("file", 0o644).await.unwrap();
    assert!(fixture.path("dir/sub/file").exists());
    assert!(dir.read_dir("").await.unwrap().next_entry().await.unwrap().is_some());
    client.rename("/dir", "/elsewhere").await.unwrap();
    dir.remove_file("sub/file").await.unwrap();
    assert!(!fixture.path("elsewhere/sub/file").exists(), "the handle goes with the directory");
    assert!(client.directory("/elsewhere/none").await.is_err());
}

async fn the_space_of_the_file_system_is_told(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let space = client.statfs("/").await.unwrap();
    assert!(space.total_bytes >= space.free_bytes && space.total_bytes > 0);
    assert!(space.total_files >= space.free_files);
    let wanted = Access::READ | Access::LOOKUP;
    assert_eq!(client.access("/", wanted).await.unwrap(), wanted);
}

async fn nothing_is_changed_read_only(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), b"x").unwrap();
    let client = fixture.client_with(version, |options| options.read_only = true).await;
    assert!(client.create_dir("/dir", 0o755).await.is_err());
    assert!(client.remove_file("/file").await.is_err());
    assert!(client.open("/new", READ.create(true)).await.is_err());
    assert_eq!(read_whole(&client, "/file").await, "x");
}

async fn paths_may_climb(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir("/a", 0o755).await.unwrap();
    client.create_dir("/a/b", 0o755).await.unwrap();
    write_whole(&client, "/a/file", "up").await;
    assert_eq!(read_whole(&client, "/a/./b/../file").await, "up");
    assert_eq!(read_whole(&client, "../../a//file").await, "up", "there is nothing above the root");
}

async fn null_calls_and_negotiated_values_are_there(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let before = client.tap().snapshot();
    client.null().await.unwrap();
    let null = client.tap().snapshot().since(&before);
    assert_eq!(null.requests["NULL"].requests, 1);
    assert!(null.bytes_sent() > 0 && null.bytes_received() > 0);
    let negotiated = client.negotiated();
    assert_eq!(negotiated["version"], version.to_string());
    assert!(negotiated["rsize"].parse::<u32>().unwrap() >= 65536);
    client.shutdown().await.unwrap();
    assert!(client.metadata("/x").await.is_err());
}

async fn directories_are_made_with_those_above_them(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.create_dir_all("/a/b//c/./d/", 0o755).await.unwrap();
    assert!(fixture.path("a/b/c/d").is_dir());
    client.create_dir_all("a/b/e/../f", 0o755).await.unwrap();
    assert!(fixture.path("a/b/f").is_dir());
    let before = client.tap().snapshot();
    client.create_dir_all("/a/b/c/d", 0o755).await.unwrap();
    client.create_dir_all("/", 0o755).await.unwrap();
    assert!(
        !client
            .tap()
            .snapshot()
            .since(&before)
            .requests
            .keys()
            .any(|name| ["MKDIR", "CREATE"].contains(name))
    );
    write_whole(&client, "/a/file", "data").await;
    for path in ["/a/file", "/a/file/b"] {
        assert_eq!(client.create_dir_all(path, 0o755).await.unwrap_err().kind(), ErrorKind::NotADirectory);
    }
}

async fn existing_and_missing_names_are_distinguished(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "data").await;
    client.symlink("nowhere", "/dangling").await.unwrap();
    for (path, exists) in
        [("/", true), ("/file", true), ("/none", false), ("/dangling", false), ("/no/file", false)]
    {
        assert_eq!(client.exists(path).await.unwrap(), exists, "{path}");
    }
    assert_eq!(client.exists("/file/below").await.unwrap_err().kind(), ErrorKind::NotADirectory);
}

async fn a_listing_holds_one_reply_at_a_time(version: Version) {
    let fixture = Fixture::new().await;
    for index in 0..5000 {
        std::fs::write(fixture.path(&format!("a file with a rather long name {index:05}")), b"").unwrap();
    }
    let client = fixture.client_with(version, |options| options.read_bytes_max = 32 << 10).await;
    let requests = || {
        client
            .tap()
            .snapshot()
            .requests
            .iter()
            .filter(|(name, _)| name.starts_with("READDIR"))
            .map(|(_, stats)| stats.requests)
            .sum::<u64>()
    };
    let mut entries = client.read_dir("/").await.unwrap();
    assert_eq!(requests(), 1, "nothing is asked for before it is wanted");
    entries.next_entry().await.unwrap().unwrap();
    assert_eq!(requests(), 1);
    let mut count = 1;
    while let Some(entry) = entries.next_entry().await.unwrap() {
        assert!(entry.attributes.is_some());
        count += 1;
    }
    assert!((count, requests() > 5) == (5000, true), "{count} in {}", requests());
    assert!(entries.next_entry().await.unwrap().is_none(), "it stays at its end");
    assert_eq!(client.read_dir("/none").await.unwrap_err().kind(), ErrorKind::NotFound);
}
