//! `--push`: what a Pushgateway is told, and what is said when it cannot be.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use bench::results::Results;

use crate::support::Place;

const SIZES: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 10\n";

/// One request: its first line, its headers by their names in small letters, its body.
struct Received {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

/// Stands in for a gateway that gives one `answer`.
fn gateway(answer: &'static str) -> (SocketAddr, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let headers: BTreeMap<String, String> = lines[1..]
            .iter()
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
        Received { line: lines.swap_remove(0), headers, body: String::from_utf8(body).unwrap() }
    });
    (address, serving)
}

/// Every value of the text by its name and labels. Each has a type before it.
fn values(text: &str) -> BTreeMap<(String, BTreeMap<String, String>), f64> {
    let mut typed = String::new();
    let mut values = BTreeMap::new();
    assert!(text.ends_with('\n'), "the format wants a last line that ends");
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            if let Some(gauge) = comment.strip_prefix("TYPE ") {
                typed = gauge.strip_suffix(" gauge").unwrap().to_owned();
            }
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap();
        assert_eq!(name, typed, "{line}");
        let (labels, value) = rest.rsplit_once("\"} ").unwrap();
        let labels = labels.split("\",").map(|label| label.split_once("=\"").unwrap());
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(values.insert((name.to_owned(), labels), value.parse().unwrap()), None, "{line}");
    }
    values
}

/// Measures with `--push` and gives the exit code, what was said, and the results.
fn measured(place: &Place, push: &str) -> (i32, String, Results) {
    let experiment = place.experiment("create", "op/s", SIZES);
    let arguments =
        ["--experiment", &experiment, "--runs", "2", "--rtt-ms", "0", "--out", "out", "--push", push];
    let output = place.bench(&arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    assert!(place.path("out").join("report.html").exists());
    (output.status.code().unwrap(), said, results)
}

#[test]
fn a_gateway_gets_every_mean_ratio_and_count_in_one_request() {
    let place = Place::new();
    let (address, serving) = gateway("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let (code, said, results) = measured(&place, &format!("http://{address}"));
    let received = serving.join().unwrap();
    assert_eq!(code, 0, "{said}");
    assert_eq!(received.line, "PUT /metrics/job/primetime HTTP/1.1");
    assert_eq!(received.headers["host"], address.to_string());
    assert_eq!(received.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let values = values(&received.body);
    assert_eq!(results.cells.len(), 2);
    for cell in &results.cells {
        let setting = &cell.setting;
        let value = |name: &str| {
            let mut own = values.iter().filter(|((gauge, labels), _)| {
                *gauge == format!("primetime_bench_{name}") && labels.get("version") == Some(&setting.version)
            });
            let ((_, labels), value) = own.next().unwrap_or_else(|| panic!("{name} in {}", received.body));
            assert!(own.next().is_none(), "{name} is there twice");
            for (label, told) in
                [("experiment", "create"), ("rtt_ms", "0"), ("server", "builtin"), ("unit", "op/s")]
            {
                assert_eq!(labels[label], told);
            }
            *value
        };
        let [low, high] = cell.ci95.unwrap();
        assert_eq!([value("mean"), value("mean_low"), value("mean_high")], [cell.mean, low, high]);
        assert_eq!(value("median"), cell.median_run().unwrap().value);
        assert_eq!(value("requests_per_operation"), cell.rpcs_per_operation().unwrap());
        assert_eq!(value("requests_compound_floor"), 1.0);
    }
    let ratios: Vec<_> = values.iter().filter(|((name, _), _)| name == "primetime_bench_ratio").collect();
    let [((_, labels), ratio)] = ratios[..] else { panic!("{ratios:?}") };
    assert_eq!((labels["baseline"].as_str(), labels["candidate"].as_str()), ("3", "4.1"));
    assert_eq!(Some(*ratio), results.comparisons[0].ratio);
}

#[test]
fn results_that_are_there_are_pushed_into_a_group_of_ones_own() {
    let place = Place::new();
    std::fs::create_dir(place.path("out")).unwrap();
    bench::samples::results().save(&place.path("out").join("results.json")).unwrap();
    let (address, serving) = gateway("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    let group = format!("http://{address}/metrics/job/nightly/instance/lab");
    let output = place.bench(&["report", "out", "--push", &group]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let received = serving.join().unwrap();
    assert_eq!(received.line, "PUT /metrics/job/nightly/instance/lab HTTP/1.1");
    assert_eq!(received.body, bench::push::exposition(&bench::samples::results()));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = place.bench(&["report", "out", "--push", &format!("http://{nobody}")]);
    assert_eq!(output.status.code(), Some(1), "nothing else was asked for");
}

#[test]
fn a_gateway_that_refuses_or_is_not_there_costs_no_result() {
    let place = Place::new();
    let body = "HTTP/1.1 400 Bad Request\r\nContent-Length: 22\r\n\r\ntoo many\u{7} names\nsecond";
    let (address, serving) = gateway(body);
    let (code, said, _) = measured(&place, &format!("http://{address}"));
    serving.join().unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("were not pushed: http://127.0.0.1:"), "{said}");
    assert!(said.contains("answers 400 Bad Request: too many names; name a Pushgateway"), "{said}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, said, _) = measured(&place, &format!("http://{nobody}"));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("cannot reach http://{nobody}/metrics/job/primetime: ")), "{said}");
}

#[test]
fn an_address_that_is_none_is_refused_before_anything_is_measured() {
    let place = Place::new();
    for (address, said) in
        [("https://gateway", "only http is spoken"), ("gateway:9091", "write http://host:9091")]
    {
        let output = place.bench(&["--quick", "--push", address]);
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{address}");
        assert!(!place.path("primetime-report").exists());
    }
}
