// The client of SDK 1.3, driven by a test.
import * as sdk from 'a2a-v1.0/client';
import { TaskState } from 'a2a-v1.0';
import { connect } from './client.mjs';
import { answer } from './lines.mjs';
import * as shape from './shape10.mjs';

const client = connect(sdk);

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

await answer({
  card: async () => {
    const card = await (await client()).getAgentCard();
    return {
      name: card.name,
      description: card.description,
      streaming: card.capabilities?.streaming,
      push: card.capabilities?.pushNotifications,
      interfaces: card.supportedInterfaces.map((i) => ({ url: i.url, transport: i.protocolBinding, version: i.protocolVersion })),
      skills: card.skills.map((s) => s.id),
    };
  },
  send: async (params, signal) => shape.reply(await (await client()).sendMessage(request(params), { signal })),
  stream: async (params, signal) => shaped((await client()).sendMessageStream(request(params), { signal })),
  subscribe: async ({ id }, signal) => shaped((await client()).resubscribeTask({ tenant: '', id }, { signal })),
  get: async ({ id, historyLength }) => shape.task(await (await client()).getTask({ tenant: '', id, historyLength })),
  cancel: async ({ id }) => shape.task(await (await client()).cancelTask({ tenant: '', id, metadata: undefined })),
  list: async ({ contextId = '', state, pageSize, pageToken = '', includeArtifacts }) => {
    const page = await (await client()).listTasks({
      tenant: '',
      contextId,
      status: state ? shape.toState(state) : TaskState.TASK_STATE_UNSPECIFIED,
      pageSize,
      pageToken,
      includeArtifacts,
    });
    return { tasks: page.tasks.map(shape.task), nextPageToken: page.nextPageToken, totalSize: page.totalSize };
  },
  pushCreate: async (config) => shape.push(await (await client()).createTaskPushNotificationConfig(shape.toPush(config))),
  pushGet: async ({ taskId, id }) => shape.push(await (await client()).getTaskPushNotificationConfig({ tenant: '', taskId, id })),
  pushList: async ({ taskId }) => {
    const page = await (await client()).listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    return page.configs.map(shape.push);
  },
  pushDelete: async ({ taskId, id }) => (await client()).deleteTaskPushNotificationConfig({ tenant: '', taskId, id }),
});
