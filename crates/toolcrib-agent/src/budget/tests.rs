//! What a budget promises.

use std::sync::Arc;

use tokio::time::{Duration, Instant};

use toolcrib_port::{Reservation, RunBudget};

use super::{Amount, Budget, Resource};

const PLENTY: Amount = Amount { tokens: 1_000_000, cost: 1_000_000, calls: 1_000 };

fn tokens(tokens: u64) -> Amount {
    Amount { tokens, ..Amount::default() }
}

fn cost(cost: u64) -> Amount {
    Amount { cost, ..Amount::default() }
}

fn first(most: Amount) -> Arc<Budget> {
    Arc::new(Budget::new(most))
}

fn below(above: &Arc<Budget>) -> Arc<Budget> {
    Arc::new(Budget::below(above.clone(), PLENTY))
}

async fn admit(budget: &Arc<Budget>, most: Amount) -> Result<Box<dyn Reservation>, Resource> {
    super::admit(&(budget.clone() as _), most).await
}

#[test]
fn what_is_spent_below_counts_above_and_not_beside() {
    let top = first(PLENTY);
    let (one, other) = (below(&top), below(&top));
    let deep = below(&one);
    deep.charge(Amount { tokens: 5, cost: 7, calls: 0 });
    assert!(other.take_call());
    let spent = [&deep, &one, &other, &top].map(|budget| {
        let Amount { tokens, cost, calls } = budget.spent();
        (tokens, cost, calls)
    });
    assert_eq!(spent, [(5, 7, 0), (5, 7, 0), (0, 0, 1), (5, 7, 1)]);
}

#[test]
fn the_rest_of_any_budget_above_is_the_most() {
    let top = first(Amount { tokens: 100, cost: 50, calls: 2 });
    let deep = below(&below(&top));
    assert_eq!(deep.exhausted(), None);
    top.charge(cost(50));
    assert_eq!(deep.exhausted(), Some(Resource::Cost));
    top.charge(tokens(100));
    assert_eq!(deep.exhausted(), Some(Resource::Tokens));
    assert!(deep.take_call() && top.take_call());
    assert!(deep.has_no_calls() && !deep.take_call());
    assert_eq!(deep.spent().calls, 1, "what is refused is counted nowhere");
}

#[test]
fn calls_that_are_taken_at_once_never_exceed_a_budget() {
    let top = first(Amount { calls: 100, ..PLENTY });
    let taken = std::thread::scope(|scope| {
        let takers = [0; 8].map(|_| {
            let budget = below(&top);
            scope.spawn(move || (0..50).filter(|_| budget.take_call()).count())
        });
        takers.map(|taker| taker.join().unwrap()).iter().sum::<usize>()
    });
    assert_eq!((taken, top.spent().calls), (100, 100));
}

#[test]
fn what_was_spent_before_is_not_charged_above_again() {
    let top = first(PLENTY);
    let resumed = Budget::below(top.clone(), tokens(10)).with_spent(tokens(10));
    assert_eq!((top.spent().tokens, resumed.exhausted()), (0, Some(Resource::Tokens)));
}

#[test]
fn the_time_that_is_over_first_counts() {
    let now = Instant::now();
    let (soon, late) = (now + Duration::from_secs(1), now + Duration::from_secs(2));
    let top = Arc::new(Budget::new(PLENTY).with_end(soon));
    assert_eq!(Budget::below(top.clone(), PLENTY).end(), Some(soon));
    assert_eq!(Budget::below(top.clone(), PLENTY).with_end(late).end(), Some(soon));
    assert_eq!(Budget::new(PLENTY).end(), None);
}

#[tokio::test]
async fn requests_at_once_go_no_further_beyond_than_one_of_them() {
    for (most, each) in
        [(Amount { tokens: 250, ..PLENTY }, tokens(100)), (Amount { cost: 250, ..PLENTY }, cost(100))]
    {
        let top = first(most);
        let budgets = [below(&top), below(&top), below(&top), below(&top)];
        let [a, b, c, d] = &budgets;
        let under_way =
            [admit(a, each).await.unwrap(), admit(b, each).await.unwrap(), admit(c, each).await.unwrap()];
        let waiting = tokio::spawn({
            let d = Arc::clone(d);
            async move { admit(&d, each).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "three may take 300 together, so the fourth waits");
        // They take all that they may.
        for (budget, admission) in budgets.iter().zip(under_way) {
            budget.charge(each);
            drop(admission);
        }
        waiting.await.unwrap().unwrap_err();
        let Amount { tokens, cost, .. } = top.spent();
        assert_eq!(tokens + cost, 300);
    }
}

#[tokio::test]
async fn a_request_that_takes_less_than_it_might_lets_the_next_one_begin() {
    let top = first(tokens(100).and(cost(100)));
    let one = below(&top);
    let admission = admit(&one, tokens(1_000)).await.unwrap();
    let waiting = tokio::spawn({
        let other = below(&top);
        async move { admit(&other, tokens(1_000)).await.map(drop) }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    // Also one that was given up.
    drop(admission);
    assert_eq!(waiting.await.unwrap(), Ok(()));
}
