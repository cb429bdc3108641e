//! The routes for axum.

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use redlock_runtime::registry::Registry;

use crate::{Document, HEADERS, health, held, page, sites};

/// Returns the routes of [`redlock_inspect`](crate) below `path`, for an internal port.
///
/// With the path `""`, the routes begin at the root. [`merge`](Router::merge) the router instead of
/// [`nest`](Router::nest)ing it, because a router that is nested at `/locks` does not answer `/locks/`.
///
/// ```no_run
/// # async fn example(redlock: &redlock_runtime::Redlock) -> std::io::Result<()> {
/// let app = redlock_inspect::axum_router("", redlock.registry());
/// // Choose another port than that of the service.
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:9090").await?;
/// # #[cfg(any())]
/// axum::serve(listener, app).await
/// # ; drop((app, listener)); Ok(())
/// # }
/// ```
pub fn axum_router(path: &str, registry: &Registry) -> Router {
    type Of = State<Registry>;
    let the_page =
        async |OriginalUri(uri): OriginalUri, State(of): Of| page(&of, uri.path(), uri.query());
    let routes = Router::new()
        .route("/", get(the_page))
        .route("/health", get(async |State(of): Of| health(&of)))
        .route("/held", get(async |State(of): Of| held(&of)))
        .route("/sites", get(async |State(of): Of| sites(&of)))
        .with_state(registry.clone());
    match path {
        "" | "/" => routes,
        path => Router::new().nest_service(path, routes),
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (
            status,
            HEADERS,
            [(CONTENT_TYPE, self.content_type)],
            self.body,
        )
            .into_response()
    }
}
