//! What the kernel keeps, and what it drops when others change it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use client::Version;

use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    open_sees_data_that_another_mount_closed
    an_open_file_that_nobody_changes_is_read_from_the_server_once
}

fn open_sees_data_that_another_mount_closed(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    for round in 0..5 {
        let text = format!("round {round}");
        let (writer, reader) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        fs::write(writer.path("file"), &text).unwrap();
        assert_eq!(fs::read_to_string(reader.path("file")).unwrap(), text);
        assert_eq!(fs::metadata(reader.path("file")).unwrap().len(), 7);
    }
}

fn an_open_file_that_nobody_changes_is_read_from_the_server_once(version: Version) {
    let fixture = Fixture::new();
    fs::write(fixture.export().join("file"), vec![7; 100_000]).unwrap();
    let mounted = fixture.mount(version);
    fs::read(mounted.path("file")).unwrap();
    // Over NFSv3 it could be that the time of this very tick of the server's clock was seen.
    std::thread::sleep(Duration::from_millis(200));
    fs::read(mounted.path("file")).unwrap();
    let before = mounted.client.tap().snapshot();
    for _ in 0..10 {
        assert_eq!(fs::read(mounted.path("file")).unwrap(), vec![7; 100_000]);
    }
    let cost = mounted.client.tap().snapshot().since(&before);
    assert!(cost.bytes_received() < 20_000, "{} bytes came again", cost.bytes_received());
}

/// The delegation keeps what was read right, and its recall makes it void before another may change it.
#[test]
fn a_recall_makes_void_what_the_kernel_keeps() {
    if !crate::fixture::can_mount() {
        return;
    }
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(Version::V4_1), fixture.mount(Version::V4_1));
    fs::write(fixture.export().join("file"), "before").unwrap();
    let open = File::open(one.path("file")).unwrap();
    let read = || {
        let mut data = [0; 6];
        open.read_exact_at(&mut data, 0).unwrap();
        String::from_utf8(data.to_vec()).unwrap()
    };
    assert_eq!(read(), "before");
    let counts = one.client.tap().snapshot();
    assert_eq!((read(), fs::metadata(one.path("file")).unwrap().len()), ("before".into(), 6));
    assert_eq!(one.client.tap().snapshot().since(&counts).requests_total(), 0, "the kernel has it");
    fs::write(two.path("file"), "after!").unwrap();
    assert_eq!(read(), "after!", "through the file that was open all the time");
}
