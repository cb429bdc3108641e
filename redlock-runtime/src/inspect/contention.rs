//! Refused and skipped calls, runs of jobs, lost leases, and which keys finished calls left behind.

use maud::{Markup, html};

use super::page::{function, times};
use super::text::{Brief, when};
use crate::registry::health::NamedReport;
use crate::registry::kept::KeptKeys;
use crate::site::Site;
use crate::telemetry::{JobRun, Loss, MOST_LOSSES, Refusal};

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

/// The last leases that were lost.
pub(super) fn losses(lost: &[Loss]) -> Markup {
    html! {
        @if !lost.is_empty() {
            h2 {
                "Lost " span {
                    // The older ones are forgotten.
                    @if lost.len() == MOST_LOSSES { "(the last " (lost.len()) } @else { "(" (lost.len()) }
                    ", under running work)"
                }
            }
            table {
                thead { tr { th { "Resource" } th { "Site" } th { "Why" } th.n { "When" } } }
                tbody {
                    @for loss in lost {
                        tr {
                            td data-label="Resource" { bdi { (loss.resource) } }
                            td data-label="Site" { (holder(loss.site)) }
                            td data-label="Why" { (loss.reason) }
                            td.n data-label="When" { (Brief(loss.ago)) " ago" }
                        }
                    }
                }
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

/// Locks in the object style that have more to tell than that they are held.
pub(super) fn object_style(named: &[NamedReport], refused: &[Refusal]) -> Markup {
    html! {
        @if !named.is_empty() || !refused.is_empty() {
            h2 { "Object style " span { "(refused in the last minutes, or once in a period)" } }
            table {
                thead { tr { th { "Name" } th.n { "Held now" } } }
                tbody {
                    @for report in named { (named_row(report)) }
                    @if !refused.is_empty() {
                        tr {
                            td data-label="Name" { span.dim { "without a name" } (refusals(refused, false)) }
                            td.n data-label="Held now" {}
                        }
                    }
                }
            }
        }
    }
}

fn named_row(report: &NamedReport) -> Markup {
    let site = report.site;
    html! {
        tr {
            td data-label="Name" {
                (function(site))
                small { (site.file()) ":" (site.line()) }
                @if let Some(run) = &report.last_run { (last_run(run)) }
                (refusals(&report.refused, false))
            }
            td.n data-label="Held now" {
                @if report.held == 0 { span.dim { "–" } } @else { (report.held) }
            }
        }
    }
}

/// The last run of a function that runs once a period.
pub(super) fn last_run(run: &JobRun) -> Markup {
    html! {
        small {
            "last run by " bdi { (run.by) }
            @if let Some(began) = run.began { ", began " span.whole { (when(began)) } }
            " for " bdi { (run.resource) }
            @if run.next_in.is_zero() { "; may run again" }
            @else { "; may run again in " (Brief(run.next_in)) }
            @if run.calls_not_run > 0 { "; not run again " (times(run.calls_not_run)) }
        }
    }
}

/// Whose locks calls were refused for in the last minutes. A call that is skipped is as planned.
pub(super) fn refusals(refused: &[Refusal], is_skip: bool) -> Markup {
    html! {
        @for refusal in refused {
            small {
                @if is_skip { span.tag.off { "skipped " (times(refusal.count)) } }
                @else { span.tag.bad { "refused " (times(refusal.count)) } }
                " by " bdi { (refusal.by) }
                ", the last one " (Brief(refusal.ago)) " ago for " bdi { (refusal.resource) }
                @if !refusal.longest_wait.is_zero() {
                    "; waited " (Brief(refusal.longest_wait)) " at most"
                }
            }
        }
    }
}
