//! The parts of a media type, as in `Content-Type`.

/// Returns the type and subtype in lower case, without parameters.
pub fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the value of a parameter such as `charset`, without quotes.
pub fn media_type_parameter<'a>(media_type: &'a str, name: &str) -> Option<&'a str> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}
