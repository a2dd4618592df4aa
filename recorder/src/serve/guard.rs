//! Who may ask: requests that carry the token and address this server by a loopback name.
//!
//! Any page in the user's browser can send requests to 127.0.0.1, and a name of its own that
//! resolves to 127.0.0.1 makes it same-origin (DNS rebinding). The token answers the first, the
//! Host check the second. Both are decided before anything is read.

use std::fmt;

use anyhow::Context;

/// 128 random bits, in hex, new for each run.
pub struct Token(String);

impl Token {
    /// A new token from the kernel's generator.
    pub fn generate() -> anyhow::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).context("no random bytes from the kernel")?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Whether `given` is this token, in a time that does not tell how much of it was right.
    fn admits(&self, given: &str) -> bool {
        let (ours, given) = (self.0.as_bytes(), given.as_bytes());
        let difference = ours.iter().zip(given).fold(0, |seen, (a, b)| seen | (a ^ b));
        ours.len() == given.len() && std::hint::black_box(difference) == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a request is refused. The texts go to whoever asked, so they name nothing of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The Host header names another host, or there is none.
    ForeignHost,
    /// No token.
    TokenMissing,
    /// Another token.
    TokenWrong,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForeignHost => "this server answers only to 127.0.0.1 and localhost",
            Self::TokenMissing => "the token is missing: open the URL that perftab view printed",
            Self::TokenWrong => "the token is wrong: open the URL that perftab view printed",
        })
    }
}

/// What lets a request in.
pub struct Guard {
    token: Token,
    port: u16,
}

impl Guard {
    /// For a server on `port` of 127.0.0.1.
    pub fn new(token: Token, port: u16) -> Self {
        Self { token, port }
    }

    /// Browsers leave the port out where it is the usual one.
    fn is_own(&self, host: &str) -> bool {
        let usual = (self.port == 80).then_some("");
        ["127.0.0.1", "localhost"].iter().any(|name| {
            let rest = host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
            let port = rest.and_then(|_| host.get(name.len()..));
            port.is_some_and(|port| port == format!(":{}", self.port) || Some(port) == usual)
        })
    }

    /// Decides over a request by its Host header and its query (without `?`).
    pub fn check(&self, host: Option<&str>, query: Option<&str>) -> Result<(), Refusal> {
        if !host.is_some_and(|host| self.is_own(host)) {
            return Err(Refusal::ForeignHost);
        }
        let mut parameters = query.unwrap_or("").split('&');
        match parameters.find_map(|parameter| parameter.strip_prefix("token=")) {
            None => Err(Refusal::TokenMissing),
            Some(given) if self.token.admits(given) => Ok(()),
            Some(_) => Err(Refusal::TokenWrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_token_decide() {
        let guard = Guard::new(Token("00ff".to_owned()), 4711);
        let check = |host, query| guard.check(host, query);
        assert_eq!(check(Some("127.0.0.1:4711"), Some("token=00ff")), Ok(()));
        assert_eq!(check(Some("LocalHost:4711"), Some("a=b&token=00ff")), Ok(()));
        for host in [None, Some("127.0.0.1"), Some("127.0.0.1:80"), Some("evil.test:4711")] {
            assert_eq!(check(host, Some("token=00ff")), Err(Refusal::ForeignHost), "{host:?}");
        }
        let usual = Guard::new(Token("00ff".to_owned()), 80);
        for host in ["127.0.0.1", "localhost", "localhost:80"] {
            assert_eq!(usual.check(Some(host), Some("token=00ff")), Ok(()), "{host}");
        }
        assert!(usual.check(Some("localhost.evil.test"), Some("token=00ff")).is_err());
        for query in [None, Some(""), Some("x=1"), Some("xtoken=00ff")] {
            let refused = check(Some("localhost:4711"), query);
            assert_eq!(refused, Err(Refusal::TokenMissing), "{query:?}");
        }
        for query in ["token=", "token=00f", "token=00fe", "token=00fff", "token=00FF"] {
            let refused = check(Some("localhost:4711"), Some(query));
            assert_eq!(refused, Err(Refusal::TokenWrong), "{query}");
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_eq!(one.to_string().len(), 32);
        assert_ne!(one.to_string(), other.to_string());
    }
}
