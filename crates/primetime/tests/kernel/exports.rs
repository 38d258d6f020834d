//! Exports with rules, seen by a guest: two and more under one root, and what each user may not read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Stdio};

use netlab::guest::{GuestOptions, Lab};

use crate::guests::TIME_LIMIT;
use crate::server::{PORT, Server};

/// The directories, and what their line in the table says: the options of the guest's network, and of
/// everybody else.
const EXPORTS: &[(&str, &str)] = &[
    ("deep/root", "NET(rw,sync)"),
    ("deep/none", "NET(rw,no_root_squash)"),
    ("all", "NET(rw,all_squash) *(ro)"),
    ("owner", "NET(rw,all_squash,anonuid=1001,anongid=1001)"),
    ("read", "*(ro,no_root_squash)"),
    ("other", "203.0.113.0/24(rw,no_root_squash)"),
];

/// Killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn linux_users_read_only_what_the_rules_let_them() {
    let Some(lab) = Lab::for_test() else { return };
    let place = tempfile::tempdir().unwrap();
    // The table names the whole path, and so do the guests' mounts of NFSv3.
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let network = format!("{}/24", first_address(&lab));
    let mut table = String::new();
    for (name, clients) in EXPORTS {
        let directory = place.path().join("srv").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        for (file, mode) in [("secret", 0o600), ("shared", 0o640), ("public", 0o644)] {
            let file = directory.join(file);
            fs::write(&file, format!("{name}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            chown(&file, Some(1001), Some(2000)).unwrap();
        }
        table += &format!("{} {}\n", directory.display(), clients.replace("NET", &network));
    }
    let exports = place.path().join("exports");
    fs::write(&exports, table).unwrap();
    let _process = serve(&lab, &[], &exports, &place.path().join("state"));
    let srv = place.path().join("srv");
    let shown = showmount(&lab, place.path());
    for (name, clients) in EXPORTS {
        let clients: Vec<_> = clients
            .replace("NET", &network)
            .split(' ')
            .map(|client| client.split('(').next().unwrap().to_owned())
            .collect();
        // Everybody goes before all others, as showmount has it.
        let clients =
            if clients.contains(&"*".to_owned()) { "(everyone)".to_owned() } else { clients.join(",") };
        let line = format!("{} {clients}", srv.join(name).display());
        assert!(shown.contains(&line), "{line} is not in {shown:?}");
    }
    assert_eq!(shown.len(), EXPORTS.len());
    let options = GuestOptions {
        name: "exports".into(),
        script: format!("sh $EXCHANGE/exports.sh $HOST {PORT} {} || exit 3\n", srv.display()),
        files: vec![("exports.sh".into(), include_bytes!("exports.sh").to_vec())],
        time_limit: TIME_LIMIT,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    // Who made what, as the host sees it.
    for (name, uids) in
        [("deep/root", [65534, 1000]), ("deep/none", [0, 1000]), ("all", [65534; 2]), ("owner", [1001; 2])]
    {
        for version in ["3", "4.1"] {
            for (who, uid) in ["root", "user"].into_iter().zip(uids) {
                use std::os::unix::fs::MetadataExt;
                let made = srv.join(name).join(format!("{who}-{version}"));
                assert_eq!(fs::metadata(&made).unwrap().uid(), uid, "{}", made.display());
            }
        }
    }
}

/// Serves what a table says, started by a command of its own if one is given. Returns when the server
/// listens.
fn serve(lab: &Lab, starter: &[&str], exports: &Path, state: &Path) -> Process {
    let address = Server::address(lab);
    let words = [starter, &[env!("CARGO_BIN_EXE_primetime"), "serve", "--exports"]].concat();
    let mut process = lab
        .command(words[0])
        .args(&words[1..])
        .arg(exports)
        .args(["--listen", &address.to_string(), "--state-dir"])
        .arg(state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, format!("ready nfs://{address}/\n"));
    Process(process)
}

#[test]
fn without_root_everybody_is_the_user_who_serves() {
    use std::os::unix::fs::MetadataExt;
    let Some(lab) = Lab::for_test() else { return };
    let place = tempfile::tempdir().unwrap();
    let srv = place.path().join("srv");
    fs::create_dir(&srv).unwrap();
    for (file, owner) in [("own", 1000), ("foreign", 1001)] {
        fs::write(srv.join(file), "text\n").unwrap();
        fs::set_permissions(srv.join(file), fs::Permissions::from_mode(0o600)).unwrap();
        chown(srv.join(file), Some(owner), Some(owner)).unwrap();
    }
    for directory in [place.path(), &srv] {
        chown(directory, Some(1000), Some(1000)).unwrap();
    }
    let exports = place.path().join("exports");
    // Whatever the table says of ids, the user who serves has no other rights.
    fs::write(&exports, format!("{} *(rw,no_root_squash)\n", srv.display())).unwrap();
    let user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];
    let _process = serve(&lab, &user, &exports, &place.path().join("state"));
    let v3 = format!("vers=3,nolock,proto=tcp,mountproto=tcp,port={PORT},mountport={PORT}");
    let v4 = format!("vers=4.1,proto=tcp,port={PORT}");
    let mut script = String::from("mkdir -p /mnt/n\n");
    for (version, options) in [("3", v3), ("4.1", v4)] {
        script += &format!("mount -t nfs -o {options} $HOST:{} /mnt/n || exit 2\n", srv.display());
        for uid in [0, 1000, 1002] {
            let become_user = format!("setpriv --reuid={uid} --regid={uid} --clear-groups");
            script += &format!("{become_user} cp /mnt/n/own /mnt/n/{uid}-{version} || exit 3\n");
            script += &format!("{become_user} cat /mnt/n/foreign && exit 4\n");
        }
        script += "umount /mnt/n || exit 5\n";
    }
    script += "exit 0\n";
    let options = GuestOptions {
        name: "unprivileged".into(),
        script,
        time_limit: TIME_LIMIT,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    for made in ["0-3", "1000-3", "1002-3", "0-4.1", "1000-4.1", "1002-4.1"] {
        assert_eq!(fs::metadata(srv.join(made)).unwrap().uid(), 1000, "{made}");
        assert_eq!(fs::read(srv.join(made)).unwrap(), b"text\n");
    }
}

/// What nfs-common's showmount says of the server: each export with its clients.
fn showmount(lab: &Lab, place: &Path) -> Vec<String> {
    let script = place.join("showmount.sh");
    fs::write(&script, include_bytes!("showmount.sh")).unwrap();
    let mut command = lab.command("unshare");
    command.args(["--mount", "sh"]).arg(script).arg(lab.host_address().to_string()).arg(PORT.to_string());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The first address of the lab's network, which has 24 bits.
fn first_address(lab: &Lab) -> std::net::IpAddr {
    match lab.host_address() {
        std::net::IpAddr::V4(address) => std::net::Ipv4Addr::from(address.to_bits() & 0xffff_ff00).into(),
        other => other,
    }
}
