//! The events that the sources write, and the guide's tables of them.

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
    walk(source, &mut |name, arguments| {
        found.extend(event(name, arguments));
    });
}

/// Returns the macros of a Rust file that write an event or begin a span without a constant of `targets`: their names,
/// and their lines.
pub(crate) fn without_target(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(source, &mut |name, arguments| {
        let is_span = name == "span" || name.ends_with("_span");
        let is_event = LEVELS.contains(&name) || OTHER_EVENTS.contains(&name);
        if (is_span || is_event) && !has_target(arguments) {
            found.push(format!("{name}! in line {}", arguments.span().start().line));
        }
    });
    found
}

/// The macros of events that have no level's name; `level` is a parameter of a macro.
const OTHER_EVENTS: [&str; 4] = ["enabled", "event", "level", "log_throttled"];

/// True if the arguments begin with `target: targets::…` or, in a macro, with `target: $target`.
fn has_target(arguments: &Group) -> bool {
    let tokens: Vec<_> = arguments.stream().into_iter().collect();
    let first = tokens.split(is_comma).next().unwrap_or_default();
    let words: Vec<_> = first.iter().map(ToString::to_string).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["target", ":", "$", "target"] => true,
        ["target", ":", path @ .., "targets", ":", ":", _] => path.is_empty() || path[0] == "$",
        _ => false,
    }
}

/// Calls `visit` with the name and the arguments of each macro in a Rust file.
fn walk(source: &str, visit: &mut dyn FnMut(&str, &Group)) {
    walk_tokens(source.parse().expect("the tokens of a source"), visit);
}

fn walk_tokens(tokens: TokenStream, visit: &mut dyn FnMut(&str, &Group)) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let is_call = group.delimiter() == Delimiter::Parenthesis;
        if let Some(name) = name_of_macro(&tokens[..at]).filter(|_| is_call) {
            visit(&name, group);
        }
        walk_tokens(group.stream(), visit);
    }
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == ',')
}

/// Returns the name of the macro whose arguments follow `before`.
fn name_of_macro(before: &[TokenTree]) -> Option<String> {
    match before {
        [.., TokenTree::Ident(name), TokenTree::Punct(mark)] if mark.as_char() == '!' => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn event(name: &str, arguments: &Group) -> Option<LogEvent> {
    let tokens: Vec<_> = arguments.stream().into_iter().collect();
    let parts: Vec<&[TokenTree]> = tokens.split(is_comma).collect();
    let level = match name {
        // A parameter of a macro.
        "level" => None,
        "log_throttled" => level_of(parts.get(3)?)?,
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

/// Returns the targets that the sources define.
pub(crate) fn targets(source: &str) -> Vec<String> {
    let values = source
        .lines()
        .filter_map(|line| line.split_once("&str = \""));
    values
        .map(|(_, value)| value.trim_end_matches("\";").to_owned())
        .collect()
}

/// Returns the targets in the guide's table.
pub(crate) fn documented_targets(page: &str) -> Vec<String> {
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `redlock"));
    let targets = rows.filter_map(|row| row.split_once('`'));
    let targets = targets.map(|(rest, _)| format!("redlock{rest}"));
    targets.filter(|it| !it.contains(['.', '_'])).collect()
}

/// Returns what the tables below the heading "Events" have: the level, and the texts in the second column.
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
