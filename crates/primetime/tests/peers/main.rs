//! The client library against servers that nobody here wrote: the kernel's, in a guest, and NFS-Ganesha.

#![allow(missing_docs, clippy::unwrap_used)]

mod ganesha;
mod knfsd;
mod restart;
mod sharing;
mod work;

use std::future::Future;
use std::net::IpAddr;

use client::{Client, Options, Url, Version};
use ganesha::Ganesha;
use knfsd::Knfsd;
use netlab::guest::Lab;

/// How a foreign server is reached.
#[derive(Clone, Copy)]
struct Place {
    host: IpAddr,
    port: u16,
    /// Where MOUNT listens.
    mount_port: u16,
    /// What MOUNT calls the export, and what NFSv4 does.
    paths: [&'static str; 2],
}

impl Place {
    async fn client(&self, version: Version) -> Client {
        self.client_with(version, |_| {}).await
    }

    async fn client_with(&self, version: Version, change: impl FnOnce(&mut Options)) -> Client {
        let path = if version == Version::V3 { self.paths[0] } else { self.paths[1] };
        let url: Url = format!("nfs://{}:{}{path}", self.host, self.port).parse().unwrap();
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
    let Some(server) = Ganesha::start(&lab) else { return };
    inside(&lab, async || {
        for version in Version::ALL {
            work::everything(&server.place(), version).await;
            sharing::two_clients_see_each_other(&server.place(), version).await;
        }
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.kill_and_restart()).await;
        }
    });
}

#[test]
fn linux_serves_everything_that_the_client_asks_for() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Knfsd::start(&lab);
    inside(&lab, async || {
        for version in Version::ALL {
            work::everything(&server.place(), version).await;
            sharing::two_clients_see_each_other(&server.place(), version).await;
        }
        for version in [Version::V3, Version::V4_2] {
            restart::files_outlive_the_server(&server.place(), version, || server.restart()).await;
        }
    });
    server.stop();
}
