// The agent of the servers of both versions. The first word of a message
// selects the script it plays; what follows is the script's own.

const text = (value) => ({ parts: [{ text: value }] });
const status = (state, value) => ({ status: { state, ...(value === undefined ? {} : text(value)) } });
const artifact = (id, parts, chunk = {}) => ({ artifact: { id, parts, append: false, lastChunk: true, ...chunk } });

function* chunks(count) {
  for (let i = 0; i < count; i++) {
    yield artifact('answer', [{ text: `${i};` }], { append: i > 0, lastChunk: i === count - 1 });
  }
}

// scripts yield the events of a turn. turn.rest is what follows the first word,
// turn.answer the message that continues a waiting task.
const scripts = {
  async *echo({ rest }) {
    yield artifact('answer', [{ text: rest }]);
    yield status('completed');
  },
  async *stream({ rest }) {
    yield* chunks(Number(rest));
    yield status('completed');
  },
  // hold sends its chunks, and the rest only when the test says so.
  async *hold(turn) {
    yield* chunks(Number(turn.rest));
    if (yield* turn.canceled()) {
      return;
    }
    yield status('completed', 'released');
  },
  async *parts() {
    yield artifact('prose', [{ text: 'a text' }]);
    yield artifact('table', [{ data: { rows: [1, 2] } }]);
    yield artifact('picture', [{ raw: Buffer.from('bytes').toString('base64'), mediaType: 'image/png', filename: 'p.png' }]);
    yield artifact('link', [{ url: 'https://files.example/report.pdf', mediaType: 'application/pdf', filename: 'report.pdf' }]);
    yield status('completed');
  },
  async *ask({ rest, answer }) {
    if (answer === undefined) {
      yield status('input-required', rest);
      return;
    }
    yield artifact('answer', [{ text: `you said ${answer}` }]);
    yield status('completed');
  },
  async *authorize({ rest, answer }) {
    if (answer === undefined) {
      yield status('auth-required', rest);
      return;
    }
    yield artifact('answer', [{ text: 'authorized' }]);
    yield status('completed');
  },
  // consent is granted elsewhere: the agent goes on without another message.
  async *consent(turn) {
    yield status('auth-required', turn.rest);
    if (yield* turn.canceled()) {
      return;
    }
    yield artifact('answer', [{ text: 'consented' }]);
    yield status('completed');
  },
  async *fail({ rest }) {
    yield status('failed', rest);
  },
  async *reject({ rest }) {
    yield status('rejected', rest);
  },
  async *message({ rest }) {
    yield { message: text(rest) };
  },
  // stubborn does not stop when it is told to.
  async *stubborn(turn) {
    yield* turn.canceled({ stubborn: true });
    yield artifact('answer', [{ text: 'to the end' }]);
    yield status('completed');
  },
  async *headers({ headers }) {
    yield artifact('answer', [{ data: headers }]);
    yield status('completed');
  },
};

export class Agent {
  #tell;
  #tasks = new Map();

  // tell reports what happens to the test.
  constructor(tell) {
    this.#tell = tell;
  }

  // play publishes the events of one message. known is true if the task exists.
  async play({ taskId, contextId, messageId, text, headers, metadata, known }, publish) {
    const [, word, rest] = /^(\S*)\s*([^]*)$/.exec(text);
    const before = known ? this.#tasks.get(taskId) : undefined;
    const turn = before ? { ...before, answer: text } : { word, rest, taskId, headers };
    turn.canceled = (how) => this.#canceled(turn, how);
    this.#tasks.set(taskId, turn);
    this.#tell({ kind: before ? 'continued' : 'started', taskId, contextId, messageId, text, headers, metadata });
    if (turn.word !== 'message') {
      publish({ task: { state: known ? 'working' : 'submitted' } }); // a stream begins with the task
      publish(status('working'));
    }
    const script = scripts[turn.word] ?? scripts.echo;
    for await (const event of script(turn)) {
      publish(event);
    }
    this.#tell({ kind: 'ended', taskId, contextId });
  }

  // cancel stops a turn. What it returns is for the caller to publish: a turn
  // that is held publishes its own end, a stubborn one none.
  cancel(taskId) {
    const turn = this.#tasks.get(taskId);
    this.#tell({ kind: 'canceled', taskId });
    const canceled = status('canceled', 'as you wish');
    if (turn?.stop) {
      turn.stop(canceled);
      return undefined;
    }
    return turn?.word === 'stubborn' ? undefined : canceled;
  }

  release(taskId) {
    this.#tasks.get(taskId)?.go?.();
  }

  // canceled waits until the test releases the turn or a peer cancels it. It
  // publishes the cancel and returns whether it was a cancel.
  async *#canceled(turn, { stubborn = false } = {}) {
    const canceled = await new Promise((resolve) => {
      turn.go = () => resolve(undefined);
      turn.stop = stubborn ? undefined : resolve;
      this.#tell({ kind: 'holding', taskId: turn.taskId });
    });
    turn.stop = undefined;
    if (canceled) {
      yield canceled;
    }
    return canceled !== undefined;
  }
}
