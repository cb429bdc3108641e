//! The scene behind each of the two frameworks.

use std::net::SocketAddr;
use std::sync::Arc;

use redlock_runtime::LockError;

use crate::http::scene::{ALL, Scene};

/// A server on a port of its own, until it is dropped.
pub(crate) enum Server {
    Axum(SocketAddr, tokio::task::JoinHandle<()>),
    Actix(SocketAddr, actix_web::dev::ServerHandle),
}

impl Server {
    pub(crate) async fn both(scene: &Arc<Scene>) -> [Self; 2] {
        [axum(scene).await, actix(scene)]
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        match self {
            Self::Axum(addr, _) | Self::Actix(addr, _) => *addr,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self {
            Self::Axum(_, serving) => serving.abort(),
            // The request to stop is sent at once. No task waits for the end.
            Self::Actix(_, handle) => drop(handle.stop(false)),
        }
    }
}

async fn play(scene: &Scene, path: &str) -> Result<&'static str, LockError> {
    let what = ALL.iter().find(|what| format!("{what:?}") == path);
    scene.play(*what.expect("a path of the scene")).await
}

mod on_axum {
    use axum::http::StatusCode;
    use axum::response::{Html, IntoResponse, Response};
    use redlock_runtime::{LockError, redlock};

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn bare(key: &str) -> Response {
        Response::default()
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn opaque(key: &str) -> impl IntoResponse + use<> {
        Html(format!("done with {key}"))
    }

    /// An error that decides itself how it looks.
    pub(super) struct Teapot;

    impl From<LockError> for Teapot {
        fn from(_: LockError) -> Self {
            Self
        }
    }

    impl IntoResponse for Teapot {
        fn into_response(self) -> Response {
            StatusCode::IM_A_TEAPOT.into_response()
        }
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn own_error(key: &str) -> impl IntoResponse + use<> {
        Ok::<_, Teapot>(format!("done with {key}"))
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn status(key: &str) -> Result<String, StatusCode> {
        Ok(format!("done with {key}"))
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn text(key: &str) -> Result<String, (StatusCode, String)> {
        Ok(format!("done with {key}"))
    }
}

mod on_actix {
    use actix_web::error::InternalError;
    use actix_web::{HttpResponse, Responder, web};
    use redlock_runtime::redlock;

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn bare(key: &str) -> HttpResponse {
        HttpResponse::Ok().finish()
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn opaque(key: &str) -> impl Responder + use<> {
        web::Html::new(format!("done with {key}"))
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn own_error(key: &str) -> Result<String, HttpResponse> {
        Ok(format!("done with {key}"))
    }

    #[redlock(resource = "{key}", retry_count = 0)]
    pub(super) async fn text(key: &str) -> Result<String, InternalError<String>> {
        Ok(format!("done with {key}"))
    }
}

async fn axum(scene: &Arc<Scene>) -> Server {
    use axum::extract::Path;
    use axum::response::IntoResponse;
    use axum::routing::post;

    let (of_calls, of_kinds) = (Arc::clone(scene), Arc::clone(scene));
    let calls = move |Path(what): Path<String>| async move { play(&of_calls, &what).await };
    let kinds = move |Path((kind, key)): Path<(String, String)>| async move {
        let registry = of_kinds.registry();
        match &*kind {
            "bare" => registry.scope(on_axum::bare(&key)).await,
            "opaque" => registry.scope(on_axum::opaque(&key)).await.into_response(),
            "own_error" => registry
                .scope(on_axum::own_error(&key))
                .await
                .into_response(),
            "status" => registry.scope(on_axum::status(&key)).await.into_response(),
            _ => registry.scope(on_axum::text(&key)).await.into_response(),
        }
    };
    let app = axum::Router::new()
        .route("/kinds/{kind}/{key}", post(kinds))
        .route("/{what}", post(calls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    Server::Axum(addr, serving)
}

fn actix(scene: &Arc<Scene>) -> Server {
    use actix_web::{App, HttpServer, Responder, web};

    async fn call(
        scene: web::Data<Scene>,
        what: web::Path<String>,
    ) -> Result<&'static str, LockError> {
        play(&scene, &what).await
    }
    async fn bare(scene: web::Data<Scene>, key: web::Path<String>) -> actix_web::HttpResponse {
        scene.registry().scope(on_actix::bare(&key)).await
    }

    async fn opaque(scene: web::Data<Scene>, key: web::Path<String>) -> impl Responder {
        scene.registry().scope(on_actix::opaque(&key)).await
    }
    async fn own_error(scene: web::Data<Scene>, key: web::Path<String>) -> actix_web::HttpResponse {
        match scene.registry().scope(on_actix::own_error(&key)).await {
            Ok(done) => actix_web::HttpResponse::Ok().body(done),
            Err(response) => response,
        }
    }
    async fn text(scene: web::Data<Scene>, key: web::Path<String>) -> impl Responder {
        scene.registry().scope(on_actix::text(&key)).await
    }

    let data = web::Data::from(Arc::clone(scene));
    let app = move || {
        App::new()
            .app_data(data.clone())
            .route("/kinds/bare/{key}", web::post().to(bare))
            .route("/kinds/opaque/{key}", web::post().to(opaque))
            .route("/kinds/own_error/{key}", web::post().to(own_error))
            .route("/kinds/text/{key}", web::post().to(text))
            .route("/{what}", web::post().to(call))
    };
    let server = HttpServer::new(app).workers(1).disable_signals();
    let server = server.bind("127.0.0.1:0").unwrap();
    let addr = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    tokio::spawn(server);
    Server::Actix(addr, handle)
}
