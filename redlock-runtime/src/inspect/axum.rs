//! For axum.

use axum::Router;
use axum::body::Body;
use axum::extract::{OriginalUri, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::{Document, HEADERS, health, held, page, sites};
use crate::registry::Registry;

/// The routes of [`inspect`](crate::inspect) below `path`, to serve on an internal port: `""` is all of
/// it. Give the path here and [`merge`](Router::merge) the router: [`nest`](Router::nest) at `/locks`
/// would leave `/locks/` without an answer.
///
/// ```no_run
/// # async fn example(redlock: &redlock_runtime::Redlock) -> std::io::Result<()> {
/// let app = redlock_runtime::inspect::axum_router("", redlock.registry());
/// // Not where the service itself listens.
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:9090").await?;
/// # #[cfg(any())]
/// axum::serve(listener, app).await
/// # ; drop((app, listener)); Ok(())
/// # }
/// ```
pub fn axum_router(path: &str, registry: &Registry) -> Router {
    type Of = State<Registry>;
    let routes = Router::new()
        .route(
            "/",
            get(|OriginalUri(uri): OriginalUri, State(of): Of| async move {
                page(&of, uri.path(), uri.query())
            }),
        )
        .route("/health", get(|State(of): Of| async move { health(&of) }))
        .route("/held", get(|State(of): Of| async move { held(&of) }))
        .route("/sites", get(|State(of): Of| async move { sites(&of) }))
        .with_state(registry.clone());
    match path {
        "" | "/" => routes,
        path => Router::new().nest_service(path, routes),
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let content_type = HeaderValue::from_static(self.content_type);
        headers.insert(header::CONTENT_TYPE, content_type);
        for (name, value) in HEADERS {
            let name = HeaderName::from_static(name);
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
