//! The answers to MCP requests.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::{BoxStream, SelectAll, select_all, unfold};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool as WireTool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, ServiceError, SubscriptionContext, SubscriptionSendError,
    SubscriptionSink,
};
use rmcp::{RoleServer, ServerHandler};
use toolcrib_model::JsonObject;
use toolcrib_model::tool::app::APPS_EXTENSION;

use crate::calls::execution::{Caller, is_modern, renders_apps};
use crate::client::Client;
use crate::protocol::instructions::instructions;
use crate::protocol::invalid_requests::refusal;
use crate::protocol::list_changes::{ChangedLists, ListChanges};
use crate::protocol::session::Session;
use crate::resources::MAX_SUBSCRIBED;
use crate::server::Shared;
use crate::surface::Audience;

/// The time for which a client may cache lists, in milliseconds. Subscribed clients are notified of changes.
const LIST_TTL_MS: u64 = 30_000;

/// The request handler of one connection, of one HTTP session, or of one request without a session.
pub(crate) struct Handler {
    shared: Arc<Shared>,
    session: Session,
    /// True if all requests share one connection, and therefore one session in any revision.
    is_connection: bool,
}

impl Handler {
    /// Creates a handler for requests over HTTP.
    pub(crate) fn over_http(shared: Arc<Shared>) -> Self {
        Self { session: Session::new(Arc::clone(&shared)), shared, is_connection: false }
    }

    /// Creates a handler for a single connection.
    pub(crate) fn over_connection(shared: Arc<Shared>) -> Self {
        Self { session: Session::new(Arc::clone(&shared)), shared, is_connection: true }
    }

    /// Returns the client that sends a request: the holder of its token, or the local client.
    fn client(&self, extensions: &rmcp::model::Extensions) -> Arc<Client> {
        Arc::clone(with_request(extensions).unwrap_or(&self.shared.local))
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let client = self.client(&context.extensions);
        let is_stateless = !self.is_connection && is_modern(context);
        let session = if is_stateless { Arc::clone(&client.session) } else { self.session.id(&client) };
        let lease = with_request(&context.extensions).cloned();
        let scope = self.shared.settings.scope.clone();
        let renders_apps = renders_apps(context.client_capabilities().as_ref());
        Caller { client, session, scope, lease: lease.unwrap_or_else(|| self.shared.lease()), renders_apps }
    }
}

impl Handler {
    /// Returns the instructions for a client that connects.
    fn instructions(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let caller = self.caller(context);
        let shown = caller.shown(&self.shared)?;
        Ok(instructions(&shown, &caller.lease.runtime, &caller.client))
    }
}

/// Returns a value that was attached to the HTTP request when it was admitted.
fn with_request<T: Send + Sync + 'static>(extensions: &rmcp::model::Extensions) -> Option<&T> {
    extensions.get::<http::request::Parts>()?.extensions.get()
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let info = Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_tasks()
            .build();
        if !self.shared.has_resources() {
            capabilities.resources = None;
        } else if self.shared.has_resource_updates()
            && let Some(resources) = &mut capabilities.resources
        {
            resources.subscribe = Some(true);
        }
        if self.shared.has_apps() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(APPS_EXTENSION.to_owned(), JsonObject::new());
        }
        if !self.shared.has_prompts() {
            capabilities.prompts = None;
        }
        if !self.shared.has_completions() {
            capabilities.completions = None;
        }
        ServerConfig::new(capabilities).with_server_info(info)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let negotiated = self.negotiate_initialize(&request)?;
        Ok(negotiated.with_instructions(self.instructions(&context)?))
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let info = self.get_info().with_instructions(self.instructions(&context)?);
        let found = DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info);
        Ok(found.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let shown = self.caller(&context).shown(&self.shared)?;
        let list = ListToolsResult::with_all_items(shown.tools.clone());
        Ok(list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    /// Returns the tool whose schema determines the header arguments. It is the same for all clients.
    fn get_tool(&self, name: &str) -> Option<WireTool> {
        let local = Audience { client: &self.shared.local, renders_apps: false };
        let shown = self.shared.shown(local).ok()?;
        let plan = &shown.surface.plan;
        let offered = plan.offered.iter().chain(&plan.hidden).find(|tool| tool.wire_name == name)?;
        let schema = offered.parameters().as_object().cloned().unwrap_or_default();
        Some(WireTool::new(offered.wire_name.clone(), offered.description.clone(), schema))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context);
        self.shared.call_tool(request, context, caller).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.shared.resources(&self.caller(&context), &context).await;
        let list = ListResourcesResult::with_all_items(resources);
        Ok(list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.shared.resource_templates(&self.caller(&context), &context).await;
        let list = ListResourceTemplatesResult::with_all_items(templates);
        Ok(list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _running = self.shared.begin_request()?;
        let read = self.shared.read_resource(request, &self.caller(&context), &context).await?;
        Ok(match read {
            ReadResourceResponse::Complete(read) => {
                read.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into()
            }
            asks => asks,
        })
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let _running = self.shared.begin_request()?;
        let updates = self.shared.resource_updates(&request.uri, &self.caller(&context), &context).await?;
        self.session.subscribe(request.uri, updates, context.peer)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.unsubscribe(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.prompts(&self.caller(&context), &context).await;
        let list = ListPromptsResult::with_all_items(prompts);
        Ok(list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let _running = self.shared.begin_request()?;
        let caller = self.caller(&context);
        self.shared.prompt(request, &caller, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let _running = self.shared.begin_request()?;
        self.shared.complete(request, &self.caller(&context), &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.shared.tasks.status(&request.task_id, &self.caller(&context)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&context);
        self.shared.tasks.update(&request.task_id, request.input_responses, &caller).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel(&request.task_id, &self.caller(&context)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(refusal(&request))
    }

    /// Notifies the client of list changes until its session ends.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (shared, ended) = (Arc::clone(&self.shared), self.session.ended());
        let client = self.client(&context.extensions);
        let info = context.peer.peer_info();
        let renders_apps = renders_apps(info.as_ref().map(|info| &info.capabilities));
        tokio::spawn(async move {
            let mut changes = ListChanges::new(&shared, &client, renders_apps);
            loop {
                let changed = tokio::select! {
                    () = ended.cancelled() => return,
                    () = shared.closing.cancelled() => return,
                    changed = changes.next() => match changed {
                        Some(changed) => changed,
                        None => return,
                    },
                };
                let told = async {
                    if changed.tools {
                        context.peer.notify_tool_list_changed().await?;
                    }
                    if changed.prompts {
                        context.peer.notify_prompt_list_changed().await?;
                    }
                    if changed.resources {
                        context.peer.notify_resource_list_changed().await?;
                    }
                    Ok::<_, ServiceError>(())
                };
                if told.await.is_err() {
                    return;
                }
            }
        });
    }

    /// Accepts all that is requested: the rules for a client are not known here.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
        let resources = requested.resource_subscriptions.iter().flatten().take(MAX_SUBSCRIBED);
        Some(filter.resources_list_changed().resource_subscriptions(resources).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let caller = self.caller(request);
        let mut changes = ListChanges::new(&self.shared, &caller.client, caller.renders_apps);
        let mut updates = self.updates(context.accepted(), &caller, request).await;
        // The app may be reloaded while the client listens.
        drop(caller.lease);
        loop {
            let sink = context.sink();
            let told = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.shared.draining.cancelled() => return Ok(()),
                Some(uri) = updates.next() => sink.notify_resource_updated(uri).await,
                changed = changes.next() => match changed {
                    Some(changed) => announce(changed, sink).await,
                    None => return Ok(()),
                },
            };
            if told.is_err() {
                return Ok(());
            }
        }
    }
}

impl Handler {
    /// Returns the URIs of updated resources, of those that the client may subscribe to.
    async fn updates(
        &self,
        accepted: &SubscriptionFilter,
        caller: &Caller,
        request: &RequestContext<RoleServer>,
    ) -> SelectAll<BoxStream<'static, String>> {
        let uris = accepted.resource_subscriptions.iter().flatten();
        let subscribed = uris.map(async |uri| match self.shared.resource_updates(uri, caller, request).await {
            Ok(updates) => Some((uri.clone(), updates)),
            Err(error) => {
                tracing::debug!(uri, error = %error.message, "a client subscribed to a resource without updates");
                None
            }
        });
        let subscribed = join_all(subscribed).await.into_iter().flatten();
        select_all(subscribed.map(|(uri, updates)| {
            let updates =
                unfold(updates, |mut updates| async move { Some((updates.next().await?, updates)) });
            updates.map(move |()| uri.clone()).boxed()
        }))
    }
}

/// Announces changes of lists, of those that the subscription accepts.
async fn announce(changed: ChangedLists, sink: &SubscriptionSink) -> Result<(), SubscriptionSendError> {
    let accepted = sink.accepted();
    if changed.tools && accepted.tools_list_changed == Some(true) {
        sink.notify_tool_list_changed().await?;
    }
    if changed.prompts && accepted.prompts_list_changed == Some(true) {
        sink.notify_prompt_list_changed().await?;
    }
    if changed.resources && accepted.resources_list_changed == Some(true) {
        sink.notify_resource_list_changed().await?;
    }
    Ok(())
}
