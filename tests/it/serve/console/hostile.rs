//! Texts of servers, callers and viewers that mean no good, in every field of the console.

use serde_json::json;

use super::browser::Browser;
use super::start;
use crate::support::TestDir;

/// Beginnings that leave the text around them.
const BREAKS: [&str; 10] = ["", "\"", "'", ">", "\">", "'>", "-->", "</textarea>", "</title></svg>", "]]>"];

/// What would run, or show that markup got through.
const MARKUP: [&str; 20] = [
    "<script>window.xss=1</script>",
    "<img src=x onerror=window.xss=1>",
    "<svg onload=window.xss=1>",
    "<iframe srcdoc='<script>parent.xss=1</script>'></iframe>",
    "<a href=javascript:window.xss=1>x</a>",
    " onmouseover=window.xss=1 x=",
    " autofocus onfocus=window.xss=1 x=",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "<object data=//evil.example></object>",
    "<embed src=//evil.example>",
    "<form action=//evil.example><button>x</button></form>",
    "<input autofocus onfocus=window.xss=1>",
    "<details open ontoggle=window.xss=1>",
    "<template><script>window.xss=1</script></template>",
    "<math><mtext><img src=x onerror=window.xss=1></mtext></math>",
    "<noscript><p title='</noscript><img src=x onerror=window.xss=1>'>",
    "&lt;script&gt;&#x3c;script&#x3e;\\u003cscript\\u003e$(window.xss=1)",
];

/// What no page may contain, as a selector.
const FORBIDDEN: &str = "script:not([src='/console.js']), img, iframe, object, embed, base, style, math, template, noscript, \
    meta[http-equiv], link:not([href='/console.css']):not([href='data:,']), [onerror], [onload], [onfocus], [onmouseover], \
    [ontoggle], [srcdoc], form[action^='//'], a[href^='javascript' i], a[href^='//']";

#[tokio::test]
async fn two_hundred_texts_are_inert_in_every_field() {
    let corpus: Vec<String> =
        BREAKS.iter().flat_map(|one| MARKUP.iter().map(move |markup| format!("{one}{markup}"))).collect();
    assert_eq!(corpus.len(), 200);
    let tools: Vec<_> = (0..).zip(&corpus).map(|(number, text): (u32, _)| {
        json!({
            "name": format!("t{number}"), "title": text, "description": text, "risk": "low", "side_effects": [text],
            "parameters": {"type": "object", "properties": {
                text.as_str(): {"type": "string", "description": text, "default": text},
                "choice": {"enum": [text, "b"]}, "deep": {"type": "object", "description": text},
            }},
        })
    }).collect();
    let app = json!({
        "tools": {
            "registry": [{"type": "inline", "namespace": "bad", "engine": "none", "tools": tools}],
            "engines": {"none": {"type": "mock"}},
            "capabilities": {"default_policy": "approve"},
        },
        "serve": {"limits": {"requests_per_second": 100_000}},
    });
    let dir = TestDir::with_app(&app.to_string());
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    browser.until("!document.querySelector('.keys').hidden").await;
    // Names that no tool has, and calls that wait with these texts as arguments.
    for text in &corpus {
        served.modern_reply(&[], "tools/call", json!({"name": text, "arguments": {}})).await;
    }
    let mut waiting = Vec::new();
    for (number, text) in (0..40).zip(corpus.iter().step_by(5)) {
        let call = json!({"name": format!("bad__t{}", number * 5), "arguments": {"deep": {"old_text": "x", "new_text": text, text.as_str(): text}}});
        let mut stream = served.connect().await;
        let request = served.modern_request(&[], "tools/call", call);
        tokio::io::AsyncWriteExt::write_all(&mut stream, &request).await.unwrap();
        waiting.push(stream);
    }
    browser.until("document.querySelectorAll('article.waiting').length === 40").await;
    let check = format!("(page) => page.querySelectorAll({}).length", json!(FORBIDDEN));
    let here = browser.evaluate(&format!("[({check})(document), window.xss ?? 0]")).await;
    assert_eq!(here, json!([0, 0]));

    // Each page with each text in each of its fields, as the browser reads it.
    let paths = format!(
        "{}.flatMap((text, number) => {{ const q = encodeURIComponent(text); return [
            `/?told=${{q}}`, `/calls?q=${{q}}&tool=${{q}}&outcome=${{q}}&page=${{q}}`, `/call?id=${{number + 1}}`,
            `/tools?q=${{q}}`, `/tool?name=bad.t${{number}}`, `/tool?name=${{q}}`,
            `/policy?tool=${{q}}&session=${{q}}&agent=${{q}}&arguments=${{q}}`, `/policy?tool=bad.t${{number}}`,
        ]; }}).concat(['/calls', '/tools', '/tools?page=2', '/tasks', '/sessions'])",
        json!(corpus)
    );
    let found = browser.evaluate(&format!(
        "(async () => {{
            const found = [];
            const read = async (path) => {{
                const response = await fetch(path);
                const page = new DOMParser().parseFromString(await response.text(), 'text/html');
                if (!response.ok || ({check})(page) || page.querySelectorAll('h1').length !== 1) found.push([path, response.status]);
            }};
            const paths = {paths};
            for (let at = 0; at < paths.length; at += 20) await Promise.all(paths.slice(at, at + 20).map(read));
            return [paths.length, found, window.xss ?? 0];
        }})()"
    )).await;
    assert_eq!(found, json!([200 * 8 + 5, [], 0]));

    // A dry run and a call with these texts.
    for path in ["/tool?name=bad.t0", "/call?id=1", "/tools", "/calls", "/tool?name=bad.t40"] {
        browser.goto(&format!("http://{}{path}", served.address)).await;
        let here = browser.evaluate(&format!("[({check})(document), window.xss ?? 0]")).await;
        assert_eq!(here, json!([0, 0]), "{path}");
    }
}
