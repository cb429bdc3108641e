//! Figures in README.md and the guide, and the tables that the benchmarks write.

use crate::{GUIDE, assert_none, pages, read};

/// Returns the figures with their spread, `17 times (12–19)`: the median, the smallest and the largest of all rounds.
fn spreads(text: &str) -> impl Iterator<Item = [&str; 3]> {
    text.match_indices('–').filter_map(|(at, dash)| {
        let (before, smallest) = text[..at].rsplit_once('(')?;
        let (largest, _) = text[at + dash.len()..].split_once(')')?;
        let median = before.trim_end().trim_end_matches("times").trim_end();
        let median = median
            .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
            .next()?;
        let figure = [median, smallest, largest];
        let is_number = |it: &&str| it.parse::<f64>().is_ok();
        figure.iter().all(is_number).then_some(figure)
    })
}

/// True if `said` is `measured`, with as many decimals as it has.
fn is_rounded(said: &str, measured: &str) -> bool {
    let decimals = said.split_once('.').map_or(0, |(_, part)| part.len());
    let measured: f64 = measured.parse().expect("a number");
    format!("{measured:.decimals$}") == said
}

#[test]
fn every_figure_is_one_that_was_measured() {
    let results = read("benches/RESULTS.md");
    let measured: Vec<_> = spreads(&results).collect();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (path, text) in &pages() {
        if !path.starts_with(GUIDE) && !path.ends_with("README.md") {
            continue;
        }
        for said in spreads(text) {
            found += 1;
            let is_it = |it: &[&str; 3]| said.iter().zip(it).all(|(said, it)| is_rounded(said, it));
            if !measured.iter().any(is_it) {
                wrong.push(format!("{}: {said:?} is not in RESULTS.md", path.display()));
            }
        }
    }
    assert!(found > 12, "{found}");
    assert_none(&wrong);
}
