package evals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
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

	// turn is the index of the running turn.
	turn atomic.Int64
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
	replies, err := readToolReplies(toolRepliesPath(r.dir, r.c.ID))
	if err != nil {
		return err
	}
	var broken error
	failed := make(chan error, 1)
	r.stubs = &stubs{
		compiled: r.compiled, uses: r.c.Tools, set: r.rev.Set(), replies: newToolReplies(replies), before: make(map[string]int),
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
	judging := model.WithInterceptor(ctx, judges)
	for i := 0; ; i++ {
		next, err := r.nextTurn(judging, i)
		if next == nil || err != nil {
			return errors.Join(err, r.checkWhole(judging))
		}
		r.turn.Store(int64(i))
		turn, err := r.runTurn(acting, next)
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
		if err := r.checkTurn(judging, i+1, &next.Expect, diag.Join(diag.Index("turns", i), "expect"), turn); err != nil {
			return err
		}
		if turn.Status != event.StatusSucceeded { // a later turn would have no conversation
			switch isLast := i+1 >= len(r.c.Turns); {
			case isLast:
				return r.checkWhole(judging)
			case len(r.result.Failures) > 0:
				return nil // the failure of this turn is the outcome
			default:
				return fmt.Errorf("turn %d was not run: turn %d ended as %s", i+2, i+1, turn.Status)
			}
		}
	}
}

// nextTurn returns the turn at an index, from the case or the simulated user; nil at the end of the
// conversation.
func (r *run) nextTurn(ctx context.Context, i int) (*Turn, error) {
	if i < len(r.c.Turns) {
		return &r.c.Turns[i], nil
	}
	u := r.c.User
	if u == nil || i-len(r.c.Turns) >= cmp.Or(u.MaxTurns, defaultUserTurns) {
		return nil, nil //nolint:nilnil // the conversation has ended
	}
	return r.askUser(ctx, u)
}

// checkWhole checks the conversation as a whole.
func (r *run) checkWhole(ctx context.Context) error {
	if len(r.result.Turns) == 0 || reflect.DeepEqual(r.c.Expect, Expectations{}) {
		return nil
	}
	last := r.result.Turns[len(r.result.Turns)-1]
	whole := *last
	whole.Calls, whole.Delegates, whole.Handoffs, whole.Artifacts = nil, nil, nil, nil
	whole.Steps, whole.Usage, whole.Cost, whole.Duration, whole.Verdicts = 0, event.Usage{}, nil, 0, nil
	var prompts []string
	for _, t := range r.result.Turns {
		prompts = append(prompts, t.Prompt)
		whole.Calls, whole.Delegates = append(whole.Calls, t.Calls...), append(whole.Delegates, t.Delegates...)
		whole.Handoffs, whole.Artifacts = append(whole.Handoffs, t.Handoffs...), append(whole.Artifacts, t.Artifacts...)
		whole.Steps, whole.Duration = whole.Steps+t.Steps, whole.Duration+t.Duration
		whole.Usage.Add(t.Usage)
		whole.Cost = addCost(whole.Cost, t.Cost)
	}
	whole.Prompt = strings.Join(prompts, "\n\n")
	err := r.checkTurn(ctx, 0, &r.c.Expect, "expect", &whole)
	last.Verdicts = append(last.Verdicts, whole.Verdicts...)
	return err
}

// checkTurn checks a turn, or the whole conversation as turn 0, and has judges grade it. base is
// the path of the expectations in the case.
func (r *run) checkTurn(ctx context.Context, n int, expect *Expectations, base string, turn *TurnResult) error {
	k := &checker{compiled: r.compiled, base: base, turn: turn}
	for _, f := range k.checkTurn(ctx, expect) {
		r.addFailure(n, f.Field, f.Message)
	}
	for i := range expect.Judges {
		v, err := r.grade(ctx, &expect.Judges[i], turn)
		if err != nil {
			return err
		}
		r.addVerdict(n, diag.Index("judges", i), turn, v)
	}
	if n == 0 {
		return nil // a team's own graders grade each turn
	}
	for name, grade := range r.graders {
		score, comment, err := grade(ctx, r.c, turn)
		if err == nil && !(score >= 0 && score <= 1) { // NaN is neither
			err = fmt.Errorf("the score %v must be 0 to 1", score)
		}
		if err != nil {
			return fmt.Errorf("grader %s: %w", name, err)
		}
		r.addVerdict(n, "grader "+name, turn, Verdict{Judge: name, Score: score, Comment: comment, Pass: score >= defaultPass})
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
	if err := r.c.checkStart(agent); err != nil {
		return err
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
	kept, err := sessionstart.Run(ctx, agent.SessionStart, "")
	if err != nil {
		return err
	}
	if before, ok := sessionstart.ContextOf(kept); ok {
		r.conversation.History = []model.Message{before}
	}
	return nil
}

// checkStart returns an error if the case must not reach its agent.
func (c *Case) checkStart(agent *spec.Agent) error {
	if use := c.Tools[c.Agent]; (!agent.Local() || agent.Hosted()) && (use == nil || !use.Real) {
		return fmt.Errorf("agent %s runs elsewhere: write tools: {%s: {real: true}} to let the case reach it", agent.ID, c.Agent)
	}
	if len(agent.SessionStart) > 0 && c.SessionStart == "" {
		return fmt.Errorf("agent %s has session_start programs: set session_start to real or skip", agent.ID)
	}
	return nil
}

// runTurn runs a turn and adds it to the conversation. An error means that the run says nothing
// about the agent.
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
	unanswered := r.answerAll(ctx, turn, seen)
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
	if _, open := errors.AsType[*unansweredError](unanswered); open {
		out.Status, out.Termination = event.StatusWaiting, event.Termination{Type: event.Suspended, Detail: unanswered.Error()}
		unanswered = nil
	}
	r.continueFrom(&req, result)
	return out, unanswered
}

// continueFrom continues the conversation from the result of a turn.
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

// answerAll answers the interactions of a turn until the turn ends. If one has no answer, it
// cancels the turn and returns the reason.
func (r *run) answerAll(ctx context.Context, turn *runtime.Turn, seen *transcript) (err error) {
	for {
		select {
		case <-turn.Done():
			return err
		case <-seen.waits:
		}
		for _, q := range turn.Interactions() {
			answer, wrong := r.answerRequest(ctx, r.c.Answers, q)
			if wrong == nil {
				wrong = turn.Answer(answer)
			}
			if wrong == nil || ctx.Err() != nil || err != nil {
				continue
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
		data, err := readFile(a.Path, maxDataSize)
		if err != nil {
			return m, fmt.Errorf("read attachment: %w", err)
		}
		mediaType := cmp.Or(a.MediaType, mime.TypeByExtension(filepath.Ext(a.Path)), "application/octet-stream")
		m.Parts = append(m.Parts, model.File(&model.Blob{MediaType: mediaType, Data: data, Name: filepath.Base(a.Path)}))
	}
	return m, nil
}
