//! Serialization of timestamps to the second, for people and models.

use jiff::Timestamp;
use serde::Serializer;

/// Serializes a timestamp without the fraction of its second.
pub(crate) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.0}"))
}

/// Serialization of optional timestamps to the second.
pub(crate) mod optional {
    use jiff::Timestamp;
    use serde::Serializer;

    #[expect(clippy::ref_option, reason = "this is how serde calls it")]
    pub(crate) fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => super::serialize(at, serializer),
            None => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Times {
        #[serde(serialize_with = "super::serialize")]
        at: Timestamp,
        #[serde(serialize_with = "super::optional::serialize")]
        ended: Option<Timestamp>,
    }

    #[test]
    fn a_time_has_no_fraction_of_a_second_and_is_not_rounded_up() {
        let at: Timestamp = "2026-07-28T12:00:59.999999999Z".parse().unwrap();
        let whole = json!("2026-07-28T12:00:59Z");
        let times = |ended| serde_json::to_value(Times { at, ended }).unwrap();
        assert_eq!(times(Some(at)), json!({"at": whole, "ended": whole}));
        assert_eq!(times(None), json!({"at": whole, "ended": null}));
    }
}
