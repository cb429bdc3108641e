use super::*;

/// Returns the server that `url` names.
pub(in crate::redis) fn server(url: &str) -> Server {
    match RedisAddress::parse(url).unwrap().0 {
        Target::Server(server) => server,
        _ => panic!("{url} names other than one server"),
    }
}

#[test]
fn good_urls_name_their_server_and_debug_no_password() {
    for (url, server) in [
        ("redis://127.0.0.1:7001", "127.0.0.1:7001"),
        ("redis://LocalHost", "localhost:6379"),
        ("redis://user:pw@db.example:6380/3", "db.example:6380"),
        ("rediss://user:pw@db.example/3", "db.example:6379"),
        ("redis://[::1]:7001", "::1:7001"),
        ("redis+unix:///run/redis.sock", "/run/redis.sock"),
        (
            "redis+sentinel://u:pw@h2:2,h1/shop/3",
            "shop of h1:26379, h2:2",
        ),
        (
            "rediss+sentinel://[::1],h:9/shop?sentinel_login=s:pw",
            "shop of ::1:26379, h:9",
        ),
        (
            "redis+cluster://u:pw@h2:2,h1",
            "the cluster of h1:6379, h2:2",
        ),
    ] {
        let has_all = cfg!(all(
            feature = "cluster",
            feature = "sentinel",
            feature = "tls"
        ));
        match RedisAddress::parse(url) {
            Err(error) if !has_all => assert!(error.to_string().contains("enable the feature")),
            parsed => {
                let parsed = parsed.unwrap();
                assert_eq!(parsed.to_string(), server);
                assert!(!format!("{parsed:?}").contains("pw"), "{parsed:?}");
            }
        }
    }
}

#[test]
fn bad_urls_are_refused_without_their_password() {
    for url in [
        "",
        "nonsense",
        "http://user:s3cret@host",
        "redis://user:s3cret@",
        "redis://user:s3cret@host:99999",
        "redis://:s3cret@host:port",
        "redis://host/s3cret?pass=s3cret",
        "rediss://user:s3cret@host#insecure",
        "rediss+unix:///s3cret",
        "s3cret@host",
        "redis://user:s3@cret@host:99999",
        "redis://user:s3cret",
        "redis://user:12#s3cret@host",
        "redis://s3cret:12/34@host",
        "redis://s3cret:12?34@host",
        "redis://s3cret:12#34",
        "s3cret://host",
        "redis+cluster://user:12#s3cret@host",
        "redis+cluster://user:12/s3cret@host",
        "redis+sentinel://user:12#s3cret@host/shop",
        "redis+sentinel://user:12?s3cret@host/shop",
        "redis+sentinel://user:s3cret@host",
        "redis+sentinel://user:s3cret@host/",
        "redis+sentinel://user:s3cret@host,/shop",
        "redis+sentinel://user:s3cret@host/shop/nine",
        "redis+sentinel://host/shop?sentinel_pass=s3cret",
        "redis+sentinel://host/shop?sentinel_login=s3cret",
        "redis+cluster://user:s3cret@host:1,host:99999",
        "redis+cluster://user:s3cret@host/3",
        "redis+cluster://user:s3cret@",
        "redis+cluster://host?s3cret=s3cret",
        "redis+sentinel://host/shop?sentinel_login=user:s3&cret",
        "redis+unix:///s?user=u&pass=s3cret#",
        "redis+unix:///s?pass=s3&cret",
        "redis+unix://user:s3cret@localhost/s",
    ] {
        let text = RedisAddress::parse(url).unwrap_err().to_string();
        assert!(
            !text.contains("s3") || url.starts_with("s3"),
            "{url}: {text}"
        );
    }
}

#[test]
fn a_zone_of_an_ipv6_address_is_refused_with_the_reason() {
    for url in [
        "redis://[fe80::1%eth0]:6379",
        "redis://u:[pw%]@[fe80::1%25eth0]/3",
        #[cfg(feature = "sentinel")]
        "redis+sentinel://h,[fe80::1%eth0]/shop",
    ] {
        let text = RedisAddress::parse(url).unwrap_err().to_string();
        assert!(
            text.contains("an IPv6 address with a zone"),
            "{url}: {text}"
        );
    }
}

#[test]
fn an_unknown_parameter_is_refused_with_those_there_are() {
    let none = "there are none for this kind of URL";
    for (url, unknown, there) in [
        ("redis://h?db=3", " `db`", none),
        ("redis://h/3?protocol=resp3", " `protocol`", none),
        ("redis://h?timeout=5s", " (not shown)", none),
        (
            "redis+unix:///s?db=1&password=pw",
            " `password`",
            "there are `db`, `user`, `pass`",
        ),
        ("redis+unix:///s?db=1&db=2", " `db`", "each once"),
        #[cfg(feature = "cluster")]
        ("redis+cluster://h?db=0", " `db`", none),
        #[cfg(feature = "sentinel")]
        (
            "redis+sentinel://h/shop?sentinel_login=:pw&db=3",
            " `db`",
            "there are `sentinel_login`, once, with `&` in it as %26",
        ),
    ] {
        let text = RedisAddress::parse(url).unwrap_err().to_string();
        let begin = format!("unknown parameter{unknown} in the URL; ");
        assert!(text.starts_with(&begin), "{url}: {text}");
        assert!(text.contains(there), "{url}: {text}");
    }
}

#[cfg(all(feature = "cluster", feature = "sentinel"))]
#[test]
fn a_user_without_a_password_has_an_empty_one_in_any_url() {
    for (url, login) in [
        ("redis://me@h", Some("me")),
        ("redis://me:@h/3", Some("me")),
        ("redis+unix:///s?user=me", Some("me")),
        ("redis+cluster://me@h1,h2", Some("me")),
        (
            "redis+sentinel://me@h1,h2/shop?sentinel_login=me:",
            Some("me"),
        ),
        ("redis://h", None),
        ("redis://:@h", None),
    ] {
        let mut address = RedisAddress::parse(url).unwrap();
        for server in address.servers() {
            let info = server.info().unwrap();
            let settings = info.redis_settings();
            assert_eq!(settings.username(), login, "{url}");
            assert_eq!(settings.password(), login.map(|_| ""), "{url}");
        }
    }
    // A user's own client keeps its login as it is.
    let client = Client::open("redis://me@h").unwrap();
    let mut address = RedisAddress::of_client(&client, None).unwrap();
    let info = address.servers()[0].info().unwrap();
    assert_eq!(info.redis_settings().password(), None);
}

#[test]
fn a_password_beside_a_password_file_is_refused() {
    let path = std::env::temp_dir().join(format!("redlock-{}-password", std::process::id()));
    std::fs::write(&path, "other").unwrap();
    let with_file = |url| RedisAddress::parse(url).unwrap().with_password_file(&path);
    assert!(with_file("redis://me@h").is_ok());
    let text = with_file("redis://me:s3cret@h").unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(text.contains("`password_file` is set too"), "{text}");
}

#[cfg(not(feature = "tls"))]
#[test]
fn urls_of_tls_are_refused_without_it_with_the_feature() {
    for url in [
        "rediss://h",
        "rediss+sentinel://h/shop",
        "rediss+cluster://h",
        "valkeys://h",
    ] {
        let error = RedisAddress::parse(url).unwrap_err().to_string();
        assert!(error.contains("feature `tls`"), "{error}");
    }
}

#[cfg(all(feature = "cluster", feature = "sentinel"))]
#[test]
fn tls_options_of_a_url_without_tls_are_refused() {
    let options = TlsOptions {
        ca: Some("ca.pem".into()),
        ..TlsOptions::default()
    };
    for url in [
        "redis://h",
        "redis+sentinel://h/shop",
        "redis+cluster://h",
        "unix:///s",
    ] {
        let address = RedisAddress::parse(url).unwrap();
        assert!(address.clone().with_tls(TlsOptions::default()).is_ok());
        let error = address.with_tls(options.clone()).unwrap_err().to_string();
        assert!(error.contains("rediss://"), "{error}");
    }
}

#[cfg(feature = "sentinel")]
#[tokio::test]
async fn a_masters_login_is_not_that_of_its_sentinels() {
    let url = "redis+sentinel://app:one@h1:1,h2/shop/3?sentinel_login=watch:t%20wo";
    let Target::Sentinel(found) = RedisAddress::parse(url).unwrap().0 else {
        panic!("no sentinels");
    };
    assert_eq!(found.master, "shop");
    let login = async |server: &Server| {
        let settings = server.info().unwrap().redis_settings().clone();
        let password = settings.password().map(str::to_owned);
        (server.user().to_owned(), password, settings.db())
    };
    let of_master = login(&found.of_master).await;
    assert_eq!(of_master, ("app".into(), Some("one".into()), 3));
    for sentinel in &found.sentinels {
        let own = login(sentinel).await;
        assert_eq!(own, ("watch".into(), Some("t wo".into()), 0));
    }
    assert_eq!(found.sentinels.len(), 2);
}
