//! The events that the sources write, and the guide's table of them.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use pulldown_cmark::{Event, Tag, TagEnd};

use crate::markdown::events;

/// The levels of events. `None` is a macro's parameter: any level.
type Level = Option<String>;

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// An event's level and text, with `…` in the place of each value in it.
pub(crate) type LogEvent = (Level, String);

/// Adds all events of a Rust file, but those whose whole text is a value.
pub(crate) fn emitted(source: &str, found: &mut BTreeSet<LogEvent>) {
    walk(source.parse().expect("the tokens of a source"), found);
}

fn walk(tokens: TokenStream, found: &mut BTreeSet<LogEvent>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        if let Some(event) = name_of_macro(&tokens[..at]).and_then(|name| event(&name, group)) {
            found.insert(event);
        }
        walk(group.stream(), found);
    }
}

/// The name of the macro whose arguments follow `before`.
fn name_of_macro(before: &[TokenTree]) -> Option<String> {
    match before {
        [.., TokenTree::Ident(name), TokenTree::Punct(mark)] if mark.as_char() == '!' => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn event(name: &str, arguments: &Group) -> Option<LogEvent> {
    if arguments.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let tokens: Vec<_> = arguments.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ',');
    let parts: Vec<&[TokenTree]> = tokens.split(is_comma).collect();
    let level = match name {
        // A parameter of a macro.
        "level" => None,
        "log_throttled" => level_of(parts.get(2)?)?,
        "log_node" => level_of(parts.get(1)?)?,
        level if LEVELS.contains(&level) => Some(level.to_owned()),
        _ => return None,
    };
    let mut texts = parts.iter().filter_map(|part| literal(part));
    let text = texts.next()?;
    let text = without_values(&text);
    (text != "…").then_some((level, text))
}

fn level_of(part: &[TokenTree]) -> Option<Level> {
    match part {
        [TokenTree::Ident(level)] => Some(Some(level.to_string().to_lowercase())),
        [TokenTree::Punct(dollar), TokenTree::Ident(_)] if dollar.as_char() == '$' => Some(None),
        _ => None,
    }
}

fn literal(part: &[TokenTree]) -> Option<String> {
    let [TokenTree::Literal(literal)] = part else {
        return None;
    };
    let text: syn::LitStr = syn::parse_str(&literal.to_string()).ok()?;
    Some(text.value())
}

fn without_values(text: &str) -> String {
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push('…');
        shown.push_str(part.split_once('}').map_or("", |(_, after)| after));
    }
    shown
}

/// What the table below the heading "Events" has: the level, and the texts in the column "what".
pub(crate) fn documented(page: &str) -> Vec<(String, String)> {
    let (mut column, mut level, mut found) = (0, String::new(), Vec::new());
    let (_, page) = page.split_once("\n## Events\n").expect("a part on events");
    for (event, _) in events(page) {
        match event {
            Event::Start(Tag::TableRow) => (column, level) = (0, String::new()),
            Event::End(TagEnd::TableCell) => column += 1,
            Event::Text(text) if column == 0 => level.push_str(&text),
            Event::Code(text) if column == 1 => found.push((level.clone(), text.to_string())),
            _ => {}
        }
    }
    found
}

/// True if the row is about the event: it has its text, or how that begins.
fn is_about((level, text): &(String, String), event: &LogEvent) -> bool {
    let is_level = event.0.as_ref().is_none_or(|its| its == level);
    is_level
        && match text.strip_suffix('…') {
            Some(beginning) => event.1.starts_with(beginning),
            None => event.1 == *text,
        }
}

/// Events that are in no row, and texts of rows that no event has.
pub(crate) fn differences(
    emitted: &BTreeSet<LogEvent>,
    documented: &[(String, String)],
) -> Vec<String> {
    let absent = emitted
        .iter()
        .filter(|event| !documented.iter().any(|row| is_about(row, event)))
        .map(|(level, text)| {
            format!(
                "not in the table: {} `{text}`",
                level.as_deref().unwrap_or("any")
            )
        });
    let unknown = documented
        .iter()
        .filter(|row| !emitted.iter().any(|event| is_about(row, event)))
        .map(|(level, text)| format!("written nowhere: {level} `{text}`"));
    absent.chain(unknown).collect()
}
