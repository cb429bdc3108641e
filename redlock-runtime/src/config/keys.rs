//! The keys of a configuration: their sections, their variables, and errors for unknown keys.

use std::fmt;

use super::SETTINGS;
use super::pool_config::PoolConfig;
use crate::error::{Problem, ProblemKind};
use crate::parameters::LockOptions;
use crate::text::{ShownName, did_you_mean};

/// The prefix of all variables.
pub(super) const PREFIX: &str = "REDLOCK_";

/// The variable that names the configuration file.
pub(super) const CONFIG_FILE: &str = "REDLOCK_CONFIG";

/// The configuration file, unless [`CONFIG_FILE`] names one.
pub(super) const DEFAULT_FILE: &str = "redlock.toml";

/// The keys that only the attribute can set, because they are part of the function's meaning, or of its type.
const OF_THE_ATTRIBUTE: [&str; 6] = ["resource", "if_locked", "guard", "note", "name", "crate"];

/// The parameters that `[defaults]` refuses, because they would change the meaning of every lock.
const OF_ONE_FUNCTION: [&str; 4] = ["once_per", "remember", "permits", "kind"];

/// The path of a key in a configuration, or, with an empty `key`, of a table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath {
    /// The first part of the table's name, such as `pools`; empty above all tables.
    pub(super) section: &'static str,
    /// The name of the pool or of the site; empty in other sections.
    pub(super) name: String,
    pub(super) key: &'static str,
}

impl KeyPath {
    pub(crate) fn new(section: &'static str, name: &str, key: &'static str) -> Self {
        let name = name.to_owned();
        Self { section, name, key }
    }

    /// Returns another key of the same table; without a key, the table.
    pub(super) fn sibling(&self, key: &'static str) -> Self {
        Self::new(self.section, &self.name, key)
    }

    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    /// Returns the table as a text: `` `[pools.a]` ``, `` `[sites."shop::charge"]` ``.
    pub(super) fn table(&self) -> String {
        let (section, name) = (self.section, ShownName(&self.name));
        if !has_names(section) || self.name.is_empty() {
            format!("`[{section}]`")
        } else if is_bare(&self.name) {
            format!("`[{section}.{name}]`")
        } else {
            format!("`[{section}.\"{name}\"]`")
        }
    }

    /// Returns `` in `[pools.a]` ``, or nothing above all tables.
    fn in_table(&self) -> String {
        match self.section {
            "" => String::new(),
            _ => format!(" in {}", self.table()),
        }
    }
}

/// Writes `` `url` in `[pools.a]` ``.
impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`{}", self.key, self.in_table())
    }
}

/// Returns the key of a setting in its section: `grace` for `shutdown_grace`.
pub(super) fn key_in(section: &str, setting: &'static str) -> &'static str {
    let rest = setting.strip_prefix(section);
    rest.and_then(|rest| rest.strip_prefix('_'))
        .unwrap_or(setting)
}

/// Returns the names of all tables at the top.
pub(super) fn tables() -> Vec<&'static str> {
    let of_settings = SETTINGS.iter().map(|(section, _)| *section);
    let of_settings = of_settings.filter(|section| !section.is_empty());
    let mut all: Vec<_> = ["pools", "defaults", "sites"]
        .into_iter()
        .chain(of_settings)
        .collect();
    all.dedup();
    all
}

/// Returns true if TOML needs no quotes around the name.
pub(super) fn is_bare(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Returns true if the section is a table of tables: of pools, or of sites.
pub(super) fn has_names(section: &str) -> bool {
    matches!(section, "pools" | "sites")
}

/// Returns the keys of a section, or of each table in it.
pub(super) fn keys_of(section: &str) -> Vec<&'static str> {
    match section {
        "pools" => PoolConfig::KEYS.to_vec(),
        "defaults" => LockOptions::PARAMETER_NAMES.to_vec(),
        "sites" => [&["pools"], LockOptions::PARAMETER_NAMES].concat(),
        _ => {
            let own = SETTINGS.iter().filter(|(it, _)| *it == section);
            own.map(|(section, name)| key_in(section, name)).collect()
        }
    }
}

/// Returns every section, and the keys that each has.
pub(super) fn sections() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let sections = [""].into_iter().chain(tables());
    sections.map(|section| (section, keys_of(section)))
}

/// Returns the sections that have variables, and the keys of each. Functions have no variables, because their tables
/// are only in the file.
pub(super) fn sections_of_variables() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    sections().filter(|(section, _)| *section != "sites")
}

/// Returns the problem of a `key` that its table does not have.
pub(super) fn unknown(table: &KeyPath, key: &str) -> Problem {
    let section = table.section;
    let mut known = keys_of(section);
    if section.is_empty() {
        known.extend(tables());
    }
    let is_of_locks = matches!(section, "defaults" | "sites");
    let advice = if section == "defaults" && key == "pools" {
        "; the pools of a lock that names none are `default_pools`, above the tables".to_owned()
    } else if is_of_locks && OF_THE_ATTRIBUTE.contains(&key) {
        "; only the attribute can say it, as it is part of what the function means".to_owned()
    } else if let Some(home) = elsewhere(key) {
        format!("; it belongs {home}")
    } else {
        did_you_mean(key, known)
    };
    let (shown, table) = (ShownName(key), table.in_table());
    let text = format!("unknown key `{shown}`{table}{advice}");
    Problem::new(ProblemKind::UnknownKey, text)
}

/// Returns the right place of a misplaced key.
fn elsewhere(key: &str) -> Option<String> {
    let mut sections = sections();
    let (section, _) = sections.find(|(_, keys)| keys.contains(&key))?;
    Some(match section {
        "" => "above all tables".to_owned(),
        section if has_names(section) => format!("in the table of one of the {section}"),
        section => format!("in `[{section}]`"),
    })
}

/// Returns the variable that sets a key.
pub(super) fn variable(section: &str, name: &str, key: &str) -> String {
    let parts = [section, name, key]
        .into_iter()
        .filter(|part| !part.is_empty());
    PREFIX.to_owned() + &parts.collect::<Vec<_>>().join("_").to_ascii_uppercase()
}

/// Returns the section, the name as the variable spells it, and the key.
///
/// # Errors
/// An unknown variable, with the name that was probably meant.
pub(super) fn of_variable(
    variable_name: &str,
) -> Result<(&'static str, &str, &'static str), Problem> {
    for (section, keys) in sections_of_variables() {
        for key in keys {
            if !has_names(section) {
                if variable_name == variable(section, "", key) {
                    return Ok((section, "", key));
                }
                continue;
            }
            let name = variable_name.strip_prefix(&format!("{}_", variable(section, "", "")));
            let name = name.and_then(|name| name.strip_suffix(&key.to_ascii_uppercase()));
            if let Some(name) = name.and_then(|name| name.strip_suffix('_'))
                && !name.is_empty()
            {
                return Ok((section, name, key));
            }
        }
    }
    let meant = meant_by_variable(variable_name);
    let text = format!("there is no such variable{meant}");
    Err(Problem::new(ProblemKind::UnknownKey, text))
}

/// Returns advice about the variable that was meant. A variable may lack its section, or, for a pool, the name or the
/// key.
fn meant_by_variable(variable_name: &str) -> String {
    let rest = variable_name
        .trim_start_matches(PREFIX)
        .to_ascii_lowercase();
    if rest.starts_with("pool") {
        let keys = PoolConfig::KEYS.join(", ").to_ascii_uppercase();
        let named = variable("pools", "<NAME>", "");
        return format!("; those of this kind are `{named}_…`, and end in {keys}");
    }
    if rest.starts_with("site") || OF_ONE_FUNCTION.contains(&&*rest) {
        let right = "write its table, such as `[sites.\"shop::charge\"]`, into the file";
        return format!("; a function has no variables: {right}");
    }
    let name_in = |section| if has_names(section) { "<NAME>" } else { "" };
    if let Some((section, _)) = sections_of_variables().find(|(_, keys)| keys.contains(&&*rest)) {
        let meant = variable(section, name_in(section), &rest);
        return format!("; did you mean `{meant}`?");
    }
    let known = sections_of_variables().flat_map(|(section, keys)| {
        let keys = keys
            .into_iter()
            .filter(|key| !OF_ONE_FUNCTION.contains(key));
        keys.map(move |key| variable(section, name_in(section), key))
    });
    let known: Vec<_> = known.chain([CONFIG_FILE.to_owned()]).collect();
    did_you_mean(variable_name, known.iter().map(String::as_str))
}
