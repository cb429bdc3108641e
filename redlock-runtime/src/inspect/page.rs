//! The page of the inspection. The template escapes all values, as names of resources come from outside.

use std::time::SystemTime;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use redlock_core::node::{NodeHealth, NodeStatus};

use super::elections::elections;
use super::text::{Brief, Millis, Offset, lives, tries, when};
use crate::health::PoolHealth;
use crate::parameters::LockOptions;
use crate::registry::HeldLease;
use crate::registry::Registry;
use crate::registry::health::SiteReport;
use crate::site::Site;

const STYLE: &str = include_str!("style.css");

/// The most rows of a readable page. The leases that have been held longest come first.
const MOST_HELD: usize = 200;

pub(super) fn render(registry: &Registry, path: &str, is_live: bool) -> String {
    let held = registry.held();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                @if is_live { meta http-equiv="refresh" content="5"; }
                title { "redlock on " (registry.owner()) }
                // A constant of this crate.
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "redlock" }
                    span.dim { (registry.owner()) ", " (when(SystemTime::now())) }
                    nav {
                        @for name in ["health", "held", "sites"] {
                            a href=(below(path, name)) { (name) ".json" }
                        }
                        @if is_live { a href="?" { "stop reloading" } } @else { a href="?live" { "reload every 5 s" } }
                    }
                }
                (state(registry))
                (pools(&registry.health()))
                (leases(&held, registry.waiting()))
                (elections(&registry.elections()))
                (sites(&registry.sites()))
            }
        }
    };
    page.into_string()
}

/// A link to a page below `path`. It is relative, for proxies with another prefix.
fn below(path: &str, name: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    // Because of the dot, no part of `last` can be read as a scheme.
    if last.is_empty() {
        format!("./{name}")
    } else {
        format!("./{last}/{name}")
    }
}

fn state(registry: &Registry) -> Markup {
    let votes = registry.votes();
    let (headline, class) = if registry.is_closing() {
        ("Shutting down: no new locks", "bad")
    } else if !votes.suffice() {
        ("No locks can be had: too few nodes vote", "bad")
    } else if votes.voting == votes.configured {
        ("All is well", "")
    } else if votes.voting == votes.needed {
        ("Locks can be had, with no node to spare", "warn")
    } else {
        ("Locks can be had, but not all nodes vote", "warn")
    };
    html! {
        p class={ "state " (class) } {
            (headline) ". "
            span {
                (votes.voting) " of " (votes.configured) " default pools vote, "
                (votes.needed) " needed."
            }
        }
    }
}

/// A function's path, with a possible line break after each `::`.
pub(super) fn function(site: &Site) -> Markup {
    let name = site.site_name();
    html! {
        code {
            @for (index, part) in name.split("::").enumerate() {
                @if index > 0 { "::" wbr; }
                (part)
            }
        }
    }
}

fn pools(pools: &[PoolHealth]) -> Markup {
    html! {
        h2 { "Pools " span { "(" (pools.len()) ")" } }
        table {
            thead {
                tr {
                    th { "Pool" } th { "Vote" } th.n { "Latency" } th.n { "Clock" }
                    th { "Connection" } th { "Errors" }
                }
            }
            tbody { @for pool in pools { (pool_row(pool)) } }
        }
    }
}

fn pool_row(health: &PoolHealth) -> Markup {
    let node_health = &health.node_health;
    html! {
        tr {
            td data-label="Pool" {
                strong { (health.pool) }
                @if !health.is_default { " " span.dim { "not a default pool" } }
                small { (node_health.server.as_deref().unwrap_or("in this process")) }
            }
            td data-label="Vote" {
                @if let NodeStatus::Abstaining(reason) = &health.status {
                    span.tag.bad { "does not vote" }
                    small { (reason) }
                } @else {
                    span.tag { "votes" }
                }
                @if health.epoch > 0 && health.is_voting() {
                    small { "may have forgotten locks " (times(health.epoch.into())) " so far" }
                }
                @if health.not_resting > 0 {
                    small { (health.not_resting) " held here that do not rest on it" }
                }
            }
            td.n data-label="Latency" {
                @if let Some(latency) = node_health.latency {
                    (Millis(latency))
                } @else { span.dim { "–" } }
            }
            td.n data-label="Clock" {
                @if let Some(clock) = node_health.clock {
                    (Offset(clock.ahead_us))
                    small { "± " (Millis(clock.within)) }
                } @else { span.dim { "–" } }
            }
            td data-label="Connection" { (connection(node_health)) }
            td data-label="Errors" { (errors(node_health)) }
        }
    }
}

fn connection(node_health: &NodeHealth) -> Markup {
    if node_health.server.is_none() {
        return html! { span.dim { "–" } };
    }
    html! {
        @if node_health.is_connected { "connected" } @else { "not connected" }
        @if let Some(since) = node_health.since { " for " span.whole { (Brief(since)) } }
        small {
            @if node_health.connections > 1 { "made anew " (times(node_health.connections - 1)) ", " }
            (node_health.answers) " answers, " (node_health.in_flight) " out"
        }
    }
}

fn errors(node_health: &NodeHealth) -> Markup {
    let counted = node_health.errors.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<_> = counted.collect();
    html! {
        @if counted.is_empty() && node_health.last_error.is_none() { span.dim { "none" } }
        @for (index, (kind, count)) in counted.iter().enumerate() {
            @if index > 0 { ", " }
            (count) " " (kind.as_str().replace('_', " "))
        }
        @if let Some(last) = &node_health.last_error {
            small { (Brief(last.ago)) " ago: " (last.error) }
        }
    }
}

fn leases(held: &[HeldLease], waiting: usize) -> Markup {
    html! {
        h2 {
            "Held " span {
                "(" (held.len()) @if waiting > 0 { "; " (waiting) " in line" } ")"
            }
        }
        @if held.is_empty() {
            p.none { "Nothing is held by this process." }
        } @else {
            table {
                thead {
                    tr {
                        th { "Resource" } th { "Site" } th.n { "Held" } th.n { "Valid" }
                        th.n { "Extended" } th { "Token" } th { "Pools" }
                    }
                }
                tbody { @for lease in held.iter().take(MOST_HELD) { (lease_row(lease)) } }
            }
            @if held.len() > MOST_HELD {
                p.dim { "and " (held.len() - MOST_HELD) " that have not been held for so long" }
            }
        }
    }
}

fn lease_row(lease: &HeldLease) -> Markup {
    html! {
        tr {
            // `bdi` isolates a text, so that it cannot reverse the direction of the rest of the line.
            td data-label="Resource" {
                bdi { (lease.resource) }
                @if let Some(note) = &lease.note { small { bdi { (note) } } }
                (company(lease))
            }
            td data-label="Site" {
                (function(lease.site))
                @if !lease.has_body { small { "a bare lease" } }
            }
            td.n data-label="Held" {
                (Brief(lease.held_for))
                small { (when(lease.since)) }
            }
            td.n data-label="Valid" {
                @if lease.validity.is_zero() { span.tag.bad { "over" } }
                @else { (Brief(lease.validity)) }
                small { "ttl " (Brief(lease.ttl)) }
            }
            td.n data-label="Extended" {
                @if lease.extensions == 0 { span.dim { "–" } } @else { (lease.extensions) "×" }
            }
            td data-label="Token" {
                code { (lease.token_id) "…" }
                @if let Some(token) = lease.fencing_token { small.whole { "fencing " (token) } }
                @if let Some(permit) = lease.permit { small { "permit " (permit) } }
            }
            (names(&lease.pools))
        }
    }
}

/// The other callers that share the lock or wait for it.
fn company(lease: &HeldLease) -> Markup {
    html! {
        @if let Some(mode) = lease.mode { small { (mode.as_str()) "s" } }
        @if lease.sharers > 1 { small { "shared by " (lease.sharers) } }
        @if lease.waiting > 0 { small { (lease.waiting) " in line" } }
    }
}

fn sites(sites: &[SiteReport]) -> Markup {
    html! {
        h2 { "Sites " span { "(" (sites.len()) ")" } }
        @if sites.is_empty() {
            p.none { "No function of this program is under " code { "#[redlock]" } "." }
        } @else {
            table {
                thead {
                    tr {
                        th { "Function" } th { "Locks" } th { "Lives" } th { "Tries" } th { "Pools" }
                        th.n { "Held now" }
                    }
                }
                tbody { @for site in sites { (site_row(site)) } }
            }
        }
    }
}

fn site_row(report: &SiteReport) -> Markup {
    let site = report.site;
    let at_call = |name: &&str| report.at_call.contains(name);
    let (has_own_ttl, has_own_hold) = (at_call(&"ttl"), at_call(&"max_hold"));
    let has_own_tries = at_call(&"wait") || at_call(&"retry_count");
    html! {
        tr {
            td data-label="Function" {
                (function(site))
                small { (site.file()) ":" (site.line()) }
            }
            td data-label="Locks" {
                code { (site.resource_template()) }
                @for (_, kind) in report.parameters.kinds() { small { (kind) } }
                @for name in LockOptions::KINDS {
                    @if at_call(name) { small { (name) " that the call says" } }
                }
                @if at_call(&"once_per") { small { "once in a period that the call says" } }
                @else if let Some(period) = report.parameters.once_per {
                    small { "runs once in " (Brief(period)) }
                }
                @if report.parameters.fencing { small { "with a fencing token" } }
                @if !report.overridden.is_empty() {
                    small { (report.overridden.join(", ")) " by the configuration" }
                }
            }
            td data-label="Lives" {
                @if has_own_ttl || has_own_hold { span.dim { "said by the call" } }
                @else { (lives(&report.parameters)) }
            }
            td data-label="Tries" {
                @if has_own_tries { span.dim { "said by the call" } }
                @else { (tries(&report.parameters)) }
            }
            (names(&report.pools))
            td.n data-label="Held now" {
                @if report.held == 0 { span.dim { "–" } } @else { (report.held) }
            }
        }
    }
}

fn names(pools: &[String]) -> Markup {
    html! { td.whole[pools.len() <= 5] data-label="Pools" { (pools.join(", ")) } }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn links_work_wherever_the_page_is_mounted() {
        for (path, link) in [
            ("/", "./held"),
            ("/locks", "./locks/held"),
            ("/locks/", "./held"),
            ("/a/b", "./b/held"),
            ("", "./held"),
            ("/javascript:x", "./javascript:x/held"),
        ] {
            assert_eq!(below(path, "held"), link, "{path}");
        }
    }
}
