//! The scene, played twice, and what came of it.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};

use crate::holder::{self, FENCED, UNFENCED};
use crate::nodes::Nodes;
use crate::process::Holder;
use crate::report::Report;
use crate::shared::temp_dir::TempDir;
use crate::shared::tied;
use crate::store::Store;

/// The account that both withdraw from.
pub(crate) const ACCOUNT: i64 = 7;

const DEPOSIT: i64 = 100;
const TAKEN_BY_A: i64 = 30;
const TAKEN_BY_B: i64 = 50;

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
    let dir = TempDir::new()?;
    let nodes = Nodes::choose(dir.path()).await?;
    println!("Nodes: {}", nodes.describe());
    println!(
        "Account {ACCOUNT} has {DEPOSIT}. Process A takes {TAKEN_BY_A}, process B takes \
         {TAKEN_BY_B}, each under the lock on account:{ACCOUNT}, whose ttl is 2 s."
    );

    println!("\n1. The store takes every write");
    let scene = Scene::play(&nodes, &dir.path().join("unfenced.db"), UNFENCED).await?;
    scene.must_show_damage()?;

    println!("\n2. The store takes a write if its token is at least the highest that it has seen");
    let scene = Scene::play(&nodes, &dir.path().join("fenced.db"), FENCED).await?;
    scene.must_show_refusal()?;

    println!(
        "\nA was sure of its lock when it looked, and was stopped between that look and its write. \
         No\nlock with a timeout can prevent that, this one included: there is always such a gap. It can \
         only\nhand out a number by which the store tells who comes too late."
    );
    nodes.end().await
}

/// How a scene ended: what A and B told their callers, and what the store has.
#[derive(Debug, PartialEq)]
struct Scene {
    a: Report,
    b: Report,
    balance: i64,
}

impl Scene {
    async fn play(nodes: &Nodes, database: &Path, scheme: &str) -> Result<Self, Box<dyn Error>> {
        let store = Store::create(database, ACCOUNT, DEPOSIT)?;
        let start = |name, amount: i64| -> Result<Holder, Box<dyn Error>> {
            let mut command = tied::myself(&[holder::COMMAND, scheme])?;
            command.arg(database).arg(amount.to_string());
            command.envs(nodes.environment());
            Holder::start(name, command)
        };

        let mut a = start("A", TAKEN_BY_A)?;
        println!("   A (pid {}) {}", a.pid(), decision(&a.report().await?)?);
        a.freeze()?;
        // From here on nothing holds A back but the freeze.
        a.go().await?;
        let frozen = Instant::now();
        println!("   SIGSTOP to A, right before that write. The ttl goes on.");

        let mut b = start("B", TAKEN_BY_B)?;
        let decided = decision(&b.report().await?)?;
        let waited = frozen.elapsed().as_secs_f64();
        println!("   {waited:.1} s later the nodes have freed the lock:");
        println!("   B (pid {}) {decided}", b.pid());
        b.go().await?;
        let of_b = b.report().await?;
        println!("   {}", ending("B", &of_b)?);
        b.end().await?;

        a.thaw()?;
        println!("   SIGCONT to A. It has made sure already, so it goes on.");
        let of_a = a.report().await?;
        println!("   {}", ending("A", &of_a)?);
        a.end().await?;

        Ok(Self {
            a: of_a,
            b: of_b,
            balance: store.balance(ACCOUNT)?,
        })
    }

    /// Both were told that they had the money, and A's late write wiped out B's.
    fn must_show_damage(&self) -> Result<(), Box<dyn Error>> {
        let balance = DEPOSIT - TAKEN_BY_A;
        self.must_be(&Self {
            a: Report::Withdrawn { left: balance },
            b: Report::Withdrawn {
                left: DEPOSIT - TAKEN_BY_B,
            },
            balance,
        })?;
        let paid = TAKEN_BY_A + TAKEN_BY_B;
        println!(
            "   Balance: {}, and it should be {}. Paid out: {paid} of {DEPOSIT}. A's late \
             write wiped out B's:\n   {} came out of nothing.",
            self.balance,
            DEPOSIT - paid,
            self.balance + paid - DEPOSIT,
        );
        Ok(())
    }

    /// A's late write was refused, and A's caller knows.
    fn must_show_refusal(&self) -> Result<(), Box<dyn Error>> {
        let balance = DEPOSIT - TAKEN_BY_B;
        let Report::Refused { why } = &self.a else {
            return Err(format!("A was not refused: {self:?}").into());
        };
        self.must_be(&Self {
            a: Report::Refused { why: why.clone() },
            b: Report::Withdrawn { left: balance },
            balance,
        })?;
        println!(
            "   Balance: {}, as it should be. Paid out: {TAKEN_BY_B} of {DEPOSIT}. A's caller knows \
             that it got nothing, and may try again.",
            self.balance,
        );
        Ok(())
    }

    fn must_be(&self, expected: &Self) -> Result<(), Box<dyn Error>> {
        if self == expected {
            Ok(())
        } else {
            Err(format!("not what was to be shown: {self:?}, expected {expected:?}").into())
        }
    }
}

/// What follows the name of a holder that is about to write.
fn decision(report: &Report) -> Result<String, Box<dyn Error>> {
    let Report::AboutToWrite {
        read,
        will_write,
        validity_ms,
        token,
    } = report
    else {
        return Err(format!("a holder did not get as far as its write: {report:?}").into());
    };
    let token = match token {
        0 => String::new(),
        token => format!(", shows the store its token {token},"),
    };
    Ok(format!(
        "holds the lock{token} and reads {read}.\n      It makes sure that its lease is good, for \
         {validity_ms} ms more, and is about to write {will_write}."
    ))
}

/// What the store did, and what the holder's caller was told.
fn ending(name: &str, report: &Report) -> Result<String, Box<dyn Error>> {
    match report {
        Report::Withdrawn { left } => Ok(format!(
            "{name} writes, the store changes 1 row. {name}'s caller is told: done, {left} left."
        )),
        Report::Refused { why } => Ok(format!(
            "{name} writes, the store changes no row: {why}.\n   {name}'s caller is told: refused."
        )),
        Report::AboutToWrite { .. } => Err(format!("{name} is about to write twice").into()),
    }
}
