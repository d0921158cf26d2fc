// The client of SDK 1.3, driven by a test.
import * as sdk from 'a2a-v1.0/client';
import { TaskState, verifyAgentCardSignature } from 'a2a-v1.0';
import { connect, publicCard } from './client.mjs';
import * as shape from './shape10.mjs';

const request = ({ message, immediately = false, historyLength, push }) => ({
  tenant: '',
  message: shape.toMessage(message),
  configuration: {
    acceptedOutputModes: [],
    returnImmediately: immediately,
    historyLength,
    taskPushNotificationConfig: push && shape.toPush(push),
  },
  metadata: undefined,
});

async function* shaped(events) {
  for await (const event of events) {
    yield shape.event(event);
  }
}

// client returns what a test can call.
export function client(settings) {
  const connected = connect(sdk, settings);
  return {
    card: async () => shape.card(await (await connected()).getAgentCard()),
    signedCard: async ({ keys }) => {
      const card = await publicCard(sdk, settings);
      await verifyAgentCardSignature(async (kid) => keys.find((key) => key.kid === kid))(card);
      return shape.card(card);
    },
    send: async (params, signal) => shape.reply(await (await connected()).sendMessage(request(params), { signal })),
    stream: async (params, signal) => shaped((await connected()).sendMessageStream(request(params), { signal })),
    subscribe: async ({ id }, signal) => shaped((await connected()).resubscribeTask({ tenant: '', id }, { signal })),
    get: async ({ id, historyLength }) => shape.task(await (await connected()).getTask({ tenant: '', id, historyLength })),
    cancel: async ({ id }) => shape.task(await (await connected()).cancelTask({ tenant: '', id, metadata: undefined })),
    list: async ({ contextId = '', state, pageSize, pageToken = '', includeArtifacts }) => {
      const page = await (await connected()).listTasks({
        tenant: '',
        contextId,
        status: state ? shape.toState(state) : TaskState.TASK_STATE_UNSPECIFIED,
        pageSize,
        pageToken,
        includeArtifacts,
      });
      return { tasks: page.tasks.map(shape.task), nextPageToken: page.nextPageToken, totalSize: page.totalSize };
    },
    pushCreate: async (config) => shape.push(await (await connected()).createTaskPushNotificationConfig(shape.toPush(config))),
    pushGet: async ({ taskId, id }) => shape.push(await (await connected()).getTaskPushNotificationConfig({ tenant: '', taskId, id })),
    pushList: async ({ taskId }) => {
      const page = await (await connected()).listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
      return page.configs.map(shape.push);
    },
    pushDelete: async ({ taskId, id }) => (await connected()).deleteTaskPushNotificationConfig({ tenant: '', taskId, id }),
  };
}
