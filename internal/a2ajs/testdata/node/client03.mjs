// The client of SDK 0.3, driven by a test. That version lists no tasks.
import * as sdk from 'a2a-v0.3/client';
import { connect, settings } from './client.mjs';
import { answer } from './lines.mjs';
import * as shape from './shape03.mjs';

const client = connect(sdk);

const request = ({ message, immediately = false, historyLength, push }) => ({
  message: shape.toMessage(message),
  configuration: {
    acceptedOutputModes: [],
    blocking: !immediately,
    historyLength,
    pushNotificationConfig: push && shape.toPush(push),
  },
});

// shaped puts back what the SDK's REST transport drops: that a chunk of an
// artifact which is known goes onto the end of it.
async function* shaped(events) {
  const known = new Set();
  for await (const e of events) {
    const event = shape.event(e);
    if (event.artifact && settings.transport === 'HTTP+JSON') {
      event.artifact.append = known.has(event.artifact.id);
    }
    for (const { id } of [event.artifact ?? [], event.task?.artifacts ?? []].flat()) {
      known.add(id);
    }
    yield event;
  }
}

await answer({
  card: async () => {
    const card = await (await client()).getAgentCard();
    const first = { url: card.url, transport: card.preferredTransport };
    return {
      name: card.name,
      description: card.description,
      streaming: card.capabilities?.streaming,
      push: card.capabilities?.pushNotifications,
      interfaces: [first, ...(card.additionalInterfaces ?? [])].map((i) => ({ ...i, version: card.protocolVersion })),
      skills: card.skills.map((s) => s.id),
    };
  },
  send: async (params, signal) => shape.reply(await (await client()).sendMessage(request(params), { signal })),
  stream: async (params, signal) => shaped((await client()).sendMessageStream(request(params), { signal })),
  subscribe: async ({ id }, signal) => shaped((await client()).resubscribeTask({ id }, { signal })),
  get: async ({ id, historyLength }) => shape.task(await (await client()).getTask({ id, historyLength })),
  cancel: async ({ id }) => shape.task(await (await client()).cancelTask({ id })),
  pushCreate: async (config) =>
    shape.push(
      await (await client()).setTaskPushNotificationConfig({ taskId: config.taskId, pushNotificationConfig: shape.toPush(config) }),
    ),
  pushGet: async ({ taskId, id }) =>
    shape.push(await (await client()).getTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id })),
  pushList: async ({ taskId }) => (await (await client()).listTaskPushNotificationConfig({ id: taskId })).map(shape.push),
  pushDelete: async ({ taskId, id }) =>
    (await client()).deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }),
});
