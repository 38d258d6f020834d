//! Real TCP over links that treat packets. Rates are low, so that a busy machine keeps up and queues decide,
//! not it.

#![allow(clippy::unwrap_used)]

use std::env;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use netlab::packet::{
    Access, DirectionOptions, Discipline, Flow, Network, NetworkCounters, NetworkOptions, QueueLimit,
    StreamOptions, Streams, TcpOptions, access, in_user_namespace,
};

const MS: Duration = Duration::from_millis(1);

/// A network for a test, or none, with the reason on standard error, where the test must be skipped.
fn network(options: NetworkOptions) -> Option<Network> {
    match access() {
        Ok(Access::Here) => Some(Network::start(options).unwrap()),
        other => {
            assert_ne!(env::var("CI").as_deref(), Ok("true"), "a network must be possible here: {other:?}");
            eprintln!("skipped: {other:?}");
            None
        }
    }
}

/// 2 MB/s behind the server's card, and windows that keep every queue filled without overfilling it: a tenth
/// of a second for each flow, however busy the machine is. Reno opens them at once; cubic stops when it sees
/// the queue grow.
fn card(clients: u32, discipline: Discipline) -> NetworkOptions {
    let direction =
        DirectionOptions { delay: MS, rate_bytes_per_second: Some(2_000_000), ..Default::default() };
    let mut options = NetworkOptions::symmetric(clients, direction);
    options.to_clients.discipline = discipline;
    options.tcp = TcpOptions {
        congestion_control: Some("reno".into()),
        receive_buffer_bytes_max: Some(256 << 10),
        window_bytes_max: None,
    };
    options
}

/// Waits until the server has sent so many more bytes.
fn wait_for(network: &Network, bytes: u64) {
    let sent = || network.counters().to_clients.delivered.bytes;
    let (before, deadline) = (sent(), Instant::now() + Duration::from_secs(60));
    while sent() < before + bytes {
        assert!(Instant::now() < deadline, "only {} of {bytes} bytes", sent() - before);
        thread::sleep(MS * 10);
    }
}

/// What each flow is delivered while the server sends so many bytes, after as many that bring all of them to
/// speed.
fn shares(network: &Network, flows: &[Vec<Flow>], bytes: u64) -> Vec<f64> {
    let delivered = || {
        let counters = network.counters().to_clients.flows;
        flows.iter().flatten().map(|flow| counters[flow].bytes as f64).collect::<Vec<_>>()
    };
    wait_for(network, bytes);
    let before = delivered();
    wait_for(network, bytes);
    delivered().iter().zip(before).map(|(after, before)| after - before).collect()
}

/// Jain's index.
fn jain(shares: &[f64]) -> f64 {
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * squares)
}

#[test]
fn flows_that_share_a_queue_of_a_card_share_its_part() {
    let mut options = card(6, Discipline::MultiQueue { queues: 4 });
    // Each window lasts for most of a second: a flow that is alone in its queue has nobody to fill it for it.
    options.to_clients.rate_bytes_per_second = Some(500_000);
    let Some(network) = network(options) else { return };
    let streams = Streams::start(&network, &StreamOptions::default()).unwrap();
    let shares = shares(&network, streams.flows(), 1_500_000);
    let counters = network.counters().to_clients;
    let queues: Vec<u32> =
        streams.flows().iter().flatten().map(|flow| counters.flows[flow].queue.unwrap()).collect();
    let sharers = |queue: u32| queues.iter().filter(|other| **other == queue).count() as f64;
    let busy = (0..4).filter(|queue| queues.contains(queue)).count() as f64;
    let total: f64 = shares.iter().sum();
    for (share, queue) in shares.iter().zip(&queues) {
        let expected = total / busy / sharers(*queue);
        // Queues are served equally to the packet; within one, the kernels' windows decide.
        assert!((share / expected - 1.0).abs() < 0.25, "{shares:?} {queues:?}");
    }
    // The seed and the ports place six flows in four queues, so some share.
    assert!(jain(&shares) < 0.97, "{shares:?} {queues:?}");
    assert_eq!(counters.dropped_packets, 0);
}

#[test]
fn fair_queueing_serves_all_flows_alike() {
    let Some(network) = network(card(6, Discipline::FairQueue { flows_max: 64 })) else { return };
    let streams = Streams::start(&network, &StreamOptions::default()).unwrap();
    let shares = shares(&network, streams.flows(), 4_000_000);
    assert!(jain(&shares) >= 0.99, "{shares:?}");
    assert!(network.counters().to_clients.flows.values().all(|flow| flow.queue.is_none()));
}

#[test]
fn fair_queueing_serves_alike_also_when_it_must_drop_and_controls_differ() {
    let mut options = card(4, Discipline::FairQueue { flows_max: 64 });
    options.tcp.receive_buffer_bytes_max = None;
    options.to_clients.limit = QueueLimit::Packets(60);
    let Some(network) = network(options) else { return };
    let first = StreamOptions { congestion_control: Some("cubic".into()), ..Default::default() };
    let streams = Streams::start(&network, &first).unwrap();
    let shares = shares(&network, streams.flows(), 6_000_000);
    assert!(jain(&shares) >= 0.99, "{shares:?}");
    assert!(network.counters().to_clients.dropped_packets > 0);
}

#[test]
fn bounded_window_never_fills_a_queue_that_holds_it() {
    // A queue of 20 KiB overflows unless less than that is under way.
    for (window, overflows) in [(Some(16 << 10), false), (None, true)] {
        let mut options = card(1, Discipline::Fifo);
        options.tcp.window_bytes_max = window;
        options.to_clients.limit = QueueLimit::Bytes(20 << 10);
        let Some(network) = network(options) else { return };
        let _streams = Streams::start(&network, &StreamOptions::default()).unwrap();
        wait_for(&network, 4_000_000);
        assert_eq!(network.counters().to_clients.dropped_packets > 0, overflows, "{window:?}");
    }
}

#[test]
fn one_deep_queue_delays_what_comes_to_it() {
    let mut options = card(1, Discipline::Fifo);
    options.tcp.receive_buffer_bytes_max = None;
    options.to_clients.limit = QueueLimit::Packets(400);
    let Some(network) = network(options) else { return };
    let _streams = Streams::start(&network, &StreamOptions::default()).unwrap();
    wait_for(&network, 4_000_000);
    // A full queue of 400 packets is 300 ms; a quarter of that is far from an empty one.
    assert!(network.counters().to_clients.longest_wait > MS * 75);
}

#[test]
fn every_datagram_is_counted_once() {
    let options = DirectionOptions { loss: 0.5, ..Default::default() };
    let mut options = NetworkOptions::symmetric(2, options);
    options.to_server.loss = 0.0;
    let Some(network) = network(options) else { return };
    let bind = |endpoint: &netlab::packet::Endpoint| {
        endpoint.inside(|| UdpSocket::bind((endpoint.address(), 7000)).unwrap()).unwrap()
    };
    let (server, client) = (bind(network.server()), bind(&network.clients()[1]));
    for _ in 0..100 {
        server.send_to(&[0; 100], client.local_addr().unwrap()).unwrap();
        client.send_to(&[0; 50], server.local_addr().unwrap()).unwrap();
        server.send_to(&[0; 10], "10.98.0.99:7000").unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut counters = network.counters();
    let arrived = |counters: &NetworkCounters| {
        let down = &counters.to_clients;
        [
            counters.misdirected_packets,
            counters.to_server.delivered.packets,
            down.delivered.packets + down.lost_packets,
        ]
    };
    while arrived(&counters).iter().any(|packets| *packets < 100) {
        assert!(Instant::now() < deadline, "{counters:?}");
        thread::sleep(MS);
        counters = network.counters();
    }
    let down = counters.to_clients;
    assert_eq!(down.delivered.packets + down.lost_packets, 100);
    assert_eq!(down.delivered.bytes, down.delivered.packets * 128);
    assert!(down.lost_packets > 0 && down.delivered.packets > 0);
    assert_eq!(counters.to_server.delivered.bytes, 100 * 78);
}

#[test]
fn a_link_is_calibrated_before_use() {
    let mut options = card(2, Discipline::MultiQueue { queues: 8 });
    options.to_server.delay = MS * 4;
    options.to_server.rate_bytes_per_second = None;
    let Some(network) = network(options) else { return };
    let calibration = network.calibrate().unwrap();
    assert_eq!(calibration.links.len(), 2);
    for link in calibration.links {
        assert!(link.round_trip_min >= MS * 5 && link.round_trip >= link.round_trip_min, "{link:?}");
        assert!(link.to_client_bytes_per_second.unwrap() > 0.0);
        assert_eq!(link.to_server_bytes_per_second, None);
    }
}

#[test]
fn a_link_that_loses_everything_is_not_measured() {
    let options = NetworkOptions::symmetric(1, DirectionOptions { loss: 1.0, ..Default::default() });
    let Some(network) = network(options) else { return };
    let error = network.calibrate().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("ask for less loss"), "{error}");
}

#[test]
fn an_ordinary_user_may_have_a_network_in_a_user_namespace() {
    if access() != Ok(Access::Here) {
        return eprintln!("skipped: {:?}", access());
    }
    let mut again = in_user_namespace(env::current_exe().unwrap());
    let output = again.args(["--exact", "every_datagram_is_counted_once", "--nocapture"]).output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if said.starts_with("unshare:") {
        return eprintln!("skipped: {said}");
    }
    assert!(output.status.success() && said.contains("1 passed") && !said.contains("skipped"), "{said}");
}

#[test]
fn missing_kernel_feature_is_named() {
    let Some(network) = network(card(1, Discipline::Fifo)) else { return };
    let options = StreamOptions { congestion_control: Some("no-such-one".into()), ..Default::default() };
    assert!(Streams::start(&network, &options).is_err());
    let mut options = card(1, Discipline::Fifo);
    options.tcp.congestion_control = Some("no-such-one".into());
    let error = Network::start(options).unwrap_err().to_string();
    assert!(error.contains("no-such-one") && error.contains("cubic"), "{error}");
}
