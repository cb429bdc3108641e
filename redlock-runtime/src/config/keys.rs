//! Every key of the configuration: what the file may say, and what the variables are called.

use std::fmt::Write as _;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::layer::{OF_A_SITE, PARAMETERS};
use crate::text::{Name, did_you_mean};

/// A key that only the attribute can set: it is part of the function's meaning, or of its type.
const OF_THE_ATTRIBUTE: [&str; 6] = ["resource", "if_locked", "guard", "note", "name", "crate"];

/// The keys of a pool, in `[pools.…]`.
pub(super) const OF_A_POOL: [&str; 7] = [
    "url",
    "password_file",
    "vetting",
    "trust_aof",
    "tls_ca",
    "tls_cert",
    "tls_key",
];

/// Where a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Outside of any table.
    Top,
    /// In the table with this name.
    Table(&'static str),
    /// In each table below the table with this name: of a pool, or of a site.
    Each(&'static str),
}

/// All keys, section by section.
pub(super) const SECTIONS: [(Section, &[&str]); 7] = [
    (
        Section::Top,
        &[
            "restart_check",
            "default_pools",
            "key_prefix",
            "max_ttl",
            "node_timeout",
            "connect_timeout",
        ],
    ),
    (Section::Each("pools"), &OF_A_POOL),
    (Section::Table("defaults"), PARAMETERS),
    (Section::Each("sites"), OF_A_SITE),
    (
        Section::Table("waiting"),
        &[
            "handovers",
            "handover_time",
            "max_callers_per_lock",
            "max_callers",
        ],
    ),
    (
        Section::Table("shutdown"),
        &["grace", "deadline", "release_on_exit"],
    ),
    (Section::Table("http"), &["contended_status"]),
];

/// The tables with the parameters of locks.
const OF_LOCKS: [Section; 2] = [Section::Table("defaults"), Section::Each("sites")];

impl Section {
    /// The variable that says the same as `key` here.
    pub(super) fn variable(self, key: &str) -> String {
        let key = key.to_ascii_uppercase();
        match self {
            Self::Top => format!("REDLOCK_{key}"),
            Self::Table(name) => format!("REDLOCK_{}_{key}", name.to_ascii_uppercase()),
            Self::Each("pools") => format!("REDLOCK_POOLS_<NAME>_{key}"),
            Self::Each(_) => format!("REDLOCK_SITES_<SITE>_{key}"),
        }
    }
}

/// Every variable that says what a key of the file could.
pub(super) fn variables() -> Vec<String> {
    let sections = SECTIONS.iter();
    sections
        .flat_map(|(section, keys)| keys.iter().map(|key| section.variable(key)))
        .collect()
}

/// The most mistakes that are reported at once: a file of another kind is full of them.
const MOST_TOLD: usize = 8;

/// Reports every unknown key.
///
/// # Errors
/// One text for all, each with its line.
pub(super) fn check(text: &str, file: &DeTable<'_>) -> Result<(), String> {
    let mut unknown = look(Section::Top, "", file);
    for (name, value) in file {
        let DeValue::Table(table) = value.get_ref() else {
            continue;
        };
        for (section, _) in SECTIONS {
            match section {
                Section::Table(it) if it == name.get_ref() => {
                    unknown.extend(look(section, &format!("`[{it}]`"), table));
                }
                Section::Each(it) if it == name.get_ref() => {
                    for (name, value) in table {
                        if let DeValue::Table(table) = value.get_ref() {
                            let shown = table_name(it, name.get_ref());
                            unknown.extend(look(section, &shown, table));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_by_key(|it| it.at);
    let told = unknown.iter().take(MOST_TOLD);
    let mut texts: Vec<String> = told
        .map(|it| format!("line {}: {}", line_of(text, it.at), it.about()))
        .collect();
    if unknown.len() > MOST_TOLD {
        texts.push(format!("and {} more", unknown.len() - MOST_TOLD));
    }
    Err(texts.join("; "))
}

/// `[pools.a]`, `[sites."shop::charge"]`, in backticks.
pub(super) fn table_name(section: &str, name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.chars().all(is_bare) {
        format!("`[{section}.{}]`", Name(name))
    } else {
        format!("`[{section}.\"{}\"]`", Name(name))
    }
}

/// The keys of a section, and the names of the tables at the top.
fn known_in(section: Section) -> Vec<&'static str> {
    let own = SECTIONS.iter().filter(|(it, _)| *it == section);
    let mut known: Vec<_> = own.flat_map(|(_, keys)| keys.iter().copied()).collect();
    if section == Section::Top {
        known.extend(SECTIONS.iter().filter_map(|(section, _)| match section {
            Section::Top => None,
            Section::Table(name) | Section::Each(name) => Some(*name),
        }));
    }
    known
}

/// A key that there is not.
struct Unknown<'a> {
    at: usize,
    key: &'a str,
    section: Section,
    /// The table that contains the key, as text.
    table: String,
}

/// The keys of a table that there are not.
fn look<'a>(section: Section, shown: &str, table: &'a DeTable<'_>) -> Vec<Unknown<'a>> {
    let known = known_in(section);
    let unknown = table
        .keys()
        .filter(|key| !known.contains(&&**key.get_ref()));
    let unknown = unknown.map(|key| Unknown {
        at: key.span().start,
        key: key.get_ref(),
        section,
        table: shown.to_owned(),
    });
    unknown.collect()
}

impl Unknown<'_> {
    fn about(&self) -> String {
        let Self {
            key,
            section,
            table,
            ..
        } = self;
        let mut text = format!("unknown key `{}`", Name(key));
        if !table.is_empty() {
            let _ = write!(text, " in {table}");
        }
        let is_of_locks = OF_LOCKS.contains(section);
        if *section == Section::Table("defaults") && *key == "pools" {
            text.push_str(
                "; the pools of a lock that names none are `default_pools`, above the tables",
            );
        } else if is_of_locks && OF_THE_ATTRIBUTE.contains(key) {
            text.push_str(
                "; only the attribute can say it, as it is part of what the function means",
            );
        } else if let Some(home) = elsewhere(key, *section) {
            let _ = write!(text, "; it belongs {home}");
        } else if let Some(meant) = meant_by(key, *section) {
            let _ = write!(text, "; did you mean {meant}?");
        } else {
            text.push_str(&did_you_mean(key, known_in(*section)));
        }
        text
    }
}

/// What other libraries call a key of this section, and what it is called here.
fn meant_by(key: &str, section: Section) -> Option<&'static str> {
    let is_of_locks = OF_LOCKS.contains(&section);
    Some(match key {
        "timeout" if is_of_locks => {
            "`wait`, how long a caller waits for the lock, or `ttl`, how long the lock lives"
        }
        "timeout" if section == Section::Top => {
            "`node_timeout`, for an answer of a node, or `connect_timeout`"
        }
        "timeout" if section == Section::Table("shutdown") => "`grace` or `deadline`",
        "lease" | "lease_time" | "expiry" | "expire" if is_of_locks => {
            "`ttl`, how long the lock lives, or `max_hold`, for how long it is renewed"
        }
        "key" | "lock" if is_of_locks => {
            "`resource`? Only the attribute can say it; and `key_prefix` stands above all tables"
        }
        "prefix" if section == Section::Top => "`key_prefix`",
        _ => return None,
    })
}

/// The right place of a misplaced key, if there is exactly one.
fn elsewhere(key: &str, section: Section) -> Option<String> {
    let mut homes = SECTIONS
        .iter()
        .filter(|(it, keys)| *it != section && keys.contains(&key));
    let (home, _) = homes.find(|(it, _)| *it != Section::Each("sites"))?;
    Some(match home {
        Section::Top => "above all tables".to_owned(),
        Section::Table(name) => format!("in `[{name}]`"),
        Section::Each(name) => format!("in the table of one of the {name}"),
    })
}

/// The line of an offset, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The key whose value is at an offset, and its table.
pub(super) fn key_at(file: &DeTable<'_>, at: usize) -> Option<String> {
    fn within(table: &DeTable<'_>, at: usize, path: &mut Vec<String>) -> bool {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            let is_here = match value.get_ref() {
                DeValue::Table(table) => within(table, at, path),
                _ => value.span().contains(&at),
            };
            if is_here {
                return true;
            }
            path.pop();
        }
        false
    }
    let mut path = Vec::new();
    if !within(file, at, &mut path) {
        return None;
    }
    let key = path.pop()?;
    Some(match &*path {
        [] => format!("`{}`", Name(&key)),
        [table] => format!("`{}` in `[{}]`", Name(&key), Name(table)),
        [section, name, ..] => format!("`{}` in {}", Name(&key), table_name(section, name)),
    })
}

/// The place of a value in a table.
pub(super) fn place_of(file: &DeTable<'_>, [table, key]: [&str; 2]) -> Option<Range<usize>> {
    match file.get(table)?.get_ref() {
        DeValue::Table(table) => table.get(key).map(toml::Spanned::span),
        _ => None,
    }
}
