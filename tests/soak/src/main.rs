//! A soak: several processes take a few locks in every way that there is, while nodes, network and
//! processes fail at random for a given time. At the end the history that all of them wrote is
//! checked for two holders at once, for fencing tokens out of order, and for keys left behind.
//!
//! ```console
//! $ cargo run --release -p redlock-soak -- --seconds 300 --processes 4 --nodes 5 --seed 1
//! ```
//!
//! The random choices follow from the seed; when what happens does not, because servers, processes
//! and network are real.

mod annotated;
mod check;
mod claimed;
mod clock;
mod cluster;
mod event;
mod faults;
mod fleet;
mod history;
mod holder;
mod journal;
mod options;
mod plan;
mod report;
mod soak;
mod store;
mod worker;

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use options::{Options, USAGE};
use worker::Orders;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [command, orders @ ..] = words.as_slice()
        && command == worker::COMMAND
    {
        return work(orders).await;
    }
    match Options::parse(words) {
        Ok(options) => soak(&options).await,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

async fn work(orders: &[String]) -> ExitCode {
    let Some(orders) = Orders::parse(orders) else {
        eprintln!(
            "`{}` is for this program to call itself with",
            worker::COMMAND
        );
        return ExitCode::from(2);
    };
    match worker::run(orders).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(options: &Options) -> ExitCode {
    tokio::select! {
        report = soak::run(options) => match report {
            Ok(report) => {
                println!("{report}");
                if report.found.is_empty() {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                }
            }
            Err(error) => {
                eprintln!("the soak itself failed: {error}");
                ExitCode::from(3)
            }
        },
        // Everything that was started ends with the future and with this process.
        () = interrupted() => {
            eprintln!("interrupted; nothing was checked");
            ExitCode::from(130)
        }
    }
}

async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
