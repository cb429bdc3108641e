//! Compares the speed of two checkouts of the library, for `scripts/pair`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use redlock_benches::Pairing;

const USAGE: &str = "usage: scripts/pair BASE_CHECKOUT [OTHER_CHECKOUT] [--case TEXT] [--rounds N] [--probe FOLDER]";

fn main() -> ExitCode {
    let Some(pairing) = pairing(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("{}", pairing.run());
    ExitCode::SUCCESS
}

/// Returns the pairing that the command line asks for.
fn pairing(mut arguments: impl Iterator<Item = String>) -> Option<Pairing> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut checkouts = Vec::new();
    let (mut case, mut rounds, mut probe) = (String::new(), 60, here.join("probe"));
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--case" => case = arguments.next()?,
            "--rounds" => rounds = arguments.next()?.parse().ok()?,
            "--probe" => probe = arguments.next()?.into(),
            option if option.starts_with('-') => return None,
            checkout => checkouts.push(PathBuf::from(checkout)),
        }
    }
    if checkouts.len() == 1 {
        checkouts.push(here.join(".."));
    }
    Some(Pairing {
        checkouts: checkouts.try_into().ok()?,
        probe,
        case,
        rounds,
        turn: Duration::from_millis(25),
    })
}
