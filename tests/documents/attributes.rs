//! Every `#[redlock(…)]` that a document shows: `init` takes its values by the default configuration.

use std::fmt::Write as _;

use redlock_runtime::{Config, LockError, Redlock, redlock};

use crate::markdown::line_of;
use crate::{assert_none, pages};

/// Parameters that an override cannot have.
const OF_THE_ATTRIBUTE: [&str; 7] = [
    "resource",
    "pools",
    "if_locked",
    "guard",
    "note",
    "name",
    "crate",
];

#[test]
fn init_takes_every_attribute_of_the_documents() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut wrong = Vec::new();
    let mut found = 0;
    for (path, text) in &pages() {
        for (line, attribute) in attributes(text) {
            found += 1;
            if let Err(why) = runtime.block_on(refusal(attribute)) {
                wrong.push(format!("{}:{line}: {why}", path.display()));
            }
        }
    }
    assert!(found > 50, "{found}");
    assert_none(&wrong);
}

#[redlock(resource = "documented", name = "documented")]
#[allow(dead_code, reason = "only its override is checked")]
async fn documented() -> Result<(), LockError> {
    Ok(())
}

/// Returns what `init` has against an attribute whose values are those of an override.
async fn refusal(attribute: &str) -> Result<(), String> {
    let mut text = "[pools.a]\nurl = \"memory://a\"\n[sites.documented]\n".to_owned();
    for (key, value) in parameters(attribute) {
        // The values of expressions are known at the call only.
        let is_literal = value.starts_with(|c: char| c.is_ascii_digit() || c == '"');
        let is_literal = is_literal || ["true", "false"].contains(&value);
        if is_literal && !OF_THE_ATTRIBUTE.contains(&key) {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    let config = Config::from_toml(&text).map_err(|error| format!("{error} in\n{text}"))?;
    let started = Redlock::start(config).await;
    let redlock = started.map_err(|error| format!("{error}, by `{attribute}`"))?;
    redlock.shutdown().await;
    Ok(())
}

/// Returns what is between the parentheses of each attribute, and the line of its beginning.
fn attributes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    const BEGIN: &str = "#[redlock(";
    text.match_indices(BEGIN).filter_map(|(at, _)| {
        let inside = &text[at + BEGIN.len()..];
        let end = inside.find(")]")?;
        // One that is cut short in running text has no values.
        let attribute = &inside[..end];
        (attribute.contains('=')).then(|| (line_of(text, at), attribute))
    })
}

/// Returns the parameters, `key = value`. A comma in a string or in brackets ends none.
fn parameters(attribute: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mut depth, mut is_text) = (0, false);
    let parts = attribute.split(move |c: char| {
        match c {
            '"' => is_text = !is_text,
            '[' | '(' | '{' if !is_text => depth += 1,
            ']' | ')' | '}' if !is_text => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0 && !is_text
    });
    parts.filter_map(|part| {
        let (key, value) = part.split_once('=')?;
        Some((key.trim(), value.trim()))
    })
}
