//! Reads a configuration from a file and from variables, and collects all problems.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::Config;
use super::check::{A_POOL, no_pools};
use super::keys::{self, CONFIG_FILE, DEFAULT_FILE, KeyPath, PREFIX};
use crate::error::{ConfigError, Problem, ProblemKind};
use crate::parameters::{LockOptions, RawValue};
use crate::text::ShownName;

/// A configuration while its sources are read. Each source overrides the sources before it.
#[derive(Default)]
pub(super) struct ConfigReader {
    config: Config,
    problems: Vec<Problem>,
    /// The keys that the present source has set.
    seen: BTreeSet<KeyPath>,
    /// True if a file is invalid TOML, so its content is unknown.
    is_torn: bool,
}

impl ConfigReader {
    pub(super) fn over(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Reads the file that the variables name, or the default file, and then the variables.
    pub(super) fn read_environment(&mut self, variables: Vec<(OsString, OsString)>) {
        let named = variables.iter().find(|(name, _)| name == CONFIG_FILE);
        match named.map(|(_, path)| Path::new(path)) {
            Some(path) if path.to_string_lossy().trim().is_empty() => {
                let why = "it is blank; write the path of a file, or leave the variable out";
                self.problems
                    .push(Problem::invalid(why).at(CONFIG_FILE.to_owned()));
            }
            Some(path) => self.read_file(path),
            None if Path::new(DEFAULT_FILE).exists() => self.read_file(DEFAULT_FILE.as_ref()),
            None => {}
        }
        self.read_variables(variables);
    }

    /// Reads the TOML file at `path`.
    pub(super) fn read_file(&mut self, path: &Path) {
        let shown = ShownName(&path.to_string_lossy()).to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.read_toml(&format!("{shown}: "), &text),
            Err(error) => {
                let problem = Problem::new(ProblemKind::Unreadable, error.to_string());
                self.problems.push(problem.at(shown));
            }
        }
    }

    /// Reads a TOML text. In problems, `file` precedes the number of the line.
    pub(super) fn read_toml(&mut self, file: &str, text: &str) {
        self.seen.clear();
        let ends: Vec<_> = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut walk = Walk {
            reader: self,
            file,
            ends: &ends,
            problems: Vec::new(),
        };
        match DeTable::parse(text) {
            Ok(top) => walk.top(top.get_ref()),
            Err(error) => {
                walk.reader.is_torn = true;
                let line = walk.line(error.span().map_or(0, |span| span.start));
                // The message names the expected token, and not the text of the file, which may be a secret.
                let problem = Problem::new(ProblemKind::Unreadable, error.message());
                walk.problems.push((line, problem));
            }
        }
        let mut problems = walk.problems;
        problems.sort_by_key(|(line, _)| *line);
        let problems = problems.into_iter();
        self.problems
            .extend(problems.map(|(line, problem)| problem.at(format!("{file}line {line}"))));
    }

    /// Reads the library's variables, and skips all others.
    pub(super) fn read_variables(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) {
        self.seen.clear();
        let mut variables: Vec<_> = variables.into_iter().collect();
        variables.sort_by(|(one, _), (other, _)| one.cmp(other));
        let services = services(variables.iter().filter_map(|(name, _)| name.to_str()));
        for (name, value) in variables {
            let name = name.to_str().filter(|name| name.starts_with(PREFIX));
            // `CONFIG_FILE` was read above, because its path need not be UTF-8.
            let is_ours = |name: &&str| *name != CONFIG_FILE && !is_of_a_service(name, &services);
            let Some(name) = name.filter(is_ours) else {
                continue;
            };
            if let Err(problem) = self.read_variable(name, &value) {
                self.problems.push(problem.at(ShownName(name).to_string()));
            }
        }
    }

    fn read_variable(&mut self, variable: &str, value: &OsStr) -> Result<(), Problem> {
        let (section, name, key) = keys::of_variable(variable)?;
        let value = value.to_str();
        let value = value.ok_or_else(|| Problem::invalid("the value is not UTF-8"))?;
        let key = match section {
            "pools" => KeyPath::new(section, &self.config.pool_spelled(name)?, key),
            _ => KeyPath::new(section, name, key),
        };
        let raw = if value.bytes().all(|byte| byte.is_ascii_digit()) {
            RawValue::Digits(value)
        } else {
            RawValue::Text(value)
        };
        let entered = self.enter(key, &raw, ShownName(variable).to_string());
        entered.map_err(Problem::invalid)
    }

    /// Sets a key to the value that a source has at `place`.
    fn enter(&mut self, key: KeyPath, raw: &RawValue<'_>, place: String) -> Result<(), String> {
        let mut others = LockOptions::answers(key.key).map(|other| key.sibling(other));
        if let Some(other) = others.find(|other| self.seen.contains(other)) {
            return Err(format!(
                "it answers the same question as `{}` ({}); keep one of the two",
                other.key, self.config.places[&other],
            ));
        }
        self.config.set(&key, raw)?;
        self.seen.insert(key.clone());
        self.config.places.insert(key, place);
        Ok(())
    }

    /// Returns the configuration after one source was read, such as a file. Other sources may follow.
    ///
    /// # Errors
    /// Every problem of the source.
    pub(super) fn finish(self) -> Result<Config, ConfigError> {
        Problem::none_of(self.problems, ConfigError).map(|()| self.config)
    }

    /// Returns the configuration after all sources. If a source has a problem, the error also has everything else that
    /// a start would refuse. Otherwise code may still complete the configuration.
    ///
    /// # Errors
    /// Every problem, also a lack of pools.
    pub(super) fn finish_load(mut self) -> Result<Config, ConfigError> {
        match (self.problems.is_empty(), self.config.pools.is_empty()) {
            (true, true) => self.problems.push(no_pools()),
            (false, false) if !self.is_torn => drop(self.config.check(&mut self.problems)),
            _ => {}
        }
        self.finish()
    }
}

impl Config {
    /// Records the place of a table, even of an empty one.
    fn note_table(&mut self, table: &KeyPath, place: String) {
        match table.section {
            "pools" => drop(self.pools.entry(table.name.clone()).or_default()),
            "sites" => drop(self.sites.entry(table.name.clone()).or_default()),
            _ => {}
        }
        self.places.insert(table.clone(), place);
    }

    /// Returns the name of the pool that a variable spells. Several names may share one spelling.
    ///
    /// # Errors
    /// A problem if the spelling fits two pools.
    fn pool_spelled(&self, spelled: &str) -> Result<String, Problem> {
        let spelled = spelled.to_ascii_lowercase();
        let fits = |name: &&String| name.to_ascii_lowercase().replace('-', "_") == spelled;
        let fitting: Vec<_> = self.pools.keys().filter(fits).collect();
        match *fitting {
            [] => Ok(spelled),
            [name] => Ok(name.clone()),
            [one, other, ..] => {
                let text = format!(
                    "it fits the pools `{}` and `{}`; give one of them a name that differs in more than case, `-` and `_`",
                    ShownName(one),
                    ShownName(other),
                );
                Err(Problem::new(ProblemKind::UnknownPool, text).of_pools([&**one, other]))
            }
        }
    }
}

/// A walk through the tables and keys of a file.
struct Walk<'a> {
    reader: &'a mut ConfigReader,
    file: &'a str,
    /// The offsets of all line ends.
    ends: &'a [usize],
    /// The problems, each with its line.
    problems: Vec<(usize, Problem)>,
}

impl Walk<'_> {
    /// Returns the line of an offset, counted from one.
    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|&end| end < at) + 1
    }

    fn top(&mut self, top: &DeTable<'_>) {
        for (key, value) in top {
            let section = keys::tables().into_iter().find(|it| it == key.get_ref());
            match (section, value.get_ref()) {
                (None, value) => self.key(&KeyPath::new("", "", ""), key, value),
                (Some(section), DeValue::Table(tables)) if keys::has_names(section) => {
                    for (name, value) in tables {
                        let table = KeyPath::new(section, name.get_ref(), "");
                        self.table(&table, name, value.get_ref());
                    }
                }
                (Some(section), value) => {
                    self.table(&KeyPath::new(section, "", ""), key, value);
                }
            }
        }
    }

    fn table(&mut self, table: &KeyPath, name: &Spanned<DeString<'_>>, value: &DeValue<'_>) {
        let line = self.line(name.span().start);
        let DeValue::Table(keys) = value else {
            let right = if table.section == "pools" { A_POOL } else { "" };
            let why = format!("{}: expected a table{right}", table.table());
            self.problems.push((line, Problem::invalid(why)));
            return;
        };
        let place = format!("{}line {line}", self.file);
        self.reader.config.note_table(table, place);
        for (key, value) in keys {
            self.key(table, key, value.get_ref());
        }
    }

    fn key(&mut self, table: &KeyPath, key: &Spanned<DeString<'_>>, value: &DeValue<'_>) {
        let (line, key) = (self.line(key.span().start), key.get_ref());
        let mut known = keys::keys_of(table.section).into_iter();
        let entered = match known.find(|it| it == key) {
            None => Err(keys::unknown(table, key)),
            Some(known) => {
                let key = table.sibling(known);
                let place = format!("{}line {line}", self.file);
                let entered = self.reader.enter(key.clone(), &raw_value(value), place);
                entered.map_err(|why| Problem::invalid(format!("{key}: {why}")))
            }
        };
        if let Err(problem) = entered {
            self.problems.push((line, problem));
        }
    }
}

fn raw_value<'a>(value: &'a DeValue<'_>) -> RawValue<'a> {
    match value {
        DeValue::String(text) => RawValue::Text(text),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            number.map_or(RawValue::Other, RawValue::Integer)
        }
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or(RawValue::Other, RawValue::Float),
        DeValue::Boolean(is) => RawValue::Bool(*is),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str());
            texts
                .collect::<Option<_>>()
                .map_or(RawValue::Other, RawValue::List)
        }
        _ => RawValue::Other,
    }
}

/// Returns prefixes of variables that Kubernetes sets, one for each Service of a pod's namespace. Such variables are
/// skipped, so that a Service called `redlock-a` does not stop a start.
fn services<'a>(variables: impl Iterator<Item = &'a str>) -> Vec<String> {
    let hosts = variables.filter_map(|name| name.strip_suffix("SERVICE_HOST"));
    let ours = hosts.filter(|it| it.starts_with(PREFIX));
    ours.map(str::to_owned).collect()
}

fn is_of_a_service(variable: &str, services: &[String]) -> bool {
    let rests = services.iter().filter_map(|it| variable.strip_prefix(it));
    let mut rests = rests.map(|rest| rest.strip_prefix("SERVICE_").unwrap_or(rest));
    rests.any(|rest| matches!(rest, "HOST" | "PORT") || rest.starts_with("PORT_"))
}
