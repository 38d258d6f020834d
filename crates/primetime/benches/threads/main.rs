//! Creates and locked reads by the number of threads in each client, NFSv3 beside NFSv4.1, with delays:
//! `cargo bench -p primetime --bench threads [-- create|locked-read]`. The figures are those of `primetime
//! bench`, with intervals; nothing here is asserted.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::process::Command;

const THREADS: [u32; 5] = [1, 8, 64, 256, 512];
const DELAYS_MS: &str = "0,1,10";

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with("--"));
    for kind in ["create", "locked-read"] {
        if wanted.as_ref().is_none_or(|wanted| wanted == kind) {
            measure(kind);
        }
    }
}

fn measure(kind: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.current_dir(directory.path()).arg("bench");
    for threads in THREADS {
        let file = format!("{kind}-{threads}.toml");
        std::fs::write(directory.path().join(&file), experiment(kind, threads)).unwrap();
        command.args(["--experiment", &file]);
    }
    let output = command.args(["--rtt-ms", DELAYS_MS, "--out", "out"]).output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn experiment(kind: &str, threads: u32) -> String {
    let workload = match kind {
        "create" => format!("threads = {threads}\nfile_bytes = 0\nfiles = 8000\nseconds = 0.5\n"),
        _ => format!(
            "threads = {threads}\nfiles = 1024\nrounds = 10\nfile_bytes = \"4 KiB\"\nreopen = true\nseconds \
             = 0.5\n"
        ),
    };
    format!(
        "name = \"{kind}-{threads}\"\nquestion = \"How does it grow with threads?\"\nstudy = \";login: June \
         2015\"\n\
         [metric]\nname = \"throughput\"\nunit = \"op/s\"\nbetter = \"higher\"\n\
         [default]\nclients = 1\n[default.workload.{kind}]\n{workload}"
    )
}
