//! The client library against servers that nobody here wrote: the kernel's, in a guest, and NFS-Ganesha.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code, reason = "a part is for the benchmark")]
#[path = "../support/foreign/mod.rs"]
mod foreign;
mod restart;
mod sharing;
mod trees;
mod work;

use std::future::Future;
use std::time::Duration;

use client::{Client, Options, ProgramPorts, Url, Version};
use foreign::Place;
use foreign::ganesha::Ganesha;
use foreign::knfsd::Knfsd;
use netlab::guest::Lab;

const TIME_LIMIT: Duration = Duration::from_secs(240);

impl Place {
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

/// Runs `work` in the network of the lab.
fn inside<F: Future<Output = ()>>(lab: &Lab, work: impl FnOnce() -> F + Send) {
    lab.inside(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(work());
    })
    .unwrap();
}

#[test]
fn ganesha_serves_everything_that_the_client_asks_for() {
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
        }
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.kill_and_restart()).await;
        }
    });
}

#[test]
fn linux_serves_everything_that_the_client_asks_for() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Knfsd::start(&lab, TIME_LIMIT);
    inside(&lab, async || {
        for version in Version::ALL {
            work::everything(&server.place(), version).await;
            sharing::two_clients_see_each_other(&server.place(), version).await;
            trees::are_what_they_were_made_of(&server.place(), version).await;
        }
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.restart()).await;
        }
    });
    server.stop();
}
