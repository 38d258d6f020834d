//! Prints what a link really adds to a round trip and how many bytes it carries, beside a direct connection.
//!
//! `cargo run --release -p primetime-netlab --example relay_calibration`
#![allow(clippy::print_stdout)]

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use netlab::{LinkOptions, Relay};

const MESSAGE_BYTES: usize = 128;
const STREAM_BYTES: u64 = 2 << 30;

fn main() -> io::Result<()> {
    let echo = serve(|mut stream| {
        let mut message = [0; MESSAGE_BYTES];
        while stream.read_exact(&mut message).is_ok() && stream.write_all(&message).is_ok() {}
    })?;
    let sink = serve(|mut stream| {
        let mut buffer = vec![0; 1 << 20];
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
        // The answer tells the sender that everything has arrived; it is gone if it does not want to know.
        let _ = stream.write_all(&[1]);
    })?;

    let direct = round_trips(echo)?;
    println!("round trip of {MESSAGE_BYTES} bytes, in microseconds; the relay's share of one processor");
    println!("{:>10} {:>10} {:>10} {:>10} {:>10} {:>8}", "link", "median", "p99", "added", "error", "cpu");
    println!("{:>10} {:>10.1} {:>10.1}", "direct", direct.median_us, direct.p99_us);
    for round_trip_ms in [0.0, 0.2, 1.0, 10.0] {
        let relay = Relay::start(echo, LinkOptions::round_trip_ms(round_trip_ms))?;
        let (started, used) = (Instant::now(), relay_cpu());
        let through = round_trips(relay.address())?;
        let cpu = (relay_cpu() - used) / started.elapsed().as_secs_f64();
        let added = through.median_us - direct.median_us;
        let error = added - round_trip_ms * 1e3;
        println!(
            "{round_trip_ms:>8}ms {:>10.1} {:>10.1} {added:>10.1} {error:>10.1} {:>7.1}%",
            through.median_us,
            through.p99_us,
            cpu * 100.0
        );
    }

    println!("\none stream, MB/s");
    println!("{:>10} {:>10.0}", "direct", stream(sink)?);
    for round_trip_ms in [0.0, 1.0, 10.0] {
        let relay = Relay::start(sink, LinkOptions::round_trip_ms(round_trip_ms))?;
        println!("{round_trip_ms:>8}ms {:>10.0}", stream(relay.address())?);
    }
    for rate in [10_000_000, 125_000_000] {
        let relay = Relay::start(sink, LinkOptions::round_trip_ms(1.0).with_rate(rate))?;
        println!("{:>6}MB/s {:>10.1}", rate / 1_000_000, stream_bytes(relay.address(), rate)?);
    }
    Ok(())
}

fn serve(handle: fn(TcpStream)) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            thread::spawn(move || handle(stream));
        }
    });
    Ok(address)
}

struct RoundTrips {
    median_us: f64,
    p99_us: f64,
}

fn round_trips(address: SocketAddr) -> io::Result<RoundTrips> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut message = [7; MESSAGE_BYTES];
    let mut times = Vec::new();
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        let sent_at = Instant::now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        times.push(sent_at.elapsed().as_secs_f64() * 1e6);
    }
    // The first one carries the delay of the handshake.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(RoundTrips { median_us: times[times.len() / 2], p99_us: times[times.len() * 99 / 100] })
}

fn stream(address: SocketAddr) -> io::Result<f64> {
    stream_bytes(address, STREAM_BYTES)
}

fn stream_bytes(address: SocketAddr, bytes: u64) -> io::Result<f64> {
    let mut stream = TcpStream::connect(address)?;
    let buffer = vec![7; 1 << 20];
    let started = Instant::now();
    let mut left = bytes;
    while left > 0 {
        let count = left.min(buffer.len() as u64) as usize;
        stream.write_all(&buffer[..count])?;
        left -= count as u64;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_exact(&mut [0])?;
    Ok(bytes as f64 / started.elapsed().as_secs_f64() / 1e6)
}

/// Seconds of processor time that the thread of the newest link has used.
fn relay_cpu() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let relay = threads.map(|entry| entry.path()).find(|path| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "netlab-relay")
    });
    let schedstat = relay.and_then(|path| std::fs::read_to_string(path.join("schedstat")).ok());
    schedstat.and_then(|text| text.split(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
