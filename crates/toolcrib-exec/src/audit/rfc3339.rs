//! Times in RFC 3339.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// Returns a time in UTC to the millisecond, as `2026-03-01T12:00:00.000Z`. Times outside of the years 1970 to
/// 9999 become 1970.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default().max(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// Returns a duration in milliseconds, to the microsecond.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::rfc3339;

    #[test]
    fn times_are_written_as_rfc_3339_has_them() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_007, "2000-02-29T12:34:56.007Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (milliseconds, expected) in table {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(milliseconds)), expected);
        }
    }
}
