//! A real Linux kernel boots, reaches the host side of its lab, and is client and server of NFS.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use netlab::guest::{GuestOptions, Lab, mountstats};
use netlab::{LinkOptions, Relay};

/// Starts the kernel's server: /mnt/export is the root of its exports, and MOUNT is at port 20048.
const SERVER: &str = r#"
set -ex
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
mkdir /mnt/export
mount -t tmpfs tmpfs /mnt/export
rpcbind
exportfs -i -o rw,fsid=0,no_root_squash,insecure,no_subtree_check '*:/mnt/export'
# The lock manager's grace period would hold up opens for most of a minute.
echo 3 >/proc/sys/fs/nfs/nlm_timeout
echo 1 >/proc/sys/fs/nfs/nlm_grace_period
rpc.nfsd --grace-time 10 4
rpc.mountd --port 20048
echo Y >/proc/fs/nfsd/v4_end_grace
"#;

const LOOPBACK: &str = r#"
ping -c 1 "$HOST"
uname -r >"$EXCHANGE/release"
hostname >"$EXCHANGE/hostname"
mkdir /mnt/three /mnt/four
mount -t nfs -o vers=3,proto=tcp,nolock 127.0.0.1:/mnt/export /mnt/three
mount -t nfs -o vers=4.1,proto=tcp 127.0.0.1:/ /mnt/four
cp "$EXCHANGE/input/letter" /mnt/three/letter
cmp "$EXCHANGE/input/letter" /mnt/four/letter
echo "$GREETING" >/mnt/four/greeting
cat /mnt/three/greeting >"$EXCHANGE/greeting"
cat /proc/self/mountstats >"$EXCHANGE/mountstats"
"#;

#[test]
fn host_beside_the_host_side_has_an_address_and_ports_of_its_own() {
    let Some(lab) = Lab::for_test() else { return };
    let host = lab.add_host().unwrap();
    let listen = |address| TcpListener::bind((address, 2049)).unwrap();
    let _ours = lab.inside(|| listen(lab.host_address())).unwrap();
    let theirs = host.inside(|| listen(host.address())).unwrap();
    let connected = lab.inside(|| TcpStream::connect((host.address(), 2049)).unwrap()).unwrap();
    let (_, peer) = theirs.accept().unwrap();
    assert_eq!(peer.ip(), lab.host_address());
    drop(connected);
}

#[test]
fn a_guest_is_client_and_server_of_nfs_and_counts_what_it_sends() {
    let Some(lab) = Lab::for_test() else { return };
    let options = GuestOptions {
        name: "alpha".into(),
        script: [SERVER, LOOPBACK].concat(),
        files: vec![("input/letter".into(), vec![b'x'; 10_000])],
        env: vec![("GREETING".into(), "it's two words".into())],
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    assert!(result.output.contains("1 packets transmitted, 1 received"), "{}", result.output);
    assert!(result.read("release").unwrap().starts_with("6."));
    assert_eq!(result.read("hostname").unwrap(), "alpha\n");
    assert_eq!(result.read("greeting").unwrap(), "it's two words\n");

    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    let points: Vec<_> = mounts.iter().map(|mount| mount.mount_point.as_str()).collect();
    assert_eq!(points, ["/mnt/three", "/mnt/four"]);
    let [three, four] = &mounts[..] else { unreachable!() };
    assert_eq!(three.device, "127.0.0.1:/mnt/export");
    // What came from the client itself is not read back; what the other mount wrote is.
    assert_eq!((three.requests("CREATE"), three.requests("WRITE"), three.requests("READ")), (1, 1, 1));
    assert!(three.operation("WRITE").sent_bytes > 10_000);
    assert_eq!(four.requests("CREATE_SESSION"), 1);
    // One file opened to read and one to write.
    assert_eq!((four.requests("OPEN"), four.requests("CLOSE")), (2, 2));
    assert_eq!((four.requests("WRITE"), four.requests("READ")), (1, 1));
    assert!(four.operation("READ").received_bytes > 10_000);
}

#[test]
fn a_guest_has_the_disk_that_was_asked_for_and_it_takes_file_systems() {
    let Some(lab) = Lab::for_test() else { return };
    let script =
        "set -e; cat /sys/block/ubda/size; mkfs.ext4 -q /dev/ubda; mkdir /mnt/disk; mount /dev/ubda /mnt/disk
        seq 100000 >/mnt/disk/numbers; umount /mnt/disk; echo 3 >/proc/sys/vm/drop_caches
        mount /dev/ubda /mnt/disk; seq 100000 | cmp - /mnt/disk/numbers; umount /mnt/disk";
    let options = GuestOptions { script: script.into(), disk_mb: Some(64), ..GuestOptions::default() };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    // In sectors.
    assert_eq!(result.output, format!("{}\n", (64 << 20) / 512));
}

#[test]
fn guest_is_killed_at_its_time_limit_and_its_output_is_kept() {
    let Some(lab) = Lab::for_test() else { return };
    let script = "echo started; sleep 1000; echo ended".into();
    let time_limit = Duration::from_secs(20);
    let options = GuestOptions { script, time_limit, ..GuestOptions::default() };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, None);
    assert_eq!(result.output, "started\n", "{}", result.console);
}

#[test]
fn a_program_of_the_host_side_runs_in_the_lab_on_its_one_core() {
    let Some(lab) = Lab::for_test() else { return };
    let script = "ip -oneline -4 address show dev bridge; grep Cpus_allowed_list /proc/self/status";
    let output = lab.command("sh").args(["-c", script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("inet {}/24", lab.host_address())), "{text}");
    let cores = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert!(cores.trim().parse::<usize>().is_ok(), "{cores}");
}

#[test]
fn a_guest_mounts_what_another_machine_of_the_lab_exports_at_given_ports() {
    let Some(lab) = Lab::for_test() else { return };
    let until_done = "until [ -e /mnt/export/done ]; do sleep 0.2; done; cp /mnt/export/* \"$EXCHANGE\"";
    let server = GuestOptions {
        name: "server".into(),
        script: [SERVER, until_done].concat(),
        ..GuestOptions::default()
    };
    let server = lab.boot(&server).unwrap();
    let client = GuestOptions {
        name: "client".into(),
        // The first mount waits for the server. Unlike version 4, version 3 needs no rpcbind only if told
        // both ports.
        script: "set -ex; mkdir /mnt/three /mnt/four
            mount -t nfs -o vers=4.1,proto=tcp,port=2049 \"$SERVER:/\" /mnt/four
            mount -t nfs -o vers=3,proto=tcp,mountproto=tcp,port=2049,mountport=20048,nolock \\
                \"$SERVER:/mnt/export\" /mnt/three
            sh \"$EXCHANGE/workload.sh\" /mnt/three three; sh \"$EXCHANGE/workload.sh\" /mnt/four done"
            .into(),
        files: vec![("workload.sh".into(), b"echo \"from $(hostname)\" >\"$1/$2\"".to_vec())],
        env: vec![("SERVER".into(), server.address().to_string())],
        ..GuestOptions::default()
    };
    let client = lab.boot(&client).unwrap().wait().unwrap();
    assert_eq!(client.exit_code, Some(0), "{}", client.output);
    let server = server.wait().unwrap();
    assert_eq!(server.exit_code, Some(0), "{}", server.output);
    assert_eq!(server.read("three").unwrap(), "from client\n");
    assert_eq!(server.read("done").unwrap(), "from client\n");
}

#[test]
fn two_guests_of_a_lab_reach_each_other_over_the_delay_asked_for() {
    let Some(lab) = Lab::for_test() else { return };
    let near = GuestOptions {
        name: "near".into(),
        script: "busybox nc -l -p 7 >\"$EXCHANGE/heard\"; tc qdisc show dev vec0".into(),
        ..GuestOptions::default()
    };
    let first = lab.boot(&near).unwrap();
    let far = GuestOptions {
        name: "far".into(),
        script: "until hostname | busybox nc -w 5 \"$NEAR\" 7; do sleep 0.2; done; tc qdisc show dev vec0"
            .into(),
        env: vec![("NEAR".into(), first.address().to_string())],
        netem_delay_ms: Some(10),
        ..GuestOptions::default()
    };
    let second = lab.boot(&far).unwrap();
    let (near, far) = (first.wait().unwrap(), second.wait().unwrap());
    assert_eq!((near.exit_code, far.exit_code), (Some(0), Some(0)), "{}{}", near.output, far.output);
    assert_eq!(near.read("heard").unwrap(), "far\n");
    assert!(!near.output.contains("netem"), "{}", near.output);
    assert!(far.output.contains("netem") && far.output.contains("delay 10ms"), "{}", far.output);
}

#[test]
fn guests_of_a_lab_and_its_host_meet_in_the_shared_folder() {
    let Some(lab) = Lab::for_test() else { return };
    let meet = |name: &str, peer: &str| GuestOptions {
        name: name.into(),
        script: "mkdir \"$SHARED/$NAME\"; for who in \"$PEER\" host; do
                until [ -d \"$SHARED/$who\" ]; do busybox usleep 20000; done
            done"
            .into(),
        env: vec![("PEER".into(), peer.into())],
        ..GuestOptions::default()
    };
    let guests = [meet("ann", "bob"), meet("bob", "ann")].map(|options| lab.boot(&options).unwrap());
    while !(lab.shared().join("ann").exists() && lab.shared().join("bob").exists()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::create_dir(lab.shared().join("host")).unwrap();
    for guest in guests {
        let result = guest.wait().unwrap();
        assert_eq!(result.exit_code, Some(0), "{}{}", result.output, result.console);
    }
}

#[test]
fn work_inside_a_lab_has_its_network_and_a_guest_reaches_a_relay_there() {
    let Some(lab) = Lab::for_test() else { return };
    let any_port = std::net::SocketAddr::new(lab.host_address(), 0);
    let (listener, relay) = lab
        .inside(|| {
            let listener = std::net::TcpListener::bind(any_port).unwrap();
            let target = listener.local_addr().unwrap();
            (listener, Relay::start_at(any_port, target, LinkOptions::default()).unwrap())
        })
        .unwrap();
    let options = GuestOptions {
        script: "echo greeting | busybox nc -w 5 \"$HOST\" \"$PORT\"".into(),
        env: vec![("PORT".into(), relay.address().port().to_string())],
        ..GuestOptions::default()
    };
    let guest = lab.boot(&options).unwrap();
    let mut heard = String::new();
    std::io::Read::read_to_string(&mut listener.accept().unwrap().0, &mut heard).unwrap();
    assert_eq!(heard, "greeting\n");
    assert_eq!(guest.wait().unwrap().exit_code, Some(0));
    assert_eq!(relay.stats().connections_accepted, 1);
}

#[test]
fn the_host_side_keeps_its_hardware_address_whoever_comes() {
    let Some(lab) = Lab::for_test() else { return };
    let address = || {
        let output = lab.command("cat").arg("/sys/class/net/bridge/address").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = address();
    // The ports of the bridge have random addresses; it would be a rare chance if none of ten were lower.
    for port in 0..10 {
        let port = format!("port{port}");
        for arguments in
            [["tuntap", "add", "mode", "tap", "dev", &port], ["link", "set", &port, "master", "bridge", "up"]]
        {
            assert!(lab.command("ip").args(arguments).status().unwrap().success());
        }
    }
    assert_eq!(address(), before);
}

#[test]
fn dropping_a_guest_kills_all_of_it_and_removes_its_folder() {
    let Some(lab) = Lab::for_test() else { return };
    let options = GuestOptions {
        script: "sleep 100000".into(),
        time_limit: Duration::from_secs(100_000),
        ..GuestOptions::default()
    };
    let guest = lab.boot(&options).unwrap();
    let folder = guest.exchange();
    let processes = || {
        let output = lab.command("ip").args(["netns", "pids", lab.name()]).output().unwrap();
        // The command itself is in the lab too.
        String::from_utf8(output.stdout).unwrap().lines().count() - 1
    };
    while processes() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(guest);
    assert!(!folder.exists());
    while processes() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
}
