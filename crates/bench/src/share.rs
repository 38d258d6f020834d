//! Shares as users write them.

/// The largest share.
const SHARE_MAX: f64 = 10.0;

/// Reads "5%", "5 %" or "5" as 0.05.
///
/// # Errors
/// A sentence when it is no percentage from 0 to 1000.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let digits = text.trim().trim_end_matches('%').trim_end();
    match digits.parse::<f64>().map(|percent| percent / 100.0) {
        Ok(share) if (0.0..=SHARE_MAX).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is no percentage from 0 to 1000, such as 5%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_with_and_without_their_sign() {
        assert_eq!(["5%", "5 %", "5"].map(parse_share), [Ok(0.05), Ok(0.05), Ok(0.05)]);
        for wrong in ["five", "-1%", "nan", "", "1001%"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
