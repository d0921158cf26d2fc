// What SDK 1.3 calls things, in the words that the tests use for both versions.
import { Role, TaskState } from 'a2a-v1.0';

export const state = (s) => TaskState[s].slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-');
export const toState = (word) => TaskState[`TASK_STATE_${word.toUpperCase().replaceAll('-', '_')}`];

export function part({ content, mediaType, filename }) {
  const value = content.$case === 'raw' ? Buffer.from(content.value).toString('base64') : content.value;
  return { [content.$case]: value, mediaType, filename };
}

export function toPart({ text, data, raw, url, mediaType = '', filename = '' }) {
  const [$case, value] =
    text !== undefined ? ['text', text]
    : data !== undefined ? ['data', data]
    : raw !== undefined ? ['raw', Buffer.from(raw, 'base64')]
    : ['url', url];
  return { content: { $case, value }, mediaType, filename, metadata: undefined };
}

export const message = (m) => ({
  messageId: m.messageId,
  taskId: m.taskId,
  contextId: m.contextId,
  role: Role[m.role].slice('ROLE_'.length).toLowerCase(),
  parts: m.parts.map(part),
  metadata: m.metadata,
});

export const toMessage = ({ messageId, taskId = '', contextId = '', role = 'user', parts, metadata }) => ({
  messageId,
  taskId,
  contextId,
  role: Role[`ROLE_${role.toUpperCase()}`],
  parts: parts.map(toPart),
  metadata,
  extensions: [],
  referenceTaskIds: [],
});

export const artifact = (a) => ({ id: a.artifactId, name: a.name, parts: a.parts.map(part) });

export const toArtifact = ({ id, name = '', parts }) => ({
  artifactId: id,
  name,
  description: '',
  parts: parts.map(toPart),
  metadata: undefined,
  extensions: [],
});

export const task = (t) => ({
  id: t.id,
  contextId: t.contextId,
  state: state(t.status.state),
  message: t.status.message && message(t.status.message),
  artifacts: (t.artifacts ?? []).map(artifact),
  history: (t.history ?? []).map(message),
  metadata: t.metadata,
});

// reply returns the answer to a message.
export const reply = (r) => ('messageId' in r ? { message: message(r) } : { task: task(r) });

export function event({ payload: { $case, value } }) {
  switch ($case) {
    case 'task':
      return { task: task(value) };
    case 'message':
      return { message: message(value) };
    case 'statusUpdate':
      return {
        status: {
          taskId: value.taskId,
          contextId: value.contextId,
          state: state(value.status.state),
          message: value.status.message && message(value.status.message),
          metadata: value.metadata,
        },
      };
    default:
      return {
        artifact: {
          taskId: value.taskId,
          contextId: value.contextId,
          append: value.append,
          lastChunk: value.lastChunk,
          ...artifact(value.artifact),
        },
      };
  }
}

export const push = (c) => ({
  id: c.id,
  taskId: c.taskId,
  url: c.url,
  token: c.token,
  scheme: c.authentication?.scheme,
  credentials: c.authentication?.credentials,
});

export const toPush = ({ id = '', taskId = '', url, token = '', scheme, credentials = '' }) => ({
  tenant: '',
  id,
  taskId,
  url,
  token,
  authentication: scheme ? { scheme, credentials } : undefined,
});

export const card = (c) => ({
  name: c.name,
  description: c.description,
  streaming: c.capabilities?.streaming,
  push: c.capabilities?.pushNotifications,
  interfaces: c.supportedInterfaces.map((i) => ({ url: i.url, transport: i.protocolBinding, version: i.protocolVersion })),
  skills: c.skills.map((s) => s.id),
});
