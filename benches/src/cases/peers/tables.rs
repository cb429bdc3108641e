//! The tables: the promises of each system, its costs, and its ratios to this library.

use crate::peers::{Outcome, PROMISES, System};
use crate::report::{Named, Report};
use crate::stats::{Spread, brief, micros, millis, whole};
use crate::table::Table;

use super::{CASES, Case, PATIENCE, Rounds, Seat};

const FIGURES: [Named<Outcome>; 8] = [
    ("pairs_per_second", |of| of.per_second),
    ("p50_us", |of| micros(of.p50)),
    ("p99_us", |of| micros(of.p99)),
    ("worst_us", |of| micros(of.worst)),
    ("hand_overs_per_second", |of| of.hand_overs),
    ("wait_p99_ms", |of| millis(of.wait_p99)),
    ("wait_worst_ms", |of| millis(of.wait_worst)),
    ("failures", |of| whole(of.failures)),
];

type Figure = fn(&Outcome) -> f64;

/// The median of a figure, as the tables show it.
fn shown(rounds: &[Option<Outcome>], figure: Figure) -> String {
    let answered = rounds.iter().flatten().map(figure);
    Spread::of_any(answered).map_or_else(|| "–".to_owned(), |spread| brief(spread.median))
}

/// The ratios to ours, each within a round.
fn against(rounds: &[Option<Outcome>], ours: &[Option<Outcome>], figure: Figure) -> String {
    let both = rounds.iter().zip(ours);
    let both =
        both.filter_map(|(theirs, ours)| Some((figure(theirs.as_ref()?), figure(ours.as_ref()?))));
    let ratios = both.filter(|(_, ours)| *ours > 0.0);
    let spread = Spread::of_any(ratios.map(|(theirs, ours)| theirs / ours));
    spread.map_or_else(|| "–".to_owned(), |spread| spread.to_string())
}

pub(super) fn print(
    seats: &[Seat],
    rounds: &[Vec<Rounds>],
    remarks: Vec<String>,
    report: &mut Report,
) {
    let [one, sixteen, hot, frozen, killed] = rounds else {
        unreachable!("a case of each");
    };
    for (case, rounds) in CASES.iter().zip(rounds) {
        for (seat, rounds) in seats.iter().zip(rounds) {
            note(case, seat.system, rounds, report);
        }
    }
    report.text(promises());
    let mut costs = Table::new([
        "what it costs",
        "1 caller: pairs/s",
        "p50 µs",
        "p99 µs",
        "16 callers: pairs/s",
        "p50 µs",
        "p99 µs",
        "hot lock: to another caller/s",
        "p99 wait ms",
        "worst ms",
        "a node hangs: pairs/s",
        "p99 µs",
        "a node is dead: pairs/s",
        "p99 µs",
        "failed",
    ]);
    let mut ratios = Table::new([
        "by redlock's, in the same round",
        "1 caller: pairs/s",
        "p50",
        "16 callers: pairs/s",
        "p50",
        "hot lock: to another caller/s",
        "p99 wait",
    ]);
    let rate: Figure = |of| of.per_second;
    let [p50, p99]: [Figure; 2] = [|of| micros(of.p50), |of| micros(of.p99)];
    let hand_overs: Figure = |of| of.hand_overs;
    let wait: Figure = |of| millis(of.wait_p99);
    for (place, seat) in seats.iter().enumerate() {
        let name = seat.system.name();
        if let Some(why) = &seat.not_run {
            costs.note(format!("not run: {name}: {why}"));
            continue;
        }
        let without = |rounds: &[Rounds], figure| {
            if seat.system.has_one_server() {
                "has one server".to_owned()
            } else if rounds[place].iter().all(Option::is_none) {
                "no answer".to_owned()
            } else {
                shown(&rounds[place], figure)
            }
        };
        let failures = rounds.iter().flat_map(|of| of[place].iter().flatten());
        let failures: usize = failures.map(|of| of.failures).sum();
        for (case, rounds) in CASES.iter().zip(rounds) {
            let silent = rounds[place].iter().filter(|of| of.is_none()).count();
            if silent > 0 {
                let all = rounds[place].len();
                costs.note(format!(
                    "{name}, {}: in {silent} of {all} rounds no answer within {} s behind the turn, or none after that",
                    case.name,
                    PATIENCE.as_secs()
                ));
            }
        }
        costs.row(&[
            name.to_owned(),
            shown(&one[place], rate),
            shown(&one[place], p50),
            shown(&one[place], p99),
            shown(&sixteen[place], rate),
            shown(&sixteen[place], p50),
            shown(&sixteen[place], p99),
            shown(&hot[place], hand_overs),
            shown(&hot[place], wait),
            shown(&hot[place], |of| millis(of.wait_worst)),
            without(frozen, rate),
            without(frozen, p99),
            without(killed, rate),
            without(killed, p99),
            failures.to_string(),
        ]);
        let by_ours = |rounds: &[Rounds], figure| against(&rounds[place], &rounds[0], figure);
        ratios.row(&[
            name.to_owned(),
            by_ours(one, rate),
            by_ours(one, p50),
            by_ours(sixteen, rate),
            by_ours(sixteen, p50),
            by_ours(hot, hand_overs),
            by_ours(hot, wait),
        ]);
    }
    for remark in remarks {
        costs.note(remark);
    }
    report.table(costs);
    report.table(ratios);
}

fn promises() -> Table {
    let [excludes, dies, fencing, waiting, learns] = PROMISES;
    let mut table = Table::new(["what it promises", excludes, dies, fencing, waiting, learns]);
    for system in System::ALL {
        let [excludes, dies, fencing, waiting, learns] = system.promises().map(str::to_owned);
        let name = system.name().to_owned();
        table.row(&[name, excludes, dies, fencing, waiting, learns]);
    }
    table.of_texts()
}

/// What no turn may have, and all figures.
fn note(case: &Case, system: System, rounds: &Rounds, report: &mut Report) {
    let (case, who) = (case.name, system.name());
    let is_ours = matches!(system, System::Ours | System::Fenced);
    let answered: Vec<_> = rounds.iter().flatten().collect();
    for of in &answered {
        report.count(of.pairs);
        if let Some(overlap) = &of.overlap {
            report.problem(format!("{case}, {who}: {overlap}"));
        }
        if let Some(first) = &of.first_failure {
            let text = format!(
                "{case}, {who}: {} pairs failed, first: {first}",
                of.failures
            );
            if is_ours {
                report.problem(text);
            } else {
                println!("  {text}");
            }
        }
    }
    if is_ours && answered.len() < rounds.len() {
        report.problem(format!("{case}, {who}: no answer"));
    }
    if !answered.is_empty() {
        for (name, figure) in FIGURES {
            let values: Vec<f64> = answered.iter().map(|of| figure(of)).collect();
            report.figure(case, who, name, &values);
        }
    }
}
