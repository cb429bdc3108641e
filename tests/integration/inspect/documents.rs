//! The documents of what is held, and the page that is made of them.

use std::time::Duration;

use redlock_inspect::Document;
use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::registry::Registry;
use redlock_runtime::{LockError, Resource, election, lock, redlock};
use serde_json::{Value, json};

use super::in_memory;

fn parsed(document: &Document) -> Value {
    assert_eq!(
        (document.status, document.content_type),
        (200, "application/json")
    );
    serde_json::from_str(&document.body).expect("JSON")
}

fn page(registry: &Registry) -> String {
    redlock_inspect::page(registry, "/", None).body
}

#[redlock(
    resource = "{name}",
    ttl = "1m",
    fencing = true,
    note = "<b>job</b> {name}\n"
)]
async fn show(name: &str, registry: &Registry) -> Result<(), LockError> {
    let of_registry = &registry.held()[0];
    let held = &parsed(&redlock_inspect::held(registry))["held"][0];
    let fencing = of_registry.fencing_token.map(u64::from);
    for (field, value) in [
        ("resource", json!(name)),
        ("names", json!([name])),
        ("site", json!(concat!(module_path!(), "::show"))),
        ("pools", json!(["a", "b", "c"])),
        ("ttl_ms", json!(60_000)),
        ("token_id", json!(of_registry.token_id)),
        ("fencing_token", json!(fencing)),
        ("note", json!(format!(r"<b>job</b> {name}\u{{a}}"))),
        ("kind", json!("plain")),
        ("permit", Value::Null),
    ] {
        assert_eq!(held[field], value, "{field}");
    }
    assert!(held["since"].as_str().unwrap().ends_with('Z'));

    let sites = parsed(&redlock_inspect::sites(registry));
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

    let page = page(registry);
    for text in [
        "documents::<wbr>show".to_owned(),
        format!(r"<bdi>&lt;b&gt;job&lt;/b&gt; {name}\u{{a}}</bdi>"),
    ] {
        assert!(page.contains(&text), "{text} is not in {page}");
    }
    Ok(())
}

#[expect(dead_code, reason = "the page shows it without a call")]
#[redlock(resource = "inspect: hourly", once_per = "1h", ttl = ttl)]
async fn hourly(ttl: Duration) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn what_is_held_is_shown_with_its_function() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let call = registry.clone().scope(show("order:42", registry));
    call.await.unwrap();
    let page = page(registry);
    for text in ["<code>once_per</code> 1h", "said by the call"] {
        assert!(page.contains(text), "{page}");
    }
}

#[tokio::test]
async fn the_kind_and_the_permit_of_a_lock_are_shown() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let _entered = registry.enter();
    let options = LockOptions::new;
    for (options, kind, permit, shown) in [
        (options().permits(1), json!("plain"), json!(0), "permit 0"),
        (
            options().kind(Kind::Read),
            json!("read"),
            Value::Null,
            "<small>reads</small>",
        ),
        (
            options().kind(Kind::Write),
            json!("write"),
            Value::Null,
            "<small>writes</small>",
        ),
    ] {
        let lease = lock("r").options(options).acquire().await.unwrap();
        let held = &parsed(&redlock_inspect::held(registry))["held"][0];
        assert_eq!((&held["kind"], &held["permit"]), (&kind, &permit));
        let page = page(registry);
        assert!(page.contains(shown), "{page}");
        lease.release().await;
    }
}

#[tokio::test]
async fn l9_the_page_and_the_documents_show_the_leader() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let elections = || parsed(&redlock_inspect::held(registry))["elections"].clone();
    assert_eq!(elections(), json!([]));
    assert!(!page(registry).contains("Elections"));
    let office = election("office <b>").name("inspect::office");
    let run = office.run(async |term| {
        let shown = &elections()[0];
        for (field, value) in [
            ("resource", json!("office <b>")),
            ("site", json!("inspect::office")),
            ("leading", json!(true)),
            ("fencing_token", json!(u64::from(term.fencing_token()))),
        ] {
            assert_eq!(shown[field], value, "{shown}");
        }
        assert!(shown["leading_ms"].is_u64(), "{shown}");
        let page = page(registry);
        for text in [
            "Elections",
            "inspect::<wbr>office",
            "office &lt;b&gt;",
            "leads",
        ] {
            assert!(page.contains(text), "{page}");
        }
        office.resign();
    });
    registry.clone().scope(run).await.unwrap();
    assert_eq!(elections(), json!([]));
}

/// Names that would do something if they got into the page as they are.
const HOSTILE: [&[u8]; 6] = [
    b"<script>alert('x')</script>",
    b"\"><img src=x onerror=alert(1)>",
    b"' onmouseover='alert(1)",
    b"&lt;b&gt;{{7*7}}</title><h1>",
    b"\xff\xfe\x00\r\nSet-Cookie: a=b",
    "\u{202e}gnp.exe\u{2066}".as_bytes(),
];

#[tokio::test]
async fn names_of_resources_are_text_whatever_is_in_them() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let _entered = registry.enter();
    let mut leases = Vec::new();
    for name in HOSTILE {
        leases.push(lock(name).acquire().await.unwrap());
    }
    let both = Resource::all([&b"<i>1</i>"[..], b"\xc3("]);
    leases.push(
        lock(both)
            .ttl(Duration::from_secs(9))
            .acquire()
            .await
            .unwrap(),
    );

    let page = page(registry);
    for tag in ["<script", "<img", "<i>", "<b>", "</title><h1>"] {
        assert!(!page.contains(tag), "{tag} in {page}");
    }
    // Nowhere is a name in an attribute, where a quote would matter.
    let bdi: Vec<_> = page.split("<bdi>").skip(1).collect();
    assert_eq!(bdi.len(), leases.len());
    let shown = |at: usize| bdi[at].split_once("</bdi>").unwrap().0;
    let with_line = r"\xff\xfe\u{0}\u{d}\u{a}Set-Cookie: a=b";
    assert_eq!(shown(0), "&lt;script&gt;alert('x')&lt;/script&gt;");
    assert_eq!(shown(1), "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;");
    assert_eq!(shown(4), with_line);
    assert_eq!(shown(6), r"&lt;i&gt;1&lt;/i&gt; + \xc3(");

    let held = &parsed(&redlock_inspect::held(registry))["held"];
    assert_eq!(
        held[0]["names"],
        json!(["<script>alert('x')</script>"]),
        "in JSON it is itself"
    );
    assert_eq!(held[4]["names"], json!([with_line]));
    assert_eq!(held[6]["names"], json!(["<i>1</i>", r"\xc3("]));
}
