// A server of SDK 1.3 with the scripted agent, driven by a test.
import { generateKeyPairSync } from 'node:crypto';
import { generateAgentCardSignature } from 'a2a-v1.0';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-v1.0/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-v1.0/server/express';
import { headers, interfaces, listen, restful, rpc } from './server.mjs';
import * as shape from './shape10.mjs';

// publisher puts the agent's events into the SDK's words.
const publisher = (bus, taskId, contextId, known) => {
  const said = (parts) =>
    parts && shape.toMessage({ messageId: crypto.randomUUID(), taskId, contextId, role: 'agent', parts });
  const status = ({ state, parts }) => ({
    state: shape.toState(state),
    message: said(parts),
    timestamp: new Date().toISOString(),
  });
  return ({ task, status: update, artifact, message }) => {
    if (task) {
      const made = { id: taskId, contextId, artifacts: [], history: [], metadata: undefined, ...known, status: status(task) };
      bus.publish(AgentEvent.task(made));
    } else if (update) {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(update), metadata: undefined }));
    } else if (artifact) {
      const { append, lastChunk } = artifact;
      const made = shape.toArtifact(artifact);
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact: made, append, lastChunk, metadata: undefined }));
    } else {
      bus.publish(AgentEvent.message({ ...said(message.parts), taskId: '' }));
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
    },
    async cancelTask(taskId, bus) {
      const canceled = agent.cancel(taskId);
      if (canceled) {
        publisher(bus, taskId, contexts.get(taskId))(canceled);
      }
    },
  };
}

const card = (url, settings) => ({
  name: 'scripted',
  description: 'An agent that plays the script that a message names.',
  supportedInterfaces: interfaces(url, settings).map((i) => ({ url: i.url, protocolBinding: i.transport, protocolVersion: '1.0', tenant: '' })),
  provider: undefined,
  version: '1',
  capabilities: {
    streaming: settings.streaming,
    pushNotifications: false,
    extendedAgentCard: false,
    extensions: (settings.extensions ?? []).map((uri) => ({ uri, description: '', required: false, params: undefined })),
  },
  securitySchemes: settings.token
    ? { bearer: { scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'Bearer', bearerFormat: '' } } } }
    : {},
  securityRequirements: settings.token ? [{ schemes: { bearer: { list: [] } } }] : [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'play', name: 'Play', description: 'Plays a script.', tags: ['test'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  signatures: [],
});

// handler signs its card with a private key, where there is one.
function handler(card, agent, key) {
  const sign = key && generateAgentCardSignature(key, { alg: 'ES256', kid: 'test', typ: 'JOSE' });
  const unset = undefined;
  return new DefaultRequestHandler(card, new InMemoryTaskStore(), executor(agent), unset, unset, unset, unset, sign);
}

// server listens and returns what a test can call.
export async function server(settings, happened) {
  const pair = settings.signed ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : undefined;
  const made = await listen(settings, happened, (app, url, agent) => {
    const requestHandler = handler(card(url, settings), agent, pair?.privateKey);
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
    app.use(rpc, jsonRpcHandler(options));
    app.use(restful, restHandler(options));
  });
  return { ...made, key: pair && { ...pair.publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'ES256' } };
}
