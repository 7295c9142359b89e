//! The twelve tasks: the calls of a model that makes no mistake, and the script in place of them.

use serde_json::{Value, json};

use super::shop::{
    CUSTOMERS, ITEMS, LINES, LOW_STOCK, ORDERS, PAGES, amount, customer_of, incident, is_north, stock,
};

/// A call: the tool and its arguments.
pub(crate) type Call = (&'static str, Value);

/// The placeholder for the handle of the last large result.
pub(crate) const HANDLE: &str = "$handle";

/// A task and two ways to solve it.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// The query that finds the tools.
    pub(crate) query: &'static str,
    /// Calls, those of one turn together.
    pub(crate) turns: Vec<Vec<Call>>,
    /// The texts that the results of these calls must contain, in order of the turns.
    pub(crate) facts: Vec<Vec<String>>,
    /// Scripts, one for each turn.
    pub(crate) scripts: Vec<&'static str>,
    /// The result of the last script.
    pub(crate) result: Value,
    /// The items that are ordered again, each once.
    pub(crate) reordered: Vec<usize>,
    /// True for a task with many calls, dependent calls, or large results.
    pub(crate) suits_scripts: bool,
}

fn task(name: &'static str, query: &'static str) -> Task {
    Task {
        name,
        query,
        turns: Vec::new(),
        facts: Vec::new(),
        scripts: Vec::new(),
        result: Value::Null,
        reordered: Vec::new(),
        suits_scripts: false,
    }
}

impl Task {
    fn turn(
        mut self,
        calls: impl IntoIterator<Item = Call>,
        facts: impl IntoIterator<Item = String>,
    ) -> Self {
        self.turns.push(calls.into_iter().collect());
        self.facts.push(facts.into_iter().collect());
        self
    }

    fn script(mut self, source: &'static str) -> Self {
        self.scripts.push(source);
        self
    }

    fn suiting_scripts(mut self) -> Self {
        self.suits_scripts = true;
        self
    }

    fn result(mut self, result: impl Into<Value>) -> Self {
        self.result = result.into();
        self
    }
}

fn item(id: usize) -> Call {
    ("shop.get_item", json!({"id": id}))
}

fn page(page: usize) -> Call {
    ("shop.archive_page", json!({"page": page}))
}

fn stocks() -> Vec<String> {
    (0..ITEMS).map(|id| format!("\"stock\":{}", stock(id))).collect()
}

fn amounts(orders: impl Iterator<Item = usize>) -> Vec<String> {
    orders.map(|order| format!("\"amount\":{}", amount(order))).collect()
}

/// Returns the tasks.
pub(crate) fn all() -> Vec<Task> {
    let [chain_of_two, chain_of_five] = chains();
    let [pages, log, incidents] = large_results();
    vec![
        task("one plain call", "get item of stock")
            .turn([item(7)], [format!("\"stock\":{}", stock(7))])
            .script("return (await tools.shop.get_item({ id: 7 })).stock")
            .result(stock(7)),
        task("a text is read as a whole", "read handbook press")
            .turn([("shop.read_handbook", json!({}))], ["40. Check valve 40".into()])
            .script("return (await tools.shop.read_handbook({})).trim().split('\\n').at(-1)")
            .result("40. Check valve 40 and close it before you open the next one."),
        search(),
        chain_of_two,
        chain_of_five,
        task("fan-out over 20 items", "get item of stock")
            .suiting_scripts()
            .turn((0..ITEMS).map(item), stocks())
            .script(
                "const ids = Array.from({ length: 20 }, (_, id) => id);
const items = await Promise.all(ids.map(id => tools.shop.get_item({ id })));
return items.reduce((sum, item) => sum + item.stock, 0)",
            )
            .result((0..ITEMS).map(stock).sum::<usize>()),
        reorder(),
        join(),
        pages,
        log,
        incidents,
        mistake(),
    ]
}

/// The tool has to be found by a search inside of the script, whose author does not know its name.
fn search() -> Task {
    task("a search, then a call", "get carrier of shipment")
        .turn(
            [("context_builder.search_tools", json!({"query": "get carrier of shipment"}))],
            ["shop.get_carrier".into()],
        )
        .turn([("shop.get_carrier", json!({"shipment": 7_000}))], ["\"carrier\":170".into()])
        .script("return await tools.context_builder.search_tools({ query: 'get carrier of shipment' })")
        .script("return (await tools.shop.get_carrier({ shipment: 7000 })).carrier")
        .result(170)
}

fn chains() -> [Task; 2] {
    let (account, shipment) = (400 + 5 * 11, (400 + 5 * 11) * 3 + 7_000);
    let (carrier, depot) = (shipment % 90 + 100, (shipment % 90 + 100) * 2 + 31_000);
    let two = task("two dependent calls", "account of customer, last shipment of account")
        .turn([("shop.get_account", json!({"customer": 5}))], [format!("\"account\":{account}")])
        .turn([("shop.last_shipment", json!({"account": account}))], [format!("\"shipment\":{shipment}")])
        .script(
            "const { account } = await tools.shop.get_account({ customer: 5 });
return (await tools.shop.last_shipment({ account })).shipment",
        )
        .result(shipment);
    let five = task("five dependent calls", "account of customer, shipment, carrier, depot, phone of depot")
        .suiting_scripts()
        .turn([("shop.get_account", json!({"customer": 5}))], [format!("\"account\":{account}")])
        .turn([("shop.last_shipment", json!({"account": account}))], [format!("\"shipment\":{shipment}")])
        .turn([("shop.get_carrier", json!({"shipment": shipment}))], [format!("\"carrier\":{carrier}")])
        .turn([("shop.get_depot", json!({"carrier": carrier}))], [format!("\"depot\":{depot}")])
        .turn([("shop.depot_phone", json!({"depot": depot}))], [format!("0800-{depot}")])
        .script(
            "const { account } = await tools.shop.get_account({ customer: 5 });
const { shipment } = await tools.shop.last_shipment({ account });
const { carrier } = await tools.shop.get_carrier({ shipment });
const { depot } = await tools.shop.get_depot({ carrier });
return (await tools.shop.depot_phone({ depot })).phone",
        )
        .result(format!("0800-{depot}"));
    [two, five]
}

/// Items are looked at, and some of them are changed.
fn reorder() -> Task {
    let low: Vec<usize> = (0..ITEMS).filter(|id| stock(*id) < LOW_STOCK).collect();
    let reordered = low.iter().map(|id| format!("\"reordered\":{id}")).collect::<Vec<_>>();
    let mut task = task("20 items are read, some updated", "get item of stock, reorder item")
        .suiting_scripts()
        .turn((0..ITEMS).map(item), stocks())
        .turn(low.iter().map(|id| ("shop.reorder_item", json!({"id": id}))), reordered)
        .script(
            "const ids = Array.from({ length: 20 }, (_, id) => id);
const items = await Promise.all(ids.map(id => tools.shop.get_item({ id })));
const low = items.filter(item => item.stock < 4).map(item => item.id);
await Promise.all(low.map(id => tools.shop.reorder_item({ id })));
return low",
        )
        .result(low.clone());
    task.reordered = low;
    task
}

fn join() -> Task {
    let regions = (0..CUSTOMERS).map(|id| format!("\"name\":\"Customer {id}\""));
    let facts = amounts(0..ORDERS).into_iter().chain(regions).collect::<Vec<_>>();
    task("join of two lists", "list customers, list orders").suiting_scripts()
        .turn([("shop.list_customers", json!({})), ("shop.list_orders", json!({}))], facts)
        .script(
            "const [customers, orders] = await Promise.all([tools.shop.list_customers({}), tools.shop.list_orders({})]);
const north = new Set(customers.filter(customer => customer.region === 'north').map(customer => customer.id));
return orders.filter(order => north.has(order.customer)).reduce((sum, order) => sum + order.amount, 0)",
        )
        .result((0..ORDERS).filter(|order| is_north(customer_of(*order))).map(amount).sum::<usize>())
}

fn large_results() -> [Task; 3] {
    let pages = task("10 pages are added up", "page of archive of orders")
        .suiting_scripts()
        .turn([page(0)], [format!("\"pages\":{PAGES}")])
        .turn((1..PAGES).map(page), amounts(PAGES..PAGES * PAGES))
        .script(
            "const first = await tools.shop.archive_page({ page: 0 });
const numbers = Array.from({ length: first.pages - 1 }, (_, n) => n + 1);
const others = await Promise.all(numbers.map(page => tools.shop.archive_page({ page })));
return [first, ...others].flatMap(page => page.orders).reduce((sum, order) => sum + order.amount, 0)",
        )
        .result((0..PAGES * PAGES).map(amount).sum::<usize>());
    let codes: Vec<usize> = (0..LINES).filter_map(incident).collect();
    let log = task("filter of a result of 1 MB", "log of machines")
        .suiting_scripts()
        .turn([("shop.machine_log", json!({}))], ["handle".into()])
        .turn(
            [(
                "context_builder.read_result",
                json!({"handle": HANDLE, "where": "level == 'error'", "fields": ["code"]}),
            )],
            codes.iter().map(|code| format!("\"code\":{code}")).collect::<Vec<_>>(),
        )
        .script(
            "const log = await tools.shop.machine_log({});
return log.filter(line => line.level === 'error').map(line => line.code)",
        )
        .result(codes);
    let of_machine =
        |machine| (0..LINES).filter(|line| incident(*line).is_some() && line % 9 == machine).count();
    let busiest: Vec<usize> = (0..9).map(of_machine).collect();
    let incidents = task("groups of a result of 1 MB", "log of machines")
        .suiting_scripts()
        .turn([("shop.machine_log", json!({}))], ["handle".into()])
        .turn(
            [(
                "context_builder.read_result",
                json!({"handle": HANDLE, "where": "level == 'error'", "group_by": "machine"}),
            )],
            ["machine".into()],
        )
        .script(
            "const counts = Array(9).fill(0);
for (const line of await tools.shop.machine_log({})) if (line.level === 'error') counts[line.machine] += 1;
return counts",
        )
        .result(busiest);
    [pages, log, incidents]
}

/// A call is wrong at first.
fn mistake() -> Task {
    task("a call that has to be corrected", "get item of stock")
        .turn([item(99)], ["does not exist".into()])
        .turn([item(9)], [format!("\"stock\":{}", stock(9))])
        .script("return (await tools.shop.get_item({ id: 99 })).stock")
        .script("return (await tools.shop.get_item({ id: 9 })).stock")
        .result(stock(9))
}
