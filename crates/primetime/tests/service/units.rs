//! The units for systemd and the file for a container are as those who read them want them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Place, Process};

const UNITS: [&str; 3] = ["primetime.service", "primetime-unprivileged.service", "primetime.socket"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn unit(name: &str) -> String {
    fs::read_to_string(repository().join("contrib/systemd").join(name)).unwrap()
}

/// Everything behind `primetime` where a unit starts it.
fn arguments(unit: &str, key: &str) -> Vec<String> {
    let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix("=/usr/bin/primetime "));
    line.unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn systemd_takes_the_units_and_finds_them_guarded() {
    let place = Place::new();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in UNITS {
        // It looks whether the program is there.
        let text = unit(name).replace("/usr/bin/primetime", env!("CARGO_BIN_EXE_primetime"));
        fs::write(place.path(name), text).unwrap();
        verify.arg(place.path(name));
    }
    let Ok(output) = verify.output() else {
        eprintln!("skipped: there is no systemd-analyze here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
    for (name, exposure_percent) in [("primetime.service", 35), ("primetime-unprivileged.service", 20)] {
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--offline=yes", &format!("--threshold={exposure_percent}")]);
        let output = security.arg(place.path(name)).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn command_lines_of_the_units_are_valid() {
    for name in &UNITS[..2] {
        let place = Place::new();
        fs::write(place.path("primetime.toml"), "directory = \"export\"\nlisten = \"127.0.0.1:0\"\n")
            .unwrap();
        let unit = unit(name);
        let here = |argument: &String| match Path::new(argument).file_name() {
            Some(file) if argument.starts_with('/') => {
                place.path(file.to_str().unwrap()).to_str().unwrap().to_owned()
            }
            _ => argument.clone(),
        };
        let serve: Vec<_> = arguments(&unit, "ExecStart").iter().map(here).collect();
        let serve: Vec<_> = serve.iter().map(String::as_str).collect();
        assert_eq!(serve[0], "serve");
        let server = Process::start(&mut place.command_alone(&serve[1..]));
        let reload: Vec<_> = arguments(&unit, "ExecReload").iter().map(here).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        assert!(command.args(reload).output().unwrap().status.success(), "{name}");
        server.signal(rustix::process::Signal::TERM);
        assert!(server.ended().success());
    }
}

/// As root, with nothing but the capabilities that the unit leaves: callers' ids are taken on, and files
/// found by handles.
#[test]
fn the_capabilities_of_the_unit_are_enough_to_act_as_others() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root has capabilities to leave");
        return;
    }
    let place = Place::new();
    let unit = unit("primetime.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet=")).unwrap();
    let capabilities =
        line.split_whitespace().map(|name| name.trim_start_matches("CAP_").to_ascii_lowercase());
    let set: String = capabilities.map(|name| format!(",+{name}")).collect();
    let serve = place.command(&[]);
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--bounding-set", &format!("-all{set}")]);
    command.arg(serve.get_program()).args(serve.get_args()).current_dir(place.path("."));
    let server = Process::start(&mut command);
    let mut line = crate::peer::Line::new(server.address);
    let mut session = line.session("client");
    let _ = session.open(&mut line, "file", "owner");
    let root = line.mount("/");
    let made = |name: &'static str, uid| proto::nfs3::CreateArgs {
        place: proto::nfs3::DirOpArgs { dir: root, name: name.into() },
        how: proto::nfs3::CreateHow::Guarded(proto::nfs3::SetAttributes {
            uid: Some(uid),
            mode: Some(0o4755),
            ..proto::nfs3::SetAttributes::default()
        }),
    };
    let proto::nfs3::Reply::Ok(_) = line.nfs3(&made("of-another", 1234)) else { panic!("CREATE fails") };
    let metadata = fs::metadata(place.path("export/of-another")).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!((metadata.uid(), metadata.mode() & 0o7777), (1234, 0o4755));
}

#[test]
fn the_container_starts_what_there_is_without_privileges() {
    let text = fs::read_to_string(repository().join("Containerfile")).unwrap();
    let user = text.lines().position(|line| line == "USER 10001").unwrap();
    let entry = text.lines().position(|line| line.starts_with("ENTRYPOINT ")).unwrap();
    assert!(user < entry);
    let exec = |key: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        serde_json::from_str(line).unwrap()
    };
    let place = Place::new();
    let here = |argument: &String| match argument.strip_prefix('/') {
        Some(path) => place.path(path).to_str().unwrap().to_owned(),
        None => argument.replace("0.0.0.0:2049", "127.0.0.1:0"),
    };
    let serve: Vec<_> = exec("ENTRYPOINT ").iter().map(here).collect();
    let serve: Vec<_> = serve.iter().map(String::as_str).collect();
    assert_eq!(serve[..2], ["primetime", "serve"]);
    let _server = Process::start(&mut place.command_alone(&serve[2..]));
    let health: Vec<_> = exec("HEALTHCHECK CMD ").iter().map(here).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    assert!(command.args(&health[1..]).output().unwrap().status.success());
}
