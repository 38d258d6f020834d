//! Throughput of tokens on one thread, in megabytes of message per second.
//!
//! `cargo bench -p primetime-gss-krb5`
#![allow(clippy::disallowed_methods, reason = "it measures with a clock")]
#![allow(missing_docs, clippy::print_stdout, reason = "a program that prints figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use gss_krb5::{Context, Enctype, Error, Role, WrapProtection};

/// How long each figure is measured.
const MEASURED: Duration = Duration::from_millis(300);

/// Returns megabytes per second of `step`, which works on `bytes` bytes.
fn throughput(bytes: usize, mut step: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    step()?;
    let start = Instant::now();
    let mut steps = 0_u32;
    while start.elapsed() < MEASURED {
        for _ in 0..(1 << 20) / bytes {
            step()?;
        }
        steps += ((1 << 20) / bytes) as u32;
    }
    Ok(f64::from(steps) * bytes as f64 / start.elapsed().as_secs_f64() / 1e6)
}

fn report(enctype: Enctype, bytes: usize) -> Result<(), Error> {
    let key = vec![0x5a; enctype.key_bytes()];
    let server = Context::new(Role::Acceptor, enctype, &key, true, 0)?;
    let client = Context::new(Role::Initiator, enctype, &key, true, 0)?;
    let message: Vec<u8> = (0..bytes).map(|index| index as u8).collect();

    let mut mic = Vec::new();
    let sign = throughput(bytes, || {
        mic.clear();
        server.mic_into(server.next_sequence(), &[black_box(&message)], &mut mic);
        Ok(())
    })?;
    let verify = throughput(bytes, || client.verify_mic(black_box(&mic), &message).map(|_| ()))?;

    let mut figures = Vec::new();
    for protection in [WrapProtection::Integrity, WrapProtection::Privacy([0x17; 16])] {
        let before = protection.bytes_before();
        let mut buffer = Vec::with_capacity(bytes + server.wrap_overhead_bytes(&protection));
        buffer.resize(before + bytes, 0);
        figures.push(throughput(bytes, || {
            buffer.truncate(before + bytes);
            server.wrap_in_place(server.next_sequence(), black_box(&mut buffer), 0, protection)
        })?);
        // A token can be opened in place once, so each step copies it first. The copy is part of the figure.
        let token = server.wrap(0, &message, protection);
        let mut received = token.clone();
        figures.push(throughput(bytes, || {
            received.copy_from_slice(&token);
            client.unwrap_in_place(black_box(&mut received)).map(|_| ())
        })?);
    }
    print!("{:26} {:>5} KiB {sign:>9.0} {verify:>9.0}", enctype.name(), bytes / 1024);
    for figure in figures {
        print!(" {figure:>9.0}");
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Error> {
    print!("{:36}", "MB/s on one thread, of messages of");
    for operation in ["mic", "verify", "wrap", "unwrap", "seal", "unseal"] {
        print!(" {operation:>9}");
    }
    println!();
    for enctype in Enctype::ALL {
        for bytes in [4 << 10, 1 << 20] {
            report(enctype, bytes)?;
        }
    }
    Ok(())
}
