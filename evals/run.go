package evals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service/sessionstart"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// run is one run of a case.
type run struct {
	*compiled
	c       *Case
	dir     string
	runtime *runtime.AgentRuntime
	rev     *registry.Revision
	graders map[string]Grader
	result  *Result

	// conversation is the request of the next turn, without its input.
	conversation runtime.Request
	stubs        *stubs
}

// errCaseFailed ends a turn after an error of the case.
var errCaseFailed = errors.New("the case cannot continue")

// runTurns runs all turns of the case. The error means that the run says nothing about
// the agent.
func (r *run) runTurns(ctx context.Context, models, judges model.Interceptor) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	replies, err := readToolReplies(ToolRepliesPath(r.dir, r.c.ID))
	if err != nil {
		return err
	}
	var broken error
	failed := make(chan error, 1)
	r.stubs = &stubs{
		compiled: r.compiled, uses: r.c.Tools, answers: r.c.Answers, set: r.rev.Set(), replies: newToolReplies(replies), before: make(map[string]int),
		fail: func(err error) {
			select {
			case failed <- err:
			default:
			}
			cancel(errCaseFailed)
		},
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	acting := model.WithInterceptor(toolset.WithInterceptor(ctx, r.stubs.intercept), models)
	for i := range r.c.Turns {
		turn, err := r.runTurn(acting, &r.c.Turns[i])
		select {
		case broken = <-failed:
		default:
		}
		if turn != nil {
			r.result.Turns = append(r.result.Turns, turn)
		}
		if broken = errors.Join(broken, err); broken != nil {
			return broken
		}
		if err := r.checkTurn(model.WithInterceptor(ctx, judges), i, turn); err != nil {
			return err
		}
		if turn.Status != event.StatusSucceeded {
			break // a later turn would continue from nothing
		}
	}
	return nil
}

// checkTurn checks a turn and has it judged.
func (r *run) checkTurn(ctx context.Context, i int, turn *TurnResult) error {
	at := diag.Index("turns", i)
	k := &checker{compiled: r.compiled, base: diag.Join(at, "expect"), turn: turn}
	expect := &r.c.Turns[i].Expect
	for _, f := range k.checkTurn(ctx, expect) {
		r.addFailure(i+1, f.Field, f.Message)
	}
	for n := range expect.Judges {
		v, err := r.grade(ctx, &expect.Judges[n], turn)
		if err != nil {
			return err
		}
		r.addVerdict(i+1, diag.Index("judges", n), turn, v)
	}
	for name, grade := range r.graders {
		score, comment, err := grade(ctx, r.c, turn)
		if err != nil {
			return fmt.Errorf("grader %s: %w", name, err)
		}
		r.addVerdict(i+1, "grader "+name, turn, Verdict{Judge: name, Score: score, Comment: comment, Pass: score >= defaultPass})
	}
	return nil
}

func (r *run) addFailure(turn int, field, message string) {
	r.result.Failures = append(r.result.Failures, Failure{Turn: turn, Field: field, Message: message})
}

func (r *run) addVerdict(turn int, field string, t *TurnResult, v Verdict) {
	t.Verdicts = append(t.Verdicts, v)
	if !v.Pass {
		r.addFailure(turn, field, fmt.Sprintf("judge %s gives %.2f: %s", v.Judge, v.Score, v.Comment))
	}
}

// begin prepares the conversation.
func (r *run) begin(ctx context.Context) error {
	agent, ok := r.rev.Set().Agent(r.c.Agent)
	if !ok {
		return fmt.Errorf("there is no agent %q", r.c.Agent)
	}
	if use := r.c.Tools[r.c.Agent]; (!agent.Local() || agent.Hosted()) && (use == nil || !use.Real) {
		return fmt.Errorf("agent %s runs elsewhere: write tools: {%s: {real: true}} to let the case reach it", agent.ID, r.c.Agent)
	}
	r.conversation = runtime.Request{
		AgentID: r.c.Agent, SessionID: "eval-" + r.c.ID, Custom: r.c.State, DelegateEvents: true, Revision: r.rev,
	}
	if len(r.c.TenantVariables) > 0 {
		r.conversation.TenantVariables = tools.TenantValues(r.c.TenantVariables)
	}
	if len(agent.SessionStart) == 0 || r.c.SessionStart == "skip" {
		return nil
	}
	if r.c.SessionStart == "" {
		return fmt.Errorf("agent %s has session_start programs: set session_start to real or skip", agent.ID)
	}
	kept, err := sessionstart.Run(ctx, agent.SessionStart, "")
	if err != nil {
		return err
	}
	if before, ok := sessionstart.ContextOf(kept); ok {
		r.conversation.History = []model.Message{before}
	}
	return nil
}

// runTurn runs a turn and adds it to the conversation. The error means that it says
// nothing about the agent.
func (r *run) runTurn(ctx context.Context, t *Turn) (*TurnResult, error) {
	input, err := r.inputOf(t)
	if err != nil {
		return nil, err
	}
	req := r.conversation
	req.Input, req.Variables = []model.Message{input}, t.Variables
	seen := newTranscript()
	r.stubs.beginTurn(seen)
	begun := time.Now()
	turn, err := r.runtime.Start(ctx, req, seen)
	if err != nil {
		return nil, err
	}
	unanswered := r.answerAll(ctx, turn, seen, t.Expect.Status == string(event.StatusWaiting))
	result, err := turn.Wait(context.WithoutCancel(ctx))
	if result == nil {
		return nil, err
	}
	out := &TurnResult{
		Prompt: t.Prompt, Status: result.Status, Outcome: result.Outcome, State: result.Custom, Duration: time.Since(begun),
		artifacts: make(map[string][]byte),
	}
	seen.fill(out)
	for i := range result.Artifacts {
		out.artifacts[result.Artifacts[i].ID] = result.Artifacts[i].Data
	}
	if _, open := errors.AsType[*UnansweredError](unanswered); open {
		out.Status, unanswered = event.StatusWaiting, nil
	}
	r.continueFrom(&req, result)
	return out, unanswered
}

// continueFrom makes the conversation what a turn left.
func (r *run) continueFrom(req *runtime.Request, result *runtime.Result) {
	next := &r.conversation
	next.History = append(append(append([]model.Message(nil), req.History...), req.Input...), result.Messages...)
	next.Session, next.Custom = result.Session, result.Custom
	for _, a := range result.Artifacts {
		a.Data = nil
		next.Artifacts = append(next.Artifacts, a)
	}
	if result.Agent != "" && result.Agent != next.AgentID {
		next.AgentID, next.HandedOver = result.Agent, true
	}
}

// answerAll answers what a turn waits for until it ends. The error, after which the turn
// was canceled, says why one of them has no answer.
func (r *run) answerAll(ctx context.Context, turn *runtime.Turn, seen *transcript, mayWait bool) (err error) {
	for {
		select {
		case <-turn.Done():
			return err
		case <-seen.waits:
		}
		for _, q := range turn.Interactions() {
			answer, wrong := r.answerRequest(r.c.Answers, q)
			if wrong == nil {
				wrong = turn.Answer(answer)
			}
			if wrong == nil || ctx.Err() != nil || err != nil {
				continue
			}
			if _, open := errors.AsType[*UnansweredError](wrong); open && !mayWait {
				r.addFailure(len(r.result.Turns)+1, "answers", wrong.Error())
			}
			err = wrong
			turn.Cancel(wrong)
		}
	}
}

// inputOf returns the user's message.
func (r *run) inputOf(t *Turn) (model.Message, error) {
	m := model.User(t.Prompt)
	if t.Prompt == "" {
		m.Parts = nil
	}
	for i := range t.Attachments {
		a := &t.Attachments[i]
		path := a.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.dir, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return m, fmt.Errorf("read attachment: %w", err)
		}
		mediaType := cmp.Or(a.MediaType, mime.TypeByExtension(filepath.Ext(path)), "application/octet-stream")
		kind := model.PartFile
		if strings.HasPrefix(mediaType, "image/") {
			kind = model.PartImage
		}
		m.Parts = append(m.Parts, model.Part{Type: kind, Blob: &model.Blob{MediaType: mediaType, Data: data, Name: filepath.Base(path)}})
	}
	return m, nil
}
