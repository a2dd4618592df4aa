//! One server: how it is connected to, and that it is left alone while it is down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::http::Response;
use ureq::{Agent, Body};

use super::outcome::Outcome;
use super::settings::{Limits, TimeLeft};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that could not be connected to is not tried again for so long: each try may take all
/// of [`CONNECT_TIMEOUT`], and there are many DSOs.
const DOWN_FOR: Duration = Duration::from_secs(30);

pub struct Server {
    url: String,
    agent: Agent,
    limits: Limits,
    /// When it last could not be connected to, and why.
    down: Mutex<Option<(Instant, String)>>,
}

impl Server {
    pub fn new(url: &str, limits: Limits) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        let connecting = limits.silence.map_or(CONNECT_TIMEOUT, |time| time.min(CONNECT_TIMEOUT));
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("perftab/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(connecting))
            .timeout_recv_response(limits.silence)
            .timeout_per_read(limits.silence);
        if is_loopback(&url) {
            // A proxy of the environment would look for the server on its own machine.
            config = config.proxy(None);
        }
        Self { url, agent: config.build().new_agent(), limits, down: Mutex::new(None) }
    }

    pub fn get(&self, path: &str, time: &TimeLeft) -> Result<Response<Body>, Outcome> {
        let longest = time.check()?;
        let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, why)) = down.as_ref().filter(|(since, _)| since.elapsed() < DOWN_FOR) {
            return Err(Outcome::Unreachable(why.clone()));
        }
        *down = None;
        drop(down);
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if self.limits.is_said {
            request = request.header("X-DEBUGINFOD-MAXSIZE", self.limits.bytes.to_string());
        }
        request.config().timeout_global(longest).build().call().map_err(|error| {
            if let Err(out_of_time) = time.check() {
                return out_of_time;
            }
            let why = error.to_string();
            if !matches!(error, ureq::Error::Timeout(ureq::Timeout::RecvResponse)) {
                let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
                *down = Some((Instant::now(), why.clone()));
            }
            Outcome::Unreachable(why)
        })
    }

    /// The URL as shown: without the password it may carry.
    pub fn name(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit('@').next().unwrap_or(authority);
                format!("{scheme}://{host}{path}")
            }
            None => self.url.clone(),
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or(authority);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(':');
    host.starts_with("127.") || host == "[::1]" || host == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let name = |url| Server::new(url, Limits::of_environment()).name();
        assert_eq!(name("https://me:secret@host:8002/a@b/"), "https://host:8002/a@b");
        assert_eq!(name("http://host"), "http://host");
    }

    #[test]
    fn loopback_is_asked_without_a_proxy() {
        for url in ["http://127.0.0.1:8002", "http://localhost/x", "http://me@[::1]:80/"] {
            assert!(is_loopback(url), "{url}");
        }
        assert!(!is_loopback("https://debuginfod.debian.net"));
        assert!(!is_loopback("https://host/127.0.0.1"));
        assert!(!is_loopback("https://localhost.example:80"));
    }
}
