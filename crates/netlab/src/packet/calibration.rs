//! What a network really does, measured before it is used: round trips of single datagrams, and trains of
//! datagrams that queue at the bottleneck and arrive as far apart as its rate puts them.

use std::io::{self, ErrorKind};
use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use super::endpoint::Endpoint;
use super::network::Network;
use super::options::{DirectionOptions, QueueLimit};

/// Round trips that are measured on each link; the median of them counts.
const PINGS: usize = 11;

/// Trains in each direction of each link; the median of their rates counts.
const TRAINS: usize = 5;

/// Datagrams in a train: at least two, between which there is a time.
const TRAIN_MAX: u64 = 64;

/// A train lasts about as long as this, unless two datagrams take longer.
const TRAIN_SECONDS: f64 = 0.05;

/// Headers of IPv4 (RFC 791) and UDP (RFC 768).
const HEADER_BYTES: usize = 28;

/// What is waited for longer than it should take.
const PATIENCE: Duration = Duration::from_millis(250);

/// A link that loses this many attempts in a row is not measured.
const ATTEMPTS_MAX: usize = 20;

/// What a network was measured to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The way to each client and back, in their order.
    pub links: Vec<LinkCalibration>,
}

/// What one link was measured to do while nothing else used the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCalibration {
    /// The median round trip of small datagrams.
    pub round_trip: Duration,
    /// The shortest one.
    pub round_trip_min: Duration,
    /// Bytes of IP packets in each second from the server; none where no rate was asked for.
    pub to_client_bytes_per_second: Option<f64>,
    /// Bytes of IP packets in each second to the server; none where no rate was asked for.
    pub to_server_bytes_per_second: Option<f64>,
}

pub(super) fn calibrate(network: &Network) -> io::Result<Calibration> {
    let options = network.options();
    let directions = [&options.to_clients, &options.to_server];
    let links = network.clients().iter().map(|client| calibrate_link(directions, network.server(), client));
    Ok(Calibration { links: links.collect::<io::Result<_>>()? })
}

fn bind(endpoint: &Endpoint) -> io::Result<UdpSocket> {
    endpoint.inside(|| UdpSocket::bind(SocketAddrV4::new(endpoint.address(), 0)))?
}

pub(super) fn calibrate_link(
    [to_client, to_server]: [&DirectionOptions; 2],
    server: &Endpoint,
    client: &Endpoint,
) -> io::Result<LinkCalibration> {
    let (server, client) = (&bind(server)?, &bind(client)?);
    let wait = longest(to_client) + longest(to_server) + PATIENCE;
    let mut round_trips = Vec::new();
    for number in 0..PINGS {
        round_trips.push(ping(client, server, number as u64 * 1000, wait)?);
    }
    round_trips.sort_unstable();
    Ok(LinkCalibration {
        round_trip: round_trips[PINGS / 2],
        round_trip_min: round_trips[0],
        to_client_bytes_per_second: rate(server, client, to_client)?,
        to_server_bytes_per_second: rate(client, server, to_server)?,
    })
}

/// The longest that a packet may be under way when nothing waits before it.
fn longest(direction: &DirectionOptions) -> Duration {
    let sending = direction.rate_bytes_per_second.map_or(0.0, |rate| super::MTU_BYTES as f64 / rate as f64);
    direction.delay + direction.jitter + Duration::from_secs_f64(sending)
}

/// One round trip, asked for again where it is lost; `first` is a number that no earlier one has used.
fn ping(client: &UdpSocket, server: &UdpSocket, first: u64, wait: Duration) -> io::Result<Duration> {
    for attempt in first..first + ATTEMPTS_MAX as u64 {
        let start = Instant::now();
        client.send_to(&attempt.to_be_bytes(), server.local_addr()?)?;
        if !receive(server, attempt, wait)? {
            continue;
        }
        server.send_to(&attempt.to_be_bytes(), client.local_addr()?)?;
        if receive(client, attempt, wait)? {
            return Ok(start.elapsed());
        }
    }
    Err(io::Error::new(
        ErrorKind::TimedOut,
        "the link loses so much that it cannot be measured; ask for less loss",
    ))
}

/// Waits for the datagram with this number; whether it came. Older ones are passed over.
fn receive(socket: &UdpSocket, number: u64, wait: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + wait;
    let mut datagram = [0; 8];
    while arrives(socket, &mut datagram, deadline)? {
        if u64::from_be_bytes(datagram) == number {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a datagram came before the deadline; its first bytes are then in `beginning`.
fn arrives(socket: &UdpSocket, beginning: &mut [u8], deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv_from(beginning) {
            Ok(_) => return Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(false);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The rate from `from` to `to`; none where none was asked for.
fn rate(from: &UdpSocket, to: &UdpSocket, direction: &DirectionOptions) -> io::Result<Option<f64>> {
    let Some(rate) = direction.rate_bytes_per_second else { return Ok(None) };
    let length = train_length(rate, direction.limit);
    let wait = longest(direction)
        + Duration::from_secs_f64(length as f64 * super::MTU_BYTES as f64 / rate as f64)
        + PATIENCE;
    let mut rates = Vec::new();
    for number in 0..(TRAINS + ATTEMPTS_MAX) as u64 {
        // A train of which less than two datagrams arrive says nothing.
        rates.extend(train(from, to, number * TRAIN_MAX, length, wait)?);
        if rates.len() == TRAINS {
            rates.sort_by(f64::total_cmp);
            return Ok(Some(rates[TRAINS / 2]));
        }
    }
    Err(io::Error::new(
        ErrorKind::TimedOut,
        "the link loses so much that its rate cannot be measured; ask for less loss",
    ))
}

/// As many as pass in the time for a train, and not more than the queue takes beside the one that is being
/// sent.
fn train_length(rate: u64, limit: QueueLimit) -> u64 {
    let queued = match limit {
        QueueLimit::Packets(packets) => u64::from(packets),
        QueueLimit::Bytes(bytes) => bytes / super::MTU_BYTES as u64,
    };
    let timely = (rate as f64 * TRAIN_SECONDS / super::MTU_BYTES as f64) as u64;
    timely.clamp(2, TRAIN_MAX).min(queued.max(1) + 1)
}

/// Sends full packets at once and gives the rate at which they arrive, from the first to the last that does.
fn train(
    from: &UdpSocket,
    to: &UdpSocket,
    first: u64,
    length: u64,
    wait: Duration,
) -> io::Result<Option<f64>> {
    let mut datagram = [0; super::MTU_BYTES - HEADER_BYTES];
    for number in first..first + length {
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        from.send_to(&datagram, to.local_addr()?)?;
    }
    let deadline = Instant::now() + wait;
    let mut arrivals: Option<[(u64, Instant); 2]> = None;
    let mut beginning = [0; 8];
    while arrives(to, &mut beginning, deadline)? {
        let (number, now) = (u64::from_be_bytes(beginning), Instant::now());
        if !(first..first + length).contains(&number) {
            continue;
        }
        arrivals = Some([arrivals.map_or((number, now), |[earliest, _]| earliest), (number, now)]);
        if number + 1 == first + length {
            break;
        }
    }
    Ok(arrivals.and_then(|[(first, start), (last, end)]| {
        let bytes = last.saturating_sub(first) as f64 * super::MTU_BYTES as f64;
        let seconds = (end - start).as_secs_f64();
        (bytes > 0.0 && seconds > 0.0).then_some(bytes / seconds)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_fits_into_the_queue_and_into_its_time() {
        assert_eq!(train_length(12_500_000, QueueLimit::Packets(1000)), 64);
        assert_eq!(train_length(300_000, QueueLimit::Packets(1000)), 10);
        assert_eq!(train_length(1000, QueueLimit::Packets(1000)), 2);
        assert_eq!(train_length(12_500_000, QueueLimit::Packets(1)), 2);
        assert_eq!(train_length(12_500_000, QueueLimit::Bytes(15_000)), 11);
    }
}
