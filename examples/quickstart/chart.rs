//! Charts of requests on a time line, and the full answers.

use std::time::{Duration, Instant};

use crate::client::{Exchange, Reply};
use crate::diary::{Diary, Visit};

/// Columns of the time line.
const WIDTH: usize = 40;

pub(crate) const LEGEND: &str = "·  waits     █  holds the lock     ×  ends without an answer 200";

/// Prints when each request waited, held its lock and ended; in the order in which they got it.
pub(crate) fn print(exchanges: &[Exchange], diary: &Diary) {
    let mut rows: Vec<_> = exchanges
        .iter()
        .map(|exchange| (exchange, diary.visit_of(&exchange.id)))
        .collect();
    rows.sort_by_key(|(exchange, visit)| visit.as_ref().map_or(exchange.ended, |it| it.entered));
    let Some(scale) = Scale::of(exchanges) else {
        return;
    };

    let span = format!("{} ms", scale.span.as_millis());
    println!(
        "\n   {:<8}{:<11}0 ms{span:>width$} {:>9}{:>9}   answer",
        "request",
        "lock",
        "waited",
        "held",
        width = WIDTH - 4,
    );
    for (exchange, visit) in &rows {
        let lock = visit.as_ref().map_or("-", |visit| &visit.resource);
        let until = visit.as_ref().map_or(exchange.ended, |visit| visit.entered);
        let held = visit.as_ref().map_or("-".to_owned(), |visit| {
            millis(left(visit, exchange) - visit.entered)
        });
        let answer = match &exchange.reply {
            Some(reply) => &reply.status_line,
            None => "the client has gone",
        };
        println!(
            "   {:<8}{lock:<11}{} {:>9}{held:>9}   {answer}",
            exchange.id,
            scale.bar(exchange, visit.as_ref()),
            millis(until - exchange.sent),
        );
    }
}

/// Prints what a caller was told, and what the operator reads of the same event.
pub(crate) fn print_refusal(exchange: &Exchange, diary: &Diary) {
    let Some(reply) = &exchange.reply else {
        return;
    };
    let lines = answer_in_full(reply);
    println!();
    for (index, line) in lines.iter().enumerate() {
        let label = match index {
            0 => format!("{} got", exchange.id),
            _ => String::new(),
        };
        println!("   {label:<21}{line}");
    }
    if let Some(text) = diary.error_of(&exchange.id) {
        println!("   {:<21}{text}", "the operator reads");
    }
}

/// How many of `exchanges` held the same lock at the same time, at most.
pub(crate) fn most_at_once(exchanges: &[Exchange], diary: &Diary) -> usize {
    let visits: Vec<_> = exchanges
        .iter()
        .filter_map(|exchange| Some((diary.visit_of(&exchange.id)?, exchange)))
        .collect();
    let holders_at_entry = visits.iter().map(|(one, _)| {
        let others = visits.iter().filter(|(other, exchange)| {
            other.resource == one.resource
                && other.entered <= one.entered
                && left(other, exchange) > one.entered
        });
        others.count()
    });
    holders_at_entry.max().unwrap_or(0)
}

fn left(visit: &Visit, exchange: &Exchange) -> Instant {
    visit.left.unwrap_or(exchange.ended).max(visit.entered)
}

fn millis(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

/// The status line, the headers that matter, and the JSON body with one member a line.
fn answer_in_full(reply: &Reply) -> Vec<String> {
    let mut lines = vec![reply.status_line.clone()];
    for name in ["retry-after", "content-type"] {
        if let Some(value) = reply.header(name) {
            lines.push(format!("{name}: {value}"));
        }
    }
    lines.extend(
        reply
            .body
            .replace(",\"", ",\n \"")
            .lines()
            .map(str::to_owned),
    );
    lines
}

/// From moments to columns.
struct Scale {
    start: Instant,
    span: Duration,
}

impl Scale {
    /// From the first request sent to the last one ended.
    fn of(exchanges: &[Exchange]) -> Option<Self> {
        let start = exchanges.iter().map(|it| it.sent).min()?;
        let end = exchanges.iter().map(|it| it.ended).max()?;
        let span = (end - start).max(Duration::from_millis(1));
        Some(Self { start, span })
    }

    fn bar(&self, exchange: &Exchange, visit: Option<&Visit>) -> String {
        let mut cells = [' '; WIDTH];
        let (sent, ended) = (self.column(exchange.sent), self.column(exchange.ended));
        cells[sent..=ended].fill('·');
        if let Some(visit) = visit {
            let entered = self.column(visit.entered);
            let left = self.column(left(visit, exchange)).max(entered + 1);
            // What comes after it is the way of the answer.
            cells[entered..].fill(' ');
            cells[entered..left.min(WIDTH)].fill('█');
        }
        if !matches!(&exchange.reply, Some(reply) if reply.status == 200) {
            cells[ended] = '×';
        }
        cells.iter().collect()
    }

    fn column(&self, at: Instant) -> usize {
        let width = u32::try_from(WIDTH).unwrap_or(u32::MAX);
        let since = at.saturating_duration_since(self.start) * width;
        let column = since.as_nanos() / self.span.as_nanos();
        usize::try_from(column).map_or(WIDTH - 1, |column| column.min(WIDTH - 1))
    }
}
