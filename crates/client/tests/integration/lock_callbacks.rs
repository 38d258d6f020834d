//! Waiters over NFSv3 whose client has a host of its own: the server calls its lock manager through the port
//! mapper.

use std::future::Future;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client::{Client, Error, File, LockKind, Version};
use netlab::guest::{Host, Lab};
use server_shell::{PortMapMode, ServeOptions};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::fixture::{Fixture, WRITE, connect, write_whole};

/// A runtime whose threads are on a host.
struct Place {
    runtime: Runtime,
    host: Host,
}

impl Place {
    fn new(lab: &Lab) -> Self {
        let host = lab.add_host().unwrap();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = host.inside(|| runtime.worker_threads(1).enable_all().build().unwrap()).unwrap();
        Self { runtime, host }
    }

    /// Runs `work` on the host.
    fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.runtime.spawn(async move { sender.send(work.await) });
        receiver.recv().expect("the work panicked")
    }
}

/// A server with two clients on hosts of their own, which have the same file open. The first polls.
struct Scene {
    ours: Place,
    theirs: Place,
    clients: [Client; 2],
    files: [Arc<File>; 2],
    fixture: Option<Fixture>,
    server: Place,
    _lab: Lab,
}

impl Scene {
    /// `prepare` is done on the second client's host before it mounts.
    fn new<T>(prepare: impl FnOnce(&Host) -> T) -> Option<(Self, T)> {
        let lab = Lab::for_test()?;
        let places = [Place::new(&lab), Place::new(&lab), Place::new(&lab)];
        let address = std::net::SocketAddr::new(places[0].host.address(), 2049);
        let fixture = places[0].run(Fixture::with(move |options| {
            options.listen = address;
            set_up(options);
        }));
        let prepared = prepare(&places[2].host);
        let open = |callbacks: bool| async move {
            let client = connect(address, Version::V3, |options| options.lock_callbacks = callbacks).await;
            if !client.exists("/file").await.unwrap() {
                write_whole(&client, "/file", "data").await;
            }
            let file = client.open("/file", WRITE).await.unwrap();
            (client, Arc::new(file))
        };
        let [server, theirs, ours] = places;
        let (their_client, their_file) = theirs.run(open(false));
        let (client, file) = ours.run(open(true));
        let scene = Self {
            ours,
            theirs,
            clients: [their_client, client],
            files: [their_file, file],
            fixture: Some(fixture),
            server,
            _lab: lab,
        };
        Some((scene, prepared))
    }

    fn lock_theirs(&self) {
        let file = Arc::clone(&self.files[0]);
        self.theirs.run(async move { file.lock(.., LockKind::Exclusive).await.unwrap() });
    }

    fn unlock_theirs(&self) {
        let file = Arc::clone(&self.files[0]);
        self.theirs.run(async move { file.unlock(..).await.unwrap() });
    }

    /// The server ends, and comes back with a grace period.
    fn restart(&mut self) {
        let fixture = self.fixture.take().unwrap();
        let address = fixture.address();
        self.fixture = Some(self.server.run(fixture.restart_with(address, set_up)));
    }

    /// Begins to wait for the lock, and returns when the server was asked to queue the request.
    fn wait_for_ours(&self) -> tokio::task::JoinHandle<()> {
        let (file, client) = (Arc::clone(&self.files[1]), self.clients[1].clone());
        let expected = count(&client, "LOCK") + self.requests();
        let waiting =
            self.ours.runtime.spawn(async move { file.lock(.., LockKind::Exclusive).await.unwrap() });
        self.ours.run(async move {
            while count(&client, "LOCK") < expected {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        });
        waiting
    }

    /// The LOCK calls of a waiter until it is queued: before there is a lock manager one is denied.
    fn requests(&self) -> u64 {
        if count(&self.clients[1], "LOCK") == 0 { 2 } else { 1 }
    }

    /// The waiter gets the lock, and asks only once more.
    fn is_woken(&self) {
        let client = self.clients[1].clone();
        let (before, queued) = (count(&client, "LOCK"), self.requests());
        self.lock_theirs();
        let waiting = self.wait_for_ours();
        self.unlock_theirs();
        self.ours.run(async move { waiting.await.unwrap() });
        let locks = count(&client, "LOCK") - before;
        // Once to confirm; more only where the machine stands still for seconds.
        assert!((queued + 1..=queued + 3).contains(&locks), "{locks}");
        let file = Arc::clone(&self.files[0]);
        let denied = self.theirs.run(async move { file.try_lock(.., LockKind::Shared).await });
        assert!(matches!(denied, Err(Error::Locked)));
        let file = Arc::clone(&self.files[1]);
        self.ours.run(async move { file.unlock(..).await.unwrap() });
    }
}

/// As clients of NFSv3 with locks need it.
fn set_up(options: &mut ServeOptions) {
    options.portmap = PortMapMode::Builtin;
    options.limits.lease_seconds = 2;
}

fn count(client: &Client, name: &str) -> u64 {
    client.tap().snapshot().requests.get(name).map_or(0, |stats| stats.requests)
}

#[test]
fn waiter_over_nfsv3_is_called_at_its_own_port_mapper() {
    let Some((scene, ())) = Scene::new(|_| {}) else { return };
    scene.is_woken();
    let client = scene.clients[1].clone();
    scene.ours.run(async move { client.shutdown().await.unwrap() });
    let refused = scene.ours.run(async { TcpStream::connect("127.0.0.1:111").await });
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused, "it has ended");
}

#[test]
fn waiter_that_gives_up_leaves_no_lock_at_the_server() {
    let Some((scene, ())) = Scene::new(|_| {}) else { return };
    scene.lock_theirs();
    let waiting = scene.wait_for_ours();
    waiting.abort();
    let client = scene.clients[1].clone();
    scene.ours.run(async move {
        assert!(waiting.await.unwrap_err().is_cancelled());
        while count(&client, "UNLOCK") == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(count(&client, "CANCEL"), 1);
    });
    for _ in 0..3 {
        scene.unlock_theirs();
        scene.lock_theirs();
    }
    scene.unlock_theirs();
    scene.is_woken();
}

#[test]
fn waiter_over_nfsv3_waits_on_when_the_server_restarts() {
    let Some((mut scene, ())) = Scene::new(|_| {}) else { return };
    scene.lock_theirs();
    let waiting = scene.wait_for_ours();
    scene.restart();
    // Answered when the lock is reclaimed.
    scene.unlock_theirs();
    scene.ours.run(async move { waiting.await.unwrap() });
    let file = Arc::clone(&scene.files[1]);
    scene.ours.run(async move { file.unlock(..).await.unwrap() });
    scene.is_woken();
}

/// rpcbind, which takes registrations over its port from every user of the host.
struct Rpcbind(Child);

impl Rpcbind {
    fn start(host: &Host) -> Self {
        let script = "mount -t tmpfs tmpfs /run && exec rpcbind -f -i";
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host.name(), "unshare", "--mount", "sh", "-c", script]);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        while host.inside(|| std::net::TcpStream::connect("127.0.0.1:111").is_err()).unwrap() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(child)
    }
}

impl Drop for Rpcbind {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn waiter_over_nfsv3_is_called_through_rpcbind_and_unregisters() {
    let Some((scene, _rpcbind)) = Scene::new(Rpcbind::start) else { return };
    let programs = || {
        let name = scene.ours.host.name();
        let output =
            Command::new("ip").args(["netns", "exec", name, "rpcinfo", "-p", "127.0.0.1"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!programs().contains("100021"), "no caller has waited");
    scene.is_woken();
    let registered = programs();
    assert_eq!(registered.lines().filter(|line| line.contains("100021")).count(), 2, "{registered}");
    let client = scene.clients[1].clone();
    scene.ours.run(async move { client.shutdown().await.unwrap() });
    assert!(!programs().contains("100021"));
}
