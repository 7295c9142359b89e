//! Spans, noted while they are open.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;
use toolcrib_model::text::truncate_bytes;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Registry};

use super::counts::Counts;
use super::ids::{SpanId, SpanIdentity};

/// The most bytes of a text that is sent.
const MAX_TEXT_BYTES: usize = 1024;

/// Attributes that are lists by convention, of which one text is noted.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];

/// Notes spans, and queues them when they close.
pub(crate) struct SpanLayer {
    queue: mpsc::Sender<Closed>,
    counts: Arc<Counts>,
}

/// A span that is over.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) place: SpanIdentity,
    pub(super) parent: Option<SpanId>,
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Kind,
    pub(super) started: SystemTime,
    pub(super) took: Duration,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) is_error: bool,
}

/// The kind of a span in a trace across processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal,
    Server,
    Client,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Text(String),
    /// A list of one text.
    List(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
}

/// A span that is open.
struct OpenSpan {
    span: Closed,
    began: Instant,
}

impl SpanLayer {
    pub(super) fn new(queue: mpsc::Sender<Closed>, counts: Arc<Counts>) -> Self {
        Self { queue, counts }
    }
}

/// Returns the `traceparent` of a span that a [`SpanLayer`] has noted.
pub(crate) fn traceparent(span: &Span) -> Option<String> {
    span.with_subscriber(|(id, dispatch)| {
        let noted = dispatch.downcast_ref::<Registry>()?.span(id)?;
        let place = noted.extensions().get::<OpenSpan>()?.span.place;
        Some(place.to_string())
    })?
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(noted) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        // The caller in another process counts where there is no span around this one.
        let parent =
            noted.parent().and_then(|parent| Some(parent.extensions().get::<OpenSpan>()?.span.place));
        let parent = parent.or(fields.parent);
        let Some(place) = SpanIdentity::below(parent) else { return };
        let mut span = Closed {
            place,
            parent: parent.map(|parent| parent.span),
            name: attributes.metadata().name().into(),
            kind: Kind::Internal,
            started: SystemTime::now(),
            took: Duration::ZERO,
            attributes: Vec::new(),
            is_error: false,
        };
        fields.add_to(&mut span);
        noted.extensions_mut().insert(OpenSpan { span, began: Instant::now() });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(noted) = context.span(id) else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(open) = noted.extensions_mut().get_mut::<OpenSpan>() {
            fields.add_to(&mut open.span);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = context.span(&id).and_then(|noted| noted.extensions_mut().remove::<OpenSpan>());
        let Some(OpenSpan { mut span, began }) = open.filter(|open| open.span.place.is_sampled) else {
            return;
        };
        span.took = began.elapsed();
        if self.queue.try_send(span).is_err() {
            self.counts.no_room();
        }
    }
}

/// A visitor that records fields. Some are not attributes, by the conventions of `tracing-opentelemetry` and this
/// program.
#[derive(Default)]
struct Fields {
    name: Option<String>,
    kind: Option<Kind>,
    is_error: bool,
    parent: Option<SpanIdentity>,
    attributes: Vec<(&'static str, Attribute)>,
}

impl Fields {
    fn add_to(self, span: &mut Closed) {
        if let Some(name) = self.name {
            span.name = name.into();
        }
        span.kind = self.kind.unwrap_or(span.kind);
        span.is_error |= self.is_error;
        for (key, value) in self.attributes {
            match span.attributes.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = value,
                None => span.attributes.push((key, value)),
            }
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        let text = truncate_bytes(text, MAX_TEXT_BYTES);
        match field.name() {
            "otel.name" => self.name = Some(text.to_owned()),
            "otel.kind" => {
                self.kind = Some(match text.to_ascii_lowercase().as_str() {
                    "client" => Kind::Client,
                    "server" => Kind::Server,
                    _ => Kind::Internal,
                });
            }
            "otel.status_code" => self.is_error |= text.eq_ignore_ascii_case("error"),
            "toolcrib.parent" => self.parent = SpanIdentity::parse(text),
            name if LISTS.contains(&name) => self.attributes.push((name, Attribute::List(text.to_owned()))),
            name => self.attributes.push((name, Attribute::Text(text.to_owned()))),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attributes.push((field.name(), Attribute::Flag(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.push((field.name(), Attribute::Integer(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.attributes.push((field.name(), Attribute::Number(value)));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.text(field, &value.to_string());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}
