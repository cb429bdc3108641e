//! The routes for actix-web.

use std::future::ready;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse, Resource, Responder, Scope};

use redlock_runtime::registry::Registry;

use crate::{Document, HEADERS, health, held, page, sites};

/// Returns the routes of [`redlock_inspect`](crate) below `path`, for an internal port.
///
/// With the path `""`, the routes begin at the root.
///
/// ```no_run
/// # async fn example(redlock: &redlock_runtime::Redlock) -> std::io::Result<()> {
/// let registry = redlock.registry().clone();
/// let app = move || {
///     actix_web::App::new().service(redlock_inspect::actix_scope("", &registry))
/// };
/// // Choose another port than that of the service.
/// actix_web::HttpServer::new(app).workers(1).bind(("127.0.0.1", 9090))?.run().await
/// # }
/// ```
pub fn actix_scope(path: &str, registry: &Registry) -> Scope {
    let the_page = async |request: HttpRequest, registry: Data<Registry>| {
        page(&registry, request.path(), Some(request.query_string()))
    };
    web::scope(path)
        .app_data(Data::new(registry.clone()))
        .service(web::resource(["", "/"]).get(the_page).head(the_page))
        .service(json("/health", health))
        .service(json("/held", held))
        .service(json("/sites", sites))
}

fn json(path: &str, document: fn(&Registry) -> Document) -> Resource {
    let answer = move |registry: Data<Registry>| ready(document(&registry));
    web::resource(path).get(answer).head(answer)
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
