package a2awire_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wired returns metadata as read by the peer.
func wired(t interface{ Fatal(args ...any) }, metadata map[string]any) map[string]any {
	data, err := json.Marshal(metadata)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestTheJSONOfAGrant(t *testing.T) {
	message := a2a.NewMessage(a2a.MessageRoleUser)
	message.Metadata = map[string]any{"other": true}
	a2awire.SetGrant(message, &a2awire.Grant{
		Depth: 2, Deadline: time.Date(2026, 7, 1, 14, 0, 0, 5e8, time.FixedZone("", 7200)),
		MaxTokens: new(1000), MaxCost: new(0.25), Currency: "EUR", MaxModelCalls: new(3), MaxToolCalls: new(-1),
	})
	data, err := json.Marshal(message.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"https://agentruntime.dev/a2a/delegation/v1":{"currency":"EUR","deadline":"2026-07-01T12:00:00.5Z",` +
		`"depth":2,"max_cost":0.25,"max_model_calls":3,"max_tokens":1000,"max_tool_calls":0},"other":true}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestTheJSONOfAReport(t *testing.T) {
	task := new(a2a.Task)
	a2awire.SetReport(task, &a2awire.Report{
		Usage: event.Usage{Input: 10, Output: 5, CacheRead: 2}, Cost: &event.Cost{Amount: 0.5, Currency: "USD"}, Steps: 2,
	})
	data, err := json.Marshal(task.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"https://agentruntime.dev/a2a/delegation/v1":{"cost":{"amount":0.5,"currency":"USD"},"steps":2,` +
		`"usage":{"cached_tokens":2,"input_tokens":10,"output_tokens":5}}}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestMetadataWithoutTheExtensionSaysNothing(t *testing.T) {
	for _, metadata := range []map[string]any{nil, {}, {"other": 1}, {a2awire.Extension: nil}} {
		if grant, err := a2awire.GrantOf(metadata); grant != nil || err != nil {
			t.Errorf("%v: %v, %v", metadata, grant, err)
		}
		if report, err := a2awire.ReportOf(metadata); report != nil || err != nil {
			t.Errorf("%v: %v, %v", metadata, report, err)
		}
	}
}

func TestAGrantIsReadTolerantly(t *testing.T) {
	for name, tt := range map[string]struct {
		fields map[string]any
		want   a2awire.Grant
	}{
		"nothing":        {map[string]any{}, a2awire.Grant{}},
		"unknown fields": {map[string]any{"depth": 1.0, "colour": []any{}}, a2awire.Grant{Depth: 1}},
		"nulls":          {map[string]any{"depth": nil, "deadline": nil, "max_tokens": nil, "max_cost": nil, "currency": 7}, a2awire.Grant{}},
		"many numbers": {
			map[string]any{"depth": int64(3), "max_tokens": json.Number("12"), "max_model_calls": 4, "max_tool_calls": 0.0},
			a2awire.Grant{Depth: 3, MaxTokens: new(12), MaxModelCalls: new(4), MaxToolCalls: new(0)},
		},
		"limits beyond any": {
			map[string]any{"depth": 1e300, "max_tokens": 1e300, "max_cost": 1e300, "currency": "USD", "max_tool_calls": 1e7},
			a2awire.Grant{Depth: 1000, MaxTokens: new(1_000_000_000), MaxCost: new(1e6), Currency: "USD", MaxToolCalls: new(1_000_000)},
		},
	} {
		got, err := a2awire.GrantOf(map[string]any{a2awire.Extension: tt.fields})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestALimitThatCannotBeReadIsNotTakenForNone(t *testing.T) {
	for field, values := range map[string][]any{
		"depth":           {-1.0, "1", math.NaN(), true},
		"deadline":        {"tomorrow", 7.0, "2026-07-01"},
		"max_tokens":      {-1.0, math.Inf(1), json.Number("x"), json.Number("1e999"), []any{1}},
		"max_cost":        {-0.1, math.NaN(), "1"},
		"max_model_calls": {-1, map[string]any{}},
		"max_tool_calls":  {int64(-1)},
		"currency":        {"usd", "EURO", nil, 1},
	} {
		for _, value := range values {
			fields := map[string]any{field: value}
			if field == "currency" {
				fields["max_cost"] = 1
			}
			_, err := a2awire.GrantOf(map[string]any{a2awire.Extension: fields})
			var bad *a2awire.MetadataError
			if !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%s is %v: the error is %v", field, value, err)
			}
		}
	}
	var bad *a2awire.MetadataError
	if _, err := a2awire.GrantOf(map[string]any{a2awire.Extension: "all"}); !errors.As(err, &bad) || bad.Field != "" {
		t.Errorf("the error is %v", err)
	}
}

func TestAReportThatCannotBeIsAnError(t *testing.T) {
	usage := func(field string, value any) map[string]any {
		return map[string]any{"usage": map[string]any{field: value}}
	}
	cost := func(amount, currency any) map[string]any {
		return map[string]any{"cost": map[string]any{"amount": amount, "currency": currency}}
	}
	for field, reports := range map[string][]map[string]any{
		"steps":            {{"steps": -1}, {"steps": 1.5}, {"steps": 1e7}},
		"usage":            {{"usage": 7}},
		"input_tokens":     {usage("input_tokens", -1.0), usage("input_tokens", 1e10), usage("input_tokens", math.NaN())},
		"reasoning_tokens": {usage("reasoning_tokens", "many")},
		"cost":             {{"cost": "free"}},
		"amount":           {cost(-1, "USD"), cost(1e7, "USD"), cost(math.Inf(1), "USD")},
		"currency":         {cost(1, nil), cost(1, "dollars")},
	} {
		for _, fields := range reports {
			_, err := a2awire.ReportOf(map[string]any{a2awire.Extension: fields})
			var bad *a2awire.MetadataError
			if !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%v: the error is %v", fields, err)
			}
		}
	}
}

func TestAGrantIsTheSameAfterTheWire(t *testing.T) {
	limit := func(t *rapid.T, name string, largest int) *int {
		if !rapid.Bool().Draw(t, name+" set") {
			return nil
		}
		return new(rapid.IntRange(0, largest).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		want := a2awire.Grant{
			Depth:         rapid.IntRange(0, 1000).Draw(t, "depth"),
			MaxTokens:     limit(t, "tokens", 1_000_000_000),
			MaxModelCalls: limit(t, "model calls", 1_000_000),
			MaxToolCalls:  limit(t, "tool calls", 1_000_000),
		}
		if rapid.Bool().Draw(t, "deadline set") {
			want.Deadline = time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
		}
		if rapid.Bool().Draw(t, "cost set") {
			want.MaxCost, want.Currency = new(rapid.Float64Range(0, 1e6).Draw(t, "cost")), "CHF"
		}
		var message a2a.Message
		a2awire.SetGrant(&message, &want)
		got, err := a2awire.GrantOf(wired(t, message.Metadata))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAReportIsTheSameAfterTheWire(t *testing.T) {
	tokens := rapid.IntRange(0, 1_000_000_000)
	rapid.Check(t, func(t *rapid.T) {
		want := a2awire.Report{Steps: rapid.IntRange(0, 1_000_000).Draw(t, "steps"), Usage: event.Usage{
			Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output"), CacheRead: tokens.Draw(t, "read"),
			CacheWrite: tokens.Draw(t, "written"), Reasoning: tokens.Draw(t, "reasoning"),
		}}
		if rapid.Bool().Draw(t, "cost set") {
			want.Cost = &event.Cost{Amount: rapid.Float64Range(0, 1e6).Draw(t, "cost"), Currency: "USD"}
		}
		var event a2a.TaskStatusUpdateEvent
		a2awire.SetReport(&event, &want)
		got, err := a2awire.ReportOf(wired(t, event.Metadata))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTheExtensionIsDeclaredInACard(t *testing.T) {
	card := &a2a.AgentCard{}
	if a2awire.Declared(nil) || a2awire.Declared(card) {
		t.Error("the card lists nothing")
	}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://example.com/other"}, a2awire.Declaration()}
	if !a2awire.Declared(card) {
		t.Error("the card lists the extension")
	}
}

// FuzzMetadata reads raw metadata of peers.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"depth":1,"deadline":"2026-07-01T12:00:00Z","max_tokens":10,"max_cost":1.5,"currency":"USD"}`))
	f.Add([]byte(`{"usage":{"input_tokens":1,"output_tokens":2},"cost":{"amount":1,"currency":"EUR"},"steps":3}`))
	f.Add([]byte(`{"depth":-1,"usage":[],"cost":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var fields any
		if json.Unmarshal(data, &fields) != nil {
			t.Skip()
		}
		metadata := map[string]any{a2awire.Extension: fields}
		if g, err := a2awire.GrantOf(metadata); err == nil && g != nil {
			for _, n := range []*int{&g.Depth, g.MaxTokens, g.MaxModelCalls, g.MaxToolCalls} {
				if n != nil && (*n < 0 || *n > 1_000_000_000) {
					t.Errorf("%d is out of range", *n)
				}
			}
			if g.MaxCost != nil && !(*g.MaxCost >= 0 && *g.MaxCost <= 1e6) {
				t.Errorf("the cost is %v", *g.MaxCost)
			}
		}
		if r, err := a2awire.ReportOf(metadata); err == nil && r != nil {
			u := r.Usage
			for _, n := range []int{r.Steps, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
				if n < 0 || n > 1_000_000_000 {
					t.Errorf("%d is out of range", n)
				}
			}
			if r.Cost != nil && !(r.Cost.Amount >= 0 && r.Cost.Amount <= 1e6) {
				t.Errorf("the cost is %v", r.Cost.Amount)
			}
		}
	})
}

// TestALimitThatIsMisspelledIsNotTakenForNone sends fields that resemble limits, and every field of a
// grant with an extra letter.
func TestALimitThatIsMisspelledIsNotTakenForNone(t *testing.T) {
	message := a2a.NewMessage(a2a.MessageRoleUser)
	a2awire.SetGrant(message, &a2awire.Grant{
		Deadline: time.Now(), MaxTokens: new(1), MaxCost: new(1.0), MaxModelCalls: new(1), MaxToolCalls: new(1),
	})
	all := message.Metadata[a2awire.Extension].(map[string]any)
	names := []string{"maxTokens", "max_token", "Max_Tokens", "MAX_SECONDS", "maxWallClock", "max"}
	for name := range all {
		names = append(names, name+"s")
	}
	for _, name := range names {
		_, err := a2awire.GrantOf(wired(t, map[string]any{a2awire.Extension: map[string]any{"depth": 1, name: 1}}))
		var bad *a2awire.MetadataError
		if !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if grant, err := a2awire.GrantOf(wired(t, message.Metadata)); err != nil || grant.MaxToolCalls == nil {
		t.Errorf("%v, %v", grant, err)
	}
}
