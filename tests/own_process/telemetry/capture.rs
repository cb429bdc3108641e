//! A subscriber that keeps everything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use tracing_subscriber::util::SubscriberInitExt as _;

type Fields = BTreeMap<String, String>;

/// What was told so far.
#[derive(Clone, Default)]
pub(crate) struct Capture(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    spans: Vec<Span>,
    events: Vec<Happening>,
}

#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    /// Its place among all spans.
    parent: Option<usize>,
    pub(crate) fields: Fields,
    pub(crate) is_closed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) level: Level,
    pub(crate) fields: Fields,
    /// The name of the span that it is in.
    pub(crate) span: Option<&'static str>,
}

impl Span {
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

impl Happening {
    pub(crate) fn message(&self) -> &str {
        &self.fields["message"]
    }
}

/// The one of this process.
pub(crate) fn captured() -> &'static Capture {
    static CAPTURE: OnceLock<Capture> = OnceLock::new();
    CAPTURE.get_or_init(|| {
        let capture = Capture::default();
        tracing_subscriber::registry().with(capture.clone()).init();
        capture
    })
}

impl Capture {
    /// The spans of that name for a resource, and the names of their parents.
    pub(crate) fn spans(&self, name: &str, resource: &str) -> Vec<(Span, Option<&'static str>)> {
        let told = self.0.lock().unwrap();
        let wanted = told
            .spans
            .iter()
            .filter(|span| span.name == name && span.get("redlock.resource") == Some(resource));
        let with_parent = |span: &Span| {
            let parent = span.parent.map(|parent| told.spans[parent].name);
            (span.clone(), parent)
        };
        wanted.map(with_parent).collect()
    }

    /// The only one.
    pub(crate) fn span(&self, name: &str, resource: &str) -> (Span, Option<&'static str>) {
        let mut spans = self.spans(name, resource);
        assert_eq!(spans.len(), 1, "{name} of {resource}: {spans:?}");
        spans.remove(0)
    }

    /// The events that have this text in a field.
    pub(crate) fn events(&self, text: &str) -> Vec<Happening> {
        let told = self.0.lock().unwrap();
        let has = |event: &&Happening| event.fields.values().any(|value| value.contains(text));
        told.events.iter().filter(has).cloned().collect()
    }
}

struct Place(usize);

/// The place of a span among all spans.
fn place<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>) -> Option<usize> {
    span.extensions().get::<Place>().map(|place| place.0)
}

impl<S> Layer<S> for Capture
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span.parent().as_ref().and_then(place);
        let mut fields = Collect(Fields::new());
        attributes.record(&mut fields);
        let mut told = self.0.lock().unwrap();
        span.extensions_mut().insert(Place(told.spans.len()));
        told.spans.push(Span {
            name: attributes.metadata().name(),
            level: *attributes.metadata().level(),
            parent,
            fields: fields.0,
            is_closed: false,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let place = place(&context.span(id).unwrap()).unwrap();
        let mut fields = Collect(Fields::new());
        values.record(&mut fields);
        self.0.lock().unwrap().spans[place]
            .fields
            .append(&mut fields.0);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Collect(Fields::new());
        event.record(&mut fields);
        let span = context.event_span(event).map(|span| span.name());
        let event = Happening {
            level: *event.metadata().level(),
            fields: fields.0,
            span,
        };
        self.0.lock().unwrap().events.push(event);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let place = place(&context.span(&id).unwrap()).unwrap();
        self.0.lock().unwrap().spans[place].is_closed = true;
    }
}

struct Collect(Fields);

impl Visit for Collect {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
