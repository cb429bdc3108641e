//! What came of all faults, printed.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::path::Path;
use std::rc::Rc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::faults::{Cell, Fault};
use crate::generations::Generation;
use crate::shared::server;
use crate::shared::temp_dir::TempDir;

/// What the marks of the table mean.
const LEGEND: [(&str, &str); 10] = [
    ("ok", "no harm"),
    ("–", "cannot happen"),
    ("A+B", "A and B were in at once; likewise B+C and B+D"),
    ("stuck", "the lock is never free again"),
    ("waits", "a lock that is nobody's stays for its ttl"),
    ("nobody's", "a caller that was refused left such a lock"),
    (
        "livelock",
        "a caller that was refused left such a lock, and more of them move its end on",
    ),
    ("pushed", "a refused caller moved the holder's expiry"),
    ("down", "no caller gets the lock"),
    (
        "undone",
        "the write of an earlier holder came behind a later one's, and was taken",
    ),
];

/// So many generations go through their faults at a time: they mostly wait for a ttl.
const AT_A_TIME: usize = 4;

/// The whole program, but for its children.
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    tokio::select! {
        biased;
        // The other branch is dropped, and with it every process that it started.
        signal = interruption() => Err(format!("interrupted by {}", signal?).into()),
        outcome = tell() => outcome,
    }
}

async fn interruption() -> io::Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
        _ = hangup.recv() => "SIGHUP",
    })
}

async fn tell() -> Result<(), Box<dyn Error>> {
    let program = server::redis_server("")?;
    let dir = TempDir::new()?;
    println!("The faults:");
    for fault in Fault::ALL {
        println!("   {}: {}", fault.head(), fault.about());
    }
    let turns = Rc::new(Semaphore::new(AT_A_TIME));
    let tasks = LocalSet::new();
    let running = Generation::ALL.map(|generation| {
        let (turns, program) = (Rc::clone(&turns), program.clone());
        let dir = dir.path().to_owned();
        let row = async move {
            let _turn = turns.acquire().await;
            row(generation, &program, &dir).await
        };
        (generation, tasks.spawn_local(row))
    });
    let mut rows = Vec::new();
    for (generation, row) in running {
        let cells = tasks.run_until(row).await??;
        println!("\n{}", generation.name());
        for (fault, Cell { mark, why }) in Fault::ALL.iter().zip(&cells) {
            println!("   {}: {mark}: {why}", fault.head());
        }
        let marks = cells.into_iter().map(|cell| cell.mark).collect();
        rows.push((generation, marks));
    }
    println!("\n{}\n", table(&rows));
    let marks: BTreeSet<_> = rows
        .iter()
        .flat_map(|(_, marks)| marks)
        .flat_map(|marks| marks.split(", "))
        .collect();
    for (mark, meaning) in LEGEND {
        if marks.contains(mark) {
            println!("{mark}: {meaning}");
        }
    }
    Ok(())
}

/// What all faults do to one generation.
async fn row(generation: Generation, program: &str, dir: &Path) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for fault in Fault::ALL {
        let cell = fault.happen(generation, program, dir).await;
        cells.push(
            cell.map_err(|error| format!("{}, {}: {error}", generation.name(), fault.head()))?,
        );
    }
    Ok(cells)
}

/// A Markdown table.
fn table(rows: &[(Generation, Vec<String>)]) -> String {
    let mut lines = Vec::new();
    let heads = Fault::ALL.map(Fault::head);
    lines.push(format!("| | {} |", heads.join(" | ")));
    lines.push(format!("|---{}|", "|---".repeat(heads.len())));
    for (generation, marks) in rows {
        lines.push(format!("| {} | {} |", generation.name(), marks.join(" | ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_fault() {
        let marks = vec!["ok".to_owned(); Fault::ALL.len()];
        let table = table(&[(Generation::Redlock, marks)]);
        let columns = table.lines().map(|line| line.matches('|').count());
        assert_eq!(columns.collect::<Vec<_>>(), [Fault::ALL.len() + 2; 3]);
        assert!(table.ends_with("\n| Redlock | ok | ok | ok | ok | ok | ok | ok | ok | ok |"));
    }
}
