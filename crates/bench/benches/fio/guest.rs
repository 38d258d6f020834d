//! The same in a guest, on mounts of its kernel.

use std::time::Duration;

use netlab::guest::{GuestOptions, Lab};

use crate::options::Options;

/// Both mounts, each row in pairs, and as long again for what lies between; and the start of the guest.
const START: Duration = Duration::from_secs(300);
/// Of the guest beside the file, which lies in memory and once more in the cache of each client.
const MEMORY_MB: u32 = 512;

/// Prints what a guest finds in which the kernel serves NFS to itself.
pub(crate) fn run(options: &Options, rows: usize) -> Result<(), String> {
    let lab = Lab::new().map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    // The guest does not see every place of its host.
    std::fs::copy(own, lab.shared().join("fio-beside")).map_err(|error| error.to_string())?;
    let fio: Vec<&str> = options.fio.iter().map(|option| option.trim_start_matches("--")).collect();
    let env = [
        ("PAIRS", options.pairs.to_string()),
        ("SECONDS_EACH", options.seconds.to_string()),
        ("MIB", options.mib.to_string()),
        ("FIO", fio.join(",")),
    ];
    let seconds = options.seconds * (options.pairs * rows * 2 * 2 * 2) as f64;
    let guest = GuestOptions {
        name: "beside".into(),
        script: include_str!("guest.sh").into(),
        env: env.map(|(key, value)| (key.to_owned(), value)).into(),
        memory_mb: MEMORY_MB + 3 * u32::try_from(options.mib).map_err(|error| error.to_string())?,
        time_limit: START + Duration::from_secs_f64(seconds),
        ..GuestOptions::default()
    };
    let result = lab.boot(&guest).and_then(|guest| guest.wait()).map_err(|error| error.to_string())?;
    match result.exit_code {
        Some(0) => {
            println!("{}", result.output.trim_end());
            Ok(())
        }
        _ => Err(format!("{}\n{}", result.output, result.console)),
    }
}
