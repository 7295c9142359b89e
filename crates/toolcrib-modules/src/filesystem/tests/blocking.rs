//! What blocking work promises.

use tokio::sync::oneshot;
use toolcrib_model::ErrorKind;
use toolcrib_sdk::CallContext;

use crate::blocking::blocking;

#[tokio::test]
async fn work_ends_when_nobody_waits_for_it_any_more() {
    let context = CallContext::new("test");
    let (begun, has_begun) = oneshot::channel();
    let (ended, has_ended) = oneshot::channel();
    let call = blocking(&context, move |stop| {
        begun.send(()).unwrap();
        let error = loop {
            match stop.check() {
                Ok(()) => std::thread::yield_now(),
                Err(error) => break error,
            }
        };
        ended.send(error.clone()).unwrap();
        Err::<(), _>(error)
    });
    tokio::select! {
        _ = call => panic!("it ended by itself"),
        begun = has_begun => begun.unwrap(),
    }
    assert_eq!(has_ended.await.unwrap().kind, ErrorKind::Cancelled);
    assert!(!context.cancel.is_cancelled(), "only this call has been given up");
}

#[tokio::test]
async fn work_ends_when_its_caller_gives_up() {
    let context = CallContext::new("test");
    let cancel = context.cancel.clone();
    let error = blocking(&context, move |stop| {
        cancel.cancel();
        stop.check()
    });
    assert_eq!(error.await.unwrap_err().kind, ErrorKind::Cancelled);
}

#[tokio::test]
#[should_panic(expected = "a fault of the tool")]
async fn a_panic_is_one_of_the_call() {
    let _ = blocking(&CallContext::new("test"), |_| -> Result<(), _> { panic!("a fault of the tool") }).await;
}
