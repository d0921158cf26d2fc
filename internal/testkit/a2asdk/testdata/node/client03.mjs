// The client of SDK 0.3, driven by a test. That version lists no tasks.
import * as sdk from 'a2a-v0.3/client';
import { connect } from './client.mjs';
import * as shape from './shape03.mjs';

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
async function* shaped(events, { transport }) {
  const known = new Set();
  for await (const e of events) {
    const event = shape.event(e);
    if (event.artifact && transport === 'HTTP+JSON') {
      event.artifact.append = known.has(event.artifact.id);
    }
    for (const { id } of [event.artifact ?? [], event.task?.artifacts ?? []].flat()) {
      known.add(id);
    }
    yield event;
  }
}

// client returns what a test can call.
export function client(settings) {
  const connected = connect(sdk, settings);
  return {
    card: async () => shape.card(await (await connected()).getAgentCard()),
    send: async (params, signal) => shape.reply(await (await connected()).sendMessage(request(params), { signal })),
    stream: async (params, signal) => shaped((await connected()).sendMessageStream(request(params), { signal }), settings),
    subscribe: async ({ id }, signal) => shaped((await connected()).resubscribeTask({ id }, { signal }), settings),
    get: async ({ id, historyLength }) => shape.task(await (await connected()).getTask({ id, historyLength })),
    cancel: async ({ id }) => shape.task(await (await connected()).cancelTask({ id })),
    pushCreate: async (config) =>
      shape.push(
        await (await connected()).setTaskPushNotificationConfig({ taskId: config.taskId, pushNotificationConfig: shape.toPush(config) }),
      ),
    pushGet: async ({ taskId, id }) =>
      shape.push(await (await connected()).getTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id })),
    pushList: async ({ taskId }) => (await (await connected()).listTaskPushNotificationConfig({ id: taskId })).map(shape.push),
    pushDelete: async ({ taskId, id }) =>
      (await connected()).deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }),
  };
}
