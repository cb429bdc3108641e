//! One process that withdraws from the account: the program, started by itself.

use std::error::Error;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use redlock_runtime::Config;
use redlock_runtime::registry::Registry;

use crate::bank::{self, Decided, Moment, WithdrawError};
use crate::report::{GO, Report};
use crate::shared::tied;
use crate::store::{Store, StoreError};
use crate::story;

/// The hidden sub-command: `holder <scheme> <database> <amount>`.
pub(crate) const COMMAND: &str = "holder";

/// The schemes, as their names in the command line.
pub(crate) const UNFENCED: &str = "unfenced";
pub(crate) const FENCED: &str = "fenced";

pub(crate) async fn main(
    mut arguments: impl Iterator<Item = String>,
) -> Result<(), Box<dyn Error>> {
    tied::end_with_parent()?;
    let mut next = || arguments.next().ok_or("an argument is missing");
    let (scheme, database, amount) = (next()?, next()?, next()?.parse()?);
    let store = Store::open(Path::new(&database))?;

    let redlock = redlock_runtime::init(Config::load()?).await?;
    let outcome = match shared_by_processes(redlock.registry()) {
        Ok(()) => withdraw(&scheme, amount, &store).await,
        Err(error) => Err(error),
    };
    redlock.shutdown().await;
    say(&outcome?)?;
    Ok(())
}

/// A withdrawal, and what its caller is told.
async fn withdraw(scheme: &str, amount: i64, store: &Store) -> Result<Report, Box<dyn Error>> {
    let (id, mut moment) = (story::ACCOUNT, Rehearsed);
    let outcome = match scheme {
        UNFENCED => bank::withdraw(id, amount, store, &mut moment).await,
        FENCED => bank::withdraw_fenced(id, amount, store, &mut moment).await,
        other => return Err(format!("no scheme `{other}`").into()),
    };
    match outcome {
        Ok(left) => Ok(Report::Withdrawn { left }),
        Err(WithdrawError::Store(refusal @ StoreError::Fenced { .. })) => Ok(Report::Refused {
            why: refusal.to_string(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Tells the parent, and waits for its word before the write. Only so does the parent's SIGSTOP hit
/// this moment every time; it may hit it any time.
struct Rehearsed;

impl Moment for Rehearsed {
    fn before_write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let fenced = decided.lease.fenced();
        say(&Report::AboutToWrite {
            read: decided.read,
            will_write: decided.will_write,
            validity_ms: decided.lease.validity().as_millis(),
            token: fenced.map_or(0, |lease| lease.fencing_token().as_u64()),
        })?;
        let mut word = String::new();
        io::stdin().read_line(&mut word)?;
        // Nothing at all: the parent is gone.
        if word.trim_end() == GO {
            Ok(())
        } else {
            Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the scene was called off",
            ))
        }
    }
}

fn say(report: &Report) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{report}")?;
    stdout.flush()
}

/// Two processes with a node in their memory each do not exclude one another.
fn shared_by_processes(registry: &Registry) -> Result<(), Box<dyn Error>> {
    let health = registry.health();
    let mut pools = health.iter().map(|it| it.pool.as_str());
    match pools.find(|pool| registry.memory_node(pool).is_some()) {
        None => Ok(()),
        Some(pool) => Err(format!(
            "the pool `{pool}` is `memory://`, a node inside of one process, and this example needs \
             two processes; configure Redis servers, or nothing at all"
        )
        .into()),
    }
}
