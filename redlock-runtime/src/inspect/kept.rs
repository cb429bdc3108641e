//! The keys that finished calls left behind.

use maud::{Markup, html};

use super::page::function;
use super::text::{Brief, when};
use crate::registry::kept::KeptKeys;
use crate::site::Site;

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
            td data-label="Site" { (holder(keys.site)) }
            td data-label="Why" { code { (keys.parameter) } }
            td.n data-label="Kept until" {
                (when(keys.until))
                small { (Brief(keys.left)) " more" }
            }
        }
    }
}

fn holder(site: Option<&'static Site>) -> Markup {
    html! {
        @if let Some(site) = site { (function(site)) }
        @else { span.dim { "in the object style" } }
    }
}
