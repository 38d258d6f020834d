//! Times as people read them.

use client::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Half a year, in seconds: the time of day of what is older says little.
const RECENT_SECONDS: i64 = 31_556_952 / 2;

/// As ls(1) shows it: with the time of day if it is recent, with the year otherwise.
pub(crate) fn short(time: Time, now: Timestamp, zone: &TimeZone) -> String {
    let age = now.as_second() - time.seconds;
    let format = if (0..RECENT_SECONDS).contains(&age) { "%b %e %H:%M" } else { "%b %e  %Y" };
    in_zone(time, zone).map_or_else(|| time.seconds.to_string(), |zoned| zoned.strftime(format).to_string())
}

/// As stat(1) shows it.
pub(crate) fn full(time: Time, zone: &TimeZone) -> String {
    let zoned = in_zone(time, zone);
    zoned.map_or_else(
        || time.seconds.to_string(),
        |zoned| zoned.strftime("%Y-%m-%d %H:%M:%S.%9f %z").to_string(),
    )
}

/// As RFC 3339 has it, in UTC; seconds since 1970 where that has no year.
pub(crate) fn rfc3339(time: Time) -> String {
    let zoned = in_zone(time, &TimeZone::UTC);
    zoned.map_or_else(
        || time.seconds.to_string(),
        |zoned| zoned.strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string(),
    )
}

fn in_zone(time: Time, zone: &TimeZone) -> Option<Zoned> {
    let nanoseconds = i32::try_from(time.nanoseconds).ok()?;
    Some(Timestamp::new(time.seconds, nanoseconds).ok()?.to_zoned(zone.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_future_times_show_their_year() {
        let now = Timestamp::new(1_800_000_000, 0).unwrap();
        let short = |seconds| short(Time { seconds, nanoseconds: 5 }, now, &TimeZone::UTC);
        assert_eq!(short(1_800_000_000 - 3600), "Jan 15 07:00");
        assert_eq!(short(1_700_000_000), "Nov 14  2023");
        assert_eq!(short(1_800_000_001), "Jan 15  2027");
        assert_eq!(short(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn nanoseconds_and_times_before_1970_are_shown() {
        let time = Time { seconds: -1, nanoseconds: 7 };
        assert_eq!(rfc3339(time), "1969-12-31T23:59:59.000000007Z");
        assert_eq!(full(time, &TimeZone::UTC), "1969-12-31 23:59:59.000000007 +0000");
    }
}
