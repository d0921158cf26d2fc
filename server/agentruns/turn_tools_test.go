package agentruns

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// brought describes the tools of a run as they are kept with its turn.
func brought(t *testing.T, refs string) []service.EphemeralTool {
	t.Helper()
	r := read(t, tool(refs))
	list := make([]service.EphemeralTool, len(r.tools))
	for i := range r.tools {
		list[i] = service.EphemeralTool{Kind: r.tools[i].Kind, Config: r.tools[i].raw}
	}
	return list
}

// must makes tools and sees to it that they are released.
func (t *TurnTools) must(tb *testing.T, refs string) map[string]tools.Tool {
	tb.Helper()
	made, release, err := t.Make(tb.Context(), brought(tb, refs))
	if err != nil {
		tb.Fatal(err)
	}
	if release != nil {
		tb.Cleanup(release)
	}
	byID := make(map[string]tools.Tool)
	for _, m := range made {
		byID[m.ID] = m.Tool
	}
	if len(byID) != len(made) {
		tb.Errorf("two of %d tools have one id", len(made))
	}
	return byID
}

func ids(made map[string]tools.Tool) []string {
	var list []string
	for id := range made {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

const (
	fsRef    = `{"kind":"mcp","name":"fs","url":"https://fs.example/mcp","headers":{"Authorization":"Bearer x"},"toolFilter":["read","write"]}`
	clerkRef = `{"kind":"a2a","name":"clerk","agentCardUrl":"https://clerk.example/card.json","headers":{"X":"y"},"contextId":"c7"}`
)

func TestTheToolsOfEachKind(t *testing.T) {
	var asked MCPServer
	maker := NewTurnTools(TurnToolsSettings{ConnectMCP: func(_ context.Context, s MCPServer) ([]tools.Member, func(), error) {
		asked = s
		return []tools.Member{{ID: "fs_read", Tool: noop{}}, {ID: "fs_write", Tool: noop{}}}, nil, nil
	}})
	made := maker.must(t, fsRef+","+clerkRef+`,{"kind":"local","name":"look"},{"kind":"a2a_local","name":"peer","agentCard":{"name":"P"}},{"kind":"mcp_local","name":"m","tools":[{"name":"a-b"}]}`)
	if got := ids(made); !slices.Equal(got, []string{"a-b", "clerk", "fs_read", "fs_write", "look", "peer"}) {
		t.Errorf("there are %v", got)
	}
	if asked.Name != "fs" || asked.URL != "https://fs.example/mcp" || asked.Headers["Authorization"] != "Bearer x" || !slices.Equal(asked.Tools, []string{"read", "write"}) {
		t.Errorf("the server is reached as %+v", asked)
	}
	for id, one := range made {
		if _, found := toolset.Compile(id, one, toolset.Source{Kind: toolset.SourceTurn}); found.HasErrors() {
			t.Errorf("%s: %v", id, found)
		}
	}
}

func TestAServerThatCannotBeReachedIsOneToolThatSaysSo(t *testing.T) {
	long := strings.Repeat("n", 64)
	for name, c := range map[string]struct {
		connect func(context.Context, MCPServer) ([]tools.Member, func(), error)
		why     string
	}{
		"refused": {func(context.Context, MCPServer) ([]tools.Member, func(), error) {
			return nil, nil, errors.New("connection refused")
		}, "connection refused"},
		"panic": {func(context.Context, MCPServer) ([]tools.Member, func(), error) { panic("boom") }, "boom"},
		"none":  {nil, errNoMCP.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			made := NewTurnTools(TurnToolsSettings{ConnectMCP: c.connect}).must(t, fsRef+`,{"kind":"mcp","name":"`+long+`","url":"https://x.example"},{"kind":"local","name":"look"}`)
			if got := ids(made); !slices.Equal(got, []string{"fs_unavailable", "look", long[:52] + "_unavailable"}) {
				t.Fatalf("there are %v", got)
			}
			entry, found := toolset.Compile("fs_unavailable", made["fs_unavailable"], toolset.Source{Kind: toolset.SourceTurn})
			if entry == nil {
				t.Fatal(found)
			}
			result := entry.Execute(t.Context(), &tools.Call{Arguments: json.RawMessage(`{}`)})
			if text := model.PartsText(result.Content); !result.IsError || !strings.Contains(text, c.why) || strings.Contains(entry.Descriptor.Description, c.why) {
				t.Errorf("it says %q, and of itself %q", text, entry.Descriptor.Description)
			}
		})
	}
}

func TestAServerThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		made := NewTurnTools(TurnToolsSettings{ConnectMCP: func(ctx context.Context, _ MCPServer) ([]tools.Member, func(), error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}}).must(t, fsRef+`,{"kind":"mcp","name":"other","url":"https://x.example"}`)
		if got := ids(made); !slices.Equal(got, []string{"fs_unavailable", "other_unavailable"}) || time.Since(began) != connectTimeout {
			t.Errorf("there are %v after %s", got, time.Since(began))
		}
	})
}

func TestServersAreLeftWhenTheToolsAreReleased(t *testing.T) {
	var open atomic.Int64
	connect := func(context.Context, MCPServer) ([]tools.Member, func(), error) {
		open.Add(1)
		return nil, func() {
			if open.Add(-1) == 0 {
				panic("the last one slams the door")
			}
		}, nil
	}
	maker := NewTurnTools(TurnToolsSettings{ConnectMCP: connect})
	list := brought(t, fsRef+`,{"kind":"mcp","name":"other","url":"https://x.example"}`)
	_, release, err := maker.Make(t.Context(), list)
	if err != nil || open.Load() != 2 {
		t.Fatalf("%d are open, %v", open.Load(), err)
	}
	release()
	if n := open.Load(); n != 0 {
		t.Errorf("%d are still open", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := maker.Make(ctx, list); !errors.Is(err, context.Canceled) || open.Load() != 0 {
		t.Errorf("%v, and %d are open", err, open.Load())
	}
}

func TestAServerTakesNoNameFromTheSpec(t *testing.T) {
	made := NewTurnTools(TurnToolsSettings{ConnectMCP: func(context.Context, MCPServer) ([]tools.Member, func(), error) {
		return []tools.Member{{ID: "fs_read", Tool: noop{}}, {ID: "fs_read", Tool: noop{}}, {ID: "fs_list", Tool: noop{}}}, nil, nil
	}}).must(t, fsRef+`,{"kind":"local","name":"fs_read"}`)
	if _, theirs := made["fs_read"].(noop); theirs || len(made) != 2 {
		t.Errorf("there are %v, fs_read is a %T", ids(made), made["fs_read"])
	}
}

func TestAnAgentElsewhereIsTold(t *testing.T) {
	var heard PeerCall
	fails := false
	maker := NewTurnTools(TurnToolsSettings{CallPeer: func(_ context.Context, c PeerCall) (string, error) {
		heard = c
		if fails {
			return "", errors.New("it is closed")
		}
		return "hello", nil
	}})
	say := func(maker *TurnTools) tools.Result {
		entry, found := toolset.Compile("clerk", maker.must(t, clerkRef)["clerk"], toolset.Source{Kind: toolset.SourceTurn})
		if entry == nil {
			t.Fatal(found)
		}
		if entry.Descriptor.EffectClass() != tools.Once || entry.Descriptor.Limit() != peerTimeout {
			t.Errorf("it is %+v", entry.Descriptor)
		}
		if entry.CheckArguments(t.Context(), []byte(`{}`)) == "" {
			t.Error("it takes a call without a message")
		}
		return entry.Execute(t.Context(), &tools.Call{Arguments: json.RawMessage(`{"message":"hi"}`), IdempotencyKey: "k1"})
	}
	if result := say(maker); result.IsError || model.PartsText(result.Content) != "hello" {
		t.Errorf("it replies %+v", result)
	}
	if heard.CardURL != "https://clerk.example/card.json" || heard.Headers["X"] != "y" || heard.ContextID != "c7" || heard.Message != "hi" || heard.MessageID != "k1" {
		t.Errorf("it hears %+v", heard)
	}
	fails = true
	if result := say(maker); !result.IsError || model.PartsText(result.Content) != "it is closed" {
		t.Errorf("it replies %+v", result)
	}
	if result := say(NewTurnTools(TurnToolsSettings{})); !result.IsError || model.PartsText(result.Content) != errNoPeers.Error() {
		t.Errorf("without peers it replies %+v", result)
	}
}

func TestDescriptionsThatNoRunWasKeptWith(t *testing.T) {
	maker := NewTurnTools(TurnToolsSettings{})
	for name, list := range map[string][]service.EphemeralTool{
		"no JSON":          {{Kind: "local", Config: json.RawMessage(`{`)}},
		"another kind":     {{Kind: "mcp", Config: json.RawMessage(`{"kind":"local","name":"a"}`)}},
		"an unknown kind":  {{Kind: "x", Config: json.RawMessage(`{"kind":"x"}`)}},
		"a global tool":    {{Kind: "mantyx", Config: json.RawMessage(`{"kind":"mantyx","id":"a"}`)}},
		"a plugin's tool":  {{Kind: "mantyx_plugin", Config: json.RawMessage(`{"kind":"mantyx_plugin","name":"a"}`)}},
		"nothing":          {{}},
		"two with one id":  {{Kind: "local", Config: json.RawMessage(`{"kind":"local","name":"a"}`)}, {Kind: "local", Config: json.RawMessage(`{"kind":"local","name":"a"}`)}},
		"a private scheme": {{Kind: "mcp", Config: json.RawMessage(`{"kind":"mcp","name":"a","url":"unix:///run/x"}`)}},
	} {
		if err := maker.Check(list); err == nil {
			t.Errorf("%s is right", name)
		}
		if _, _, err := maker.Make(t.Context(), list); err == nil {
			t.Errorf("%s is made", name)
		}
	}
	if err := maker.Check(brought(t, fsRef+","+clerkRef)); err != nil {
		t.Error(err)
	}
}
