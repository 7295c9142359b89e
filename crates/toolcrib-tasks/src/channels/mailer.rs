//! Mail by SMTP.

use std::time::Duration;

use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use toolcrib_io::http::names_private_address;
use toolcrib_model::{ErrorKind, Secret, ToolError};
use url::{Host, Url};

use super::retry::{Attempt, FIRST_PAUSE, deliver};

/// The timeout of one command of SMTP.
const COMMAND_TIME: Duration = Duration::from_secs(10);

/// The default ports: TLS from the start, `STARTTLS`, and a relay on this machine.
const PORTS: [u16; 3] = [465, 587, 25];

/// A sender of mail through an SMTP server.
#[derive(Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    first_pause: Duration,
}

/// A mail of plain text.
#[derive(Clone, Copy, Debug)]
pub struct Mail<'a> {
    /// The id, by which mail programs recognize a repetition.
    pub id: &'a str,
    /// The address.
    pub to: &'a str,
    /// The subject.
    pub subject: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The reason why a setting of a [`Mailer`] is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailerError {
    /// The server is invalid.
    #[error("{0}")]
    Server(String),
    /// The sender is not an address.
    #[error("expected an address, such as `Toolcrib <toolcrib@example.com>`: {0}")]
    From(lettre::address::AddressError),
}

impl Mailer {
    /// Creates a sender through a server: `smtps://HOST` with TLS from the start, or `smtp://HOST` with `STARTTLS`, which
    /// is required unless the server runs on this machine.
    ///
    /// # Errors
    ///
    /// Returns an error if the server or the address of the sender is invalid.
    pub fn new(server: &Url, credentials: Option<(&str, &Secret)>, from: &str) -> Result<Self, MailerError> {
        let from = from.parse().map_err(MailerError::From)?;
        let wrong = |message: &str| MailerError::Server(message.to_owned());
        let is_plain = server.username().is_empty()
            && server.password().is_none()
            && matches!(server.path(), "" | "/")
            && server.query().is_none()
            && server.fragment().is_none();
        let host = server.host_str().filter(|_| is_plain);
        let host = host.ok_or_else(|| {
            wrong("expected a scheme, a host, and a port at most, such as `smtps://mail.example.com`")
        })?;
        let parameters = || {
            let parameters = TlsParameters::new(host.to_owned());
            parameters.map_err(|error| MailerError::Server(format!("TLS cannot be used: {error}")))
        };
        let [implicit, submission, relay] = PORTS;
        let (tls, port) = match server.scheme() {
            "smtps" => (Tls::Wrapper(parameters()?), implicit),
            "smtp" if is_this_machine(server) => (Tls::None, relay),
            "smtp" => (Tls::Required(parameters()?), submission),
            _ => return Err(wrong("expected `smtps://` or `smtp://`")),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host);
        let builder = builder.port(server.port().unwrap_or(port)).tls(tls).timeout(Some(COMMAND_TIME));
        let builder = match credentials {
            Some((user, password)) => {
                builder.credentials(Credentials::new(user.to_owned(), password.expose().to_owned()))
            }
            None => builder,
        };
        Ok(Self { transport: builder.build(), from, first_pause: FIRST_PAUSE })
    }

    /// Sets the pause before the second attempt. The default is [`FIRST_PAUSE`]. Each later pause is twice as long.
    pub fn with_first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }

    /// Sends a mail, with retries if the server is not reached, or asks for a later attempt. It is sent when the server
    /// has accepted it. `channel` is the name in errors.
    pub async fn send(&self, channel: &str, mail: &Mail<'_>) -> Result<(), ToolError> {
        let message = self.message(mail).map_err(|reason| {
            ToolError::new(
                ErrorKind::ToolFailed,
                format!("the channel `{channel}` cannot send the mail: {reason}"),
            )
        })?;
        let attempt = |_| {
            let message = message.clone();
            async move {
                match self.transport.send(message).await {
                    Ok(_) => Attempt::Delivered,
                    Err(error) if error.is_permanent() || error.is_client() => {
                        Attempt::Refused(error.to_string())
                    }
                    Err(error) => Attempt::Failed { why: error.to_string(), wait: None },
                }
            }
        };
        deliver(channel, self.first_pause, attempt).await
    }

    fn message(&self, mail: &Mail<'_>) -> Result<Message, String> {
        let to: Mailbox =
            mail.to.parse().map_err(|error: lettre::address::AddressError| error.to_string())?;
        let id = format!("<{}@{}>", mail.id, self.from.email.domain());
        let builder =
            Message::builder().from(self.from.clone()).to(to).subject(mail.subject).message_id(Some(id));
        // A part, and not a body, since only that has `MIME-Version`, without which a mail program shows the encoding.
        builder.singlepart(SinglePart::plain(mail.text.to_owned())).map_err(|error| error.to_string())
    }
}

/// Checks an address that mail is sent to, and returns the reason why it is invalid.
///
/// # Errors
///
/// Returns the reason.
pub fn check_address(address: &str) -> Result<(), String> {
    address.parse::<Mailbox>().map(drop).map_err(|error| error.to_string())
}

/// Returns true if the host of a server is this machine.
fn is_this_machine(server: &Url) -> bool {
    // The host of a URL whose scheme is not special is a text.
    let host = server.host_str().and_then(|host| Host::parse(host).ok());
    match host {
        Some(Host::Domain(_)) => {
            let url = Url::parse(&format!("http://{}/", server.host_str().unwrap_or_default()));
            url.is_ok_and(|url| names_private_address(&url))
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_testkit::MailReceiver;

    use super::*;

    const MAIL: Mail<'_> = Mail {
        id: "approval_1",
        to: "Alice <alice@example.com>",
        subject: "Allow pay.send?",
        text: "Called by: clerk\n\nhttps://tools.example.com/approve/eyJwcm9jZXNzIjoiMDEyMzQ1Njc4OWFiY2RlZiIsInF1ZXN0aW9uIjo3fQ.c2ln\n",
    };

    fn mailer(server: &str, credentials: Option<(&str, &Secret)>) -> Mailer {
        let mailer =
            Mailer::new(&Url::parse(server).unwrap(), credentials, "Toolcrib <toolcrib@example.com>")
                .unwrap();
        mailer.with_first_pause(Duration::from_millis(1))
    }

    #[tokio::test]
    async fn a_mail_arrives_whole_and_from_the_user_of_the_server() {
        let receiver = MailReceiver::start(&[]).await.unwrap();
        let password = Secret::new("of-the-mailer");
        mailer(&receiver.url(), Some(("toolcrib", &password))).send("mail", &MAIL).await.unwrap();
        let [mail] = receiver.mails().try_into().unwrap();
        assert_eq!(
            (mail.from.as_str(), mail.to.clone()),
            ("toolcrib@example.com", vec!["alice@example.com".to_owned()])
        );
        assert_eq!(mail.credentials.as_deref(), Some("\0toolcrib\0of-the-mailer"));
        for line in [
            "Subject: Allow pay.send?",
            "From: Toolcrib <toolcrib@example.com>",
            "Message-ID: <approval_1@example.com>",
            "MIME-Version: 1.0",
        ] {
            assert!(mail.text.lines().any(|other| other == line), "{line}: {}", mail.text);
        }
        assert!(mail.body().contains(MAIL.text.trim()), "{}", mail.text);
    }

    #[tokio::test]
    async fn a_mail_is_sent_again_after_a_passing_failure_and_not_after_a_refusal() {
        let receiver = MailReceiver::start(&[451, 451]).await.unwrap();
        mailer(&receiver.url(), None).send("mail", &MAIL).await.unwrap();
        assert_eq!((receiver.mails().len(), receiver.attempts()), (1, 3));
        let receiver = MailReceiver::start(&[550]).await.unwrap();
        let error = mailer(&receiver.url(), None).send("mail", &MAIL).await.unwrap_err();
        assert_eq!((error.kind, receiver.attempts()), (ErrorKind::ToolFailed, 1), "{error}");
        assert!(error.message.contains("the channel `mail` rejected the message"), "{error}");
    }

    #[test]
    fn a_server_elsewhere_is_not_used_without_tls() {
        for (server, is_plain) in [
            ("smtp://127.0.0.1", true),
            ("smtp://localhost:2525", true),
            ("smtp://[::1]", true),
            ("smtp://10.0.0.1", false),
            ("smtp://mail.example.com", false),
            ("smtp://localhost.example.com", false),
        ] {
            assert_eq!(is_this_machine(&Url::parse(server).unwrap()), is_plain, "{server}");
        }
        for server in [
            "https://mail.example.com",
            "smtp://user@mail.example.com",
            "smtps://mail.example.com/x",
            "smtp:x",
        ] {
            let refused = Mailer::new(&Url::parse(server).unwrap(), None, "toolcrib@example.com");
            assert!(matches!(refused, Err(MailerError::Server(_))), "{server}");
        }
        let server = Url::parse("smtps://mail.example.com").unwrap();
        assert!(matches!(Mailer::new(&server, None, "toolcrib"), Err(MailerError::From(_))));
    }
}
