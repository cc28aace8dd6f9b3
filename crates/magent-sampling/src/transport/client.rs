//! HTTP clients, one per way out (proxy and certificates), shared by all requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::{ProviderError, ProxyChoice, Route};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The clients made so far.
#[derive(Default)]
pub(super) struct Clients {
    made: Mutex<HashMap<ClientKey, reqwest::Client>>,
}

#[derive(PartialEq, Eq, Hash)]
struct ClientKey {
    proxy: Option<String>,
    direct: bool,
    ca_bundle: Option<String>,
}

impl Clients {
    /// The client for a route.
    pub(super) fn for_route(&self, route: &Route) -> Result<reqwest::Client, ProviderError> {
        let key = ClientKey {
            proxy: match &route.proxy {
                ProxyChoice::Url(url) => Some(url.reveal().to_owned()),
                ProxyChoice::System | ProxyChoice::Direct => None,
            },
            direct: route.proxy == ProxyChoice::Direct,
            ca_bundle: route.ca_bundle.clone(),
        };
        if let Some(client) = self.made.lock().get(&key) {
            return Ok(client.clone());
        }
        let client = build(&key)?;
        self.made.lock().insert(key, client.clone());
        Ok(client)
    }
}

fn build(key: &ClientKey) -> Result<reqwest::Client, ProviderError> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(key.ca_bundle.as_deref())?)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        // Headers and conversation are meant for the host that the user named.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("magent/", env!("CARGO_PKG_VERSION")));
    if key.direct {
        builder = builder.no_proxy();
    }
    if let Some(url) = &key.proxy {
        let proxy = reqwest::Proxy::all(url)
            .map_err(|_| ProviderError::Route("The proxy's URL cannot be used.".to_owned()))?;
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| ProviderError::Route(format!("No HTTP client can be made: {error}.")))
}

/// The bundled certificate authorities and the user's own.
fn tls(ca_bundle: Option<&str>) -> Result<ClientConfig, ProviderError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(path) = ca_bundle {
        let unusable = |problem: String| {
            ProviderError::Route(format!("The CA bundle {path} cannot be used: {problem}."))
        };
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            // One certificate that is not an authority spoils no other.
            let _ = roots.add(certificate);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ProviderError::Route(format!("TLS cannot be set up: {error}.")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // The HTTP library only sets these on configurations of its own making.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
