// A server of SDK 0.3 with the scripted agent, driven by a test.
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-v0.3/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-v0.3/server/express';
import { headers, interfaces, listen, restful, rpc } from './server.mjs';
import * as shape from './shape03.mjs';

const final = ['completed', 'canceled', 'failed', 'rejected', 'input-required'];

// publisher puts the agent's events into the SDK's words.
const publisher = (bus, taskId, contextId, known) => {
  const said = (parts) =>
    parts && shape.toMessage({ messageId: crypto.randomUUID(), taskId, contextId, role: 'agent', parts });
  const status = ({ state, parts }) => ({ state, message: said(parts), timestamp: new Date().toISOString() });
  return ({ task, status: update, artifact, message }) => {
    if (task) {
      bus.publish({ kind: 'task', id: taskId, contextId, artifacts: [], history: [], ...known, status: status(task) });
    } else if (update) {
      bus.publish({ kind: 'status-update', taskId, contextId, status: status(update), final: final.includes(update.state) });
    } else if (artifact) {
      const { append, lastChunk } = artifact;
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: shape.toArtifact(artifact), append, lastChunk });
    } else {
      bus.publish({ ...said(message.parts), taskId: undefined });
    }
  };
};

// executor lets the agent play.
function executor(agent) {
  const contexts = new Map();
  return {
    async execute({ userMessage, taskId, contextId, task }, bus) {
      contexts.set(taskId, contextId);
      const { messageId, parts, metadata } = shape.message(userMessage);
      const text = parts.map((p) => p.text ?? '').join('');
      await agent.play(
        { taskId, contextId, messageId, text, headers: headers(), metadata, known: task !== undefined },
        publisher(bus, taskId, contextId, task),
      );
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      const canceled = agent.cancel(taskId);
      if (canceled) {
        publisher(bus, taskId, contexts.get(taskId))(canceled);
        bus.finished();
      }
    },
  };
}

const card = (url, settings) => {
  const [first, ...others] = interfaces(url, settings);
  return {
    protocolVersion: '0.3.0',
    name: 'scripted',
    description: 'An agent that plays the script that a message names.',
    url: first.url,
    preferredTransport: first.transport,
    additionalInterfaces: [first, ...others],
    version: '1',
    capabilities: {
      streaming: settings.streaming,
      pushNotifications: false,
      stateTransitionHistory: false,
      extensions: (settings.extensions ?? []).map((uri) => ({ uri })),
    },
    securitySchemes: settings.token ? { bearer: { type: 'http', scheme: 'bearer' } } : undefined,
    security: settings.token ? [{ bearer: [] }] : undefined,
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'play', name: 'Play', description: 'Plays a script.', tags: ['test'] }],
  };
};

// server listens and returns what a test can call.
export const server = (settings, happened) =>
  listen(settings, happened, (app, url, agent) => {
    const requestHandler = new DefaultRequestHandler(card(url, settings), new InMemoryTaskStore(), executor(agent));
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
    app.use(rpc, jsonRpcHandler(options));
    app.use(restful, restHandler(options));
  });
