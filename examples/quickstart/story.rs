//! The tour, chapter by chapter.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::summary::Summary;
use redlock_runtime::Redlock;
use tokio::task::JoinSet;

use crate::chart;
use crate::client::{Client, Exchange, Sent};
use crate::nodes::Nodes;
use crate::service::Shop;

/// After this a client closes its connection.
const PATIENCE: Duration = Duration::from_millis(100);

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub(crate) struct Story {
    client: Client,
    shop: Shop,
    nodes: Nodes,
    chapter: u32,
}

impl Story {
    pub(crate) fn new(client: Client, shop: Shop, nodes: Nodes) -> Self {
        Self {
            client,
            shop,
            nodes,
            chapter: 0,
        }
    }

    pub(crate) async fn tell(mut self, redlock: Redlock) -> Outcome {
        println!("Nodes: {}", self.nodes.describe());
        println!("       {}", self.nodes.health());
        println!("Chart: {}", chart::LEGEND);
        self.one_order().await?;
        self.different_orders().await?;
        self.a_refused_caller().await?;
        self.a_lost_minority().await?;
        self.a_lost_majority().await?;
        self.an_impatient_client().await?;
        self.shutdown(redlock).await
    }

    async fn one_order(&mut self) -> Outcome {
        self.begin("Five requests for one order at once: one at a time");
        let exchanges = self.post_all(&["/orders/1/charge"; 5]).await?;
        self.show(&exchanges, &[200; 5])
    }

    async fn different_orders(&mut self) -> Outcome {
        self.begin("Five requests for different orders: none waits for another");
        let paths: Vec<_> = (1..=5).map(|id| format!("/orders/{id}/charge")).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let exchanges = self.post_all(&paths).await?;
        self.show(&exchanges, &[200; 5])
    }

    async fn a_refused_caller(&mut self) -> Outcome {
        self.begin("While an order is packed: `refund` gives up soon, `charge` waits for its turn");
        let packing = self.send_and_enter(1, "/orders/1/pack").await?;
        let refund = async {
            let refund = self.post(2, "/orders/1/refund").await;
            self.shop.courier.notify_one();
            refund
        };
        let (refund, charge) = tokio::try_join!(refund, self.post(3, "/orders/1/charge"))?;
        let exchanges = [packing.reply().await?, refund, charge];
        self.show(&exchanges, &[200, 423, 200])?;
        chart::print_refusal(&exchanges[1], &self.shop.diary);
        Ok(())
    }

    async fn a_lost_minority(&mut self) -> Outcome {
        let Some(lost) = self.nodes.last(self.nodes.minority()) else {
            self.leave_out("A minority of the nodes lost");
            return Ok(());
        };
        let names = named(&lost);
        self.begin(&format!(
            "{names} lost: nothing changes, it takes no longer"
        ));
        self.nodes.lose(&lost).await?;
        println!("   {}", self.nodes.health());
        let exchanges = self.post_all(&["/orders/1/charge"; 3]).await?;
        self.show(&exchanges, &[200; 3])
    }

    async fn a_lost_majority(&mut self) -> Outcome {
        let enough = self.nodes.len() - self.nodes.len() / 2;
        let Some(lost) = self.nodes.last(enough) else {
            self.leave_out("A majority of the nodes lost");
            return Ok(());
        };
        let names = named(&lost);
        self.begin(&format!(
            "{names} lost: no majority, no lock; then brought back"
        ));
        self.nodes.lose(&lost).await?;
        println!("   {}", self.nodes.health());
        let refused = self.post(1, "/orders/1/refund").await?;
        self.nodes.bring_back(&lost).await?;
        println!("   {}", self.nodes.health());
        let served = self.post(2, "/orders/1/refund").await?;
        let exchanges = [refused, served];
        self.show(&exchanges, &[503, 200])?;
        chart::print_refusal(&exchanges[0], &self.shop.diary);
        Ok(())
    }

    async fn an_impatient_client(&mut self) -> Outcome {
        self.begin(
            "A client gives up on half a minute of work: the next one has the order at once",
        );
        let export = self.send_and_enter(1, "/orders/1/export").await?;
        let (given_up, charge) = tokio::try_join!(
            export.reply_within(PATIENCE),
            self.post(2, "/orders/1/charge"),
        )?;
        self.show(&[given_up, charge], &[0, 200])
    }

    async fn shutdown(&mut self, redlock: Redlock) -> Outcome {
        self.begin(
            "Shutdown under load: a moment of grace, no new locks, then the rest is cancelled",
        );
        let export = self.send_and_enter(1, "/orders/1/export").await?;
        let packing = self.send_and_enter(2, "/orders/2/pack").await?;
        let requests = async {
            let late = self.post(3, "/orders/3/charge").await?;
            self.shop.courier.notify_one();
            io::Result::Ok([export.reply().await?, packing.reply().await?, late])
        };
        // In this order: the late request comes when the shutdown has begun.
        let (report, exchanges) = tokio::join!(biased; redlock.shutdown(), requests);
        let exchanges = exchanges?;
        self.show(&exchanges, &[503, 200, 503])?;
        chart::print_refusal(&exchanges[0], &self.shop.diary);
        chart::print_refusal(&exchanges[2], &self.shop.diary);

        println!(
            "\n   {}",
            Summary(&report).to_string().replace('\n', "\n   ")
        );
        if let Some(keys) = self.nodes.keys_left() {
            println!("   keys left on the nodes: {keys}");
        }
        Ok(())
    }

    fn begin(&mut self, title: &str) {
        self.chapter += 1;
        println!("\n\n{}  {title}", self.chapter);
    }

    fn leave_out(&mut self, title: &str) {
        self.begin(title);
        println!("   left out: these nodes cannot be lost from here, or are too few");
    }

    /// The name of this chapter's request `number`.
    fn id(&self, number: usize) -> String {
        format!("#{}.{number}", self.chapter)
    }

    async fn post(&self, number: usize, path: &str) -> io::Result<Exchange> {
        self.client.post(&self.id(number), path).await
    }

    /// Sends a request and waits until its handler runs under its lock.
    async fn send_and_enter(&self, number: usize, path: &str) -> Outcome<Sent> {
        let sent = self.client.send(&self.id(number), path).await?;
        self.shop.diary.until_entered(&sent.id).await;
        Ok(sent)
    }

    /// Sends all requests at once.
    async fn post_all(&self, paths: &[&str]) -> Outcome<Vec<Exchange>> {
        let mut requests = JoinSet::new();
        for (index, path) in paths.iter().enumerate() {
            let (client, id, path) = (self.client, self.id(index + 1), (*path).to_owned());
            requests.spawn(async move { client.post(&id, &path).await });
        }
        let ended = requests.join_all().await;
        Ok(ended.into_iter().collect::<Result<_, _>>()?)
    }

    /// Prints what happened, and fails if it is not what the chapter is about. A status of 0 stands
    /// for a client that closed the connection.
    fn show(&self, exchanges: &[Exchange], expected: &[u16]) -> Outcome {
        let diary = &self.shop.diary;
        chart::print(exchanges, diary);
        let statuses: Vec<_> = exchanges
            .iter()
            .map(|exchange| exchange.reply.as_ref().map_or(0, |reply| reply.status))
            .collect();
        if statuses != expected {
            for exchange in exchanges {
                chart::print_refusal(exchange, diary);
            }
            return Err(format!("expected the answers {expected:?}, got {statuses:?}").into());
        }
        match chart::most_at_once(exchanges, diary) {
            0 | 1 => Ok(()),
            n => Err(format!("{n} requests held one lock at once").into()),
        }
    }
}

/// `Node c`, `Nodes b and c`
fn named(nodes: &[String]) -> String {
    let plural = if nodes.len() == 1 { "" } else { "s" };
    format!("Node{plural} {}", nodes.join(" and "))
}
