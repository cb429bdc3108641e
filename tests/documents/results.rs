//! What the benchmarks measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

#[derive(Default)]
pub(crate) struct Results {
    /// The values of all rounds, by group, case, figure and contender.
    rounds: BTreeMap<[String; 4], Vec<f64>>,
    /// The day on which each group was measured.
    dates: BTreeMap<String, String>,
}

impl Results {
    /// Reads the JSON files in `folder`. They have the same figures as the CSV files beside them.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut results = Self::default();
        for entry in fs::read_dir(folder).expect("the results of the benchmarks") {
            let path = entry.expect("an entry of a folder").path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                let text = fs::read_to_string(&path).expect("a file of results");
                results.add(&serde_json::from_str(&text).expect("JSON"));
            }
        }
        assert!(
            !results.rounds.is_empty(),
            "{} has results",
            folder.display()
        );
        results
    }

    pub(crate) fn add(&mut self, group: &Value) {
        let word = |value: &Value| value.as_str().expect("a text").to_owned();
        for figure in group["figures"].as_array().expect("a list") {
            let rounds = figure["rounds"].as_array().expect("a list");
            let key = [
                &group["group"],
                &figure["case"],
                &figure["name"],
                &figure["who"],
            ];
            let rounds = rounds.iter().map(|round| round.as_f64().expect("a number"));
            self.rounds.insert(key.map(word), rounds.collect());
        }
        let date = word(&group["about"]["date"]);
        self.dates.insert(word(&group["group"]), date);
    }

    /// The day on which the group of `source` was measured, if others were measured later.
    pub(crate) fn earlier(&self, source: &str) -> Option<&str> {
        let date = self.dates.get(source.split(';').next()?.trim())?;
        (Some(date) != self.dates.values().max()).then_some(date)
    }

    fn rounds(&self, key: [&str; 4]) -> Result<&[f64], String> {
        let rounds = self.rounds.get(&key.map(str::to_owned));
        let rounds = rounds.ok_or_else(|| format!("there is no result `{}`", key.join("; ")))?;
        Ok(rounds)
    }

    /// The values of all rounds of the figure that `source` names, and the unit of time that they have.
    pub(crate) fn look_up(&self, source: &str) -> Result<(Vec<f64>, Option<f64>), String> {
        let parts: Vec<&str> = source.split(';').map(str::trim).collect();
        let [group, case, name, who] = parts[..] else {
            return Err("a source is `group; case; figure; contender`".to_owned());
        };
        let Some((who, other)) = who.split_once(" / ") else {
            let rounds = self.rounds([group, case, name, who])?;
            let unit = name.split('_').find_map(seconds_of);
            return Ok((rounds.to_vec(), unit));
        };
        let ours = self.rounds([group, case, name, who])?;
        let theirs = self.rounds([group, case, name, other])?;
        let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs);
        Ok((ratios.collect(), None))
    }
}

/// How long a unit of time is, as the names of figures and the documents have it.
pub(crate) fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}
