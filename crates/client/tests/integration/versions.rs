//! Which version is spoken.

use std::sync::Arc;

use client::{Client, Error, Options, Url, Version};
use parking_lot::Mutex;
use proto::nfs4::{CompoundHeader, CompoundReply, Status};
use rpc::Refusal;
use testkit::script::{Answer, Script, ScriptedCall, serve};
use xdr::Encoder;

use crate::fixture::Fixture;

/// A server that has none of the versions, and says so in the way of each.
#[derive(Default)]
struct Useless {
    asked: Mutex<Vec<(u32, Option<u32>)>>,
}

impl Script for Useless {
    async fn answer(&self, call: ScriptedCall) -> Answer {
        let mut arguments = call.arguments;
        let (_, version, procedure) = call.number;
        if (version, procedure) != (4, 1) {
            self.asked.lock().push((version, None));
            return Answer::Refused(Refusal::ProgramMismatch { low: 2, high: 2 });
        }
        let header: CompoundHeader = arguments.get().unwrap();
        self.asked.lock().push((4, Some(header.minor_version)));
        if header.minor_version == 1 {
            return Answer::Refused(Refusal::ProgramMismatch { low: 3, high: 3 });
        }
        let mut reply = Encoder::new();
        CompoundReply::begin(&mut reply, &header.tag).finish(&mut reply, Status::MinorVersionMismatch);
        Answer::Results(reply.into_inner())
    }
}

async fn useless() -> (Arc<Useless>, Url) {
    let server = Arc::new(Useless::default());
    let port = serve(Arc::clone(&server)).await.port();
    (server, format!("nfs://127.0.0.1/?port={port}&mountport={port}").parse().unwrap())
}

#[tokio::test]
async fn an_address_without_a_version_gets_the_newest() {
    let fixture = Fixture::new().await;
    for (query, version) in [
        ("", Version::V4_2),
        ("?version=4", Version::V4_2),
        ("?vers=4.1", Version::V4_1),
        ("?nfsvers=3", Version::V3),
    ] {
        let url: Url = format!("nfs://{}/{query}", fixture.address()).parse().unwrap();
        let client = Client::connect(&url, Options::default()).await.unwrap();
        assert_eq!(client.version(), version, "{query}");
        assert_eq!(client.negotiated()["version"], version.to_string());
        client.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn client_falls_back_to_the_versions_of_the_server() {
    let (server, url) = useless().await;
    let error = Client::connect(&url, Options::default()).await.unwrap_err();
    assert!(matches!(error, Error::NotOffered(_)), "{error}");
    assert_eq!(error.to_string(), "the server does not offer NFSv4.2 or NFSv4.1 or NFSv3");
    assert_eq!(server.asked.lock()[..3], [(4, Some(2)), (4, Some(1)), (3, None)]);
}

#[tokio::test]
async fn a_version_that_the_address_names_is_the_only_one_that_is_tried() {
    let (server, url) = useless().await;
    let options = Options { versions: vec![Version::V4_2], ..Options::default() };
    let error = Client::connect(&url, options).await.unwrap_err();
    assert_eq!(error.to_string(), "the server does not offer NFSv4.2");
    assert_eq!(*server.asked.lock(), [(4, Some(2))]);
}
