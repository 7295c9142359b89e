//! Times in RFC 3339.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The number of days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_EPOCH: u64 = 719_468;

/// The number of days in 400 years.
const ERA: u64 = 146_097;

/// Returns a time in UTC to the millisecond, as `2026-03-01T12:00:00.000Z`. Times before 1970 become 1970.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Returns a duration in milliseconds, to the microsecond.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Returns the year, month and day of a number of days since 1970. Years begin in March here, so that the leap day is
/// the last day of a year. The algorithm is Howard Hinnant's:
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_EPOCH;
    let day_of_era = days % ERA;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + days / ERA * 400 + u64::from(month <= 2);
    (year, month, day)
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
