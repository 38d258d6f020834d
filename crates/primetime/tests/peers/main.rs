//! The client library, the mount and the commands against servers that nobody here wrote: the kernel's, in a
//! guest, and NFS-Ganesha.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bench;
mod commands;
#[allow(dead_code, reason = "as above")]
#[path = "../../../mount/tests/compared/mod.rs"]
mod compared;
#[allow(dead_code, reason = "a part is for the benchmark")]
#[path = "../support/foreign/mod.rs"]
mod foreign;
#[allow(dead_code, reason = "a part is for tests of its own")]
#[path = "../support/mounted.rs"]
mod mounted;
mod mounts;
#[allow(dead_code, reason = "a part is for tests of its own")]
#[path = "../../../mount/tests/integration/other_process.rs"]
mod other_process;
#[path = "../support/random.rs"]
mod random;
mod restart;
mod restarts;
mod sharing;
#[path = "../mount/steps.rs"]
mod steps;
#[path = "../mount/subject.rs"]
mod subject;
#[path = "../../../mount/tests/integration/sys.rs"]
mod sys;
#[allow(dead_code, reason = "as above")]
#[path = "../commands/tree.rs"]
mod tree;
mod trees;
mod waiting;
#[path = "../mount/walk.rs"]
mod walk;
mod work;

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use client::{Client, Options, ProgramPorts, Url, Version};
use foreign::Place;
use foreign::ganesha::Ganesha;
use foreign::knfsd::{Knfsd, KnfsdOptions};
use mounted::can_mount;
use netlab::guest::Lab;

/// A server of others has mounts of its own, with copies of all that there are when it starts: those would
/// not end before it does.
static ONE_SERVER_AT_A_TIME: Mutex<()> = Mutex::new(());

const TIME_LIMIT: Duration = Duration::from_secs(400);

impl Place {
    fn url(&self, path: &str, version: Version) -> String {
        let Self { host, port, mount_port, path: export } = self;
        format!("nfs://{host}:{port}{export}{path}?version={version}&mountport={mount_port}")
    }

    async fn client(&self, version: Version) -> Client {
        self.client_with(version, |_| {}).await
    }

    async fn client_with(&self, version: Version, change: impl FnOnce(&mut Options)) -> Client {
        let url: Url = format!("nfs://{}:{}{}", self.host, self.port, self.path).parse().unwrap();
        let mut options =
            Options { versions: vec![version], mount_port: Some(self.mount_port), ..Options::default() };
        change(&mut options);
        Client::connect(&url, options).await.unwrap()
    }
}

/// A server of others, and what of `docs/mount.md` it has.
#[derive(Clone, Copy)]
struct Foreign {
    place: Place,
    /// Over NFSv4.2.
    xattrs: bool,
    /// Those of symbolic links can be set.
    times_of_links: bool,
}

/// Runs `work` in the network of the lab.
fn inside<F: Future<Output = ()>>(lab: &Lab, work: impl FnOnce() -> F + Send) {
    lab.inside(|| run(work)).unwrap();
}

fn run<F: Future<Output = ()>>(work: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work());
}

/// All versions at once: each has files of its own.
fn mounts_and_commands(lab: &Lab, server: Foreign) {
    let work = || {
        std::thread::scope(|scope| {
            if can_mount() {
                scope.spawn(|| mounts::list_large_directories(server));
                for version in Version::ALL {
                    scope.spawn(move || mounts::are_as_a_local_directory(server, version));
                }
            }
            for version in Version::ALL {
                scope.spawn(move || commands::do_what_they_do_here(server, version));
            }
        });
    };
    lab.inside(work).unwrap();
}

#[test]
fn ganesha_serves_everything_that_the_client_asks_for() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let Some(server) = Ganesha::start(&lab, TIME_LIMIT) else { return };
    inside(&lab, async || {
        let client = server.place().client(Version::V3).await;
        let ports = client.program_ports().await.unwrap();
        assert_eq!(ports, ProgramPorts { mount: Some(22050), lock: Some(22051) });
        client.shutdown().await.unwrap();
        for version in Version::ALL {
            work::everything(&server.place(), version).await;
            sharing::two_clients_see_each_other(&server.place(), version).await;
            trees::are_what_they_were_made_of(&server.place(), version).await;
            trees::answers_are_right_wherever_they_lie(&server.place(), version).await;
        }
    });
    mounts_and_commands(&lab, Foreign { place: server.place(), xattrs: false, times_of_links: false });
    inside(&lab, async || {
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.kill_and_restart()).await;
        }
    });
}

#[test]
fn benchmark_finds_the_path_that_ganesha_has_over_nfsv3() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let Some(server) = Ganesha::start_with(&lab, TIME_LIMIT, false) else { return };
    lab.inside(|| bench::path_of_v3_is_found(&server.place(), &server.export())).unwrap();
}

#[test]
fn ganesha_calls_callers_that_wait_for_locks_over_nfsv3() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let Some(server) = Ganesha::start(&lab, TIME_LIMIT) else { return };
    // Beside Ganesha its own lock manager is the machine's.
    let host = lab.add_host().unwrap();
    host.inside(|| run(async || waiting::callers_are_called_over_nfsv3(&server.place()).await)).unwrap();
}

#[test]
fn linux_calls_callers_that_wait_for_locks_over_nfsv3() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let server = Knfsd::start(&lab, TIME_LIMIT, &KnfsdOptions::default());
    inside(&lab, async || waiting::callers_are_called_over_nfsv3(&server.place()).await);
    server.stop();
}

#[test]
fn every_byte_is_right_while_ganesha_is_killed_again_and_again() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let Some(server) = Ganesha::start(&lab, TIME_LIMIT) else { return };
    let foreign = Foreign { place: server.place(), xattrs: false, times_of_links: false };
    let work = || {
        if can_mount() {
            restarts::every_byte_is_right(foreign, || server.kill_and_restart());
        }
    };
    lab.inside(work).unwrap();
}

#[test]
fn linux_serves_everything_that_the_client_asks_for() {
    let _alone = ONE_SERVER_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = Lab::for_test() else { return };
    let server = Knfsd::start(&lab, TIME_LIMIT, &KnfsdOptions::default());
    inside(&lab, async || {
        for version in Version::ALL {
            work::everything(&server.place(), version).await;
            sharing::two_clients_see_each_other(&server.place(), version).await;
            trees::are_what_they_were_made_of(&server.place(), version).await;
            trees::answers_are_right_wherever_they_lie(&server.place(), version).await;
        }
    });
    lab.inside(|| bench::delegations_are_waited_for(&server.place())).unwrap();
    mounts_and_commands(&lab, Foreign { place: server.disk(), xattrs: true, times_of_links: true });
    inside(&lab, async || {
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.restart()).await;
        }
    });
    server.stop();
}
