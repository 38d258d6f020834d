//! fio, one job of one thread that waits for each read.

use std::path::Path;
use std::process::Command;

use bench::generator::Reads;

use crate::Rates;

/// Lets fio read `file`, with `more` options than its own.
pub(crate) fn rates(file: &Path, reads: Reads, more: &[String]) -> Result<Rates, String> {
    let mut command = Command::new("fio");
    command.args([
        "--output-format=json",
        "--name=reads",
        "--ioengine=psync",
        "--iodepth=1",
        "--thread",
        "--time_based",
    ]);
    command.args([
        format!("--filename={}", file.display()),
        format!("--rw={}", if reads.random { "randread" } else { "read" }),
        format!("--bs={}", reads.io_bytes),
        format!("--runtime={}ms", (reads.seconds * 1000.0).round()),
        format!("--direct={}", u8::from(!reads.data_cache)),
    ]);
    // As ours: a place may be drawn again, and the kernel is told nothing of what will be read.
    command.args(["--norandommap", "--randrepeat=0", "--fadvise_hint=0"]);
    let output = command.args(more).output().map_err(|error| format!("fio cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // What it has to say to people comes before.
    let json = text.find('{').map_or("", |start| &text[start..]);
    let report: serde_json::Value = serde_json::from_str(json)
        .map_err(|_| format!("fio failed: {}{text}", String::from_utf8_lossy(&output.stderr)))?;
    let job = &report["jobs"][0];
    let number = |value: &serde_json::Value| value.as_f64().ok_or_else(|| "fio told no rate".to_owned());
    let wall = number(&job["read"]["bw_bytes"])?;
    let busy = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    Ok(Rates { wall, processor: wall / busy })
}
