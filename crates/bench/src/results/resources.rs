//! What a run took of the machines that clients and server ran on.

use serde::{Deserialize, Serialize};

/// Processor time and disks, from gate to gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Share of the time of all processors in which they worked, for whomever, from 0 to 1.
    pub busy: f64,
    /// Processor time of the clients, in seconds; of the kernel's for them, too.
    pub client_seconds: f64,
    /// The same of the benchmark's own server; none of a server that somebody else started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_seconds: Option<f64>,
    /// Share of the time in which the busiest disk of this machine had requests, from 0 to 1; none where no disk is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// Share of the time of all processors that other machines of the same host took; none where the kernel
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// As [`Resources::busy`], of the server's machine; none unless an agent there tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_busy: Option<f64>,
    /// As [`Resources::disk_busy`], of the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_disk_busy: Option<f64>,
}

impl Resources {
    /// Returns the share of `processors` that other programs, or other machines of the same host, used in
    /// `seconds`. `None` unless the benchmark started the server: any other server may be anywhere.
    #[must_use]
    pub fn used_by_others(&self, seconds: f64, processors: u32) -> Option<f64> {
        let own = self.client_seconds + self.server_seconds?;
        let all = seconds * f64::from(processors);
        (all > 0.0).then(|| (self.busy - own / all).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_what_is_left_of_the_processors() {
        let used =
            Resources { busy: 0.9, client_seconds: 0.3, server_seconds: Some(0.2), ..Resources::default() };
        let share = used.used_by_others(0.5, 2).unwrap();
        assert!((share - 0.4).abs() < 1e-12, "{share}");
        assert_eq!(used.used_by_others(0.25, 2), Some(0.0), "rounding is nobody");
        assert_eq!(Resources { server_seconds: None, ..used }.used_by_others(0.5, 2), None);
    }
}
