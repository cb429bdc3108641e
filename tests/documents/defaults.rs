//! Defaults: the tables of the guide, the macro's reference and the rustdoc of settings say those of the code. Limits:
//! the macro has those of core.

use std::collections::BTreeMap;

use redlock_core::request::{MAX_NOTE_BYTES, MAX_PERMITS, MAX_RESOURCE_BYTES, MIN_TTL};
use redlock_runtime::{Config, LockError, Redlock, redlock};

use crate::{GUIDE, assert_none, read};

struct Shop;

impl Shop {
    #[redlock(resource = "by_default")]
    #[allow(dead_code, reason = "only its parameters are looked at")]
    async fn charge(&self) -> Result<(), LockError> {
        Ok(())
    }
}

/// The name of `charge`, whose type is not in it.
const NAME: &str = concat!(module_path!(), "::charge");

/// A default as a document says it.
struct Claim {
    place: String,
    key: String,
    said: String,
}

/// Returns the values of `charge` as `redlock.toml` has them, if the configuration of the function says `line`.
async fn values(line: &str) -> Result<BTreeMap<&'static str, String>, String> {
    let text = format!("[pools.a]\nurl = 'memory://a'\n[sites.'{NAME}']\n{line}");
    let config = Config::from_toml(&text).map_err(|error| error.to_string())?;
    let redlock = Redlock::start(config).await;
    let redlock = redlock.map_err(|error| error.to_string())?;
    let sites = redlock.registry().sites();
    let site = sites.into_iter().find(|it| it.site.name() == NAME);
    let parameters = site.expect("a site of this name").parameters;
    redlock.shutdown().await;
    let values = parameters.into_iter();
    Ok(values
        .filter_map(|(key, it)| Some((key, it.value?)))
        .collect())
}

/// Returns the value in `said`, such as `60 000 ms` or `false`; `None` if it is in words.
fn literal(said: &str) -> Option<String> {
    let is_quoted = said.starts_with('`') && said.matches('`').count() == 2 && said.ends_with('`');
    let is_number = said.starts_with(|it: char| it.is_ascii_digit());
    (is_quoted || is_number).then(|| said.replace(['`', '"', ' '], ""))
}

/// The cells of each row of a table whose first cell has code, and the code there.
fn rows(page: &str) -> impl Iterator<Item = (Vec<&str>, Vec<&str>)> {
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter_map(|row| {
        let cells: Vec<_> = row.split(" | ").collect();
        let code: Vec<_> = cells[0].split('`').skip(1).step_by(2).collect();
        (cells.len() == 4 && !code.is_empty()).then_some((code, cells))
    })
}

/// Returns what is between `Default: ` and the end of the clause, if anything.
fn after_default(text: &str) -> Option<String> {
    let (_, said) = text.split_once("Default: ")?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", ", "].iter().filter_map(|end| said.find(end)).min();
    let said = &said[..end.unwrap_or(said.len())];
    Some(said.trim_end_matches('.').to_owned())
}

fn claims() -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut claim = |place: &str, key: &str, said: &str| {
        let [place, key, said] = [place, key, said].map(str::to_owned);
        claims.push(Claim { place, key, said });
    };
    let attribute = read(format!("{GUIDE}/reference/attribute.md"));
    rows(&attribute).for_each(|(code, cells)| claim("attribute.md", code[0], cells[2]));
    for section in read("redlock-macros/src/reference.md")
        .split("\n## `")
        .skip(1)
    {
        if let (Some((key, _)), Some(said)) = (section.split_once('`'), after_default(section)) {
            claim("reference.md", key, &said);
        }
    }
    claims
}

/// Returns the variable of each row of `settings.rs` whose rustdoc has a default, and that default.
fn settings_in_rustdoc() -> Vec<(String, String)> {
    let table = read("redlock-runtime/src/config/settings.rs");
    let rows = table.split(";\n\n").filter_map(|row| {
        let (comments, code): (Vec<_>, Vec<_>) = row
            .lines()
            .map(str::trim)
            .partition(|it| it.starts_with("///"));
        let code = code.iter().find(|line| line.starts_with('"'))?;
        let (section, rest) = code.strip_prefix('"')?.split_once("\" ")?;
        let (name, _) = rest.split_once(": ")?;
        let said = after_default(&comments.join(" ").replace("///", ""))?;
        let path = if name.starts_with(section) {
            name.to_owned()
        } else {
            format!("{section}_{name}")
        };
        Some((format!("REDLOCK_{}", path.to_uppercase()), said))
    });
    rows.collect()
}

#[tokio::test]
async fn every_default_is_that_of_the_code() {
    let built_in = values("").await.expect("a configuration");
    let (mut wrong, mut compared) = (Vec::new(), BTreeMap::new());
    for Claim { place, key, said } in &claims() {
        let (Some(value), Some(literal)) = (built_in.get(&**key), literal(said)) else {
            continue;
        };
        *compared.entry(key.clone()).or_insert(0) += 1;
        let set = values(&format!("{key} = '{literal}'")).await;
        // `if_locked` is no key of the file.
        let set = set
            .ok()
            .and_then(|mut set| set.remove(&**key))
            .unwrap_or(literal);
        if set != *value {
            wrong.push(format!(
                "{place}: `{key}` has the default {value}, and not {said}"
            ));
        }
    }
    assert_none(&wrong);
    for key in [
        "ttl",
        "retry_count",
        "retry_delay",
        "clock_drift_factor",
        "min_validity",
    ] {
        assert_eq!(compared.get(key), Some(&2), "{key}");
    }
}

#[test]
fn every_setting_has_the_default_of_its_row() {
    let page = read(format!("{GUIDE}/reference/configuration.md"));
    let in_page = rows(&page).filter(|(code, _)| !["[pools.a]", "[defaults]"].contains(&code[0]));
    let in_page = in_page.map(|(_, cells)| {
        let variable = cells[1].split('`').nth(1).unwrap_or_default();
        (variable.to_owned(), cells[2].to_owned())
    });
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (variable, said) in in_page.chain(settings_in_rustdoc()) {
        let Some(literal) = literal(&said) else {
            continue;
        };
        compared += 1;
        let set = Config::new().with_env([(&*variable, &*literal)]);
        let set = set.map_or_else(|error| error.to_string(), |set| format!("{set:?}"));
        if set != format!("{:?}", Config::new()) {
            wrong.push(format!("{variable} has not the default {said}"));
        }
    }
    assert_none(&wrong);
    assert!(compared > 19, "{compared}");
}

#[test]
fn the_name_of_a_site_is_built_as_the_guide_says() {
    let page = read(format!("{GUIDE}/reference/attribute.md"));
    let said = rows(&page).find_map(|(code, cells)| (code[0] == "name").then_some(cells[2]));
    let said = said.expect("a row of `name`").trim_matches('`');
    let name = said
        .replace("module", module_path!())
        .replace("function", "charge");
    assert_eq!(name, NAME);
}

/// `redlock-macros` does not depend on `redlock-core`, so it has copies.
#[test]
fn the_macro_has_the_limits_of_core() {
    let min_ttl = format!("Duration::from_millis({})", MIN_TTL.as_millis());
    for (file, constant, value) in [
        ("duration_rules.rs", "MIN_TTL: Duration", min_ttl),
        ("check.rs", "MAX_PERMITS: u32", MAX_PERMITS.to_string()),
        (
            "resource.rs",
            "MAX_RESOURCE: usize",
            MAX_RESOURCE_BYTES.to_string(),
        ),
        ("resource.rs", "MAX_NOTE: usize", MAX_NOTE_BYTES.to_string()),
    ] {
        let copy = format!("\nconst {constant} = {value};\n");
        let source = read(format!("redlock-macros/src/{file}"));
        assert!(source.contains(&copy), "{file}: core has {value}");
    }
}
