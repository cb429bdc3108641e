//! Renders the page.
//!
//! The template escapes all values, because names of resources come from outside.

use std::time::SystemTime;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use redlock_runtime::registry::Registry;

use crate::text::utc;
use crate::view::{
    ElectionView, FunctionView, HealthView, LeaseView, ParameterView, PoolView, all,
};

/// The most rows that a page shows. The leases that have been held longest come first.
const MOST_ROWS: usize = 200;

pub(crate) fn render(registry: &Registry, path: &str, is_live: bool) -> String {
    let health = HealthView::of(registry);
    let elections: Vec<ElectionView> = all(registry.elections());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                @if is_live { meta http-equiv="refresh" content="5"; }
                title { "redlock on " (health.owner) }
                // The styles are a constant of this crate, so they need no escaping.
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    h1 { "redlock" }
                    p { (health.owner) ", " (utc(SystemTime::now())) }
                    nav {
                        @for name in ["health", "held", "sites"] {
                            a href=(below(path, name)) { (name) ".json" }
                        }
                        @if is_live { a href="?" { "Stop reloading" } }
                        @else { a href="?live" { "Reload every 5 s" } }
                    }
                }
                main {
                    (state(&health))
                    (table("Pools", ["Pool", "Vote", "Latency", "Clock", "Connection", "Errors"], &health.pools, pool))
                    (table("Held", ["Resource", "Function", "Held for", "Valid for", "Token", "Pools"], &all(registry.held()), lease))
                    @if !elections.is_empty() { (table("Elections", ["Office", "Election", "Leads", "Value"], &elections, election)) }
                    (table("Functions", ["Function", "Locks", "Parameters", "Held now"], &all(registry.sites()), function))
                }
            }
        }
    };
    page.into_string()
}

/// Returns a link to a document below `path`. The link is relative, for proxies that change the prefix.
fn below(path: &str, name: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    // The dot prevents a browser from taking a part of `last` for a scheme.
    if last.is_empty() {
        format!("./{name}")
    } else {
        format!("./{last}/{name}")
    }
}

fn state(health: &HealthView) -> Markup {
    let votes = &health.votes;
    let (headline, class) = if health.shutting_down {
        ("Shutting down: no new locks.", "bad")
    } else if !health.ready {
        ("No locks: too few nodes vote.", "bad")
    } else if votes.voting == votes.configured {
        ("Locks work.", "")
    } else if votes.voting == votes.needed {
        ("Locks work; one more failed node stops them.", "warn")
    } else {
        ("Locks work, but not all nodes vote.", "warn")
    };
    html! {
        p class={ "state " (class) } {
            (headline) " "
            span {
                (votes.voting) " of " (votes.configured) " default pools vote, "
                (votes.needed) " needed. " (health.held) " held, " (health.waiting) " waiting here."
            }
        }
    }
}

/// Renders a section with a row for each item. On a narrow screen each cell shows its column's name.
fn table<T, const N: usize>(
    title: &str,
    columns: [&str; N],
    items: &[T],
    row: fn(&T) -> [Markup; N],
) -> Markup {
    html! {
        h2 { (title) " " span { (items.len()) } }
        @if items.is_empty() {
            p.none { "None in this process." }
        } @else {
            table role="table" {
                thead { tr role="row" { @for column in columns { th scope="col" { (column) } } } }
                tbody {
                    @for item in items.iter().take(MOST_ROWS) {
                        tr role="row" {
                            @for (column, cell) in columns.iter().zip(row(item)) {
                                td role="cell" data-label=(column) { (cell) }
                            }
                        }
                    }
                }
            }
            @if items.len() > MOST_ROWS { p.dim { "… and " (items.len() - MOST_ROWS) " more" } }
        }
    }
}

fn pool(pool: &PoolView) -> [Markup; 6] {
    [
        html! {
            strong { (pool.name) }
            @if !pool.default { small { "not a default pool" } }
            small { (pool.server.as_deref().unwrap_or("in this process")) }
        },
        html! {
            @if let Some(reason) = &pool.reason {
                span.tag.bad { "does not vote" }
                small { (prose(&reason.text)) }
            } @else {
                span.tag { "votes" }
                @if pool.epoch > 0 { small { "may have forgotten locks " (pool.epoch) "×" } }
            }
            @if pool.leases_without_grant > 0 {
                small { (pool.leases_without_grant) " held here without this node" }
            }
        },
        html! { @if let Some(latency) = &pool.latency_us { span.whole { (latency) } } },
        html! {
            @if let Some(ahead) = &pool.clock_ahead_us { span.whole { (format!("{ahead:+}")) } }
            @if let Some(within) = &pool.clock_within_us { small.whole { "± " (within) } }
        },
        html! {
            @if pool.connected { "connected" } @else { "not connected" }
            @if let Some(since) = &pool.since_ms { " for " span.whole { (since) } }
            small {
                (pool.answers) " answers, " (pool.in_flight) " in flight"
                @if pool.connections > 1 { ", reconnected " (pool.connections - 1) "×" }
            }
        },
        html! {
            @if pool.errors.is_empty() && pool.last_error.is_none() { span.dim { "none" } }
            @for (kind, count) in &pool.errors { div { (kind.replace('_', " ")) " " (count) "×" } }
            @if let Some(last) = &pool.last_error {
                small { @if let Some(ago) = &last.ago_ms { (ago) " ago: " } (prose(&last.text)) }
            }
        },
    ]
}

fn lease(lease: &LeaseView) -> [Markup; 6] {
    [
        // `bdi` isolates the text, which could otherwise reverse the rest of the line.
        html! {
            bdi { (lease.resource) }
            @if let Some(note) = &lease.note { small { bdi { (note) } } }
            @if matches!(lease.kind, "read" | "write") { small { (lease.kind) "s" } }
            @if lease.sharers > 1 { small { "shared by " (lease.sharers) } }
            @if lease.waiting > 0 { small { (lease.waiting) " waiting" } }
        },
        html! {
            (path(lease.site))
            @if !lease.has_body { small { "a lease without a body" } }
        },
        html! { (lease.held_ms) small { "since " (lease.since) } },
        html! {
            @if lease.validity_ms.0.is_zero() { span.tag.bad { "over" } } @else { (lease.validity_ms) }
            small { "ttl " (lease.ttl_ms) @if lease.extensions > 0 { ", extended " (lease.extensions) "×" } }
        },
        html! {
            code.whole { (lease.token_id) "…" }
            @if let Some(token) = lease.fencing_token { small.whole { "fencing " (token) } }
            @if let Some(permit) = lease.permit { small { "permit " (permit) } }
        },
        html! { (lease.pools.join(", ")) },
    ]
}

fn election(election: &ElectionView) -> [Markup; 4] {
    [
        html! { bdi { (election.resource) } },
        path(election.site),
        html! {
            @if let Some(leading) = &election.leading_ms {
                span.tag { "leads" } " for " (leading)
                @if let Some(token) = election.fencing_token { small.whole { "fencing " (token) } }
            } @else { span.dim { "stands" } }
        },
        html! { @if let Some(value) = &election.value { bdi { (value) } } },
    ]
}

fn function(function: &FunctionView) -> [Markup; 4] {
    let shown = |(name, parameter): &(&&str, &ParameterView)| match parameter.layer {
        "built in" => matches!(**name, "ttl" | "retry_count"),
        "defaults" => **name != "pools",
        _ => true,
    };
    [
        html! { (path(function.site)) small { (function.file) ":" (function.line) } },
        html! { code { (function.resource) } },
        html! {
            @for (name, parameter) in function.parameters.iter().filter(shown) {
                span.part {
                    code { (name) } " "
                    @if let Some(value) = &parameter.value { (value) } @else { span.dim { "said by the call" } }
                    @if parameter.layer == "override" { " " span.tag.warn { "override" } }
                } " "
            }
        },
        html! { @if function.held > 0 { (function.held) } },
    ]
}

/// Renders a function's path, with a possible line break after each `::`.
fn path(name: &str) -> Markup {
    html! {
        code {
            @for (index, part) in name.split("::").enumerate() {
                @if index > 0 { "::" wbr; }
                (part)
            }
        }
    }
}

/// Renders a text that has names and commands between backticks.
fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn backticks_become_code() {
        let text = prose("run `ACL <x>` on `a`").into_string();
        assert_eq!(text, "run <code>ACL &lt;x&gt;</code> on <code>a</code>");
    }
}
