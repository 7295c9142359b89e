//! The ids of traces and spans, and how they are written on the way to others.

use std::fmt;

use toolcrib_model::random::random_bytes;

/// The id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceId(u128);

/// The id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanId(u64);

/// The identity of a span, and whether it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanIdentity {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    pub(super) is_sampled: bool,
}

impl SpanIdentity {
    /// Returns a span below another, or the first of a trace; `None` on a system without random numbers.
    pub(super) fn below(parent: Option<Self>) -> Option<Self> {
        let span = SpanId(random()?);
        let trace = || Some(TraceId(u128::from(random()?) << 64 | u128::from(random()?)));
        match parent {
            Some(parent) => Some(Self { span, ..parent }),
            None => Some(Self { trace: trace()?, span, is_sampled: true }),
        }
    }

    /// Reads a `traceparent` of W3C Trace Context. Later versions may have more behind it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version, trace, span, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let is_hex = |part: &str, digits: usize| {
            part.len() == digits && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let has_form = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
        if !has_form || version == "ff" || version == "00" && parts.next().is_some() {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(Self { trace: TraceId(trace), span: SpanId(span), is_sampled: flags & 1 == 1 })
    }
}

/// As a `traceparent`.
impl fmt::Display for SpanIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// No id is zero.
fn random() -> Option<u64> {
    random_bytes().ok().map(|bytes| u64::from_ne_bytes(bytes).max(1))
}
