//! Extended attributes, and that older versions have none.

use std::io::ErrorKind;

use client::{Error, Version, XattrMode};

use crate::fixture::{Fixture, READ, in_every_version, write_whole};

in_every_version! {
    an_extended_attribute_is_set_read_listed_and_removed
    setting_one_that_is_there_or_not_is_refused_where_asked
    each_takes_one_request
}

/// Over a version without them the sentence says what is needed, and nothing is sent.
async fn refused(fixture: &Fixture, version: Version) -> bool {
    if version >= Version::V4_2 {
        return false;
    }
    let client = fixture.client(version).await;
    let before = client.tap().snapshot();
    let root = client.root();
    let error = root.set_xattr("", "name", "value".into(), XattrMode::Either).await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { operation: "SETXATTR", .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!("SETXATTR needs NFSv4.2, and NFSv{version} is spoken with this server")
    );
    assert_eq!(client.list_xattrs("/").await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(client.xattr("/", "name").await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(client.remove_xattr("/", "name").await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(client.tap().snapshot().since(&before).requests_total(), 0);
    true
}

async fn an_extended_attribute_is_set_read_listed_and_removed(version: Version) {
    let fixture = Fixture::new().await;
    if refused(&fixture, version).await {
        return;
    }
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "data").await;
    assert_eq!(client.xattr("/file", "mime").await.unwrap(), None);
    assert!(client.list_xattrs("/file").await.unwrap().is_empty());
    client.set_xattr("/file", "mime", "text/plain".into(), XattrMode::Either).await.unwrap();
    client.set_xattr("/file", "empty", "".into(), XattrMode::Either).await.unwrap();
    assert_eq!(client.xattr("/file", "mime").await.unwrap().unwrap(), "text/plain");
    assert_eq!(client.xattr("/file", "empty").await.unwrap().unwrap(), "");
    let file = client.open("/file", READ).await.unwrap();
    let mut names = file.list_xattrs().await.unwrap();
    names.sort();
    assert_eq!(names, ["empty", "mime"]);
    assert_eq!(file.xattr("mime").await.unwrap().unwrap(), "text/plain");
    file.set_xattr("mime", "image/png".into(), XattrMode::Replace).await.unwrap();
    file.remove_xattr("empty").await.unwrap();
    file.close().await.unwrap();
    let other = fixture.client(version).await;
    assert_eq!(other.list_xattrs("/file").await.unwrap(), ["mime"]);
    assert_eq!(other.xattr("/file", "mime").await.unwrap().unwrap(), "image/png");
    client.create_dir("/dir", 0o755).await.unwrap();
    client.directory("/dir").await.unwrap().set_xattr("", "on", "1".into(), XattrMode::Create).await.unwrap();
    assert_eq!(other.xattr("/dir", "on").await.unwrap().unwrap(), "1");
}

async fn setting_one_that_is_there_or_not_is_refused_where_asked(version: Version) {
    let fixture = Fixture::new().await;
    if refused(&fixture, version).await {
        return;
    }
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "data").await;
    let set = async |mode| client.set_xattr("/file", "name", "value".into(), mode).await;
    assert_eq!(set(XattrMode::Replace).await.unwrap_err().kind(), ErrorKind::NotFound);
    set(XattrMode::Create).await.unwrap();
    assert_eq!(set(XattrMode::Create).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    set(XattrMode::Replace).await.unwrap();
    client.remove_xattr("/file", "name").await.unwrap();
    assert_eq!(client.remove_xattr("/file", "name").await.unwrap_err().kind(), ErrorKind::NotFound);
    let long = vec![0; (64 << 10) + 1].into();
    let error = client.set_xattr("/file", "name", long, XattrMode::Either).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(matches!(client.xattr("/file", "").await, Err(Error::Usage(_))));
    assert!(matches!(client.xattr("/file", [b'n'; 256]).await, Err(Error::Usage(_))));
}

async fn each_takes_one_request(version: Version) {
    let fixture = Fixture::new().await;
    if refused(&fixture, version).await {
        return;
    }
    let client = fixture.unhurried(version, |_| {}).await;
    client.create_file("/file", 0o644).await.unwrap();
    client.metadata("/file").await.unwrap();
    let before = client.tap().snapshot();
    client.set_xattr("/file", "name", "value".into(), XattrMode::Either).await.unwrap();
    client.xattr("/file", "name").await.unwrap();
    client.list_xattrs("/file").await.unwrap();
    client.remove_xattr("/file", "name").await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!(counts.requests_total(), 4, "{:?}", counts.requests.keys());
}
