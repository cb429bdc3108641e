//! Charts of requests on a time line, and the full answers.

use std::time::{Duration, Instant};

use crate::client::Exchange;

/// Columns of the time line.
const WIDTH: usize = 40;

pub(crate) const LEGEND: &str = "·  waits     █  holds the lock     ×  ends without an answer 200";

/// Prints when each request waited, held its lock and ended, in the order in which they got it.
pub(crate) fn print(exchanges: &[Exchange]) {
    let mut rows: Vec<_> = exchanges.iter().collect();
    rows.sort_by_key(|it| it.times.entered.unwrap_or(it.ended));
    let start = exchanges.iter().map(|it| it.sent).min();
    let end = exchanges.iter().map(|it| it.ended).max();
    let (Some(start), Some(end)) = (start, end) else {
        return;
    };
    let span = format!("{} ms", (end - start).as_millis());
    let width = WIDTH - 4;
    println!("\n   request lock       0 ms{span:>width$}    waited     held   answer");
    for it in rows {
        let held = it.times.entered.map(|entered| (entered, left(it)));
        let lock = if held.is_some() {
            &it.times.resource
        } else {
            "-"
        };
        let waited = millis(held.map_or(it.ended, |(entered, _)| entered) - it.sent);
        let held_for = held.map_or("-".to_owned(), |(entered, left)| millis(left - entered));
        let bar = bar(it, start, end - start);
        let answer = it.answer.as_ref().map(|answer| answer.status.to_string());
        let answer = answer.unwrap_or("the client has gone".to_owned());
        println!(
            "   {:<8}{lock:<11}{bar} {waited:>9}{held_for:>9}   {answer}",
            it.id
        );
    }
}

/// Prints a caller's answer, and the text for operators.
pub(crate) fn print_refusal(exchange: &Exchange) {
    let Some(answer) = &exchange.answer else {
        return;
    };
    println!(
        "\n   {:<21}{}",
        format!("{} got", exchange.id),
        answer.status
    );
    for name in ["retry-after", "content-type"] {
        if let Some(value) = answer.headers.get(name) {
            println!("   {:<21}{name}: {}", "", value.to_str().unwrap_or("?"));
        }
    }
    for line in answer.body.replace(",\"", ",\n \"").lines() {
        println!("   {:<21}{line}", "");
    }
    if let Some(text) = &answer.for_operators {
        println!("   {:<21}{text}", "the operator reads");
    }
}

/// Returns how many of `exchanges` held the same lock at the same time, at most.
pub(crate) fn most_at_once(exchanges: &[Exchange]) -> usize {
    let holders_at = |one: &Exchange| {
        let at = one.times.entered?;
        let others = exchanges.iter().filter(|other| {
            let holds =
                other.times.entered.is_some_and(|entered| entered <= at) && left(other) > at;
            holds && other.times.resource == one.times.resource
        });
        Some(others.count())
    };
    exchanges.iter().filter_map(holders_at).max().unwrap_or(0)
}

fn left(exchange: &Exchange) -> Instant {
    exchange.times.left.unwrap_or(exchange.ended)
}

fn millis(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

/// Draws the row of a request on a time line from `start` over `span`.
fn bar(exchange: &Exchange, start: Instant, span: Duration) -> String {
    let column = |at: Instant| {
        let part = (at - start).as_micros() * (WIDTH as u128 - 1) / span.as_micros().max(1);
        usize::try_from(part).unwrap_or(0).min(WIDTH - 1)
    };
    let mut cells = [' '; WIDTH];
    let ended = column(exchange.ended);
    cells[column(exchange.sent)..=ended].fill('·');
    if let Some(entered) = exchange.times.entered.map(column) {
        // What comes after it is the way of the answer.
        cells[entered..].fill(' ');
        cells[entered..=column(left(exchange)).max(entered)].fill('█');
    }
    if exchange
        .answer
        .as_ref()
        .is_none_or(|answer| !answer.status.is_success())
    {
        cells[ended] = '×';
    }
    cells.iter().collect()
}
