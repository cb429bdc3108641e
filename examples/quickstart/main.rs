//! A tour of the library in a few seconds: handlers of an axum service run under `#[redlock]`, and clients send it
//! requests.
//!
//! ```sh
//! cargo run --example quickstart
//! ```
//!
//! needs no server, because the three nodes are embedded: `memory://a` to `memory://c`. With `redis://…` in their place
//! the service is the same.
//!
//! * `service.rs` is what an application would write.
//! * `main.rs` has the scenes: each sends requests, shows what happened on a time line, and checks the answers.
//! * `client.rs` sends requests, and `chart.rs` draws the time line.

mod chart;
mod client;
mod service;

use std::error::Error;
use std::time::Duration;

use axum::Router;
use redlock_runtime::{Config, Redlock};
use tokio::time::sleep;

use client::{Exchange, Sent};
use service::COURIER;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// For clients that wait as long as it takes.
const PATIENT: Duration = Duration::from_secs(60);

const NODES: [&str; 3] = ["a", "b", "c"];

#[tokio::main]
async fn main() -> Outcome {
    let config = Config::new().shutdown_grace(Duration::from_secs(2));
    let config = NODES.iter().fold(config, |config, node| {
        config.pool(*node, format!("memory://{node}"))
    });
    let mut tour = Tour {
        redlock: redlock_runtime::init(config).await?,
        router: service::router(),
        scene: 0,
    };
    println!("Nodes: {}", tour.health());
    println!("Chart: {}", chart::LEGEND);
    tour.one_order().await?;
    tour.different_orders().await?;
    tour.refused_caller().await?;
    tour.lost_minority().await?;
    tour.lost_majority().await?;
    tour.impatient_client().await?;
    tour.shutdown().await
}

struct Tour {
    redlock: Redlock,
    router: Router,
    scene: u32,
}

impl Tour {
    async fn one_order(&mut self) -> Outcome {
        self.begin("Five requests for one order at once: one at a time");
        let exchanges = self.post_all(&["/orders/1/charge"; 5]).await?;
        show(&exchanges, &[200; 5])
    }

    async fn different_orders(&mut self) -> Outcome {
        self.begin("Five requests for different orders: none waits for another");
        let paths = [1, 2, 3, 4, 5].map(|id| format!("/orders/{id}/charge"));
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let exchanges = self.post_all(&paths).await?;
        show(&exchanges, &[200; 5])
    }

    async fn refused_caller(&mut self) -> Outcome {
        self.begin("While an order is packed: `refund` gives up soon, `charge` waits for its turn");
        let packing = self.send(1, "/orders/1/pack")?.entered().await;
        let (refund, charge) = (
            self.send(2, "/orders/1/refund")?,
            self.send(3, "/orders/1/charge")?,
        );
        let refund = refund.reply(PATIENT).await?;
        COURIER.notify_one();
        let exchanges = [
            packing.reply(PATIENT).await?,
            refund,
            charge.reply(PATIENT).await?,
        ];
        show(&exchanges, &[200, 423, 200])?;
        chart::print_refusal(&exchanges[1]);
        Ok(())
    }

    async fn lost_minority(&mut self) -> Outcome {
        self.begin("Node c is lost: nothing changes, and it takes no longer");
        self.lose(&["c"]).await;
        let exchanges = self.post_all(&["/orders/1/charge"; 3]).await?;
        show(&exchanges, &[200; 3])
    }

    async fn lost_majority(&mut self) -> Outcome {
        self.begin("Nodes b and c are lost: no majority, no lock; then they come back");
        self.lose(&["b", "c"]).await;
        let refused = self.send(1, "/orders/1/refund")?.reply(PATIENT).await?;
        self.lose(&[]).await;
        let served = self.send(2, "/orders/1/refund")?.reply(PATIENT).await?;
        let exchanges = [refused, served];
        show(&exchanges, &[503, 200])?;
        chart::print_refusal(&exchanges[0]);
        Ok(())
    }

    async fn impatient_client(&mut self) -> Outcome {
        self.begin(
            "A client gives up on half a minute of work: the next one has the order at once",
        );
        let export = self.send(1, "/orders/1/export")?.entered().await;
        let charge = self.send(2, "/orders/1/charge")?;
        let given_up = export.reply(Duration::from_millis(100)).await?;
        show(&[given_up, charge.reply(PATIENT).await?], &[0, 200])
    }

    async fn shutdown(mut self) -> Outcome {
        self.begin(
            "Shutdown under load: a moment of grace, no new locks, then the rest is cancelled",
        );
        let export = self.send(1, "/orders/1/export")?.entered().await;
        let packing = self.send(2, "/orders/2/pack")?.entered().await;
        let nodes: Vec<_> = NODES
            .iter()
            .filter_map(|node| self.redlock.registry().memory_node(node))
            .cloned()
            .collect();
        let (router, id) = (self.router.clone(), self.id(3));
        let requests = async {
            let late = client::send(&router, id, "/orders/3/charge")?
                .reply(PATIENT)
                .await?;
            COURIER.notify_one();
            let packing = packing.reply(PATIENT).await?;
            Outcome::Ok([export.reply(PATIENT).await?, packing, late])
        };
        // In this order, because the late request comes when the shutdown has begun.
        let (report, exchanges) = tokio::join!(biased; self.redlock.shutdown(), requests);
        let exchanges = exchanges?;
        show(&exchanges, &[503, 200, 503])?;
        chart::print_refusal(&exchanges[0]);
        chart::print_refusal(&exchanges[2]);

        println!("\n   shutdown: {report}");
        for (what, leases) in [
            ("finished", &report.finished),
            ("cancelled", &report.cancelled),
        ] {
            for lease in leases {
                println!("     {what:<11} {} {}", lease.resource, lease.site.name());
            }
        }
        let keys: usize = nodes.iter().map(|node| node.keys().len()).sum();
        println!("   keys left on the nodes: {keys}");
        Ok(())
    }

    fn begin(&mut self, title: &str) {
        self.scene += 1;
        println!("\n\n{}  {title}", self.scene);
    }

    /// Names the scene's request `number`.
    fn id(&self, number: usize) -> String {
        format!("#{}.{number}", self.scene)
    }

    fn send(&self, number: usize, path: &str) -> Outcome<Sent> {
        Ok(client::send(&self.router, self.id(number), path)?)
    }

    /// Sends all requests at once.
    async fn post_all(&self, paths: &[&str]) -> Outcome<Vec<Exchange>> {
        let numbered = paths.iter().enumerate();
        let sent: Vec<_> = numbered
            .map(|(index, path)| self.send(index + 1, path))
            .collect();
        let mut exchanges = Vec::new();
        for sent in sent {
            exchanges.push(sent?.reply(PATIENT).await?);
        }
        Ok(exchanges)
    }

    /// Cuts `lost` off, brings the other nodes back, and waits until the library has noticed.
    async fn lose(&self, lost: &[&str]) {
        let registry = self.redlock.registry();
        for node in NODES {
            match registry.memory_node(node) {
                Some(memory) if lost.contains(&node) => memory.cut(),
                Some(memory) => memory.restore(),
                None => {}
            }
        }
        while registry
            .health()
            .iter()
            .any(|it| it.is_voting() == lost.contains(&&it.pool[..]))
        {
            sleep(Duration::from_millis(5)).await;
        }
        println!("   {}", self.health());
    }

    /// Says which nodes vote, and why others do not.
    fn health(&self) -> String {
        let health = self.redlock.registry().health();
        let nodes = health.iter().map(|it| format!("{} {}", it.pool, it.status));
        nodes.collect::<Vec<_>>().join(", ")
    }
}

/// Prints what happened. Fails if it is not what the scene is about; a status of 0 stands for a client that gave up.
fn show(exchanges: &[Exchange], expected: &[u16]) -> Outcome {
    chart::print(exchanges);
    let status = |it: &Exchange| {
        it.answer
            .as_ref()
            .map_or(0, |answer| answer.status.as_u16())
    };
    let statuses: Vec<_> = exchanges.iter().map(status).collect();
    if statuses != expected {
        exchanges.iter().for_each(chart::print_refusal);
        return Err(format!("expected the answers {expected:?}, got {statuses:?}").into());
    }
    match chart::most_at_once(exchanges) {
        0 | 1 => Ok(()),
        n => Err(format!("{n} requests held one lock at once").into()),
    }
}
