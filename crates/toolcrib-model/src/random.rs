//! Random bytes of the operating system, and their hexadecimal form.

use std::fmt::Write as _;

/// The operating system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRandomNumbers(getrandom::Error);

/// Returns bytes that cannot be guessed.
pub fn random_bytes<const BYTES: usize>() -> Result<[u8; BYTES], NoRandomNumbers> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(NoRandomNumbers)?;
    Ok(bytes)
}

/// Returns bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{hex, random_bytes};

    #[test]
    fn random_bytes_differ_each_time() {
        assert_ne!(random_bytes::<16>().unwrap(), random_bytes::<16>().unwrap());
    }

    #[test]
    fn hexadecimal_digits_keep_leading_zeros() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
