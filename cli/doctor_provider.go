package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

// trialLimit limits how long a provider may take for one request.
const trialLimit = 2 * time.Minute

// checkProvider sends requests to a configured provider and shows the result.
func checkProvider(ctx context.Context, cmd *cobra.Command, p *program, files []string, o *doctorOptions) error {
	l, err := p.load(files, true, unheard())
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	defer l.close()
	rev, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	set := rev.Set()
	path := diag.Key("providers", o.provider)
	var faults diag.List
	for i := range list {
		if list[i].Severity == diag.Error && (list[i].Path == path || strings.HasPrefix(list[i].Path, path+".")) {
			faults = append(faults, list[i])
		}
	}
	exec, ok := set.Providers.Get(o.provider)
	switch {
	case len(faults) > 0:
		return l.refuse(faults, p.Err, command.Failed)
	case !ok:
		return command.Usagef(cmd, "no provider %q; %s", o.provider, listKnown(set.Providers.IDs()))
	}
	asked, err := findModel(set, o)
	if err != nil {
		return command.Usagef(cmd, "%w", err)
	}
	x := &providerCheck{loaded: l, path: path, provider: exec, model: asked, agent: findAgent(set, asked.ID)}
	found := &backend.Examination{Peer: "provider " + o.provider, Name: "model " + asked.ID + ": " + asked.UpstreamModel, Checks: x.run(ctx)}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range found.Checks {
		found.Checks[i].Seen, found.Checks[i].Want = l.file.Redact(found.Checks[i].Seen), l.file.Redact(found.Checks[i].Want)
	}
	return showExamination(command.NewOutput(&p.Streams, cmd, command.Unredacted), found)
}

// findModel returns the model to call: the named one, or else the provider's first.
func findModel(set *registry.Set, o *doctorOptions) (*spec.Model, error) {
	var of []string
	for _, id := range set.Models.IDs() {
		m, _ := set.Models.Get(id)
		if m.ProviderID == o.provider && (o.model == "" || o.model == id) {
			return m, nil
		}
		if m.ProviderID == o.provider {
			of = append(of, id)
		}
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("no model has provider_id: %s", o.provider)
	}
	return nil, fmt.Errorf("provider %q has no model %q; it has %s", o.provider, o.model, strings.Join(of, ", "))
}

// findAgent returns the first agent that runs on a model or on a pool with it; nil if absent.
func findAgent(set *registry.Set, modelID string) *spec.Agent {
	for _, id := range set.Agents.IDs() {
		a, _ := set.Agents.Get(id)
		pool, _ := set.Pools.Get(a.ModelID)
		if a.ModelID == modelID || pool != nil && slices.ContainsFunc(pool.Members, func(m spec.PoolMember) bool { return m.ModelID == modelID }) {
			return a
		}
	}
	return nil
}

// completeRequest adds the optional fields of an agent's requests.
func (x *providerCheck) completeRequest(req *model.Request) {
	req.Model, req.SessionID, req.Cache = x.model.UpstreamModel, "doctor", true
	if x.agent != nil {
		req.Params, req.Edits = model.OptionParams(&x.agent.ModelOptions), x.agent.Request
		if e := x.agent.ReasoningEffort; e != nil && e.Variable == "" {
			req.ReasoningEffort = e
		}
		if p := x.agent.ContextPolicy; p != nil && p.EnablePromptCache != nil {
			req.Cache = *p.EnablePromptCache
		}
	}
	if limit := x.model.MaxOutputTokens; limit != nil {
		req.MaxOutputTokens = *limit
	}
}

// providerCheck calls a model and collects the findings.
type providerCheck struct {
	loaded *loaded
	// path is the provider's path in the configuration.
	path     string
	provider model.Executor
	model    *spec.Model
	// agent is an agent that uses the model; its settings apply to the requests. nil if none does.
	agent  *spec.Agent
	checks []backend.Check
}

// run requests a text and then a tool call. It skips the tool call if the text got no answer.
func (x *providerCheck) run(ctx context.Context) []backend.Check {
	text := x.ask(ctx, "text", &model.Request{
		Messages: []model.Message{model.User("Count from one to ten, in words.")},
	})
	if text.failure != nil {
		x.addRejected()
		return x.checks
	}
	x.checkStream(text)
	call := x.ask(ctx, "tool", &model.Request{
		Messages: []model.Message{model.User("Call the tool note_word with the word apple.")},
		Tools: []model.Tool{{
			Name: "note_word", Description: "Notes a word.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		}},
	})
	if call.failure == nil {
		x.checkCall(call)
	}
	if source, ok := x.provider.(model.LimitSource); ok {
		x.checkLimits(ctx, source)
	}
	x.addRejected()
	return x.checks
}

// trial is one request and its decoded answer.
type trial struct {
	exchanges []*model.Exchange
	text      string
	name      string
	arguments string
	// pieces counts the pieces of text, and first is the time of the first event.
	pieces  int
	first   time.Duration
	usage   *model.Usage
	failure *model.Error
}

// ask sends a request and records the requests, rejections and answer.
func (x *providerCheck) ask(ctx context.Context, name string, req *model.Request) *trial {
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	t := &trial{}
	x.completeRequest(req)
	began := time.Now()
	configured := &model.Configured{Executor: x.provider, Params: model.OptionParams(&x.model.ModelOptions), Edits: x.model.Request}
	exec := &model.Watched{Executor: configured, Idle: trialLimit, FirstToken: trialLimit}
	for ev, err := range exec.Stream(model.WithExchanges(ctx, func(e *model.Exchange) { t.exchanges = append(t.exchanges, e) }), req) {
		if t.first == 0 {
			t.first = time.Since(began)
		}
		if err != nil {
			t.failure = model.AsError(err)
			break
		}
		t.take(&ev)
	}
	x.addExchanges(name, t)
	if t.failure != nil {
		x.add(name+" answer", backend.OutcomeError, t.failure.Error(), x.advise(t))
	}
	return t
}

// take adds one event of the answer.
func (t *trial) take(ev *model.Event) {
	switch ev.Type {
	case model.EventText:
		t.text += ev.Delta
		t.pieces++
	case model.EventToolCallStart:
		t.name = ev.Name
	case model.EventToolCallDelta:
		t.arguments += ev.Delta
	case model.EventFinish:
		if ev.Usage != nil {
			t.usage = new(*ev.Usage)
		}
	default: // reasoning and the like
	}
}

func (x *providerCheck) add(name string, outcome backend.Outcome, seen, want string) {
	x.checks = append(x.checks, backend.Check{Name: name, Outcome: outcome, Seen: terminal.OneLine(seen), Want: want})
}

// addExchanges records the requests, each with the reason for its rejection and the change that
// followed.
func (x *providerCheck) addExchanges(name string, t *trial) {
	for i, e := range t.exchanges {
		seen := fmt.Sprintf("%s %s with %s", e.Method, e.URL, strings.Join(fieldsOf(e.Body), ", "))
		if i == len(t.exchanges)-1 {
			x.add(name+" request", backend.OutcomeOK, seen, "")
			return
		}
		x.add(name+" request", backend.OutcomeWarning, fmt.Sprintf("%s; refused: %s", seen, e.Failure.Error()),
			"sent again with "+changeBetween(e.Body, t.exchanges[i+1].Body)+", as the runtime then does from the start; dialect, or request: {omit: […]}, saves the refusal")
	}
}

// checkStream records how the text arrived.
func (x *providerCheck) checkStream(t *trial) {
	seen := fmt.Sprintf("%q in %s, the first after %s", t.text, terminal.Count(t.pieces, "piece", "pieces"), t.first.Round(time.Millisecond))
	if t.text == "" {
		x.add("text answer", backend.OutcomeWarning, "no text", "an answer to a simple question has text; raise max_output_tokens if the model reasons")
	} else {
		x.add("text answer", backend.OutcomeOK, seen, "")
	}
	switch last := t.exchanges; {
	case len(last) > 0 && strings.Contains(last[len(last)-1].ContentType, "json"):
		x.add("stream", backend.OutcomeWarning, "the server sent a JSON document instead of a stream", "clients see an answer only when it is complete; switch streaming on at the server or gateway")
	case t.pieces == 1:
		x.add("stream", backend.OutcomeWarning, "the whole text came in one piece", "pieces as the model writes them; a proxy may buffer the answer")
	default:
		x.add("stream", backend.OutcomeOK, "the text came as it was written", "")
	}
	if t.usage == nil {
		x.add("usage", backend.OutcomeWarning, "the server reports no tokens", "without a count, max_tokens and max_cost limit nothing")
		return
	}
	x.add("usage", backend.OutcomeOK, fmt.Sprintf("%d tokens in, %d out", t.usage.Input, t.usage.Output), "")
}

// checkCall records whether the model called the tool.
func (x *providerCheck) checkCall(t *trial) {
	var arguments struct {
		Word string `json:"word"`
	}
	switch err := json.Unmarshal([]byte(t.arguments), &arguments); {
	case t.name == "":
		x.add("tool answer", backend.OutcomeWarning, fmt.Sprintf("no call, but the text %q", t.text),
			"the call note_word; agents with tools need a model, and a server, that can call them")
	case t.name != "note_word" || err != nil || arguments.Word == "":
		x.add("tool answer", backend.OutcomeError, fmt.Sprintf("the call %s %s", t.name, t.arguments), `the call note_word {"word":"apple"}`)
	default:
		x.add("tool answer", backend.OutcomeOK, fmt.Sprintf("the call %s %s", t.name, t.arguments), "")
	}
}

// addRejected records the fields that the server rejects.
func (x *providerCheck) addRejected() {
	learner, ok := x.provider.(model.FieldLearner)
	if !ok {
		return
	}
	if names := learner.RejectedFields(); len(names) > 0 {
		x.add("rejected fields", backend.OutcomeWarning, strings.Join(names, ", "),
			"a dialect that does not send them, or request: {omit: […]} on "+x.path)
	}
}

// fieldsOf returns a request's field names, sorted.
func fieldsOf(body []byte) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return []string{"a body that is not a JSON object"}
	}
	return slices.Sorted(maps.Keys(fields))
}

// changeBetween describes how a request's fields differ from an earlier request's.
func changeBetween(before, after []byte) string {
	var old, now map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(before, &old), json.Unmarshal(after, &now)); err != nil {
		return "another body"
	}
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, kept := now[name]; !kept {
			changes = append(changes, "no "+name)
		} else if string(old[name]) != string(now[name]) {
			changes = append(changes, "another "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, had := old[name]; !had {
			changes = append(changes, "the field "+name)
		}
	}
	return strings.Join(changes, ", ")
}
