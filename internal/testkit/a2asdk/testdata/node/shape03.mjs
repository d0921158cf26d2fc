// What SDK 0.3 calls things, in the words that the tests use for both versions.
export function part(p) {
  switch (p.kind) {
    case 'text':
      return { text: p.text };
    case 'data':
      return { data: p.data };
    default:
      return { raw: p.file.bytes, url: p.file.uri, mediaType: p.file.mimeType, filename: p.file.name };
  }
}

export function toPart({ text, data, raw, url, mediaType, filename }) {
  if (text !== undefined) {
    return { kind: 'text', text };
  }
  if (data !== undefined) {
    return { kind: 'data', data };
  }
  const place = raw !== undefined ? { bytes: raw } : { uri: url };
  return { kind: 'file', file: { ...place, mimeType: mediaType, name: filename } };
}

export const message = (m) => ({
  messageId: m.messageId,
  taskId: m.taskId,
  contextId: m.contextId,
  role: m.role,
  parts: m.parts.map(part),
  metadata: m.metadata,
});

export const toMessage = ({ messageId, taskId, contextId, role = 'user', parts, metadata }) => ({
  kind: 'message',
  messageId,
  taskId: taskId || undefined,
  contextId: contextId || undefined,
  role,
  parts: parts.map(toPart),
  metadata,
});

export const artifact = (a) => ({ id: a.artifactId, name: a.name, parts: a.parts.map(part) });

export const toArtifact = ({ id, name, parts }) => ({ artifactId: id, name, parts: parts.map(toPart) });

export const task = (t) => ({
  id: t.id,
  contextId: t.contextId,
  state: t.status.state,
  message: t.status.message && message(t.status.message),
  artifacts: (t.artifacts ?? []).map(artifact),
  history: (t.history ?? []).map(message),
  metadata: t.metadata,
});

// reply returns the answer to a message.
export const reply = (r) => (r.kind === 'message' ? { message: message(r) } : { task: task(r) });

export function event(e) {
  switch (e.kind) {
    case 'task':
    case 'message':
      return reply(e);
    case 'status-update':
      return {
        status: {
          taskId: e.taskId,
          contextId: e.contextId,
          state: e.status.state,
          message: e.status.message && message(e.status.message),
          metadata: e.metadata,
          final: e.final,
        },
      };
    default:
      return {
        artifact: {
          taskId: e.taskId,
          contextId: e.contextId,
          append: e.append,
          lastChunk: e.lastChunk,
          ...artifact(e.artifact),
        },
      };
  }
}

export const push = ({ taskId, pushNotificationConfig: c }) => ({
  id: c.id,
  taskId,
  url: c.url,
  token: c.token,
  scheme: c.authentication?.schemes?.[0],
  credentials: c.authentication?.credentials,
});

export const toPush = ({ id, url, token, scheme, credentials }) => ({
  id,
  url,
  token,
  authentication: scheme ? { schemes: [scheme], credentials } : undefined,
});

export function card(c) {
  const first = { url: c.url, transport: c.preferredTransport };
  return {
    name: c.name,
    description: c.description,
    streaming: c.capabilities?.streaming,
    push: c.capabilities?.pushNotifications,
    interfaces: [first, ...(c.additionalInterfaces ?? [])].map((i) => ({ ...i, version: c.protocolVersion })),
    skills: c.skills.map((s) => s.id),
  };
}
