//! What a link promises about bytes, ends, bounds and cuts. No test looks at how long anything takes.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use netlab::{LinkOptions, Relay};

/// Guards against a hang; no test comes near it unless it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn connect(relay: &Relay) -> TcpStream {
    let stream = TcpStream::connect(relay.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection through the link, both ends.
fn pair(relay: &Relay, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = connect(relay);
    let (server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    (client, server)
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "gave up waiting until {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Bytes that differ between connections and directions and repeat with no power of two.
fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at * 31 + seed * 17 + at / 251) % 253) as u8).collect()
}

fn exchange_on_many_connections(options: LinkOptions, connections: usize, length: usize) {
    let (listener, target) = listen();
    let relay = Relay::start(target, options).unwrap();
    let server = thread::spawn(move || {
        let workers = (0..connections).map(|_| {
            let (mut stream, _) = listener.accept().unwrap();
            thread::spawn(move || {
                let mut seed = [0];
                stream.read_exact(&mut seed).unwrap();
                let mut writer = stream.try_clone().unwrap();
                let sender = thread::spawn(move || {
                    writer.write_all(&pattern(usize::from(seed[0]) + 100, length)).unwrap();
                    writer.shutdown(Shutdown::Write).unwrap();
                });
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                sender.join().unwrap();
                assert!(got == pattern(usize::from(seed[0]), length), "to the target");
            })
        });
        workers.collect::<Vec<_>>().into_iter().for_each(|worker| worker.join().unwrap());
    });
    let clients = (0..connections).map(|seed| {
        let mut stream = connect(&relay);
        thread::spawn(move || {
            let mut writer = stream.try_clone().unwrap();
            let sender = thread::spawn(move || {
                writer.write_all(&[seed as u8]).unwrap();
                // Odd pieces, so that reads and writes of the link fall differently each time.
                pattern(seed, length)
                    .chunks(1 + seed * 7919)
                    .for_each(|piece| writer.write_all(piece).unwrap());
                writer.shutdown(Shutdown::Write).unwrap();
            });
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            sender.join().unwrap();
            assert!(got == pattern(seed + 100, length), "to the client");
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    server.join().unwrap();
    wait_until("all connections are closed", || relay.stats().connections_open == 0);
    let stats = relay.stats();
    let payload = (connections * length) as u64;
    assert_eq!(stats.connections_accepted, connections as u64);
    assert_eq!(stats.bytes_to_target, payload + connections as u64);
    assert_eq!((stats.bytes_to_clients, stats.bytes_in_flight), (payload, 0));
}

#[test]
fn bytes_arrive_exactly_both_ways_on_many_connections_with_delay() {
    exchange_on_many_connections(LinkOptions::round_trip_ms(2.0), 24, 300_007);
}

#[test]
fn bytes_arrive_exactly_both_ways_without_delay() {
    exchange_on_many_connections(LinkOptions::default(), 12, 1_000_003);
}

#[test]
fn bytes_arrive_exactly_when_the_link_holds_very_few_of_them() {
    let options = LinkOptions { in_flight_bytes_max: 1_000, ..LinkOptions::round_trip_ms(0.2) };
    exchange_on_many_connections(options, 4, 100_003);
}

#[test]
fn bytes_arrive_exactly_at_a_rate() {
    exchange_on_many_connections(LinkOptions::round_trip_ms(1.0).with_rate(20_000_000), 4, 200_003);
}

#[test]
fn a_half_closed_connection_still_carries_the_other_direction() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(1.0)).unwrap();
    let (mut client, mut server) = pair(&relay, &listener);
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut question = String::new();
    server.read_to_string(&mut question).unwrap();
    assert_eq!(question, "question");
    for _ in 0..100 {
        server.write_all(b"answer").unwrap();
    }
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer".repeat(100));
    wait_until("the connection is closed", || relay.stats().connections_open == 0);
}

#[test]
fn the_side_that_accepts_may_speak_first() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(0.2)).unwrap();
    let (mut client, mut server) = pair(&relay, &listener);
    server.write_all(b"welcome").unwrap();
    let mut welcome = [0; 7];
    client.read_exact(&mut welcome).unwrap();
    assert_eq!(&welcome, b"welcome");
}

#[test]
fn a_sender_stalls_when_the_link_is_full_and_no_byte_is_lost() {
    const BOUND: usize = 300_000;
    let (listener, target) = listen();
    let options = LinkOptions { in_flight_bytes_max: BOUND, ..LinkOptions::round_trip_ms(1.0) };
    let relay = Relay::start(target, options).unwrap();
    let (mut client, mut server) = pair(&relay, &listener);
    client.set_nonblocking(true).unwrap();
    let chunk = pattern(1, 64 << 10);
    let mut sent = Vec::new();
    let mut fill = |sent: &mut Vec<u8>| loop {
        match client.write(&chunk) {
            Ok(count) => sent.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    };
    wait_until("the link is full and the sender cannot go on", || {
        let before = sent.len();
        fill(&mut sent);
        let in_flight = relay.stats().bytes_in_flight;
        assert!(in_flight <= BOUND as u64, "{in_flight} bytes in flight");
        before == sent.len() && in_flight == BOUND as u64
    });
    let mut got = vec![0; sent.len()];
    server.read_exact(&mut got).unwrap();
    assert!(got == sent);
}

#[test]
fn a_target_that_refuses_ends_the_connection_of_the_client() {
    let (listener, target) = listen();
    drop(listener);
    for round_trip_ms in [0.0, 2.0] {
        let relay = Relay::start(target, LinkOptions::round_trip_ms(round_trip_ms)).unwrap();
        let mut client = connect(&relay);
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        wait_until("the connection is closed", || relay.stats().connections_open == 0);
        assert_eq!(relay.stats().connections_refused, 1);
    }
}

#[test]
fn a_reset_travels_to_the_other_end() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(1.0)).unwrap();
    let (client, mut server) = pair(&relay, &listener);
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(server.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);

    let (mut client, server) = pair(&relay, &listener);
    rustix::net::sockopt::set_socket_linger(&server, Some(Duration::ZERO)).unwrap();
    drop(server);
    assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    wait_until("both connections are closed", || relay.stats().connections_open == 0);
}

#[test]
fn a_reset_reaches_a_link_that_is_full_because_nobody_reads() {
    let (listener, target) = listen();
    let options = LinkOptions { in_flight_bytes_max: 10_000, ..LinkOptions::round_trip_ms(1.0) };
    let relay = Relay::start(target, options).unwrap();
    let (mut client, server) = pair(&relay, &listener);
    client.set_nonblocking(true).unwrap();
    wait_until("the link is full", || {
        while client.write(&[7; 64 << 10]).is_ok() {}
        relay.stats().bytes_in_flight == 10_000
    });
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    wait_until("the connection is closed", || relay.stats().connections_open == 0);
    assert_eq!(relay.stats().bytes_in_flight, 0);
    drop(server);
}

#[test]
fn a_cut_resets_both_ends_of_every_connection_and_new_ones_work() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(20.0)).unwrap();
    let mut pairs: Vec<_> = (0..5).map(|_| pair(&relay, &listener)).collect();
    wait_until("all are open", || relay.stats().connections_open == 5);
    pairs[0].0.write_all(b"in flight").unwrap();
    assert_eq!(relay.cut(), 5);
    assert_eq!((relay.stats().connections_open, relay.stats().bytes_in_flight), (0, 0));
    for (client, server) in &mut pairs {
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        // On a busy machine what was written may have arrived before the cut.
        let ended = server.read_to_end(&mut Vec::new());
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    assert_eq!(relay.cut(), 0);

    let (mut client, mut server) = pair(&relay, &listener);
    client.write_all(b"again").unwrap();
    let mut got = [0; 5];
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"again");
}

#[tokio::test]
async fn another_round_trip_is_that_of_bytes_which_arrive_later() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(60_000.0)).unwrap();
    relay.set_round_trip(Duration::ZERO).await.unwrap();
    let (mut client, mut server) = pair(&relay, &listener);
    client.write_all(b"at once").unwrap();
    let mut got = [0; 7];
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"at once");
    relay.set_round_trip(Duration::from_secs(60)).await.unwrap();
    client.write_all(b"held").unwrap();
    wait_until("the link holds it", || relay.stats().bytes_in_flight == 4);
    relay.set_round_trip(Duration::ZERO).await.unwrap();
    client.write_all(b", and what follows").unwrap();
    wait_until("the link holds both", || relay.stats().bytes_in_flight == 22);
    assert_eq!(relay.stats().bytes_to_target, 7, "nothing overtakes what is held");
    let too_long = relay.set_round_trip(LinkOptions::ROUND_TRIP_MAX + Duration::from_nanos(1)).await;
    assert_eq!(too_long.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn shutdown_closes_the_listener_and_every_connection() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::round_trip_ms(1.0)).unwrap();
    let address = relay.address();
    let (mut client, mut server) = pair(&relay, &listener);
    relay.shutdown().await;
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
    assert!(matches!(server.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn dropping_a_link_closes_it() {
    let (listener, target) = listen();
    let relay = Relay::start(target, LinkOptions::default()).unwrap();
    let address = relay.address();
    let (mut client, _server) = pair(&relay, &listener);
    drop(relay);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn options_outside_their_bounds_are_invalid_input() {
    let (_listener, target) = listen();
    let default = LinkOptions::default;
    for options in [
        LinkOptions { round_trip: LinkOptions::ROUND_TRIP_MAX + Duration::from_nanos(1), ..default() },
        LinkOptions { rate_bytes_per_second: Some(0), ..default() },
        LinkOptions { in_flight_bytes_max: 0, ..default() },
        LinkOptions::round_trip_ms(f64::INFINITY),
    ] {
        assert_eq!(Relay::start(target, options).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(LinkOptions::round_trip_ms(-1.0), default());
    assert_eq!(LinkOptions::round_trip_ms(f64::NAN), default());
    assert_eq!(LinkOptions::round_trip_ms(0.2).round_trip, Duration::from_micros(200));
}
