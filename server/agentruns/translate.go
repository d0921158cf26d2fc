package agentruns

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// translator turns the log of a turn into the events of a run. It is a fold: the
// same log gives the same events with the same numbers, on every replica and
// however often it is read.
type translator struct {
	facts runFacts
	seq   uint64
	// turns counts the model calls that ended, and open is set when one has begun
	// since.
	turns int
	open  bool
	// text and calls belong to the current model call.
	text  strings.Builder
	calls []*event.ToolCallReady
	// shown is the first event of the current model call that a client may have shown;
	// 0 if none was.
	shown uint64
	// last is the text of the last completed model call, and model the model that answered it.
	last  string
	model modelUsed
	// spent is the usage of completed model calls, because the end of a canceled turn does not
	// report it. used is reported in the terminal event.
	spent event.Usage
	used  usage
	// asked holds the run's interactions by id, resolved the answered ones, and answered the
	// calls that the client has answered.
	asked    map[string]*event.InteractionRequest
	resolved map[string]bool
	answered map[string]bool
}

// runFacts is information about a run that is not in its log.
type runFacts struct {
	// Model is the requested model. For a pool it is the first member, because the answering one
	// is not known beforehand.
	Model modelUsed `json:"model"`
	// Thinks is set if the client requested the model's thoughts.
	Thinks bool `json:"thinks,omitempty"`
	// Local maps the model's names of client tools to the client's names.
	Local map[string]string `json:"local,omitempty"`
}

// kindLocal is the kind of a tool that the client runs itself.
const kindLocal = "local"

// subtypeLocalTimeout marks the end of a run that waited too long for a client tool.
const subtypeLocalTimeout = "error_local_tool_timeout"

func newTranslator(facts runFacts) *translator {
	return &translator{facts: facts, model: facts.Model}
}

// translateRecord returns the events for a record of the log. Records that clients do not see
// produce none.
func (t *translator) translateRecord(r *event.Record) ([]frame, error) {
	data, known := translated[r.Type]
	if !known {
		return nil, nil
	}
	if data == nil {
		ev, err := r.Event()
		if err != nil {
			return nil, err
		}
		data = ev.Data
	}
	var frames []frame
	for _, p := range t.payloadsFor(data) {
		t.seq++
		frames = append(frames, frame{Seq: t.seq, Type: p.eventKind(), Payload: p})
	}
	return frames, nil
}

// translated are the relevant record types, with the data type of those whose content does not
// matter.
var translated = map[event.Type]event.Data{
	event.TypeRunStart: &event.RunStart{}, event.TypeStepStart: &event.StepStart{}, event.TypeStreamReset: &event.StreamReset{},
	event.TypeTextDelta: nil, event.TypeReasoningDelta: nil, event.TypeToolCallReady: nil, event.TypeToolCallCancel: nil,
	event.TypeInferenceComplete: nil, event.TypeInteractionRequest: nil, event.TypeToolCallResumed: nil, event.TypeToolCallDone: nil,
	event.TypeLoopDetected: nil, event.TypeToolBudgetExceeded: nil, event.TypeRunFinish: nil,
}

func (t *translator) payloadsFor(data event.Data) []payload {
	switch d := data.(type) {
	case *event.RunStart:
		if t.seq == 0 {
			return []payload{started{}}
		}
		return t.takeBack()
	case *event.StepStart:
		t.open = true
		return t.takeBack()
	case *event.StreamReset:
		return t.takeBack()
	case *event.TextDelta:
		t.text.WriteString(d.Delta)
		t.noteDelta()
		return []payload{assistantDelta{Text: d.Delta}}
	case *event.ReasoningDelta:
		if t.facts.Thinks {
			t.noteDelta()
			return []payload{thinkingDelta{Text: d.Delta}}
		}
	case *event.ToolCallReady:
		t.calls = append(t.calls, d)
	case *event.ToolCallCancel:
		t.dropCall(d.ID)
	case *event.InferenceComplete:
		return t.messagePayloads(d)
	case *event.InteractionRequest:
		return t.askPayloads(d)
	case *event.ToolCallResumed:
		return t.answerPayloads(d)
	case *event.ToolCallDone:
		return t.callDonePayloads(d)
	case *event.LoopDetected:
		names := make([]string, len(d.Tools))
		for i, name := range d.Tools {
			names[i] = t.clientToolName(name)
		}
		return []payload{loopDetected{Count: d.Count, HardCutoff: d.HardCutoff, Tools: names}}
	case *event.ToolBudgetExceeded:
		return []payload{toolBudgetExceeded{Tool: t.clientToolName(d.Tool), MaxCalls: d.MaxCalls, Call: d.Call}}
	case *event.RunFinish:
		return []payload{t.finishPayload(d)}
	}
	return nil
}

// noteDelta notes that the next event is a delta.
func (t *translator) noteDelta() {
	if t.shown == 0 {
		t.shown = t.seq + 1
	}
}

// takeBack withdraws the partial answer of the current model call, which is repeated. It tells
// clients that received deltas.
func (t *translator) takeBack() []payload {
	from := t.shown
	t.forgetPartial()
	if from == 0 {
		return nil
	}
	return []payload{deltasReset{FromSeq: from}}
}

// forgetPartial drops the partial answer of the current model call.
func (t *translator) forgetPartial() {
	t.text.Reset()
	t.calls, t.shown = nil, 0
}

func (t *translator) dropCall(id string) {
	if i := slices.IndexFunc(t.calls, func(c *event.ToolCallReady) bool { return c.ID == id }); i >= 0 {
		t.calls = slices.Delete(t.calls, i, i+1)
	}
}

// messagePayloads returns the events of a completed model call: its text, and the calls that the
// server executes.
func (t *translator) messagePayloads(d *event.InferenceComplete) []payload {
	t.last = t.text.String()
	m := assistantMessage{Text: t.last, Turn: t.turns, FinishReason: finishReason(d.FinishReason)}
	list := make([]payload, 1, 1+len(t.calls))
	for _, c := range t.calls {
		delete(t.answered, c.ID) // some models reuse their ids
		m.ToolCalls = append(m.ToolCalls, toolUse{ID: c.ID, Name: t.clientToolName(c.Name), Input: rawjson.Object(c.Arguments)})
		if _, local := t.facts.Local[c.Name]; !local {
			list = append(list, toolCall{ToolUseID: c.ID, Name: c.Name, Input: rawjson.Object(c.Arguments)})
		}
	}
	list[0] = m
	t.turns++
	t.noteServedModel(d)
	t.spent.Add(d.Usage)
	t.open = false
	t.forgetPartial()
	return list
}

// noteServedModel records which model answered.
func (t *translator) noteServedModel(d *event.InferenceComplete) {
	if d.ModelID == "" || d.Provider == "" {
		return // the log of an older server
	}
	t.model.ID, t.model.Provider, t.model.VendorModelID = platformPrefix+d.ModelID, d.Provider, d.Model
}

// clientToolName returns the client's name of a tool, given the model's name.
func (t *translator) clientToolName(tool string) string {
	if name, local := t.facts.Local[tool]; local {
		return name
	}
	return tool
}

// finishReason returns the protocol's name of a reason; nil without a reason.
func finishReason(reason event.FinishReason) *string {
	name := string(reason)
	switch reason {
	case "":
		return nil
	case model.FinishStop:
		name = "end_turn"
	case model.FinishToolCalls:
		name = "tool_use"
	case model.FinishContentFilter:
		name = "refusal"
	}
	return &name
}

// callDonePayloads returns the event of a call that the server executed, or answered for the
// client.
func (t *translator) callDonePayloads(d *event.ToolCallDone) []payload {
	if d.Outcome == event.CallSuspended || t.answered[d.ID] {
		return nil
	}
	text := d.Result.Text()
	return []payload{toolResult{
		ToolUseID: d.ID, Name: t.clientToolName(d.Name), OK: d.Outcome == event.CallSucceeded, Summary: clip.At(summarySize, text), Result: echoText(text),
	}}
}

// finishPayload returns the one terminal event.
func (t *translator) finishPayload(d *event.RunFinish) payload {
	turns := t.turns
	if t.open {
		turns++ // the call that failed
	}
	spent := &d.Usage
	if *spent == (event.Usage{}) {
		spent = &t.spent
	}
	used := usage{Tokens: tokensOf(spent), Turns: turns, Model: t.model}
	t.used = used
	switch why := &d.Termination; {
	case why.Type == event.Canceled:
		return canceled{Reason: "user"}
	case why.Code == string(spec.StopMaxRounds) && (why.Type == event.BudgetExceeded || why.Type == event.Stopped):
		return runResult{Subtype: "error_max_tool_turns", Error: "the run used up its tool turns", usage: used}
	case why.Status() == event.StatusSucceeded && d.FinishReason == model.FinishMaxTokens:
		cut := *d
		cut.Termination = event.Termination{Type: event.Failed, Code: classTruncation}
		return t.failurePayload(&cut, used)
	case why.Status() == event.StatusSucceeded:
		text := ""
		if d.Result != nil {
			text = d.Result.Response
		}
		return runResult{OK: true, Subtype: "success", Text: &text, usage: used}
	default:
		return t.failurePayload(d, used)
	}
}

// outcomeFrame returns the terminal event of a run whose log lacks its end.
func (t *translator) outcomeFrame(o *event.Outcome) frame {
	t.turns = max(t.turns, o.Steps)
	p := t.finishPayload(o.RunFinish())
	t.seq++
	return frame{Seq: t.seq, Type: p.eventKind(), Payload: p}
}

// failurePayload returns the terminal event of a run that failed.
func (t *translator) failurePayload(d *event.RunFinish, used usage) payload {
	class := errorClass(d.Termination)
	e := runError{Error: errorText(class, &d.Termination), Code: class, ErrorClass: class, Retryable: retryable[class], usage: used}
	switch class {
	case classTruncation:
		e.Error = "Model output was truncated (stop_reason=" + string(cmp.Or(d.FinishReason, model.FinishMaxTokens)) + ")."
	case classLocalTimeout:
		e.Error, e.Subtype = t.timedOut()
	}
	if d.FinishReason != "" && !t.open {
		e.FinishReason = finishReason(d.FinishReason)
	}
	if partial := t.last; class == classTruncation || class == classUpstreamDeadline || d.Termination.Type == event.BudgetExceeded {
		if d.Result != nil && d.Result.Response != "" {
			partial = d.Result.Response
		}
		if partial != "" {
			e.PartialText = &partial
		}
	}
	return e
}

// askPayloads returns the event for an open interaction: the client returns a call's result, and
// any permitted caller answers approvals and the like.
func (t *translator) askPayloads(d *event.InteractionRequest) []payload {
	if t.asked[d.ID] != nil {
		return nil
	}
	setEntry(&t.asked, d.ID, d)
	if !forClient(d.Action) {
		return []payload{interactionOf(&d.Request, t.clientToolName(d.Tool))}
	}
	if d.Action != clienttool.Action {
		return []payload{localToolCall{ToolUseID: d.CallID, Name: d.Tool, Args: questionArgs(d), localEcho: localEcho{Kind: kindLocal}}}
	}
	call := localToolCall{ToolUseID: d.CallID, Name: d.Tool, Args: rawjson.Object(d.Arguments), localEcho: localEcho{Kind: kindLocal}}
	_ = json.Unmarshal(d.Parameters, &call.localEcho) // the tool's own; without them the call is a local one
	call.clipFields()
	return []payload{call}
}

// answerPayloads returns the event that shows an answer.
func (t *translator) answerPayloads(d *event.ToolCallResumed) []payload {
	asked := t.asked[d.TargetID]
	if asked == nil {
		return nil
	}
	again := t.resolved[d.TargetID]
	setEntry(&t.resolved, d.TargetID, true)
	switch {
	case !forClient(asked.Action) && again, forClient(asked.Action) && d.Action != "resume":
		return nil
	case !forClient(asked.Action):
		return []payload{interactionResolved{InteractionID: asked.ID, ToolUseID: callOf(asked.Tool, asked.CallID), Action: d.Action, Result: d.Result}}
	case asked.Action != clienttool.Action:
		setEntry(&t.answered, asked.CallID, true)
		text := echoText(answerText(d.Result))
		return []payload{localToolResultIn{ToolUseID: asked.CallID, Result: &text, Output: &text}}
	}
	var given struct {
		Result string  `json:"result"`
		Error  *string `json:"error"`
	}
	if json.Unmarshal(d.Result, &given) != nil {
		return nil
	}
	setEntry(&t.answered, asked.CallID, true)
	in := localToolResultIn{ToolUseID: asked.CallID}
	if given.Error != nil {
		text := echoText(*given.Error)
		in.Error = &text
	} else {
		text := echoText(given.Result)
		in.Result, in.Output = &text, &text
	}
	return []payload{in}
}

// timedOut describes the interaction that timed out. The client is at fault unless only approvals
// and the like were open.
func (t *translator) timedOut() (text, subtype string) {
	others := 0
	for id, asked := range t.asked {
		switch {
		case t.resolved[id]:
		case forClient(asked.Action):
			return "Timed out waiting for local tool result", subtypeLocalTimeout
		default:
			others++
		}
	}
	if others > 0 {
		return "Timed out waiting for the answer to an interaction", ""
	}
	return "Timed out waiting for local tool result", subtypeLocalTimeout
}

// setEntry sets an entry of a map and creates the map if needed: most streams need none of a
// translator's maps.
func setEntry[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}
