//! The Linux client, in a guest.

use std::time::Duration;

use netlab::guest::{GuestOptions, Lab};

use crate::place::Place;
use crate::{ARMS, Measured, Results, WORKLOADS, Wanted};

pub(crate) fn measure(lab: &Lab, place: &Place, wanted: &Wanted, delay_ms: u32) -> Results {
    let arms: Vec<_> = wanted
        .arms
        .iter()
        .map(|arm| {
            let port = place.server(*arm).port();
            let options = match arm.version {
                client::Version::V3 => format!("vers=3,nolock,mountproto=tcp,mountport={port}"),
                _ => "vers=4.1".to_owned(),
            };
            format!("{}:{port}:{options}", arm.name)
        })
        .collect();
    let env = [
        ("ARMS", arms.join(" ")),
        ("WORKLOADS", wanted.workloads.join(" ")),
        ("FILES", wanted.size.files.to_string()),
    ];
    let options = GuestOptions {
        name: "linux".into(),
        script: include_str!("guest.sh").into(),
        files: vec![
            ("work.pl".into(), include_bytes!("work.pl").to_vec()),
            ("tree.tar".into(), std::fs::read(place.tar()).unwrap()),
        ],
        memory_mb: 1024,
        disk_mb: None,
        time_limit: Duration::from_secs(7200),
        netem_delay_ms: (delay_ms > 0).then_some(delay_ms),
        env: env.map(|(key, value)| (key.to_owned(), value)).into(),
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    result.output.lines().filter_map(parse).collect()
}

/// `WORKLOAD linux-ARM SECONDS REQUESTS`
fn parse(line: &str) -> Option<((&'static str, &'static str), Measured)> {
    let mut words = line.split(' ');
    let workload = words.next()?;
    let workload = WORKLOADS.into_iter().find(|other| *other == workload)?;
    let arm = words.next()?.strip_prefix("linux-")?;
    let arm = ARMS.iter().find(|other| other.name == arm)?.name;
    let seconds = words.next()?.parse().ok()?;
    let requests = words.next()?.parse().ok()?;
    Some(((arm, workload), Measured { seconds, requests }))
}
