//! Peers for tests: a scripted model server, hostile servers, real child processes.
