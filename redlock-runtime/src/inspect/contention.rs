//! Refused calls by holder, and which keys finished calls left behind.

use maud::{Markup, html};

use super::page::{function, times};
use super::text::{Span, when};
use crate::registry::kept::KeptKeys;
use crate::telemetry::Refusal;

/// The keys that finished calls left on the nodes on purpose.
pub(super) fn left_behind(kept: &[KeptKeys]) -> Markup {
    html! {
        @if !kept.is_empty() {
            h2 { "Kept " span { "(" (kept.len()) " left on the nodes by finished calls)" } }
            table {
                thead { tr { th { "Resource" } th { "Site" } th { "Why" } th.n { "Kept until" } } }
                tbody { @for keys in kept { (kept_row(keys)) } }
            }
        }
    }
}

fn kept_row(keys: &KeptKeys) -> Markup {
    html! {
        tr {
            td data-label="Resource" { bdi { (keys.resource) } }
            td data-label="Site" {
                @if let Some(site) = keys.site { (function(site)) }
                @else { span.dim { "in the object style" } }
            }
            td data-label="Why" { code { (keys.parameter) } }
            td.n data-label="Kept until" {
                (when(keys.until))
                small { (Span(keys.left)) " more" }
            }
        }
    }
}

/// Whose locks calls were refused for in the last minutes.
pub(super) fn refusals(refused: &[Refusal]) -> Markup {
    html! {
        @for refusal in refused {
            small {
                span.tag.bad { "refused " (times(refusal.count)) }
                " by " bdi { (refusal.by) }
                ", the last one " (Span(refusal.ago)) " ago for " bdi { (refusal.resource) }
                @if !refusal.longest_wait.is_zero() {
                    "; waited " (Span(refusal.longest_wait)) " at most"
                }
            }
        }
    }
}
