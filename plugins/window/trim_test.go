package window_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/google/go-cmp/cmp"
)

const note = "user: [Earlier messages of this conversation w…"

func TestARequestThatFitsStaysAsItIs(t *testing.T) {
	conversation := []model.Message{model.User("hi"), calling("1"), result("1", words(2000))}
	c := begin(t, fits(3000), nil)
	c.before = []model.Message{model.System("prompt")}
	if diff := cmp.Diff(append(c.before, conversation...), c.request(conversation)); diff != "" {
		t.Error(diff)
	}
	if len(c.events) != 0 || len(c.session()) != 0 {
		t.Errorf("the events are %v, the session is left %s", c.events, c.session())
	}
}

func TestResultsOfEarlierStepsAreShortened(t *testing.T) {
	long := words(3000) + "the end"
	conversation := []model.Message{model.User("hi"), calling("1"), result("1", long), calling("2"), result("2", long)}
	c := begin(t, fits(100_000), nil)
	sent := c.request(conversation)
	if got := sent[4].Parts[0].ToolResult.Content[0].Text; got != long {
		t.Errorf("the latest result is %q", got)
	}
	want := strings.Repeat("abc ", 200) + "\n[… 10407 bytes left out …]\n" + strings.Repeat(" abc", 198) + " the end"
	if diff := cmp.Diff(want, sent[2].Parts[0].ToolResult.Content[0].Text); diff != "" {
		t.Error(diff)
	}
	if conversation[2].Parts[0].ToolResult.Content[0].Text != long {
		t.Error("the conversation itself was shortened")
	}
	effect := eventsOf[*event.ContextTrimmed](c)
	if len(effect) != 1 || effect[0].Previews != 1 || effect[0].Dropped != 0 || effect[0].After >= effect[0].Before {
		t.Errorf("the events are %+v", effect)
	}
}

func TestALatestResultThatDoesNotFitIsShortened(t *testing.T) {
	conversation := []model.Message{model.User("hi"), calling("1", "2"), {Role: model.RoleTool, Parts: slices.Concat(
		result("1", words(3000)).Parts, result("2", "short").Parts)}}
	sent := begin(t, fits(2500), nil).request(conversation)
	if got := sent[2].Parts[0].ToolResult.Content[0].Text; !strings.Contains(got, "left out …]") {
		t.Errorf("the long result is %q", got)
	}
	if got := sent[2].Parts[1].ToolResult.Content[0].Text; got != "short" {
		t.Errorf("the short result is %q", got)
	}
}

func TestWhatDoesNotFitIsLeftOutInWholeGroups(t *testing.T) {
	ask, text := model.User("ask "+words(100)), model.Assistant("say "+words(100))
	for name, tt := range map[string]struct {
		conversation []model.Message
		budget       int
		recent       int
		want         []string
	}{
		"the oldest go": {
			[]model.Message{ask, text, ask, text, model.User("now")}, 400, 1,
			[]string{note, "user: ask abc abc abc abc abc abc abc abc abc …", "assistant: say abc abc abc abc abc abc abc abc abc …", "user: now"},
		},
		"system messages stay": {
			[]model.Message{model.System("a"), model.System("b"), ask, text, ask, text, model.User("now")}, 300, 1,
			[]string{"system: a", "system: b", note, "assistant: say abc abc abc abc abc abc abc abc abc …", "user: now"},
		},
		"a call goes with its result": {
			[]model.Message{ask, calling("1"), result("1", words(200)), calling("2"), result("2", "two")}, 250, 1,
			[]string{"user: ask abc abc abc abc abc abc abc abc abc …", note, "assistant: call 2", "tool: result 2 two"},
		},
		"the cut is pulled back to the call": {
			[]model.Message{ask, calling("1", "2"), result("1", words(200)), result("2", "two"), model.Assistant("ok"), model.User("now")}, 250, 3,
			[]string{note, "assistant: call 1 call 2", "tool: result 1 abc abc abc abc abc abc abc abc abc abc …", "tool: result 2 two", "assistant: ok", "user: now"},
		},
		"recent messages stay over budget": {
			[]model.Message{ask, text, ask, text}, 10, 3,
			[]string{note, "assistant: say abc abc abc abc abc abc abc abc abc …", "user: ask abc abc abc abc abc abc abc abc abc …", "assistant: say abc abc abc abc abc abc abc abc abc …"},
		},
		"what was not answered stays": {
			[]model.Message{ask, text, calling("1"), result("1", words(100)), model.System("note")}, 10, 0,
			[]string{"user: ask abc abc abc abc abc abc abc abc abc …", note, "assistant: call 1", "tool: result 1 abc abc abc abc abc abc abc abc abc abc …", "system: note"},
		},
		"nothing can go": {[]model.Message{ask}, 10, 0, []string{"user: ask abc abc abc abc abc abc abc abc abc …"}},
		"no budget":      {[]model.Message{ask, ask}, -1000, 0, []string{note, "user: ask abc abc abc abc abc abc abc abc abc …"}},
		"no messages":    {nil, 10, 0, nil},
		"system alone":   {[]model.Message{model.System(words(50))}, 10, 0, []string{"system: abc abc abc abc abc abc abc abc abc abc …"}},
	} {
		c := begin(t, fits(tt.budget, func(p *window.Policy) { p.MinRecentMessages = tt.recent }), nil)
		if diff := cmp.Diff(tt.want, outline(c.request(tt.conversation))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCallsAndResultsAreMadeToMatch(t *testing.T) {
	for name, tt := range map[string]struct {
		conversation []model.Message
		want         []string
	}{
		"no result":           {[]model.Message{calling("1"), model.User("?")}, []string{"assistant: call 1", "tool: result 1 [Tool execution was interrupted]!", "user: ?"}},
		"one of two":          {[]model.Message{calling("1", "2"), result("2", "b")}, []string{"assistant: call 1 call 2", "tool: result 1 [Tool execution was interrupted]! result 2 b"}},
		"in another order":    {[]model.Message{calling("1", "2"), result("2", "b"), result("1", "a")}, []string{"assistant: call 1 call 2", "tool: result 1 a result 2 b"}},
		"in several messages": {[]model.Message{calling("1", "2"), result("1", "a"), result("2", "b")}, []string{"assistant: call 1 call 2", "tool: result 1 a", "tool: result 2 b"}},
		"twice":               {[]model.Message{calling("1"), result("1", "a"), result("1", "b")}, []string{"assistant: call 1", "tool: result 1 a"}},
		"an id used twice":    {[]model.Message{calling("1", "1"), result("1", "a"), result("1", "b")}, []string{"assistant: call 1 call 1", "tool: result 1 a", "tool: result 1 b"}},
		"an id used again":    {[]model.Message{calling("1"), result("1", "a"), calling("1")}, []string{"assistant: call 1", "tool: result 1 a", "assistant: call 1", "tool: result 1 [Tool execution was interrupted]!"}},
		"no call":             {[]model.Message{model.User("?"), result("1", "a"), model.Assistant("ok"), result("1", "a")}, []string{"user: ?", "assistant: ok"}},
		"too late":            {[]model.Message{calling("1"), model.User("?"), result("1", "a")}, []string{"assistant: call 1", "tool: result 1 [Tool execution was interrupted]!", "user: ?"}},
		"broken parts": {
			[]model.Message{{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall}}}, result("1", "a"), {Role: model.RoleTool}, {}},
			[]string{"assistant: ", ":"},
		},
	} {
		if diff := cmp.Diff(tt.want, outline(begin(t, fits(1000), nil).request(tt.conversation))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestALongResultOfAnIncompleteGroupIsShortened(t *testing.T) {
	c := begin(t, fits(100_000), nil)
	sent := c.request([]model.Message{calling("1", "2"), result("1", words(3000)), model.Assistant("ok")})
	if got := sent[1].Parts[0].ToolResult.Content[0].Text; !strings.Contains(got, "left out …]") {
		t.Errorf("the result is %q", got)
	}
	if effect := eventsOf[*event.ContextTrimmed](c); len(effect) != 1 || effect[0].Previews != 1 {
		t.Errorf("the events are %+v", effect)
	}
}

func TestMessagesThatPluginsAddAreKept(t *testing.T) {
	c := begin(t, fits(300), nil)
	c.before = []model.Message{model.System("prompt"), model.User("memory")}
	c.after = []model.Message{model.System("suffix")}
	var conversation []model.Message
	for i := range 20 {
		conversation = append(conversation, model.User(fmt.Sprintf("ask %d %s", i, words(50))))
	}
	want := []string{
		"system: prompt", "user: memory", note, "user: ask 17 abc abc abc abc abc abc abc abc a…",
		"user: ask 18 abc abc abc abc abc abc abc abc a…", "user: ask 19 abc abc abc abc abc abc abc abc a…", "system: suffix",
	}
	if diff := cmp.Diff(want, outline(c.request(conversation))); diff != "" {
		t.Error(diff)
	}
}

// steps returns the conversation of a turn of so many steps.
func steps(n int) []model.Message {
	conversation := []model.Message{model.User("do it")}
	for i := range n {
		id := fmt.Sprint("c", i)
		conversation = append(conversation, calling(id), result(id, id+" "+words(80)))
	}
	return conversation
}

func TestTheCutStaysWhileTheRequestFits(t *testing.T) {
	const rounds = 200
	c := begin(t, fits(2000), nil)
	var cuts []string
	var before []string
	conversation := steps(rounds)
	for n := 1; n <= len(conversation); n += 2 {
		sent := outline(c.request(conversation[:n:n]))
		if sent[0] != "user: do it" {
			t.Fatalf("step %d has no task: %q", n, sent)
		}
		if i := slices.Index(sent, note); i > 0 && (len(cuts) == 0 || cuts[len(cuts)-1] != sent[i+1]) {
			cuts = append(cuts, sent[i+1])
			before = nil
		}
		if len(before) > 0 && !slices.Equal(before, sent[:len(before)]) {
			t.Fatalf("step %d does not begin as the one before: %q, %q", n, before, sent)
		}
		before = sent
	}
	if len(cuts) == 0 || len(cuts) > rounds/4 {
		t.Errorf("%d cuts in %d steps", len(cuts), rounds)
	}
	effects := eventsOf[*event.ContextTrimmed](c)
	if len(effects) != len(cuts) {
		t.Errorf("%d events of %d cuts", len(effects), len(cuts))
	}
	for _, e := range effects {
		if e.After > e.Limit || e.Limit != 2000 || e.After >= e.Before {
			t.Errorf("the effect is %+v", e)
		}
	}
}

func TestTheNextTurnHasTheSameCut(t *testing.T) {
	p := fits(2000)
	first := begin(t, p, nil)
	sent := first.request(steps(30))[1:] // the task is the first turn's alone
	grown := append(steps(33), model.Assistant("ok"), model.User("and now?"))
	again := begin(t, p, first.session()).request(grown)
	if diff := cmp.Diff(sent, again[:len(sent)]); diff != "" {
		t.Errorf("the next turn begins with another request: %s", diff)
	}

	edited := slices.Clone(grown)
	edited[0] = model.User("do something else")
	other := begin(t, p, first.session())
	if got := other.request(edited); cmp.Equal(outline(again), outline(got)) {
		t.Error("the cut is that of another conversation")
	}
	if cmp.Equal(first.session(), other.session()) {
		t.Error("the session keeps the cut of another conversation")
	}
}

func TestTheCutOfAnotherConversationIsForgotten(t *testing.T) {
	p := fits(2000)
	first := begin(t, p, nil)
	first.request(steps(30))
	other := begin(t, p, first.session())
	other.request([]model.Message{model.User("hello")})
	third := begin(t, p, other.session())
	if diff := cmp.Diff(outline(begin(t, p, nil).request(steps(33))), outline(third.request(steps(33)))); diff != "" {
		t.Error(diff)
	}
}

func TestARequestThatWasRewrittenFitsAllTheSame(t *testing.T) {
	conversation := steps(30)
	c := begin(t, fits(2000), nil)
	if err := c.prepare(t.Context(), conversation); err != nil {
		t.Fatal(err)
	}
	rewritten := []model.Message{model.System("prompt")}
	for _, m := range conversation {
		m.Parts = slices.Clone(m.Parts)
		rewritten = append(rewritten, m)
	}
	sent, err := c.engine.Transform(rewritten, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := outline(sent); got[0] != "system: prompt" || got[1] != "user: do it" || got[2] != note || len(got) > 40 {
		t.Errorf("sent is %q", got)
	}
}

func TestThePluginClaimsNoSection(t *testing.T) {
	if d := fits(1).Descriptor(); d.Summary == "" || len(d.Sections) != 0 {
		t.Errorf("the plugin is %+v", d)
	}
}

func TestARoomierAgentGetsAllBack(t *testing.T) {
	conversation := steps(40)
	tight := begin(t, fits(2000), nil)
	tight.request(conversation)
	sent := begin(t, fits(100_000), tight.session()).request(conversation)
	if diff := cmp.Diff(conversation, sent); diff != "" {
		t.Error(diff)
	}
}

func TestToolsTakeRoom(t *testing.T) {
	conversation := steps(10)
	c := begin(t, fits(2000), nil)
	c.tools = []model.Tool{{Name: "x", Description: words(1000)}}
	all := len(c.request(conversation))
	c.tools = nil
	if with := len(c.request(conversation)); all >= with {
		t.Errorf("%d messages with tools, %d without", all, with)
	}
}

func TestAnEffectIsShownOfARequestThatFailed(t *testing.T) {
	c := begin(t, fits(100), nil)
	conversation := steps(10)
	if err := c.prepare(t.Context(), conversation); err != nil {
		t.Fatal(err)
	}
	if _, err := c.engine.Transform(conversation, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.engine.Run(t.Context(), plugins.RunEnd); err != nil {
		t.Fatal(err)
	}
	if effects := eventsOf[*event.ContextTrimmed](c); len(effects) != 1 {
		t.Errorf("the events are %+v", effects)
	}
}

func TestTurnsDoNotDisturbEachOther(t *testing.T) {
	p := fits(1000)
	tools := [][]model.Tool{{{Name: "x"}}, {{Name: "y", Description: words(100)}}}
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			c := begin(t, p, nil)
			c.tools = tools[i%2]
			for n := 1; n < 50; n++ {
				c.request(steps(n))
			}
		})
	}
	group.Wait()
}
