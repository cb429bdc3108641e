//! The keys in the guide's table.

use std::collections::BTreeSet;

use super::super::keys::{CONFIG_FILE, has_names, sections, variable};

/// The variables of the guide's table; the names of pools and sites as `<NAME>`.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../guide/reference/configuration.md");
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| `redlock.toml`"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(quoted).collect();
        let (keys, said) = (&cells[1], &cells[2][0]);
        let (section, keys) = match keys.split_first() {
            None => {
                assert_eq!(said, CONFIG_FILE, "{row}");
                continue;
            }
            Some((table, keys)) if table.starts_with('[') => {
                let section = table.trim_matches(['[', ']']).split('.').next();
                (section.unwrap(), keys)
            }
            Some(_) => ("", &keys[..]),
        };
        for key in keys {
            let name = if has_names(section) { "<NAME>" } else { "" };
            let variable = variable(section, name, key);
            // One row for all parameters of a site.
            let said = said.replace("_POOLS_A_", "_POOLS_<NAME>_");
            let said = said.replace(
                "<SITE>_<PARAMETER>",
                &format!("<NAME>_{}", key.to_uppercase()),
            );
            assert_eq!(said, variable, "{row}");
            all.insert(variable);
        }
    }
    all
}

#[test]
fn the_guide_has_every_key_and_no_other() {
    let known = sections().flat_map(|(section, keys)| {
        let name = if has_names(section) { "<NAME>" } else { "" };
        keys.into_iter()
            .map(move |key| variable(section, name, key))
    });
    assert_eq!(documented(), known.collect());
}
