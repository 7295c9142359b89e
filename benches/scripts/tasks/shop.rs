//! The tools of the tasks: a shop whose data are functions of their numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::module;

pub(crate) const ITEMS: usize = 20;
pub(crate) const CUSTOMERS: usize = 30;
pub(crate) const ORDERS: usize = 60;
pub(crate) const PAGES: usize = 10;
pub(crate) const LINES: usize = 12_000;

/// The number of orders on one page.
const PAGE: usize = 10;

/// The stock below which an item is ordered again.
pub(crate) const LOW_STOCK: usize = 4;

/// Returns the stock of an item.
pub(crate) fn stock(item: usize) -> usize {
    item * 37 % 23
}

/// Returns the amount of an order.
pub(crate) fn amount(order: usize) -> usize {
    order * 71 % 503
}

/// Returns the customer of an order.
pub(crate) fn customer_of(order: usize) -> usize {
    order * 7 % CUSTOMERS
}

/// Returns true for a customer in the north.
pub(crate) fn is_north(customer: usize) -> bool {
    customer % 3 == 1
}

/// Returns the code of an incident in a line of the log, if it reports one.
pub(crate) fn incident(line: usize) -> Option<usize> {
    (line % 1_201 == 600).then(|| line * 13 % 997)
}

/// The numbers of updates of each item.
pub(crate) type Updates = Arc<Mutex<BTreeMap<usize, usize>>>;

/// A shop.
pub(crate) struct Shop(pub(crate) Updates);

fn order(id: usize) -> Value {
    json!({"id": id, "customer": customer_of(id), "amount": amount(id), "status": "paid"})
}

fn unknown(what: &str, id: usize) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, format!("{what} {id} does not exist"))
}

/// The shop of the tasks.
#[module(id = "shop")]
impl Shop {
    /// Returns an item of the stock.
    #[tool(risk = "low")]
    fn get_item(&self, id: usize) -> Result<Value, ToolError> {
        if id >= ITEMS {
            return Err(unknown("item", id));
        }
        Ok(json!({"id": id, "name": format!("Part {id} of the press"), "stock": stock(id), "price": id * 3}))
    }

    /// Orders more of an item.
    #[tool(risk = "medium", side_effects = ["orders an item"])]
    fn reorder_item(&self, id: usize) -> Value {
        *self.0.lock().entry(id).or_default() += 1;
        json!({"reordered": id})
    }

    /// Lists all customers with their regions.
    #[tool(risk = "low")]
    fn list_customers(&self) -> Value {
        let region = |id| if is_north(id) { "north" } else { "south" };
        let customer = |id| json!({"id": id, "name": format!("Customer {id}"), "region": region(id)});
        (0..CUSTOMERS).map(customer).collect()
    }

    /// Lists all orders of the year.
    #[tool(risk = "low")]
    fn list_orders(&self) -> Value {
        (0..ORDERS).map(order).collect()
    }

    /// Returns one page of the archive of orders.
    #[tool(risk = "low")]
    fn archive_page(&self, page: usize) -> Result<Value, ToolError> {
        if page >= PAGES {
            return Err(unknown("page", page));
        }
        let orders: Vec<Value> = (page * PAGE..(page + 1) * PAGE).map(order).collect();
        Ok(json!({"page": page, "pages": PAGES, "orders": orders}))
    }

    /// Returns the log of the machines, about 1 MB.
    #[tool(risk = "low")]
    fn machine_log(&self) -> Value {
        let line = |at: usize| {
            let (level, code) = incident(at).map_or(("info", 0), |code| ("error", code));
            json!({"at": format!("2026-11-01T{:02}:{:02}", at / 60 % 24, at % 60), "level": level, "code": code,
                "machine": at % 9})
        };
        (0..LINES).map(line).collect()
    }

    /// Returns the account of a customer.
    #[tool(risk = "low")]
    fn get_account(&self, customer: usize) -> Value {
        json!({"account": customer * 11 + 400})
    }

    /// Returns the last shipment of an account.
    #[tool(risk = "low")]
    fn last_shipment(&self, account: usize) -> Value {
        json!({"shipment": account * 3 + 7_000})
    }

    /// Returns the carrier of a shipment.
    #[tool(risk = "low")]
    fn get_carrier(&self, shipment: usize) -> Value {
        json!({"carrier": shipment % 90 + 100})
    }

    /// Returns the depot of a carrier.
    #[tool(risk = "low")]
    fn get_depot(&self, carrier: usize) -> Value {
        json!({"depot": carrier * 2 + 31_000})
    }

    /// Returns the phone number of a depot.
    #[tool(risk = "low")]
    fn depot_phone(&self, depot: usize) -> Value {
        json!({"phone": format!("0800-{depot}")})
    }

    /// Returns the handbook of the press.
    #[tool(risk = "low")]
    fn read_handbook(&self) -> String {
        let line = |at: usize| format!("{at}. Check valve {at} and close it before you open the next one.\n");
        (1..=40).map(line).collect()
    }
}
