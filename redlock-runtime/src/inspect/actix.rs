//! For actix-web.

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse, Responder, Scope};

use super::{Document, HEADERS, health, held, page, sites};
use crate::registry::Registry;

/// The routes of [`inspect`](crate::inspect) below `path`, to serve on an internal port: `""` is all of it.
///
/// ```no_run
/// # async fn example(redlock: &redlock_runtime::Redlock) -> std::io::Result<()> {
/// let registry = redlock.registry().clone();
/// let app = move || {
///     actix_web::App::new().service(redlock_runtime::inspect::actix_scope("", &registry))
/// };
/// // Not where the service itself listens.
/// actix_web::HttpServer::new(app).workers(1).bind(("127.0.0.1", 9090))?.run().await
/// # }
/// ```
pub fn actix_scope(path: &str, registry: &Registry) -> Scope {
    web::scope(path)
        .app_data(Data::new(registry.clone()))
        .service(web::resource(["", "/"]).get(the_page).head(the_page))
        .service(web::resource("/health").get(the_health).head(the_health))
        .service(web::resource("/held").get(what_is_held).head(what_is_held))
        .service(web::resource("/sites").get(the_sites).head(the_sites))
}

async fn the_page(request: HttpRequest, registry: Data<Registry>) -> Document {
    let query = Some(request.query_string());
    page(&registry, request.path(), query)
}

async fn the_health(registry: Data<Registry>) -> Document {
    health(&registry)
}

async fn what_is_held(registry: Data<Registry>) -> Document {
    held(&registry)
}

async fn the_sites(registry: Data<Registry>) -> Document {
    sites(&registry)
}

impl Responder for Document {
    type Body = BoxBody;

    fn respond_to(self, _request: &HttpRequest) -> HttpResponse {
        let status = StatusCode::from_u16(self.status);
        let mut response = HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        response.insert_header((CONTENT_TYPE, self.content_type));
        for header in HEADERS {
            response.insert_header(header);
        }
        response.body(self.body)
    }
}
