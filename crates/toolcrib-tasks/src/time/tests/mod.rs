//! That texts mean the moments that people mean by them.

mod cron;
mod phrase;
