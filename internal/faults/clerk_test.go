package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"os"
	goruntime "runtime"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The tools of the clerk.
const (
	// look is a read, put is idempotent, and pay and sign must not be repeated. A person is asked
	// about sign.
	look = "look"
	put  = "put"
	pay  = "pay"
	sign = "sign"
	// hang emits nothing until it is stopped, wait waits for its file, and die kills the process.
	hang = "hang"
	wait = "wait"
	die  = "die"
	// talk shows much output, and grow allocates memory until it is stopped.
	talk = "talk"
	// delegate runs the deputy, and subdelegate runs the deputy's intern.
	delegate    = "agent_run_deputy"
	subdelegate = "agent_run_intern"
	grow        = "grow"
)

// plan is the task of a turn, as JSON in its only message.
type plan struct {
	// Turn is the id of the turn.
	Turn string `json:"turn"`
	// Steps lists the tools that the model calls, answer by answer.
	Steps [][]string `json:"steps"`
	// Pace is the maximum duration of one action.
	Pace time.Duration `json:"pace"`
	// File is the file that the tool wait waits for.
	File string `json:"file,omitempty"`
	// Below is the plan of each delegate that the turn calls.
	Below *plan `json:"below,omitempty"`
}

// argumentsOf returns the arguments of a call. A delegate gets a plan whose id is unique
// to the call.
func (p *plan) argumentsOf(step, i int) any {
	if tool := p.Steps[step][i]; tool != delegate && tool != subdelegate {
		return map[string]any{"pace": p.Pace, "file": p.File, "plan": p.Turn}
	}
	below := *p.Below
	below.Turn = p.Turn + "/" + callID(step, i)
	return map[string]any{"prompt": below.text()}
}

func (p *plan) text() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// callID names a call of a plan.
func callID(step, i int) string { return fmt.Sprintf("c%d.%d", step, i) }

// says returns the model's text in a step and at the end.
func (p *plan) says(step int) string {
	if step == len(p.Steps) {
		return fmt.Sprintf("Turn %s is done.", p.Turn)
	}
	return fmt.Sprintf("Step %d of turn %s.", step+1, p.Turn)
}

// did returns a tool's text about a call.
func did(tool, key string) string { return tool + " did " + key }

// clerk is a model that follows its most recent plan. Its answers depend only on the conversation.
type clerk struct {
	// working is called when a turn makes progress.
	working func(turnID string)
}

// Stream implements model.Executor.
func (c clerk) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		c.working(req.TurnID)
		p, step, err := read(req.Messages)
		if err != nil {
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: err.Error()})
			return
		}
		for i, ev := range answer(p, step) {
			if !take(ctx, p.Pace, p.Turn, step, i) {
				yield(model.Event{}, model.AsError(ctx.Err()))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// read returns the plan in a conversation and the number of completed steps.
func read(messages []model.Message) (*plan, int, error) {
	steps := 0
	for i := len(messages) - 1; i >= 0; i-- {
		switch messages[i].Role {
		case model.RoleAssistant:
			steps++
		case model.RoleUser:
			p := new(plan)
			err := json.Unmarshal([]byte(messages[i].Text()), p)
			return p, steps, err
		}
	}
	return nil, 0, fmt.Errorf("there is no plan in %d messages", len(messages))
}

// answer returns the model's events in a step.
func answer(p *plan, step int) []model.Event {
	text := p.says(step)
	events := []model.Event{{Type: model.EventText, Delta: text[:5]}, {Type: model.EventText, Delta: text[5:]}}
	reason := model.FinishStop
	if step < len(p.Steps) {
		reason = model.FinishToolCalls
		for i, tool := range p.Steps[step] {
			arguments, err := json.Marshal(p.argumentsOf(step, i))
			if err != nil {
				panic(err)
			}
			events = append(events,
				model.Event{Type: model.EventToolCallStart, Index: i, ID: callID(step, i), Name: tool},
				model.Event{Type: model.EventToolCallEnd, Index: i, Delta: string(arguments)})
		}
	}
	return append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, Output: 5}})
}

// take waits for a part of the pace that depends on what. It returns false if ctx ended before.
func take(ctx context.Context, pace time.Duration, what ...any) bool {
	h := fnv.New32a()
	fmt.Fprint(h, what...)
	timer := time.NewTimer(pace * time.Duration(h.Sum32()%100) / 100)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// act is a tool that reports its calls to the witness.
type act struct {
	effect  tools.Effect
	witness *witness
	working func(turnID string)
	do      func(ctx context.Context, call *tools.Call, pace time.Duration, file string) error
}

func (a *act) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "for tests", Effect: a.effect,
		Parameters: json.RawMessage(`{"type":"object","properties":{"pace":{"type":"integer"},"file":{"type":"string"},"plan":{"type":"string"}}}`),
	}
}

func (a *act) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var args struct {
		Pace time.Duration `json:"pace"`
		File string        `json:"file"`
		Plan string        `json:"plan"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tools.Result{}, err
	}
	a.witness.note(begins, call, a.effect, args.Plan)
	a.working(call.TurnID)
	if err := a.do(ctx, call, args.Pace, args.File); err != nil {
		a.witness.note(stops, call, a.effect, args.Plan)
		return tools.Result{}, err
	}
	a.witness.note(ends, call, a.effect, args.Plan)
	return tools.TextResult(did(call.Tool, call.IdempotencyKey)), nil
}

// spend is the action of most tools.
func spend(ctx context.Context, call *tools.Call, pace time.Duration, _ string) error {
	if !take(ctx, pace, call.IdempotencyKey) {
		return ctx.Err()
	}
	return nil
}

func untilStopped(ctx context.Context, _ *tools.Call, _ time.Duration, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func untilThere(ctx context.Context, _ *tools.Call, _ time.Duration, file string) error {
	return poll(ctx, func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

func killSelf(ctx context.Context, _ *tools.Call, _ time.Duration, _ string) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// The output of the tool talk.
const (
	talkTimes = 20_000
	talkSize  = 1 << 10
)

func chatter(ctx context.Context, call *tools.Call, _ time.Duration, _ string) error {
	text := make([]byte, talkSize)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	for i := 0; i < talkTimes && ctx.Err() == nil; i++ {
		call.Host.Progress(string(text))
	}
	return ctx.Err()
}

// takeMemory allocates memory, up to a gigabyte, until it is stopped.
func takeMemory(ctx context.Context, _ *tools.Call, _ time.Duration, _ string) error {
	const piece, most = 8 << 20, 1 << 30
	var taken [][]byte
	for len(taken) < most/piece && take(ctx, 10*time.Millisecond, len(taken)) {
		taken = append(taken, bytes.Repeat([]byte("x"), piece))
	}
	<-ctx.Done()
	goruntime.KeepAlive(taken)
	return ctx.Err()
}

// poll repeats done until it returns true or ctx ends.
func poll(ctx context.Context, done func() bool) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// office returns a runtime with the agent clerk, its deputy and the deputy's intern.
func office(w *witness, working func(turnID string)) (*runtime.AgentRuntime, error) {
	rounds := 0
	b := builder.New().WithProvider("fake", clerk{working}).WithModel(spec.Model{ID: "clerk", ProviderID: "fake", UpstreamModel: "clerk"})
	b.WithPlugin("permission", permission.New())
	b.WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "clerk", MaxRounds: &rounds, Delegates: []string{"deputy"}, PluginIDs: []string{"permission"}, Sections: spec.Sections{
		permission.SectionKey: json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"sign","behavior":"ask"}]}`),
	}})
	b.WithAgentSpec(spec.Agent{ID: "deputy", ModelID: "clerk", MaxRounds: &rounds, Delegates: []string{"intern"}})
	b.WithAgentSpec(spec.Agent{ID: "intern", ModelID: "clerk", MaxRounds: &rounds})
	for id, a := range map[string]act{
		look: {effect: tools.Read, do: spend},
		put:  {effect: tools.Idempotent, do: spend},
		pay:  {effect: tools.Once, do: spend},
		sign: {effect: tools.Once, do: spend},
		hang: {effect: tools.Idempotent, do: untilStopped},
		wait: {effect: tools.Idempotent, do: untilThere},
		die:  {effect: tools.Idempotent, do: killSelf},
		talk: {effect: tools.Read, do: chatter},
		grow: {effect: tools.Idempotent, do: takeMemory},
	} {
		a.witness, a.working = w, working
		b.WithTool(id, &a)
	}
	return b.Build()
}
