"""The client of the SDK, driven by a test."""

import asyncio

import grpc.aio
import httpx
import shape
from a2a.client.client import ClientCallContext, ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import a2a_pb2 as pb

WELL_KNOWN = ".well-known/agent-card.json"


class Client:
    """Methods that a test calls. Each agent is reached with the first call."""

    def __init__(self, settings):
        self.settings = settings
        self.headers = settings.get("headers") or {}
        self.http = httpx.AsyncClient(timeout=60, trust_env=False)
        self.channels = []
        self.made = {}
        self.lock = asyncio.Lock()

    def channel(self, url):
        made = grpc.aio.insecure_channel(url)
        self.channels.append(made)
        return made

    async def connected(self, streaming=False):
        """The SDK streams or not as its client is made, not as it is called."""
        async with self.lock:
            if streaming not in self.made:
                transport = self.settings.get("transport")
                factory = ClientFactory(ClientConfig(
                    streaming=streaming,
                    httpx_client=self.http,
                    grpc_channel_factory=self.channel,
                    supported_protocol_bindings=[transport] if transport else ["JSONRPC", "HTTP+JSON", "GRPC"],
                ))
                self.made[streaming] = await factory.create_from_url(
                    self.settings["url"],
                    relative_card_path=self.settings.get("cardPath", WELL_KNOWN),
                    resolver_http_kwargs={"headers": self.headers},
                )
            return self.made[streaming]

    def context(self):
        return ClientCallContext(service_parameters=dict(self.headers), timeout=60)

    async def close(self):
        for channel in self.channels:
            await channel.close()
        await self.http.aclose()

    async def card(self):
        client = await self.connected()
        return shape.card(await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), context=self.context()))

    def request(self, message, immediately=False, historyLength=None):
        configuration = pb.SendMessageConfiguration(return_immediately=immediately)
        if historyLength is not None:
            configuration.history_length = historyLength
        return pb.SendMessageRequest(message=shape.to_message(message), configuration=configuration)

    async def send(self, **params):
        client = await self.connected()
        async for answer in client.send_message(self.request(**params), context=self.context()):
            return shape.event(answer)

    async def stream(self, **params):
        client = await self.connected(streaming=True)
        async for event in client.send_message(self.request(**params), context=self.context()):
            yield shape.event(event)

    async def subscribe(self, id):
        client = await self.connected(streaming=True)
        async for event in client.subscribe(pb.SubscribeToTaskRequest(id=id), context=self.context()):
            yield shape.event(event)

    async def get(self, id, historyLength=None):
        client = await self.connected()
        request = pb.GetTaskRequest(id=id)
        if historyLength is not None:
            request.history_length = historyLength
        return shape.task(await client.get_task(request, context=self.context()))

    async def cancel(self, id):
        client = await self.connected()
        return shape.task(await client.cancel_task(pb.CancelTaskRequest(id=id), context=self.context()))

    async def list(self, contextId="", state="", pageSize=None, pageToken="", includeArtifacts=None):
        client = await self.connected()
        request = pb.ListTasksRequest(context_id=contextId, page_token=pageToken)
        if state:
            request.status = shape.to_state(state)
        if pageSize is not None:
            request.page_size = pageSize
        if includeArtifacts is not None:
            request.include_artifacts = includeArtifacts
        page = await client.list_tasks(request, context=self.context())
        return {"tasks": [shape.task(t) for t in page.tasks], "nextPageToken": page.next_page_token, "totalSize": page.total_size}
