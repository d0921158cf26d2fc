"""A server of the SDK with the scripted agent, over all transports."""

import asyncio
import contextlib
import socket
import uuid

import grpc
import shape
import uvicorn
from a2a.server.agent_execution.agent_executor import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from agent import Agent
from starlette.applications import Starlette
from starlette.responses import JSONResponse


class Executor(AgentExecutor):
    """Puts the agent's events into the SDK's words."""

    def __init__(self, agent):
        self.agent = agent

    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        state = context.call_context.state
        call = state.get("grpc_context")
        headers = dict(call.invocation_metadata()) if call else state.get("headers", {})

        async def publish(event):
            match event:
                case {"task": state}:
                    await event_queue.enqueue_event(pb.Task(
                        id=context.task_id, context_id=context.context_id,
                        status=pb.TaskStatus(state=shape.to_state(state)), history=[context.message],
                    ))
                case {"status": state, "parts": parts}:
                    said = updater.new_agent_message([shape.to_part(p) for p in parts]) if parts else None
                    await updater.update_status(shape.to_state(state), message=said)
                case {"artifact": name, "parts": parts, "append": append, "last": last}:
                    made = [shape.to_part(p) for p in parts]
                    await updater.add_artifact(made, artifact_id=name, append=append, last_chunk=last)
                case {"message": parts}:
                    said = pb.Message(
                        message_id=str(uuid.uuid4()), context_id=context.context_id,
                        role=pb.Role.ROLE_AGENT, parts=[shape.to_part(p) for p in parts],
                    )
                    await event_queue.enqueue_event(said)

        said = shape.message(context.message)
        told = {
            "taskId": context.task_id, "contextId": context.context_id, "messageId": said["messageId"],
            "text": "".join(p.get("text", "") for p in said["parts"]), "headers": headers, "metadata": said["metadata"],
        }
        await self.agent.play(told, context.current_task is not None, publish)

    async def cancel(self, context, event_queue):
        self.agent.tell({"kind": "canceled", "taskId": context.task_id})
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Guard:
    """Shows the test every request of HTTP, and refuses those without the token."""

    def __init__(self, app, tell, token):
        self.app, self.tell, self.token = app, tell, token

    async def __call__(self, scope, receive, send):
        headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        self.tell({"kind": "request", "method": scope["method"], "path": scope["path"], "headers": headers})
        card = scope["path"].startswith("/.well-known/")
        if not card and self.token and headers.get("authorization") != f"Bearer {self.token}":
            refusal = JSONResponse({"error": "who are you?"}, 401, {"WWW-Authenticate": "Bearer"})
            return await refusal(scope, receive, send)
        return await self.app(scope, receive, send)


class GRPCGuard(grpc.aio.ServerInterceptor):
    """Does the same for calls of gRPC."""

    def __init__(self, tell, token):
        self.tell, self.token = tell, token

    async def intercept_service(self, continuation, details):
        headers = dict(details.invocation_metadata)
        shown = {k: v for k, v in headers.items() if isinstance(v, str)}
        self.tell({"kind": "request", "method": details.method, "path": details.method, "headers": shown})
        handler = await continuation(details)
        if not self.token or headers.get("authorization") == f"Bearer {self.token}":
            return handler

        async def refuse(_, context):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

        async def refuse_stream(request, context):
            await refuse(request, context)
            yield

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(refuse_stream, handler.request_deserializer, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(refuse, handler.request_deserializer, handler.response_serializer)


def card_of(settings, url, grpc_address):
    at = {"JSONRPC": url + "/rpc", "HTTP+JSON": url + "/rest", "GRPC": grpc_address}
    card = pb.AgentCard(
        name="scripted", description="An agent that plays the script that a message names.", version="1",
        supported_interfaces=[
            pb.AgentInterface(url=at[t], protocol_binding=t, protocol_version="1.0") for t in settings.get("transports") or at
        ],
        capabilities=pb.AgentCapabilities(
            streaming=settings["streaming"], extensions=[pb.AgentExtension(uri=uri) for uri in settings.get("extensions") or []],
        ),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="play", name="Play", description="Plays a script.", tags=["test"])],
    )
    if settings.get("token"):
        card.security_schemes["bearer"].http_auth_security_scheme.scheme = "Bearer"
        card.security_requirements.add().schemes["bearer"].SetInParent()
    return card


class Server:
    async def start(self, settings, tell):
        self.agent = Agent(tell)
        token = settings.get("token")
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.calls = grpc.aio.server(interceptors=[GRPCGuard(tell, token)])
        self.grpc = f"127.0.0.1:{self.calls.add_insecure_port('127.0.0.1:0')}"
        card = card_of(settings, self.url, self.grpc)
        handler = DefaultRequestHandler(Executor(self.agent), InMemoryTaskStore(), card)
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), self.calls)
        await self.calls.start()
        app = Starlette(routes=[
            *create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc"), *create_rest_routes(handler, path_prefix="/rest"),
        ])
        self.http = uvicorn.Server(uvicorn.Config(Guard(app, tell, token), lifespan="off", log_level="warning", timeout_graceful_shutdown=1))
        self.http.capture_signals = contextlib.nullcontext  # there are several in the process
        self.serving = asyncio.create_task(self.http.serve(sockets=[listening]))

    async def release(self, taskId):
        self.agent.release(taskId)

    async def close(self):
        self.http.should_exit = self.http.force_exit = True
        await self.calls.stop(0)
        await self.serving
