package scripted

import (
	"context"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/model"
)

// Stream answers from the script.
func (e *Executor) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if e.record != nil {
			e.record.add(req)
		}
		if r := e.chooseReply(req); r != nil {
			e.markGiven(r)
			e.playReply(ctx, req, r, yield)
			return
		}
		streamEcho(ctx, req, yield)
	}
}

// playReply streams a reply.
func (e *Executor) playReply(ctx context.Context, req *model.Request, r *reply, yield func(model.Event, error) bool) {
	if err := pauseFor(ctx, r.delay); err != nil {
		yield(model.Event{}, model.AsError(err))
		return
	}
	begun := false
	for i := range r.events {
		wait := time.Duration(0)
		if isDelta(&r.events[i]) {
			if begun {
				wait = r.chunkDelay
			}
			begun = true
		}
		if err := pauseFor(ctx, wait); err != nil {
			yield(model.Event{}, model.AsError(err))
			return
		}
		if !yield(r.events[i], nil) {
			return
		}
	}
	switch {
	case r.stall:
		<-ctx.Done()
		yield(model.Event{}, model.AsError(ctx.Err()))
	case r.failure != nil:
		yield(model.Event{}, e.replyError(r))
	default:
		finishReply(req, r, yield)
	}
}

// replyError returns the error of a reply.
func (e *Executor) replyError(r *reply) error {
	err := *r.failure
	err.Provider = e.id
	return &err
}

func finishReply(req *model.Request, r *reply, yield func(model.Event, error) bool) {
	usage := r.usage
	if usage == nil {
		usage = &model.Usage{Input: estimateRequest(req), Output: r.output, Reasoning: r.reasoning}
	}
	yield(model.Event{Type: model.EventFinish, Reason: r.finish, Usage: usage}, nil)
}

// streamEcho answers with the user's message.
func streamEcho(ctx context.Context, req *model.Request, yield func(model.Event, error) bool) {
	if err := ctx.Err(); err != nil {
		yield(model.Event{}, model.AsError(err))
		return
	}
	text := "echo: " + lastUserText(req.Messages)
	if !yield(model.Event{Type: model.EventText, Delta: text}, nil) {
		return
	}
	usage := &model.Usage{Input: estimateRequest(req), Output: estimateTokens(len(text))}
	yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: usage}, nil)
}

func lastUserText(messages []model.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == model.RoleUser {
			return messages[i].Text()
		}
	}
	return ""
}

// pauseFor waits, unless the context ends.
func pauseFor(ctx context.Context, d time.Duration) error {
	if d > 0 {
		_ = wait.For(ctx, d)
	}
	return ctx.Err()
}
