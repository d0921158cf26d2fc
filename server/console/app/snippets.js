// A turn as a program that starts it: for a shell, in Go and in Python.
import { base, savedKey } from './api.js';
import { shellQuote } from './format.js';

/** @typedef {{session: string, body: Record<string, unknown>}} Start */

/** The address of a route. @param {string} path */
const addressOf = (path) => new URL(`runtime/v1/${path}`, base).href;

/** Quotes a text for Go and Python. Go files contain no byte order marks. @param {string} text */
const quote = (text) => JSON.stringify(text).replaceAll('\uFEFF', '\\ufeff');

/** @param {Start} start */
export function curlOf({ session, body }) {
  const key = savedKey() ? " \\\n  -H \"Authorization: Bearer $RUNTIME_API_KEY\"" : '';
  const begin = session ? '' : `session=$(curl -s ${shellQuote(addressOf('sessions'))}${key} -d ${shellQuote(JSON.stringify({ agent_id: body.agent_id }))} | jq -r .id)\n`;
  const data = shellQuote(JSON.stringify({ session_id: session || '@', ...body }));
  return `${begin}curl -s ${shellQuote(addressOf('turns'))}${key} \\\n  -d ${session ? data : data.replace('"@"', '"\'"$session"\'"')}`;
}

/** @param {Start} start */
export function goOf({ session, body }) {
  const check = '\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n';
  const create = session ? `\trequest := native.CreateTurn{SessionID: ${quote(session)}}\n`
    : `\tsession, err := client.CreateSession(ctx, native.CreateSession{AgentID: ${quote(String(body.agent_id))}})\n${check}\trequest := native.CreateTurn{SessionID: session.ID}\n`;
  return `package main

import (
\t"context"
\t"encoding/json"
\t"fmt"
\t"log"
\t"os"

\t"github.com/agentruntime/agentruntime/server/native"
)

func main() {
\tctx := context.Background()
\tclient, err := native.NewClient(native.ClientSettings{URL: ${quote(base.href)}, Key: os.Getenv("RUNTIME_API_KEY")})
${check}${create}\tif err := json.Unmarshal([]byte(${quote(JSON.stringify(body))}), &request); err != nil {
\t\tlog.Fatal(err)
\t}
\tturn, err := client.CreateTurn(ctx, request)
${check}\tfor record, err := range client.Events(ctx, turn.ID, 0) {
\t\tif err != nil {
\t\t\tlog.Fatal(err)
\t\t}
\t\tfmt.Println(record.Type, string(record.Data))
\t}
}
`;
}

/** @param {Start} start */
export function pythonOf({ session, body }) {
  const key = savedKey() ? ', "Authorization": "Bearer " + os.environ["RUNTIME_API_KEY"]' : '';
  return `import json${key ? ', os' : ''}, urllib.request

def send(path, body=None):
    headers = {"Content-Type": "application/json", "Accept": "application/json" if body else "text/event-stream"${key}}
    data = json.dumps(body).encode() if body else None
    return urllib.request.urlopen(urllib.request.Request(${quote(addressOf(''))} + path, data, headers))

session = ${session ? quote(session) : `json.load(send("sessions", {"agent_id": ${quote(String(body.agent_id))}}))["id"]`}
turn = json.load(send("turns", {"session_id": session, **json.loads(${quote(JSON.stringify(body))})}))
for line in send("turns/" + turn["id"] + "/events"):
    print(line.decode(), end="")
`;
}
