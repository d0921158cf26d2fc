package scripted

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// program is a checked and prepared script, so that answering costs almost nothing.
type program struct {
	replies []reply
	// fallback is nil for the echo.
	fallback *reply
	// linear is set if a reply's number is the number of answers in the run; forgetful if a reply
	// may leave no trace in a conversation.
	linear, forgetful bool
	// open holds the texts of incomplete replies.
	open []string
}

// reply is a prepared Reply.
type reply struct {
	match matcher
	// number is the reply's index in the script, from 0; -1 for the fallback.
	number int
	// events are all events except the finish.
	events []model.Event
	// text is the joined text of the events.
	text              string
	delay, chunkDelay time.Duration

	finish model.FinishReason
	// usage is nil if estimated; then output and reasoning count.
	usage             *model.Usage
	output, reasoning int

	// failure, if not nil, replaces the finish. A stall is silent there until the call ends.
	failure *model.Error
	stall   bool
	times   int
	// kept is the id of the first complete call when the reply fails.
	kept string

	// open is set if another reply may continue the text, which the output limit or a failure cut
	// off.
	open bool
}

// breaksOff reports whether the reply is interrupted.
func (r *reply) breaksOff() bool { return r.failure != nil || r.stall }

// isSilent reports whether the reply leaves no trace in a conversation: the output limit truncated
// it before any text.
func (r *reply) isSilent() bool { return r.open && r.text == "" && !r.breaksOff() }

// keptIn reports whether an answer is the reply although it failed: complete calls stay valid.
func (r *reply) keptIn(m *model.Message) bool {
	return r.kept != "" && slices.ContainsFunc(m.Parts, func(p model.Part) bool {
		return p.ToolCall != nil && p.ToolCall.ID == r.kept
	})
}

// matcher is the condition of a reply. The zero matcher matches every text.
type matcher struct {
	text    string
	pattern *regexp.Regexp
}

func (m *matcher) matchesText(text string) bool {
	if m.pattern != nil {
		return m.pattern.MatchString(text)
	}
	return m.text == "" || strings.Contains(text, m.text)
}

// compiler turns a script into a program and collects its faults.
type compiler struct {
	faults diag.List
	// calls counts the script's tool calls, to number those without an id.
	calls int
}

func compileScript(script *Script) (*program, diag.List) {
	c := &compiler{}
	p := &program{replies: make([]reply, len(script.Replies)), linear: true}
	for i := range script.Replies {
		path := diag.Index("replies", i)
		r := &p.replies[i]
		*r = c.compileReply(&script.Replies[i], path)
		r.number = i
		p.forgetful = p.forgetful || r.breaksOff() || r.isSilent()
		p.linear = p.linear && r.match == (matcher{}) && !r.breaksOff() && !r.open
		p.addOpen(r)
	}
	if f := script.Fallback; f != nil {
		r := c.compileReply(f, "fallback")
		r.number = -1
		p.fallback = &r
		p.addOpen(&r)
		if f.Match != "" {
			c.addFault("fallback.match", "the fallback must not have a match")
		}
		if f.Error != nil && f.Error.Times != 0 {
			c.addFault("fallback.error.times", "a fallback fails always; times is for replies")
		}
	}
	return p, c.faults
}

func (p *program) addOpen(r *reply) {
	if r.open && !slices.Contains(p.open, r.text) {
		p.open = append(p.open, r.text)
	}
}

func (c *compiler) addFault(path, format string, args ...any) {
	c.faults = append(c.faults, diag.New(diag.InvalidValue, path, format, args...))
}

func (c *compiler) compileReply(in *Reply, path string) reply {
	r := reply{
		match: c.compileMatcher(in.Match, path), text: in.Text, delay: in.Delay, chunkDelay: in.ChunkDelay,
		finish: c.finishReason(in, path), usage: in.Usage, output: estimateTokens(replyBytes(in)),
	}
	if in.Reasoning != "" {
		r.reasoning = estimateTokens(len(in.Reasoning))
	}
	c.notNegative(diag.Key(path, "chunks"), in.Chunks)
	c.notNegative(diag.Key(path, "delay"), int(in.Delay))
	c.notNegative(diag.Key(path, "chunk_delay"), int(in.ChunkDelay))
	c.checkUsage(in.Usage, diag.Key(path, "usage"))
	chunks := in.Chunks
	if in.Error != nil && chunks == 0 {
		chunks = in.Error.AfterChunks
	}
	r.events = c.replyEvents(in, max(chunks, 1), path)
	r.open = r.finish == model.FinishMaxTokens && !slices.ContainsFunc(in.ToolCalls, isCompleteCall)
	if in.Error != nil {
		c.compileFailure(&r, in.Error, diag.Key(path, "error"))
	}
	return r
}

// isCompleteCall reports whether a call can be executed. A call truncated by the output limit
// cannot.
func isCompleteCall(call model.ToolCall) bool {
	return len(call.Arguments) == 0 || json.Valid(call.Arguments)
}

func (c *compiler) compileMatcher(source, path string) matcher {
	expression, ok := strings.CutPrefix(source, "/")
	if ok {
		expression, ok = strings.CutSuffix(expression, "/")
	}
	if !ok || expression == "" {
		return matcher{text: source}
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		c.addFault(diag.Key(path, "match"), "match is not a valid regular expression: %v", err)
		return matcher{}
	}
	return matcher{pattern: pattern}
}

func (c *compiler) finishReason(in *Reply, path string) model.FinishReason {
	switch in.FinishReason {
	case model.FinishStop, model.FinishToolCalls, model.FinishMaxTokens, model.FinishContentFilter:
		return in.FinishReason
	case "":
	default:
		c.addFault(diag.Key(path, "finish_reason"), "finish_reason is %q; allowed are stop, tool_calls, max_tokens and content_filter", in.FinishReason)
	}
	if len(in.ToolCalls) > 0 {
		return model.FinishToolCalls
	}
	return model.FinishStop
}

func (c *compiler) notNegative(path string, n int) {
	if n < 0 {
		name := path[strings.LastIndexByte(path, '.')+1:]
		c.addFault(path, "%s must be 0 or more", name)
	}
}

func (c *compiler) checkUsage(u *model.Usage, path string) {
	if u == nil {
		return
	}
	c.notNegative(diag.Key(path, "input_tokens"), u.Input)
	c.notNegative(diag.Key(path, "output_tokens"), u.Output)
	c.notNegative(diag.Key(path, "cached_tokens"), u.CacheRead)
	c.notNegative(diag.Key(path, "cache_write_tokens"), u.CacheWrite)
	c.notNegative(diag.Key(path, "reasoning_tokens"), u.Reasoning)
}

func replyBytes(in *Reply) int {
	n := len(in.Reasoning) + len(in.Text)
	for i := range in.ToolCalls {
		n += len(in.ToolCalls[i].Name) + len(in.ToolCalls[i].Arguments)
	}
	return n
}

// replyEvents returns the events of a reply up to its finish.
func (c *compiler) replyEvents(in *Reply, chunks int, path string) []model.Event {
	var events []model.Event
	for _, delta := range splitText(in.Reasoning, chunks) {
		events = append(events, model.Event{Type: model.EventReasoning, Delta: delta})
	}
	for _, delta := range splitText(in.Text, chunks) {
		events = append(events, model.Event{Type: model.EventText, Delta: delta})
	}
	for i := range in.ToolCalls {
		call := &in.ToolCalls[i]
		c.calls++
		if call.Name == "" {
			c.addFault(diag.Key(diag.Index(diag.Key(path, "tool_calls"), i), "name"), "a tool call needs the name of a tool")
		}
		id, arguments := call.ID, string(call.Arguments)
		if id == "" {
			id = "call_" + strconv.Itoa(c.calls)
		}
		if arguments == "" {
			arguments = "{}"
		}
		events = append(events, model.Event{Type: model.EventToolCallStart, Index: i, ID: id, Name: call.Name})
		for _, delta := range splitText(arguments, chunks) {
			events = append(events, model.Event{Type: model.EventToolCallDelta, Index: i, Delta: delta})
		}
		events = append(events, model.Event{Type: model.EventToolCallEnd, Index: i})
	}
	return events
}

// splitText splits text into pieces of about equal length, at most one per character.
func splitText(text string, pieces int) []string {
	if text == "" {
		return nil
	}
	starts := make([]int, 0, len(text))
	for i := range text {
		starts = append(starts, i)
	}
	pieces = min(pieces, len(starts))
	out := make([]string, pieces)
	for i := range out {
		end := len(text)
		if i+1 < pieces {
			end = starts[(i+1)*len(starts)/pieces]
		}
		out[i] = text[starts[i*len(starts)/pieces]:end]
	}
	return out
}

// compileFailure makes a reply fail after some of its deltas.
func (c *compiler) compileFailure(r *reply, in *Failure, path string) {
	c.checkFailure(in, path)
	r.times = max(in.Times, 1)
	if r.stall = in.Stall; !r.stall {
		r.failure = failureOf(in)
	}
	deltas := 0
	for i := range r.events {
		if isDelta(&r.events[i]) {
			deltas++
		}
	}
	if in.AfterChunks > deltas {
		c.addFault(diag.Key(path, "after_chunks"), "after_chunks is %d, but the reply is streamed in %s", in.AfterChunks, countNoun(deltas, "delta"))
	}
	r.events = cutEvents(r.events, in.AfterChunks)
	r.text = ""
	first := ""
	for i := range r.events {
		switch ev := &r.events[i]; ev.Type {
		case model.EventText:
			r.text += ev.Delta
		case model.EventToolCallStart:
			first = cmp.Or(first, ev.ID)
		case model.EventToolCallEnd:
			r.kept = first // calls complete in the order they start
		default:
		}
	}
	r.open = r.text != "" && r.kept == ""
}

// failureOf returns the error of a failure.
func failureOf(in *Failure) *model.Error {
	message := in.Message
	if message == "" && in.Status != 0 {
		message = strings.ToLower(http.StatusText(in.Status))
	}
	return &model.Error{
		Class: in.Class, Message: cmp.Or(message, "the script says so"), Status: in.Status, RetryAfter: in.RetryAfter,
	}
}

// cutEvents returns the events up to the n-th delta, and the end of the tool call
// when that was the last of its arguments.
func cutEvents(events []model.Event, n int) []model.Event {
	for i := range events {
		if n == 0 && events[i].Type != model.EventToolCallEnd {
			return events[:i]
		}
		if isDelta(&events[i]) {
			n--
		}
	}
	return events
}

func isDelta(ev *model.Event) bool {
	return ev.Type == model.EventText || ev.Type == model.EventReasoning || ev.Type == model.EventToolCallDelta
}

func (c *compiler) checkFailure(in *Failure, path string) {
	switch {
	case in.Stall:
		if in.Class != "" || in.Message != "" || in.Status != 0 || in.RetryAfter != 0 {
			c.addFault(diag.Key(path, "stall"), "a stall says nothing: it has no class, message, status and retry_after")
		}
	case in.Class == "":
		c.addFault(diag.Key(path, "class"), "an error needs a class, such as rate_limited, or stall: true")
	case !slices.Contains(model.RequestErrors(), in.Class):
		var names []string
		for _, class := range model.RequestErrors() {
			names = append(names, string(class))
		}
		c.addFault(diag.Key(path, "class"), "class is %q; allowed are %s", in.Class, strings.Join(names, ", "))
	}
	c.notNegative(diag.Key(path, "times"), in.Times)
	c.notNegative(diag.Key(path, "after_chunks"), in.AfterChunks)
	c.notNegative(diag.Key(path, "retry_after"), int(in.RetryAfter))
	if s := in.Status; s != 0 && (s < 400 || s > 599) {
		c.addFault(diag.Key(path, "status"), "status is %d; an error has one from 400 to 599", s)
	}
}

func countNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
