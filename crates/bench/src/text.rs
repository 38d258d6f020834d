//! Numbers and lists as people read them, the same in sentences, tables and figures.

use crate::results::Floors;

/// Three significant digits, whole from a hundred on: "1,471", "12.3", "0.862". Zero is "0".
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = three_digits(value);
    let decimals = usize::try_from(2 - magnitude(rounded)).unwrap_or(0).min(9);
    with_thousands(&format!("{rounded:.decimals$}"))
}

/// Rounded to three significant digits, but never coarser than to ones.
fn three_digits(value: f64) -> f64 {
    let scale = 10_f64.powi((2 - magnitude(value)).max(0));
    (value * scale).round() / scale
}

/// The power of ten of the first digit; `value` is not zero.
fn magnitude(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// A count for each operation of the application: "0.004", "0.30", "3.00", "12.5".
pub(crate) fn per_operation(value: f64) -> String {
    if (0.01..9.995).contains(&value) {
        format!("{value:.2}")
    } else if value > 0.0 && value < 0.01 {
        number(value).trim_end_matches('0').to_owned()
    } else {
        number(value)
    }
}

/// The POSIX floor and the COMPOUND floor: "4.10, 1.00"; "–" where they are not known.
pub(crate) fn floors(floors: Option<Floors>) -> String {
    floors.map_or_else(
        || "–".to_owned(),
        |floors| format!("{}, {}", per_operation(floors.posix), per_operation(floors.compound)),
    )
}

/// A share of the whole: "34 %"; "0.5 %" and "99.8 %" near the ends.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let near_an_end = (percent > 0.0 && percent < 1.0) || (percent > 99.0 && percent < 100.0);
    if near_an_end { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A size in bytes, in powers of ten: "812 B", "4.52 KB", "1.2 MB".
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{} {}", number(scaled), UNITS[unit])
}

/// A delay: "0 ms", "0.2 ms", "10 ms".
pub(crate) fn delay(rtt_ms: f64) -> String {
    format!("{rtt_ms} ms")
}

/// A mean with half of its interval: "1,471 ± 23.4"; without an interval only the mean.
pub(crate) fn measured(mean: f64, ci95: Option<[f64; 2]>) -> String {
    match ci95 {
        Some([low, high]) => format!("{} ± {}", number(mean), number((high - low) / 2.0)),
        None => number(mean),
    }
}

/// A ratio with its interval: "0.862 [0.851, 0.873]"; "–" when there is none.
pub(crate) fn ratio(ratio: Option<f64>, ci95: Option<[f64; 2]>) -> String {
    match (ratio, ci95) {
        (None, _) => "–".to_owned(),
        (Some(ratio), None) => times(ratio),
        (Some(ratio), Some([low, high])) => format!("{} [{}, {}]", times(ratio), times(low), times(high)),
    }
}

/// A factor with the same digits on both sides of 1: "0.998", "1.002", "12.3".
pub(crate) fn times(ratio: f64) -> String {
    if (0.1..9.9995).contains(&ratio) { format!("{ratio:.3}") } else { number(ratio) }
}

/// "a", "a and b", "a, b and c".
pub(crate) fn list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

fn with_thousands(digits: &str) -> String {
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// Returns the unit of a published value in words.
pub(crate) fn quantity(unit: &str, of: &[String]) -> String {
    match unit {
        "share" => format!("of the requests are {}", list(of)),
        "ratio" => "× v3".to_owned(),
        "read gain" => "application read ÷ client read".to_owned(),
        "max ÷ min" => "fastest ÷ slowest client".to_owned(),
        unit => unit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits_and_grouped_thousands() {
        for (value, shown) in [
            (0.0, "0"),
            (0.8617, "0.862"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (999.96, "1,000"),
            (0.999_9, "1.00"),
            (1471.2, "1,471"),
            (1_234_567.0, "1,234,567"),
            (-1500.0, "-1,500"),
            (0.001_234_5, "0.00123"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), shown);
        }
    }

    #[test]
    fn shares_sizes_and_lists_read_like_prose() {
        assert_eq!((percent(0.344), percent(0.005)), ("34 %".to_owned(), "0.5 %".to_owned()));
        assert_eq!((bytes(812.0), bytes(999_900.0)), ("812 B".to_owned(), "1.00 MB".to_owned()));
        assert_eq!(percent(0.998), "99.8 %");
        assert_eq!((per_operation(0.004), per_operation(3.0)), ("0.004".to_owned(), "3.00".to_owned()));
        assert_eq!(list(&["OPEN", "LOCK", "CLOSE"]), "OPEN, LOCK and CLOSE");
        assert_eq!(list(&["OPEN"]), "OPEN");
        assert_eq!((delay(0.0), delay(0.2)), ("0 ms".to_owned(), "0.2 ms".to_owned()));
    }
}
