// The records of the HTTP API that the pages read. Fields that no page uses are left out.
export interface Caller { authenticated: boolean; tenant?: string; subject?: string; scopes?: string[]; some_agents?: boolean }
export interface Agent {
  id: string; description?: string; remote?: boolean; model_id?: string;
  delegates?: string[]; handoffs?: string[]; tools?: string[]; budgets?: Record<string, any>;
  turns?: number; failed?: number; last_turn_at?: string;
}
export interface Fleet { agents: Agent[]; total: number; next?: string }
export interface Usage { input_tokens?: number; output_tokens?: number; cached_tokens?: number; cache_write_tokens?: number; reasoning_tokens?: number }
export interface Cost { amount: number; currency: string }
export interface Queue { worker: string; pending: number; running: number; waiting: number; workers: { id: string; turns: number; heartbeat_at?: string }[] }
export interface UsageGroup {
  hour?: string; tenant?: string; agent_id?: string; model_id?: string; turns: number; failed: number; canceled: number;
  usage: Usage; costs?: Cost[]; latency?: { p50_ms: number; p95_ms: number; p99_ms: number };
}
export interface UsageList { from: string; to: string; groups: UsageGroup[]; total: number }
export interface Termination { type?: string; code?: string; detail?: string }
export interface Outcome { agent?: string; termination?: Termination; response?: any; usage?: Usage; cost?: Cost; steps?: number; snapshot_id?: string }
export interface Part { type: string; text?: string; blob?: { media_type: string; data?: string; uri?: string; name?: string }; reasoning?: { text?: string }; tool_call?: { id: string; name: string; arguments: any }; tool_result?: any }
export interface Message { role: string; parts: Part[] }
export interface Question { id: string; action?: string; message: string }
export interface Turn {
  id: string; session_id: string; agent_id: string; status: string; owner: { tenant: string; subject: string };
  steps: number; events: number; worker?: string; expired?: boolean; background?: boolean; metadata?: any;
  created_at: string; not_before?: string; started_at?: string; finished_at?: string;
  input?: Message[]; waits_for?: Question[]; outcome?: Outcome;
}
export interface EvalCase { id: string; cases: string; tool_replies: { tool: string; arguments: any; result: string; is_error?: boolean }[]; unknown_variables?: string[] }
export interface Request { id: string; call_id: string; tool: string; arguments?: any; action?: string; message?: string; parameters?: any; response_schema?: any; resume_mode?: string }
export interface Interaction { id: string; turn_id: string; session_id: string; agent_id?: string; state: string; ticket: Request; resolution?: any; resolved_by?: string; created_at: string; expires_at?: string; resolved_at?: string }
export interface Session { id: string; agent_id?: string; current_agent_id?: string; state: string; labels?: Record<string, string>; metadata?: any; snapshot_id?: string; created_at: string; updated_at: string; last_turn_at?: string }
export interface Event { seq: number; time: string; event_type: string; path?: string[]; [field: string]: any }
export interface Finding { code: string; severity: string; message: string; hint?: string; agent?: string; path?: string; file?: string; line?: number; column?: number }
export interface ToolChoice {
  id: string; source: { kind: string; name?: string };
  catalog: { visible: boolean; field?: string; index?: number; entry?: string };
  gate: { access?: string; rule?: string; path?: string; plugin?: string };
}
export interface Explanation {
  agent: string; resolves: boolean; path?: string; model?: string; upstream_model?: string; provider?: string; pool?: string[]; endpoint?: string; retried?: boolean; max_rounds?: number;
  plugins: string[]; tools: ToolChoice[]; offered_tools: string[];
  stages: { name: string; duration_ns: number; choices: { action: string; subject: string; detail?: string }[] }[];
  diagnostics: Finding[]; places?: Record<string, string>; decisions?: { field: string; place: string; inherited_from?: string; patched?: boolean }[];
}
export interface Revision { number: number; hash: string; parent?: string; author: string; note?: string; created_at: string; current: boolean; document?: any; findings?: any }
export interface DiffReport { same: boolean; widened: boolean; lost?: boolean; agents: { agent: string; kind: string; changes: Change[] }[]; entries?: { kind: string; path: string }[] }
export interface Change { kind: string; field: string; subject?: string; through?: string[]; old?: string; new?: string; widened?: boolean; reason?: string }
export interface Route { parts: string[]; query: URLSearchParams }
export interface Row {
  seq: number; time: number; end?: number; depth: number; kind: string; title: string; note?: string; status?: string;
  text?: string[]; arguments?: any; result?: any; output?: string[]; usage?: Usage; cost?: Cost; event?: Event; request?: Request; callID?: string;
}
