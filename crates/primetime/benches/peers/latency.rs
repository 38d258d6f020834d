//! How long single requests take, one at a time.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::load::record_at;
use crate::requests::Requests;

/// Of the times from request to reply, in microseconds.
#[derive(Clone, Copy)]
pub struct Percentiles {
    pub p50_us: f64,
    pub p99_us: f64,
}

/// The means of all rounds, as a cell of a table.
pub fn means(all: &[Percentiles]) -> String {
    let mean = |which: fn(&Percentiles) -> f64| all.iter().map(which).sum::<f64>() / all.len() as f64;
    format!("{:.0} µs, {:.0} µs", mean(|it| it.p50_us), mean(|it| it.p99_us))
}

/// Sends one request after the other for `duration`, each when the one before it is answered.
pub fn one_by_one(mut requests: Box<dyn Requests>, duration: Duration) -> Percentiles {
    let mut stream = requests.connect();
    let (mut out, mut input) = (Vec::new(), vec![0; 64 << 10]);
    let (mut times, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < duration {
        out.clear();
        requests.append(0, &mut out);
        let asked = Instant::now();
        stream.write_all(&out).expect("a request");
        let mut filled = 0;
        while record_at(&input[..filled]).is_none_or(|length| filled < 4 + length) {
            let count = stream.read(&mut input[filled..]).expect("a reply");
            assert!(count > 0, "the server closed the connection");
            filled += count;
        }
        times.push(asked.elapsed());
        assert_eq!(requests.lane_of(&input[4..filled]), 0);
    }
    requests.finish(stream);
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e6;
    Percentiles { p50_us: at(0.5), p99_us: at(0.99) }
}
