"""A provider of agents, written from provider.proto alone."""
import os
import sys
import threading
from concurrent import futures

sys.path.insert(0, os.environ["STUBS"])
import grpc
import provider_pb2 as pb
import provider_pb2_grpc as rpc
from google.protobuf import struct_pb2

LIVE = (pb.AGENT_EXECUTION_STATUS_RUNNING, pb.AGENT_EXECUTION_STATUS_PENDING)


class Lifecycle(rpc.ProviderLifecycleServicer):
    def GetProviderIdentity(self, request, context):
        return pb.ProviderIdentity(kind=pb.PROVIDER_KIND_AGENT, name="python", min_protocol_version=3, max_protocol_version=3)

    def ConfigureProvider(self, request, context):
        print("configured", request.config["style"], flush=True)
        return pb.ConfigureProviderResponse(protocol_version=request.protocol_version)

    def HealthCheck(self, request, context):
        return pb.HealthCheckResponse(ready=True)


class Agent(rpc.AgentProviderServicer):
    def __init__(self):
        self.lock = threading.Lock()
        self.sessions, self.turns, self.events, self.canceled = {}, {}, {}, {}
        self.host = rpc.AgentHostStub(grpc.insecure_channel(os.environ["GESTALT_AGENT_HOST_SOCKET"], [("grpc.default_authority", "localhost")]))

    def GetCapabilities(self, request, context):
        return pb.AgentProviderCapabilities(streaming_text=True, tool_calls=True, supported_tool_sources=[pb.AGENT_TOOL_SOURCE_MODE_MCP_CATALOG])

    def CreateSession(self, request, context):
        with self.lock:
            return self.sessions.setdefault(request.session_id, pb.AgentSession(id=request.session_id, created_by=request.created_by, state=pb.AGENT_SESSION_STATE_ACTIVE))

    def CreateTurn(self, request, context):
        with self.lock:
            if request.session_id not in self.sessions:
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown session")
            if request.turn_id in self.turns:
                return self.turns[request.turn_id]
            turn = pb.AgentTurn(id=request.turn_id, session_id=request.session_id, created_by=request.created_by, status=pb.AGENT_EXECUTION_STATUS_RUNNING)
            self.turns[turn.id], self.events[turn.id], self.canceled[turn.id] = turn, [], threading.Event()
        threading.Thread(target=self.work, args=(request,), daemon=True).start()
        return turn

    def find(self, turn_id, context):
        with self.lock:
            if turn_id not in self.turns:
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown turn")
            return self.turns[turn_id]

    def GetTurn(self, request, context):
        return self.find(request.turn_id, context)

    def CancelTurn(self, request, context):
        turn = self.find(request.turn_id, context)
        self.end(turn.id, pb.AGENT_EXECUTION_STATUS_CANCELED, status_message=request.reason)
        self.canceled[turn.id].set()
        return turn

    def ListTurnEvents(self, request, context):
        self.find(request.turn_id, context)
        with self.lock:
            later = [e for e in self.events[request.turn_id] if e.seq > request.after_seq]
        return pb.ListAgentProviderTurnEventsResponse(events=later[: request.limit or None])

    def say(self, turn_id, text):
        data = struct_pb2.Struct()
        data["text"] = text
        with self.lock:
            events = self.events[turn_id]
            events.append(pb.AgentTurnEvent(id=str(len(events) + 1), turn_id=turn_id, seq=len(events) + 1, type="assistant.delta", source="python", visibility="public", data=data))

    def end(self, turn_id, status, **fields):
        with self.lock:
            turn = self.turns[turn_id]
            if turn.status in LIVE:
                for name, value in fields.items():
                    setattr(turn, name, value)
                turn.status = status

    def work(self, request):
        prompt = request.messages[-1].text
        if prompt == "die":
            self.say(request.turn_id, "farewell")
            os._exit(7)
        if prompt == "wait":
            self.say(request.turn_id, "waiting")
            self.canceled[request.turn_id].wait(60)
            return
        if prompt.startswith("hold "):
            self.say(request.turn_id, "holding ")
            with open(prompt[5:]) as pipe:
                text = "holding " + pipe.readline().strip()
            self.end(request.turn_id, pb.AGENT_EXECUTION_STATUS_SUCCEEDED, output_text=text)
            return
        if prompt == "who":
            text = str(os.getpid())
        else:
            ids = {"session_id": request.session_id, "turn_id": request.turn_id, "run_grant": request.run_grant}
            names = [t.id for t in self.host.ListTools(pb.ListAgentToolsRequest(**ids)).tools]
            arguments = struct_pb2.Struct()
            arguments["n"] = 21
            answer = self.host.ExecuteTool(pb.ExecuteAgentToolRequest(tool_call_id="c1", tool_id=names[0], arguments=arguments, **ids))
            text = "it is " + answer.body
        for word in text.split(" "):
            self.say(request.turn_id, word + " ")
        self.end(request.turn_id, pb.AGENT_EXECUTION_STATUS_SUCCEEDED, output_text=text)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
rpc.add_ProviderLifecycleServicer_to_server(Lifecycle(), server)
rpc.add_AgentProviderServicer_to_server(Agent(), server)
server.add_insecure_port("unix:" + os.environ["GESTALT_PLUGIN_SOCKET"])
server.start()
sys.stdin.read()  # it ends with the runtime
server.stop(None)
