//! Tests of the kind, the place and the pools of each problem.

use std::sync::Arc;

use redlock_core::Node;
use redlock_core::node::{NodeError, NodeErrorKind, NodeStatus, Submission};

use crate::config::{CheckedConfig, Config, SiteConfig, check_logins};
use crate::error::{ConfigError, ProblemKind};

type KindAndPlace = (ProblemKind, Option<String>);

fn kinds_and_places(refused: Result<Config, ConfigError>) -> Vec<KindAndPlace> {
    let problems = refused.unwrap_err().problems().to_vec();
    problems.into_iter().map(|it| (it.kind, it.place)).collect()
}

#[test]
fn each_mistake_of_a_source_has_a_kind_and_a_place() {
    let at = |kind, place: &str| (kind, Some(place.to_owned()));
    let of_text = Config::from_toml("ttl = 5\nmax_ttl = 'long'\nwaiting = 3");
    let expected = [
        at(ProblemKind::UnknownKey, "line 1"),
        at(ProblemKind::InvalidValue, "line 2"),
        at(ProblemKind::InvalidValue, "line 3"),
    ];
    assert_eq!(kinds_and_places(of_text), expected);

    let torn = Config::from_toml("\nmax_ttl = ");
    let expected = [at(ProblemKind::Unreadable, "line 2")];
    assert_eq!(kinds_and_places(torn), expected);

    let missing = Config::new().with_file("/nowhere/redlock.toml");
    let expected = [at(ProblemKind::Unreadable, "/nowhere/redlock.toml")];
    assert_eq!(kinds_and_places(missing), expected);

    let file = "[pools.EU-West]\nurl = 'redis://h:1'\n[pools.eu_west]\nurl = 'redis://h:2'";
    let file = Config::from_toml(file).unwrap();
    let variables = [
        ("REDLOCK_MAX_TTL", "long"),
        ("REDLOCK_POOLS_EU_WEST_URL", "redis://h:3"),
        ("REDLOCK_TTL", "5s"),
    ];
    let expected = [
        at(ProblemKind::InvalidValue, "REDLOCK_MAX_TTL"),
        at(ProblemKind::UnknownPool, "REDLOCK_POOLS_EU_WEST_URL"),
        at(ProblemKind::UnknownKey, "REDLOCK_TTL"),
    ];
    assert_eq!(kinds_and_places(file.with_env(variables)), expected);
}

#[test]
fn each_problem_of_a_check_has_a_kind_and_names_its_subject() {
    let one = || Config::new().pool("a", "memory://x");
    let shown = "(a URL, which is not shown)";
    for (config, kind, pools, site) in [
        (Config::new(), ProblemKind::NoPools, vec![], None),
        (
            one().pool("b", "memory://x"),
            ProblemKind::RefusedServer,
            vec!["a", "b"],
            None,
        ),
        (
            one().default_pools(["redis://u:s3cret@h"]),
            ProblemKind::UnknownPool,
            vec![shown],
            None,
        ),
        (
            one().trust_aof("b", true),
            ProblemKind::UnknownPool,
            vec!["b"],
            None,
        ),
        (
            one().password_file("a", "password"),
            ProblemKind::InvalidValue,
            vec!["a"],
            None,
        ),
        (
            Config::new()
                .pool("a", "redis://h")
                .password_file("a", "/nowhere"),
            ProblemKind::Unreadable,
            vec!["a"],
            None,
        ),
        (
            one().contended_status(200),
            ProblemKind::InvalidValue,
            vec![],
            None,
        ),
        (
            one().site("shop::chrage", SiteConfig::new()),
            ProblemKind::UnknownSite,
            vec![],
            Some("shop::chrage"),
        ),
    ] {
        let refused = CheckedConfig::new(config).err().expect("a problem");
        let [problem] = refused.problems() else {
            panic!("{refused}");
        };
        assert_eq!(problem.kind, kind, "{problem}");
        assert_eq!(problem.pools, pools, "{problem}");
        assert_eq!(problem.site.as_deref(), site, "{problem}");
    }
}

#[test]
fn a_problem_of_a_check_has_the_place_of_its_key() {
    let file = "[pools.a]\nurl = 'memory://a'\n[shutdown]\ndeadline = '1s'\n[sites.chrage]";
    let refused = CheckedConfig::new(Config::from_toml(file).unwrap());
    let refused = refused.err().expect("problems");
    let places = refused.problems().iter().map(|it| it.place.as_deref());
    assert!(places.eq([Some("line 4"), Some("line 5")]), "{refused}");
}

/// A node of the user's own whose store denies the login.
struct Denied;

impl Node for Denied {
    fn name(&self) -> &'static str {
        "a"
    }

    fn submit(&self, submission: Submission) {
        drop(submission);
    }

    fn status(&self) -> NodeStatus {
        let detail = "wrong password for etcd://locker:s3cret@host";
        NodeStatus::Abstaining(NodeError::unsent(NodeErrorKind::Denied, detail))
    }

    fn drained(&self) -> bool {
        true
    }
}

#[test]
fn a_denied_login_of_an_own_node_shows_no_url() {
    let config = Config::new().pool_node("a", |_| Ok(Arc::new(Denied)));
    let checked = CheckedConfig::new(config).expect("a configuration");
    let node: Arc<dyn Node> = Arc::new(Denied);
    let refused = check_logins(&checked, &[node].into()).unwrap_err();
    let text = refused.to_string();
    let shown = "a: wrong password for (a URL, which is not shown); correct the URLs";
    assert!(text.contains(shown), "{text}");
}
