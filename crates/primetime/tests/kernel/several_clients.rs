//! One kernel as several clients, each in a network namespace: what one of them holds is recalled for
//! another, by this server and by Linux's own. With `--nocapture` the tests say how long an open took that
//! waited for that.

use bench::results::{Cell, Results, Run};
use netlab::guest::{GuestOptions, Lab};

use crate::foreign::knfsd::{Knfsd, KnfsdOptions};
use crate::guests::TIME_LIMIT;
use crate::server::{PORT, Server};

/// Linux sends an OPEN again that was answered with NFS4ERR_DELAY when a tenth of a second has passed, less a
/// tick of its clock.
const PAUSE_MS: f64 = 90.0;

/// A size of the experiment `delegation-recall`, and its files.
struct Size {
    option: &'static str,
    files: u64,
}

const SMALLEST: Size = Size { option: "--quick", files: 20 };
const DEFAULT: Size = Size { option: "", files: 100 };

/// What the experiment found at the server at `url`, where one client holds and one opens.
fn measured(lab: &Lab, url: &str, size: &Size, runs: u32) -> Cell {
    // The guest does not see every place of its host.
    std::fs::copy(env!("CARGO_BIN_EXE_primetime"), lab.shared().join("primetime")).unwrap();
    let env = [("URL", url.to_owned()), ("RUNS", runs.to_string()), ("SIZE", size.option.to_owned())];
    let options = GuestOptions {
        name: "several".into(),
        script: include_str!("several_clients.sh").into(),
        env: env.map(|(key, value)| (key.to_owned(), value)).into(),
        time_limit: TIME_LIMIT,
        memory_mb: 512,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    let results: Results = serde_json::from_str(&result.read("results.json").unwrap()).unwrap();
    let pair = results.cells.into_iter().find(|cell| cell.setting.levels["clients"] == "2").unwrap();
    for run in &pair.run_details {
        eprintln!("{url}: {:?} {:?}", run.latency_ms.unwrap(), run.rpcs);
        assert_eq!(run.operations, size.files);
    }
    pair
}

/// How often OPEN was sent, and how many delegations were given back.
fn opens_and_returns(run: &Run) -> (u64, u64) {
    (run.rpcs["OPEN"], run.rpcs["DELEGRETURN"])
}

fn held(size: &Size) {
    let Some(lab) = Lab::for_test() else { return };
    let _server = Server::start(&lab);
    let pair = measured(&lab, &format!("nfs://{}:{PORT}/", lab.host_address()), size, 2);
    for run in &pair.run_details {
        assert_eq!(opens_and_returns(run), (size.files, size.files), "each was held, none sent away");
    }
}

fn sent_away(size: &Size) {
    let Some(lab) = Lab::for_test() else { return };
    let server = Knfsd::start(&lab, TIME_LIMIT, &KnfsdOptions { lease_seconds: 90, ..Default::default() });
    // It keeps in mind for a minute, and roughly, which files were recalled: a second run would have fewer
    // delegations.
    let pair = measured(&lab, &format!("nfs://{}/", server.place().host), size, 1);
    let run = &pair.run_details[0];
    // It delegates nothing before its first callback was answered: the first files may be early.
    let (opens, returns) = opens_and_returns(run);
    assert!(returns > size.files / 2, "{:?}", run.rpcs);
    assert!(opens >= size.files + returns, "each was answered with DELAY, and sent again: {:?}", run.rpcs);
    assert!(run.latency_ms.unwrap().p50 > PAUSE_MS);
    server.stop();
}

#[test]
fn two_clients_of_one_kernel_recall_delegations_and_repeat_no_open() {
    held(&SMALLEST);
}

#[test]
fn linux_server_delays_each_of_their_opens_by_a_tenth_of_a_second() {
    sent_away(&SMALLEST);
}

#[test]
#[ignore = "a minute: the default size of the experiment, with the same counts for each file"]
fn both_do_so_at_the_default_size() {
    held(&DEFAULT);
    sent_away(&DEFAULT);
}
