//! The elections in which this process stands, as JSON and on the page.

use maud::{Markup, html};
use serde::Serialize;

use super::json::ms;
use super::page::function;
use super::text::Brief;
use crate::registry::Candidacy;

#[derive(Serialize)]
pub(super) struct ElectionEntry {
    /// A text for readers: escaped, and cut if it is long.
    resource: String,
    site: &'static str,
    value: Option<String>,
    leading: bool,
    leading_ms: Option<u64>,
    fencing_token: Option<u64>,
}

impl From<Candidacy> for ElectionEntry {
    fn from(candidacy: Candidacy) -> Self {
        Self {
            resource: candidacy.resource.to_string(),
            site: candidacy.site.site_name(),
            value: candidacy.value,
            leading: candidacy.leading_for.is_some(),
            leading_ms: candidacy.leading_for.map(ms),
            fencing_token: candidacy.fencing_token.map(u64::from),
        }
    }
}

/// The elections in which this process stands. Nothing, if it stands in none.
pub(super) fn elections(elections: &[Candidacy]) -> Markup {
    html! {
        @if !elections.is_empty() {
            h2 { "Elections " span { "(" (elections.len()) ")" } }
            table {
                thead {
                    tr {
                        th { "Office" } th { "Election" } th { "Leads" } th { "Value" }
                    }
                }
                tbody { @for election in elections { (row(election)) } }
            }
        }
    }
}

fn row(election: &Candidacy) -> Markup {
    html! {
        tr {
            td data-label="Office" { bdi { (election.resource) } }
            td data-label="Election" {
                (function(election.site))
                small { (election.site.file()) ":" (election.site.line()) }
            }
            td data-label="Leads" {
                @if let Some(leading_for) = election.leading_for {
                    span.tag { "leads" }
                    small { "for " (Brief(leading_for)) }
                    @if let Some(token) = election.fencing_token { small.whole { "fencing " (token) } }
                } @else {
                    span.dim { "stands" }
                }
            }
            td data-label="Value" {
                @if let Some(value) = &election.value { bdi { (value) } } @else { span.dim { "–" } }
            }
        }
    }
}
