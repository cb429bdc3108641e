//! The elections of a process, in reports and over HTTP.

use redlock_runtime::election;
use serde_json::{Value, json};

use crate::inspect::fixture::{config, start};
use crate::runtime::fixture::start_nodes;

#[tokio::test]
async fn l9_the_page_and_the_documents_show_the_leader() {
    let nodes = start_nodes(3).await;
    let redlock = start(config(&nodes)).await;
    let registry = redlock.registry();
    let elections = || {
        let held: Value = serde_json::from_str(&redlock_inspect::held(registry).body).unwrap();
        held["elections"].clone()
    };
    let page = || redlock_inspect::page(registry, "/", None).body;
    assert_eq!(elections(), json!([]));
    assert!(!page().contains("Elections"));
    let office = election("office <b>").name("inspect::office");
    let run = office.run(async |term| {
        let shown = elections();
        let [shown] = &shown.as_array().unwrap()[..] else {
            panic!("{shown}");
        };
        assert_eq!(shown["resource"], json!("office <b>"));
        assert_eq!(shown["site"], json!("inspect::office"));
        assert_eq!(shown["leading"], json!(true));
        assert_eq!(
            shown["fencing_token"],
            json!(u64::from(term.fencing_token()))
        );
        assert!(shown["leading_ms"].is_u64(), "{shown}");
        let page = page();
        assert!(
            page.contains("Elections") && page.contains("inspect::<wbr>office"),
            "{page}"
        );
        assert!(
            page.contains("office &lt;b&gt;") && !page.contains("office <b>"),
            "{page}"
        );
        assert!(page.contains("leads"), "{page}");
        office.resign();
    });
    registry.clone().scope(run).await.unwrap();
    assert_eq!(elections(), json!([]));
}
