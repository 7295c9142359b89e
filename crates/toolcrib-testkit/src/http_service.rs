//! An HTTP service on a free local port, which runs until it is dropped.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running service.
#[derive(Debug)]
pub(crate) struct HttpService {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl HttpService {
    /// Serves on a port that the system chooses.
    pub(crate) async fn start(router: Router) -> Result<Self> {
        Self::serve(free_port().await?, router)
    }

    pub(crate) fn serve(listener: TcpListener, router: Router) -> Result<Self> {
        let address = listener.local_addr()?;
        // The task ends when it is aborted; the client reports failures of single connections.
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { address, task })
    }

    /// Returns `http://127.0.0.1:port`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Listens on a port that the system chooses.
pub(crate) async fn free_port() -> Result<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await.context("no port of this machine is free")
}

impl Drop for HttpService {
    fn drop(&mut self) {
        self.task.abort();
    }
}
