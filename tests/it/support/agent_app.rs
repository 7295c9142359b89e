//! A small app with a model server behind it: the files of a folder, a price list, greetings.

use toolcrib_testkit::{ModelServer, Turn};

use super::{RunOutput, TestDir};

const PRICES: &str = "
shop:
  - name: price
    description: What an item costs, in euro.
    risk: low
    parameters:
      type: object
      properties: {item: {type: string, minLength: 2, description: The item.}}
      required: [item]
";

/// How the agent of the app is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentApp {
    /// Whether it calls tools through the API rather than in its text.
    pub(crate) is_native: bool,
    /// Whether answers come as a stream.
    pub(crate) streams: bool,
    /// Tokens that the model takes in; a fifth of them is the budget of the tools.
    pub(crate) context_window: u32,
    pub(crate) max_turns: u32,
    /// The rest of `runtime`, as `, key: value`.
    pub(crate) runtime: &'static str,
    pub(crate) model: &'static str,
}

impl Default for AgentApp {
    fn default() -> Self {
        Self {
            is_native: true,
            streams: true,
            context_window: 131_072,
            max_turns: 12,
            runtime: "",
            model: "test-model",
        }
    }
}

impl AgentApp {
    /// A dir with the app, whose model is this server.
    pub(crate) fn dir(self, server: &ModelServer) -> TestDir {
        let Self { is_native, streams, context_window, max_turns, runtime, model } = self;
        let app = format!(
            r#"
app: {{id: desk, workspace: ./work}}
agents:
  - id: clerk
    brain:
      provider: openai
      model: {model}
      base_url: "${{MODEL_URL}}"
      context_window: {context_window}
      native_tool_use: {is_native}
      stream: {streams}
    system_prompt: Be brief.
modules:
  hello: {{}}
  filesystem: {{constraints: {{allowed_actions: [read, ls, write]}}}}
tools:
  registry:
    - {{type: file, path: tools.yaml, engine: shop}}
  engines:
    shop: {{type: command, argv: [sh, -c, 'echo "$1" >> asked.txt; echo "$1: 3 euro"', sh, "{{item}}"]}}
  capabilities: {{default_policy: grant}}
runtime: {{max_turns: {max_turns}{runtime}}}
"#
        );
        TestDir::with_app(&app)
            .with_file("tools.yaml", PRICES)
            .with_file("work/note.txt", "Ada wants a lamp.\n")
            .with_variable("MODEL_URL", server.base_url())
            .with_variable("OPENAI_API_KEY", "test")
    }

    /// Runs the agent against these turns, in a new dir.
    pub(crate) async fn run(
        self,
        turns: impl IntoIterator<Item = Turn>,
    ) -> (TestDir, ModelServer, RunOutput) {
        let server = ModelServer::start(turns).await.unwrap();
        let dir = self.dir(&server);
        let output = dir.run(["run", "app.yaml", "Answer the note.", "--json"]).await;
        (dir, server, output)
    }
}
