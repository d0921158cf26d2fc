package agents

import (
	"context"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/tools"
)

// clientRun is a turn of an in-memory conversation. It runs once, when its chunks or output are
// read.
type clientRun struct {
	agent  *client
	memory *memory
	// input and answers are the turn's request, and state is where it resumes.
	input   []model.Message
	answers []interaction.Answer
	state   *backend.State
	turnID  string
	history int
	// snapshotID and parentID are set for an agent with a custom store.
	snapshotID, parentID string
	// replaced is the conversation before the turn, if the turn's code replaced it.
	replaced *[]model.Message

	news feed
	// begun is set once the turn runs. output or err holds its result.
	begun  bool
	output *wire.Output
	err    error
	// made holds the turn's artifacts by id.
	made map[string]*tools.Artifact
}

// SnapshotID returns "".
func (*clientRun) SnapshotID() string { return "" }

// StreamID returns "".
func (*clientRun) StreamID() string { return "" }

// prepare validates the input of the turn and stores it in the run.
func (r *clientRun) prepare(ctx context.Context, input *wire.Input) *wire.Error {
	waiting := r.memory.waiting
	if !input.Resume.IsEmpty() {
		return r.prepareResume(ctx, input, waiting)
	}
	if waiting != nil {
		return newError(wire.StatusFailedPrecondition, "the conversation is interrupted: answer its tool requests with resume")
	}
	var problem *wire.Error
	r.input, problem = messagesOf(input)
	r.history = len(r.memory.messages)
	return problem
}

// prepareResume notes the answers to an interrupted turn.
func (r *clientRun) prepareResume(ctx context.Context, input *wire.Input, waiting *waitingTurn) *wire.Error {
	var asked []*interaction.Request
	if waiting != nil {
		asked = waiting.State.Interactions()
	}
	answers, problem := answersTo(ctx, asked, input)
	if problem != nil {
		return problem
	}
	r.answers, r.state, r.turnID, r.history = answers, waiting.State, waiting.TurnID, waiting.History
	r.input = r.memory.messages[waiting.History : waiting.History+waiting.Input]
	return nil
}

// Output runs the turn once and returns its result.
func (r *clientRun) Output(ctx context.Context) (*wire.Output, error) {
	if r.begun {
		if err := r.news.waitDone(ctx); err != nil {
			return nil, err
		}
		return r.output, r.err
	}
	r.begun = true
	r.execute(ctx, event.Discard)
	r.news.close()
	return r.output, r.err
}

// Chunks runs the turn, unless it already ran, and returns its chunks.
func (r *clientRun) Chunks(ctx context.Context) iter.Seq2[*wire.Chunk, error] {
	return func(yield func(*wire.Chunk, error) bool) {
		if !r.begun {
			r.begun = true
			go r.executeStreaming(ctx) // ends with the turn
		}
		for {
			list, err := r.news.take(ctx)
			for _, chunk := range list {
				if !yield(chunk, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
			if err != nil || len(list) == 0 {
				return
			}
		}
	}
}

// executeStreaming runs the turn and feeds its chunks to the reader.
func (r *clientRun) executeStreaming(ctx context.Context) {
	defer r.news.close()
	chunks := chunker{definition: r.agent.definition, artifact: r.findArtifact}
	var failed error
	put := func(chunk *wire.Chunk, err error) bool {
		if failed = err; err != nil {
			r.news.fail(err)
			return false
		}
		r.news.put(chunk)
		return true
	}
	r.execute(ctx, event.SinkFunc(func(ev event.Event) {
		if failed != nil {
			return
		}
		if chunk, err := chunks.convert(ctx, ev.Data); chunk != nil || err != nil {
			put(chunk, err)
		}
	}))
	switch {
	case failed != nil:
		r.output, r.err = nil, failed
	case r.err != nil:
		r.news.fail(r.err)
	default:
		if err := yieldOutput(ctx, r.agent.definition, r.output, put); err != nil {
			r.news.fail(err)
			r.output, r.err = nil, err
		}
	}
}

// findArtifact returns an artifact that the turn just created.
func (r *clientRun) findArtifact(_ context.Context, id string) (wire.Artifact, error) {
	a := r.made[id]
	if a == nil {
		return wire.Artifact{}, notFound("artifact", id)
	}
	return fromKeptArtifact(a), nil
}

// execute runs the turn and keeps its result.
func (r *clientRun) execute(ctx context.Context, to event.Sink) {
	m := r.memory
	req := runtime.Request{
		AgentID: r.agent.name, SessionID: m.id, Idle: len(r.input) == 0, TurnID: r.turnID, Tenant: r.agent.caller.Tenant,
		History: m.messages[:r.history:r.history], Input: r.input, Custom: m.custom, Session: m.plugins, State: r.state, Answers: r.answers,
		Persistence: runtime.Persistence{SnapshotID: r.snapshotID, ParentSnapshotID: r.parentID},
	}
	for i := range m.artifacts {
		held := m.artifacts[i]
		held.Data = nil
		req.Artifacts = append(req.Artifacts, held)
	}
	sink := &artifactSink{run: r, to: to}
	a, err := r.agent.set.runtime.Prepare(ctx, &req, sink)
	if err != nil {
		r.output, r.err = r.failedOutput(ctx, &wire.Error{Status: wire.StatusInternal, Message: "the turn cannot begin"})
		return
	}
	defer a.Close()
	sink.activation = a
	ctx = context.WithValue(a.Observe(ctx), clientRunKey{}, r)
	a.Execute(ctx)
	result, err := a.Finish(ctx)
	r.keepResult(ctx, result, err)
}

// clientRunKey is the key of the run in the context of its turn.
type clientRunKey struct{}

// replaceHistory replaces the conversation before the turn once the turn has succeeded or is
// interrupted.
func (r *clientRun) replaceHistory(messages []model.Message) { r.replaced = &messages }

// keepResult adds the result of the turn to the conversation and sets the output.
func (r *clientRun) keepResult(ctx context.Context, result *runtime.Result, err error) {
	switch {
	case result.Status == event.StatusSucceeded && err == nil:
		r.keepSession(result)
		r.memory.waiting = nil
		r.output, r.err = r.goodOutput(ctx, result)
	case result.Status == event.StatusWaiting && result.State != nil:
		r.keepSession(result)
		r.memory.waiting = &waitingTurn{TurnID: result.TurnID, History: r.history, Input: len(r.input), State: result.State, Plugins: r.memory.plugins}
		r.output, r.err = r.interruptedOutput(ctx, result)
	case ctx.Err() != nil:
		r.err = backend.Ended(ctx)
	default:
		r.output, r.err = r.failedOutput(ctx, turnError(&result.Termination))
	}
}

// keepSession applies a turn's changes to the conversation.
func (r *clientRun) keepSession(result *runtime.Result) {
	m := r.memory
	if r.replaced != nil {
		m.messages, r.history, r.replaced = *r.replaced, len(*r.replaced), nil
	}
	m.messages = append(append(m.messages[:r.history], r.input...), result.Messages...)
	m.custom, m.plugins = result.Custom, result.Session
	for _, made := range result.Artifacts {
		i := slices.IndexFunc(m.artifacts, func(a tools.Artifact) bool { return a.ID == made.ID || a.Name != "" && a.Name == made.Name })
		if i >= 0 {
			m.artifacts[i] = made
		} else {
			m.artifacts = append(m.artifacts, made)
		}
	}
}

// goodOutput returns the output of a successful turn. If the state cannot be shown, the output is a
// failure without it.
func (r *clientRun) goodOutput(ctx context.Context, result *runtime.Result) (*wire.Output, error) {
	out := &wire.Output{SessionID: r.memory.id, FinishReason: fromModelReason(result.FinishReason)}
	if result.Response != "" {
		out.Message = &wire.Message{Role: wire.RoleModel, Content: []wire.Part{wire.NewTextPart(result.Response)}}
	} else {
		out.Message = lastAnswer(result.Messages)
	}
	return r.withState(ctx, out)
}

// interruptedOutput returns the output of a turn that waits for answers.
func (r *clientRun) interruptedOutput(ctx context.Context, result *runtime.Result) (*wire.Output, error) {
	out := &wire.Output{SessionID: r.memory.id, FinishReason: wire.FinishInterrupted, Message: &wire.Message{Role: wire.RoleModel}}
	for _, asked := range result.State.Interactions() {
		out.Message.Content = append(out.Message.Content, interruptPart(asked))
	}
	return r.withState(ctx, out)
}

// withState adds the state to an output.
func (r *clientRun) withState(ctx context.Context, out *wire.Output) (*wire.Output, error) {
	state, err := r.memory.state(r.agent.set.box, r.agent.name)
	if err != nil {
		return nil, err
	}
	out.Artifacts = slices.Clone(state.Artifacts)
	shown, err := r.agent.definition.shownState(ctx, state)
	if err != nil {
		return &wire.Output{SessionID: r.memory.id, FinishReason: wire.FinishFailed, Error: shownError(err)}, nil
	}
	out.State = shown
	return out, nil
}

// failedOutput returns the output of a turn that failed, with the state from before it.
func (r *clientRun) failedOutput(ctx context.Context, problem *wire.Error) (*wire.Output, error) {
	state, err := r.memory.state(r.agent.set.box, r.agent.name)
	if err != nil {
		return nil, err
	}
	if state, err = r.agent.definition.shownState(ctx, state); err != nil {
		state = nil
	}
	return &wire.Output{SessionID: r.memory.id, State: state, FinishReason: wire.FinishFailed, Error: problem}, nil
}

// artifactSink collects a turn's artifacts from its events.
type artifactSink struct {
	run        *clientRun
	to         event.Sink
	activation *runtime.Activation
}

// Emit passes an event on.
func (s *artifactSink) Emit(ev event.Event) {
	if _, ok := ev.Data.(*event.Artifact); ok {
		for _, made := range s.activation.TakeArtifacts() {
			if s.run.made == nil {
				s.run.made = make(map[string]*tools.Artifact)
			}
			s.run.made[made.ID] = made
		}
	}
	s.to.Emit(ev)
}
