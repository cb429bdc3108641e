//! A soak: several processes take a few locks in every way that there is, while nodes, network and
//! processes fail at random for a given time. At the end the history that all of them wrote is
//! checked for two holders at once, for fencing tokens out of order, and for keys left behind.
//!
//! Before the faults there is a rush: for ten seconds callers of all processes want one lock of each kind again and
//! again, and none of them may starve (`rush.rs`). The table has the longest wait of each kind, in the rush and under
//! faults. Faults may keep a caller waiting for as long as they last, so nothing is expected of the latter.
//!
//! ```console
//! $ cargo run --release -p redlock-soak -- --seconds 300 --processes 4 --nodes 5 --seed 1
//! ```
//!
//! With `--turns`, it runs over [hot fenced locks](hot) instead.
//!
//! The random choices follow from the seed; when what happens does not, because servers, processes
//! and network are real.

mod annotated;
mod check;
mod clock;
mod cluster;
mod event;
mod faults;
mod fleet;
mod history;
mod holder;
mod hot;
mod journal;
mod options;
mod plan;
mod report;
mod rush;
mod soak;
mod store;
mod worker;

use std::process::ExitCode;

use options::{Options, USAGE};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [command, orders] = &words[..]
        && command == worker::COMMAND
    {
        worker::run(serde_json::from_str(orders).expect("orders of this program")).await;
        return ExitCode::SUCCESS;
    }
    let Some(options) = Options::parse(words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let report = match options.turns {
        0 => soak::run(&options).await,
        _ => hot::run(&options).await,
    };
    println!("{report}");
    if report.found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
