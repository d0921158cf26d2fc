"""An agent provider written with Gestalt's Python SDK. It works on one turn at a time in the
background, calls tools of its host, and makes sessions of its own."""

import threading

import gestalt
from google.protobuf import struct_pb2, timestamp_pb2

from gestalt._gen.v1 import agent_pb2 as pb


def copy(message):
    """Returns a copy, which another thread does not change while it is sent."""
    made = type(message)()
    made.CopyFrom(message)
    return made


def now():
    t = timestamp_pb2.Timestamp()
    t.GetCurrentTime()
    return t


class Provider(gestalt.AgentProvider):
    def __init__(self):
        self.lock = threading.Lock()
        self.sessions, self.turns, self.events = {}, {}, {}

    def configure(self, name, config):
        self.name = name

    def metadata(self):
        return gestalt.ProviderMetadata(kind=gestalt.ProviderKind.AGENT, name="sdk", display_name="SDK", description="A test.", version="0.0.1")

    def health_check(self):
        return None

    def GetCapabilities(self, request, context):
        return pb.AgentProviderCapabilities(streaming_text=True, tool_calls=True, supported_tool_sources=[pb.AGENT_TOOL_SOURCE_MODE_MCP_CATALOG])

    def CreateSession(self, request, context):
        made = pb.AgentSession(id=request.session_id, provider_name=self.name, model=request.model, client_ref=request.client_ref,
                               state=pb.AGENT_SESSION_STATE_ACTIVE, created_by=request.created_by, created_at=now(), updated_at=now())
        with self.lock:
            self.sessions[made.id] = made
            return copy(made)

    def GetSession(self, request, context):
        with self.lock:
            return copy(self.sessions[request.session_id])

    def CreateTurn(self, request, context):
        made = pb.AgentTurn(id=request.turn_id, session_id=request.session_id, provider_name=self.name, status=pb.AGENT_EXECUTION_STATUS_RUNNING,
                            messages=request.messages, created_by=request.created_by, created_at=now(), started_at=now())
        with self.lock:
            self.turns[made.id], self.events[made.id] = made, []
            begun = copy(made)
        threading.Thread(target=self.work, args=(request,), daemon=True).start()
        return begun

    def work(self, request):
        try:
            said = self.answer(request)
            status = pb.AGENT_EXECUTION_STATUS_SUCCEEDED
        except Exception as error:  # the reader of the turn sees what is wrong
            said, status = repr(error), pb.AGENT_EXECUTION_STATUS_FAILED
        with self.lock:
            data = struct_pb2.Struct()
            data.update({"text": said})
            self.events[request.turn_id].append(pb.AgentTurnEvent(id="e1", turn_id=request.turn_id, seq=1, type="assistant.completed", source=self.name, visibility="public", data=data, created_at=now()))
            turn = self.turns[request.turn_id]
            turn.status, turn.output_text, turn.status_message = status, said, said
            turn.completed_at.CopyFrom(now())

    def answer(self, request):
        text = request.messages[-1].text
        if text == "tool":
            with gestalt.AgentHost() as host:
                listed = host.list_tools(pb.ListAgentToolsRequest(session_id=request.session_id, turn_id=request.turn_id, run_grant=request.run_grant))
                arguments = struct_pb2.Struct()
                done = host.execute_tool(pb.ExecuteAgentToolRequest(session_id=request.session_id, turn_id=request.turn_id, run_grant=request.run_grant,
                                                                    tool_call_id="c1", tool_id=listed.tools[0].id, arguments=arguments))
                return f"{[t.mcp_name for t in listed.tools]} {done.status} {done.body}"
        if text == "manage":
            manager = gestalt.AgentManager(request.run_grant)
            session = manager.create_session(pb.AgentManagerCreateSessionRequest(client_ref="roadmap-risk"))
            turn = manager.create_turn(pb.AgentManagerCreateTurnRequest(session_id=session.id, messages=[pb.AgentMessage(role="user", text="inner")]))
            while turn.status in (pb.AGENT_EXECUTION_STATUS_PENDING, pb.AGENT_EXECUTION_STATUS_RUNNING):
                turn = manager.get_turn(pb.AgentManagerGetTurnRequest(turn_id=turn.id))
            return f"{session.client_ref}: {turn.output_text}"
        return "said " + text

    def GetTurn(self, request, context):
        with self.lock:
            return copy(self.turns[request.turn_id])

    def CancelTurn(self, request, context):
        with self.lock:
            self.turns[request.turn_id].status = pb.AGENT_EXECUTION_STATUS_CANCELED
            return copy(self.turns[request.turn_id])

    def ListTurnEvents(self, request, context):
        with self.lock:
            return pb.ListAgentProviderTurnEventsResponse(events=[e for e in self.events[request.turn_id] if e.seq > request.after_seq])

    def ListInteractions(self, request, context):
        return pb.ListAgentProviderInteractionsResponse()


if __name__ == "__main__":
    Provider().serve()
