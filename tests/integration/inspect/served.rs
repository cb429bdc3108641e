//! What is served over HTTP, by both frameworks.

use redlock_runtime::parameters::Renewal;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, LockError, Resource, lock, redlock};
use redlock_tests::{NodeOptions, Nodes};
use serde_json::{Value, json};

use crate::inspect::fixture::{Framework, SOON, Served, config, start};
use crate::runtime::fixture::start_nodes;

const SCRIPT: &str = "<script>alert('x')</script>";

#[redlock(
    resource = "{name}",
    ttl = "1m",
    fencing = true,
    note = "<b>job</b> {name}\n"
)]
async fn show(name: &str, on: &[&Served], registry: &Registry) -> Result<(), LockError> {
    for served in on {
        let held = served.json("/held").await;
        let held = &held["held"][0];
        assert_eq!(held["resource"], json!(name));
        assert_eq!(held["names"], json!([name]));
        let site = held["site"].as_str().unwrap();
        assert!(site.ends_with("served::show"), "{site}");
        assert_eq!(held["pools"], json!(["a", "b", "c"]));
        assert_eq!(held["ttl_ms"], json!(60_000));
        let of_registry = &registry.held()[0];
        assert_eq!(held["token_id"], json!(of_registry.token_id));
        let fencing = of_registry.fencing_token.map(u64::from);
        assert_eq!(held["fencing_token"], json!(fencing));
        assert!(held["since"].as_str().unwrap().ends_with('Z'));

        let sites = served.json("/sites").await;
        let sites = sites["sites"].as_array().unwrap();
        let site = sites.iter().find(|it| it["site"] == held["site"]).unwrap();
        assert_eq!(
            (&site["held"], &site["resource"]),
            (&json!(1), &json!("{name}"))
        );
        for (name, value) in [("ttl", "1m"), ("fencing", "true")] {
            let parameter = json!({"value": value, "layer": "attribute"});
            assert_eq!(site["parameters"][name], parameter);
        }

        let page = served.get("/").await.body;
        assert!(page.contains("served::<wbr>show"), "{page}");
        let note = format!(r"<b>job</b> {name}\u{{a}}");
        assert_eq!(held["note"], json!(note));
        let escaped = note.replace('<', "&lt;").replace('>', "&gt;");
        let escaped = format!("<bdi>{escaped}</bdi>");
        assert!(page.contains(&escaped), "{page}");
    }
    Ok(())
}

fn are_voting(health: &Value, expected: [bool; 3]) -> bool {
    let pools = health["pools"].as_array().unwrap();
    let votes: Vec<_> = pools.iter().map(|it| it["votes"] == json!(true)).collect();
    votes == expected
}

#[tokio::test]
async fn what_is_held_and_how_the_nodes_do_is_served_while_one_of_three_is_down() {
    let nodes = start_nodes(3).await;
    let redlock = start(config(&nodes)).await;
    let registry = redlock.registry();
    let served = Framework::ALL.map(|framework| Served::at(framework, "", registry));
    nodes[1].kill();
    let on: Vec<&Served> = served.iter().collect();
    let shown = registry.clone().scope(show("order:42", &on, registry));
    shown.await.unwrap();
    for served in on {
        let only_b_is_down = |health: &Value| are_voting(health, [true, false, true]);
        let health = served.until("b not to vote", only_b_is_down).await;
        let votes = json!({"voting": 2, "needed": 2, "configured": 3});
        assert_eq!((&health["votes"], &health["ready"]), (&votes, &json!(true)));
        let b = &health["pools"][1];
        for error in [&b["reason"], &b["last_error"]] {
            let kind = error["kind"].as_str().unwrap();
            assert!(["disconnected", "not_connected"].contains(&kind), "{b:#}");
        }
        let a = &health["pools"][0];
        assert!(a["latency_us"].as_u64().unwrap() > 0, "{a:#}");
        assert!(a["clock_ahead_us"].is_i64(), "{a:#}");
        assert_eq!(a["connections"], json!(1));
        let address = a["server"].as_str().unwrap();
        assert!(address.contains(&nodes[0].port().to_string()), "{address}");
        let page = served.get("/").await.body;
        assert!(page.contains("does not vote"), "{page}");
    }
}

/// What the runbook of a rolling restart looks at.
#[tokio::test]
async fn how_many_leases_do_not_rest_on_a_node_is_served() {
    let nodes = start_nodes(3).await;
    let redlock = start(config(&nodes)).await;
    let served = Framework::ALL.map(|it| Served::at(it, "", redlock.registry()));
    nodes[2].kill();
    let two_vote = |health: &Value| are_voting(health, [true, true, false]);
    served[0].until("a dead node", two_vote).await;
    // A quarter of the ttl later no answer is out.
    let wanted = lock("r").ttl(SOON / 4).max_hold(Renewal::Unlimited);
    let lease = redlock.registry().clone().scope(wanted.acquire()).await;
    let lease = lease.unwrap();
    for served in &served {
        let not_resting = |health: &Value| health["pools"][2]["not_resting"] == json!(1);
        let health = served.until("a lease on the others", not_resting).await;
        assert_eq!(health["pools"][0]["not_resting"], json!(0));
        let page = served.get("/").await.body;
        let text = "1 held here without this node";
        assert_eq!(page.matches(text).count(), 1, "{page}");
    }
    lease.release().await;
}

#[tokio::test]
async fn a_probe_finds_it_ready_only_while_a_majority_votes() {
    let nodes = start_nodes(3).await;
    let redlock = start(config(&nodes)).await;
    let served = Framework::ALL.map(|it| Served::at(it, "/locks", redlock.registry()));
    for served in &served {
        assert_eq!(served.get("/health").await.status, 200);
        assert_eq!(served.head("/health").await, 200);
    }
    nodes[0].kill();
    nodes[1].kill();
    for served in &served {
        let down = |health: &Value| health["votes"]["voting"] == json!(1);
        let health = served.until("two dead nodes", down).await;
        assert_eq!(health["ready"], json!(false));
        assert_eq!(served.get("/health").await.status, 503);
        assert_eq!(served.head("/health").await, 503);
        let page = served.get("/").await;
        assert!(page.status == 200 && page.body.contains("No locks: too few nodes vote"));
    }
}

#[tokio::test]
async fn the_page_of_a_mounted_router_is_there_with_and_without_a_slash() {
    let redlock = start(Config::new().pool("a", "memory://a")).await;
    let served = Framework::ALL.map(|it| Served::at(it, "/locks", redlock.registry()));
    for served in &served {
        let links = |page: &str, link: &str| page.contains(&format!("href=\"{link}\""));
        let bare = served.get("/").await;
        assert_eq!(bare.status, 200);
        assert!(links(&bare.body, "./locks/held"), "{}", bare.body);
        let slash = served.get("//").await;
        assert_eq!(slash.status, 200);
        assert!(links(&slash.body, "./held"), "{}", slash.body);
        assert_eq!(served.head("//").await, 200);
        let refresh = r#"http-equiv="refresh""#;
        assert!(!bare.body.contains(refresh), "{}", bare.body);
        assert!(served.get("?live").await.body.contains(refresh));
        assert_eq!(served.get("/nothing").await.status, 404);
        assert_eq!(served.request("POST", "/nothing").await.status, 404);
    }
}

/// Names that would do something if they got into the page as they are.
const HOSTILE: [&[u8]; 6] = [
    SCRIPT.as_bytes(),
    b"\"><img src=x onerror=alert(1)>",
    b"' onmouseover='alert(1)",
    b"&lt;b&gt;{{7*7}}</title><h1>",
    b"\xff\xfe\x00\r\nSet-Cookie: a=b",
    "\u{202e}gnp.exe\u{2066}".as_bytes(),
];

#[tokio::test]
async fn names_of_resources_are_text_whatever_is_in_them() {
    let nodes = Nodes::start(1).await;
    let redlock = start(config(&nodes)).await;
    let registry = redlock.registry();
    let served = Framework::ALL.map(|it| Served::at(it, "", registry));
    let _entered = registry.enter();
    let mut leases = Vec::new();
    for name in HOSTILE {
        leases.push(lock(name).acquire().await.unwrap());
    }
    let both = Resource::all([&b"<i>1</i>"[..], b"\xc3("]);
    leases.push(lock(both).acquire().await.unwrap());

    for served in &served {
        let page = served.get("/").await;
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(page.header("set-cookie"), None, "{:?}", page.headers);
        let page = page.body;
        for tag in ["<script", "<img", "<i>", "<b>", "</title><h1>"] {
            assert!(!page.contains(tag), "{tag} in {page}");
        }
        // Nowhere is a name in an attribute, where a quote would matter.
        let bdi: Vec<_> = page.split("<bdi>").skip(1).collect();
        assert_eq!(bdi.len(), leases.len());
        let shown = |at: usize| bdi[at].split_once("</bdi>").unwrap().0;
        assert_eq!(shown(0), "&lt;script&gt;alert('x')&lt;/script&gt;");
        assert_eq!(shown(1), "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;");
        assert_eq!(shown(4), r"\xff\xfe\u{0}\u{d}\u{a}Set-Cookie: a=b");
        assert_eq!(shown(6), r"&lt;i&gt;1&lt;/i&gt; + \xc3(");

        let held = served.json("/held").await;
        assert_eq!(
            held["held"][0]["resource"],
            json!(SCRIPT),
            "in JSON it is itself"
        );
        assert_eq!(
            held["held"][4]["names"][0],
            json!(r"\xff\xfe\u{0}\u{d}\u{a}Set-Cookie: a=b")
        );
        assert_eq!(held["held"][6]["names"], json!(["<i>1</i>", r"\xc3("]));
    }
    for lease in leases {
        lease.release().await;
    }
}

#[tokio::test]
async fn neither_passwords_nor_whole_tokens_are_served_and_nothing_is_kept_or_run() {
    let protected = NodeOptions::default().password("s3cret");
    let nodes = Nodes::start_with(1, protected).await;
    let redlock = start(config(&nodes)).await;
    let registry = redlock.registry();
    let served = Framework::ALL.map(|it| Served::at(it, "", registry));
    let _entered = registry.enter();
    let lease = lock("r").acquire().await.unwrap();
    let token = String::from_utf8(nodes[0].get("r").unwrap()).unwrap();
    let random = token.rsplit('/').next().unwrap();
    for served in &served {
        for path in ["/", "/?live", "/health", "/held", "/sites"] {
            let reply = served.get(path).await;
            assert_eq!(reply.status, 200, "{path}");
            for (name, value) in redlock_inspect::HEADERS {
                assert_eq!(reply.header(name), Some(value), "{path}");
            }
            let body = reply.body;
            assert!(!body.contains("s3cret"), "{path}: {body}");
            // The six digits that logs have too, and no more.
            assert!(!body.contains(&random[..7]), "{path}: {body}");
        }
        let held = served.json("/held").await;
        assert_eq!(held["held"][0]["token_id"], json!(random[..6]));
        for path in ["/", "/held"] {
            assert_eq!(served.request("POST", path).await.status, 405, "{path}");
        }
        assert_eq!(served.get("/other").await.status, 404);
    }
    lease.release().await;
}
