//! What it says when it cannot: one sentence with cause and mend, and the exit code.

use std::net::TcpListener;

use crate::support::{Place, is_empty};

fn sentence(place: &Place, arguments: &[&str], code: i32) -> String {
    let output = place.bench(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!place.path("out").exists());
    stderr
}

#[test]
fn an_unknown_experiment_is_answered_with_the_nearest() {
    let place = Place::new();
    let text = sentence(&place, &["--experiment", "loked-read", "--out", "out"], 3);
    assert!(text.contains("did you mean `locked-read`?"), "{text}");
}

#[test]
fn a_profile_that_there_is_not_is_answered_with_those_there_are() {
    let output = Place::new().bench(&["--profile", "bulid", "--out", "out"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("did you mean build?") && text.contains("vm-images"), "{text}");
}

#[test]
fn an_unknown_version_is_answered_with_those_there_are() {
    let place = Place::new();
    let text = sentence(&place, &["--versions", "3,5", "--out", "out"], 3);
    assert!(text.contains("`5`") && text.contains("4.1"), "{text}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    let place = Place::new();
    // Bound and closed again: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = sentence(&place, &["--server", &format!("nfs://127.0.0.1:{port}/"), "--out", "out"], 3);
    assert!(text.contains(&port.to_string()), "{text}");
}

#[test]
fn an_export_that_does_not_exist_is_named() {
    let place = Place::new();
    let server = place.serve();
    let text = sentence(&place, &["--server", &format!("{}absent", server.url), "--out", "out"], 3);
    assert!(text.contains("absent"), "{text}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    let place = Place::new();
    let text = sentence(&place, &["--server", "http://127.0.0.1/", "--out", "out"], 3);
    assert!(text.contains("nfs://"), "{text}");
}

#[test]
fn an_export_that_is_read_only_is_named_as_such() {
    let place = Place::new();
    let export = place.path("export");
    let server = place.serve_with(&[export.to_str().unwrap(), "--no-root-squash", "--read-only"]);
    let text = sentence(&place, &["--server", &server.url, "--out", "out"], 3);
    assert!(text.contains("exported to be read only"), "{text}");
    assert!(is_empty(&export));
}

#[test]
fn directory_without_write_permission_names_a_user_to_work_as() {
    let place = Place::new();
    let export = place.path("export");
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root is taken for nobody");
        return;
    }
    let server = place.serve_with(&[export.to_str().unwrap()]);
    let text = sentence(&place, &["--server", &server.url, "--out", "out"], 3);
    assert!(text.contains("may write") && text.contains("?uid="), "{text}");
    assert!(is_empty(&export));
}

#[test]
fn an_export_without_room_is_refused_before_anything_is_made() {
    let place = Place::new();
    let export = place.path("export");
    let mount = |words: &[&str]| {
        std::process::Command::new(words[0])
            .args(&words[1..])
            .arg(&export)
            .status()
            .is_ok_and(|ended| ended.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs"]) {
        eprintln!("skipped: a small file system can be mounted by root only");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let server = place.serve();
        let text = sentence(
            &place,
            &["--experiment", "sequential-read", "--server", &server.url, "--out", "out"],
            3,
        );
        assert!(text.contains("MB free") && text.contains("make room"), "{text}");
        assert!(is_empty(&export));
    });
    assert!(mount(&["umount"]));
    outcome.unwrap();
}

#[test]
fn a_version_that_the_server_lacks_is_left_out_and_told() {
    let place = Place::new();
    let export = place.path("export");
    let config = place.path("config.toml");
    let text = format!(
        "[[export]]\npath = {export:?}\npseudo = \"/only\"\nversions = [\"4.1\"]\nsquash = \"none\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let server = place.serve_with(&["--config", config.to_str().unwrap()]);
    let url = format!("{}only", server.url);
    let sizes = "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 5\n";
    let experiment = place.experiment("create-few", "op/s", sizes);
    let said = sentence(&place, &["--experiment", &experiment, "--server", &url, "--out", "none"], 3);
    assert!(said.contains("does not offer v3") && said.contains("--allow-missing-versions"), "{said}");
    let results = place.measure(&experiment, &["--server", &url, "--allow-missing-versions"]);
    // Without v3 the version is compared with itself.
    assert_eq!(results.comparisons.len(), 1);
    assert_eq!(results.comparisons[0].baseline_name(), "v4.1 without delegations");
    let versions: Vec<&str> = results.cells.iter().map(|cell| cell.setting.version.as_str()).collect();
    assert_eq!(versions, ["4.1", "4.1"]);
    let told = |doubt: &String| doubt.starts_with("v3 is not offered by the server and was left out");
    assert!(results.environment.doubts.iter().any(told), "{:?}", results.environment.doubts);
    assert!(is_empty(&export));
}

#[test]
fn directory_with_another_path_over_nfsv3_is_measured_there() {
    let place = Place::new();
    let export = place.path("export");
    let config = place.path("config.toml");
    std::fs::create_dir(export.join("inner")).unwrap();
    let text = format!("[[export]]\npath = {export:?}\npseudo = \"/only\"\nsquash = \"none\"\n");
    std::fs::write(&config, text).unwrap();
    let server = place.serve_with(&["--config", config.to_str().unwrap()]);
    let url = format!("{}only/inner", server.url);
    let sizes = "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 5\n";
    let experiment = place.experiment("create-few", "op/s", sizes);
    let absent = ["--experiment", &experiment, "--server", &url, "--out", "none", "--v3-path", "/absent"];
    assert!(sentence(&place, &absent, 3).contains("does not offer v3"));
    let results = place.measure(&experiment, &["--server", &url, "--v3-path", "/only//inner"]);
    let versions: Vec<&str> = results.cells.iter().map(|cell| cell.setting.version.as_str()).collect();
    assert_eq!(versions, ["3", "4.1", "4.1"]);
    assert!(is_empty(&export.join("inner")));
}

#[test]
fn a_directory_without_nfs_has_no_server_no_versions_and_no_delays() {
    let place = Place::new();
    for (more, word) in [
        (["--server", "nfs://127.0.0.1/"], "--server"),
        (["--rtt-ms", "0,10"], "--rtt-ms"),
        (["--versions", "4.1"], "`4.1`"),
        (["--mount-options", "nolock"], "--client kernel"),
    ] {
        let text = sentence(&place, &[&["--client", "path", "--out", "out"], &more[..]].concat(), 3);
        assert!(text.contains(word), "{text}");
    }
    let text = sentence(&place, &["--client", "path=absent", "--out", "out"], 3);
    assert!(text.contains("absent"), "{text}");
    assert!(is_empty(&place.path("temporary")));
}

#[test]
fn a_kernel_that_cannot_be_asked_is_told_with_what_it_needs() {
    let place = Place::new();
    let arguments = ["bench", "--quick", "--client", "kernel", "--out", "out"];
    let output = place.command(&arguments).env("PATH", place.path("export")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(3), 1), "{text}");
    assert!(text.contains("mount.nfs cannot be run") || text.contains("only root may mount"), "{text}");
    assert!(!place.path("out").exists() && is_empty(&place.path("temporary")));
    let text = sentence(&place, &["--client", "kernel", "--without-delegations", "--out", "out"], 3);
    assert!(text.contains("--no-delegations"), "{text}");
}

#[test]
fn namespaces_that_cannot_be_are_told_with_what_can() {
    let place = Place::new();
    let recall = ["--experiment", "delegation-recall", "--server", "nfs://127.0.0.1:1/", "--out", "out"];
    for (more, word) in [
        (["--client=builtin", "--client-namespaces=auto", "--rtt-ms=0"], "--client kernel"),
        (["--client=kernel", "--client-namespaces=a,b,c", "--rtt-ms=0,10"], "--rtt-ms 0"),
        (["--client=fuse", "--client-namespaces=auto", "--clients=254"], "room for 253"),
        (["--client=kernel", "--client-namespaces=a,b", "--rtt-ms=0"], "3 clients need"),
        (["--client=kernel", "--client-namespaces=a,b,b", "--rtt-ms=0"], "once"),
    ] {
        let text = sentence(&place, &[&recall[..], &more[..]].concat(), 3);
        assert!(text.contains(word), "{text}");
    }
    let absent = ["--client=kernel", "--client-namespaces=no-such-one", "--rtt-ms=0", "--clients=1"];
    let text = sentence(&place, &[&recall[..], &absent[..]].concat(), 3);
    assert!(text.contains("ip netns add no-such-one") || text.contains("only root may enter"), "{text}");
}
