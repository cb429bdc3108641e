//! Tests of the keys in the guide's tables.

use std::collections::BTreeSet;

use super::super::keys::{has_names, sections, variable};

/// Returns the keys of the guide's tables, without names of pools and sites.
fn documented() -> BTreeSet<(String, String)> {
    let page = include_str!("../../../guide/reference/configuration.md");
    let tables = page.split("\n| `redlock.toml` |").skip(1);
    let rows = tables.flat_map(|it| it.lines().skip(2).take_while(|line| line.starts_with('|')));
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(quoted).collect();
        let (keys, said) = (&cells[1], cells[2].first());
        let (section, keys) = match keys.split_first() {
            Some((table, keys)) if table.starts_with('[') => {
                let section = table.trim_matches(['[', ']']).split('.').next();
                (section.unwrap(), keys)
            }
            _ => ("", &keys[..]),
        };
        // The variable of a row with several keys is that of the first.
        for (at, key) in keys.iter().enumerate() {
            let name = if has_names(section) { "A" } else { "" };
            let variable = variable(section, name, key);
            let has_variable = section != "sites";
            if at == 0 {
                assert_eq!(said, has_variable.then_some(&variable), "{row}");
            }
            all.insert((section.to_owned(), key.to_owned()));
        }
    }
    all
}

#[test]
fn the_guide_has_every_key_and_no_other() {
    let known = sections().flat_map(|(section, keys)| {
        let keys = keys.into_iter();
        keys.map(move |key| (section.to_owned(), key.to_owned()))
    });
    assert_eq!(documented(), known.collect());
}
