package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

var eve = service.Caller{Tenant: "globex", Subject: "eve"}

// greeter returns a runtime whose agents have variables of tenants: "greeter" in its
// prompt, and both in their tool. seen is what the tool read last.
func greeter(t testing.TB) (rt *runtime.AgentRuntime, exec *turntest.Answerer, seen *string) {
	t.Helper()
	seen, exec = new(string), new(turntest.Answerer)
	exec.Answer = func(_ context.Context, agent string, _ int) turntest.Answer {
		last := exec.LastMessages(agent)
		switch {
		case last[len(last)-1].Role == model.RoleTool:
			return turntest.Answer{Text: "done"}
		case agent == "greeter" && strings.Contains(last[len(last)-1].Text(), "ask the other"):
			return turntest.AsksAgent("other")
		}
		return turntest.Calls("c", "look", `{}`)
	}
	look := turntest.ToolFunc(func(ctx context.Context, call *tools.Call) (tools.Result, error) {
		value, err := call.Tenant.Read(ctx, "KEY")
		*seen = value.Text
		return tools.TextResult("looked"), err
	})
	b := turntest.WithAgents(exec, spec.Agent{ID: "greeter", SystemPrompt: "Greet with ${tenant.GREETING} in ${tenant.LANGUAGE}.", Delegates: []string{"other"}}, spec.Agent{ID: "other"})
	language := "English"
	b.WithTool("look", look).WithTenants(spec.Tenants{Variables: map[string]spec.TenantVariable{
		"GREETING": {}, "LANGUAGE": {Default: &language}, "KEY": {Secret: true},
	}})
	return turntest.Build(t, b), exec, seen
}

func withKey(v *service.Settings) { v.EncryptionKey = []byte(strings.Repeat("k", sealed.KeySize)) }

func setVariables(t testing.TB, s *service.Service, tenant string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if _, err := s.SetTenantVariable(t.Context(), service.SetTenantVariable{Tenant: tenant, Name: pairs[i], Value: pairs[i+1], Author: "ops/olga"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVariablesOfATenantAreReadWhenTheyAreUsed(t *testing.T) {
	rt, exec, seen := greeter(t)
	s := serve(t, rt, withKey)
	id := session(t, s, "greeter")
	_, err := s.CreateTurn(t.Context(), alice, says(id, "hello"))
	if invalid, ok := errors.AsType[*service.InvalidError](err); !ok || invalid.Field != "variables" || invalid.Problem != "the tenant variable GREETING is not set" {
		t.Fatalf("without the variable: %v", err)
	}
	setVariables(t, s, "acme", "GREETING", "Hello", "KEY", "s3cret-of-acme")
	setVariables(t, s, "globex", "GREETING", "Howdy", "KEY", "s3cret-of-globex", "LANGUAGE", "Texan")
	expect := func(what, prompt, key string) {
		t.Helper()
		if got := exec.LastMessages("greeter")[0].Text(); got != prompt || *seen != key {
			t.Errorf("%s the prompt is %q and the tool reads %q", what, got, *seen)
		}
	}
	ended(t, s, create(t, s, says(id, "hello")).ID)
	expect("at first", "Greet with Hello in English.", "s3cret-of-acme")
	setVariables(t, s, "acme", "GREETING", "Hi", "KEY", "s3cret-of-acme-2")
	*seen = ""
	ended(t, s, create(t, s, says(id, "ask the other")).ID)
	expect("after a change, from a delegate", "Greet with Hi in English.", "s3cret-of-acme-2")
	made, err := s.CreateSession(t.Context(), eve, service.CreateSession{AgentID: "greeter"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.CreateTurn(t.Context(), eve, says(made.ID, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WaitTurn(t.Context(), eve, turn.ID); err != nil {
		t.Fatal(err)
	}
	expect("of another tenant", "Greet with Howdy in Texan.", "s3cret-of-globex")
	if err := s.DeleteTenantVariable(t.Context(), "acme", "GREETING"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateTurn(t.Context(), alice, says(id, "hello")); err == nil {
		t.Error("the deleted variable still has a value")
	}
	var missing *service.NotFoundError
	if err := s.DeleteTenantVariable(t.Context(), "acme", "GREETING"); !errors.As(err, &missing) {
		t.Errorf("deleted twice: %v", err)
	}
}

// Values of variables are in the store where they were set, sealed if they are secret, and
// nowhere else: in no event, request, result, log and error.
func TestVariablesOfATenantAreNowhereElse(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	rt, _, seen := greeter(t)
	kept := newMemory(t)
	s := serve(t, rt, withKey, on(kept), func(v *service.Settings) { v.Logger = zap.New(core) })
	setVariables(t, s, "acme", "GREETING", "gr33ting-of-acme", "KEY", "s3cret-of-acme")
	id := session(t, s, "greeter")
	turn := ended(t, s, create(t, s, says(id, "ask the other")).ID)
	if turn.Status != store.Succeeded || *seen != "s3cret-of-acme" {
		t.Fatalf("the turn is %s and its tool read %q", turn.Status, *seen)
	}
	var all strings.Builder
	for _, e := range log(t, s, turn.ID) {
		all.Write(e.Data)
	}
	stored, err := kept.Turn(t.Context(), store.Everything, turn.ID)
	if err != nil {
		t.Fatal(err)
	}
	all.Write(stored.Request)
	all.Write(stored.Result)
	all.WriteString(strings.Join(conversation(t, s, id), " "))
	for _, entry := range logs.All() {
		all.WriteString(entry.Message)
		for _, f := range entry.Context {
			all.WriteString(f.String)
		}
	}
	secret, err := kept.TenantVariable(t.Context(), "acme", "KEY")
	if err != nil || !secret.Secret {
		t.Fatal(secret, err)
	}
	all.Write(secret.Value)
	for _, value := range []string{"gr33ting", "s3cret"} {
		if strings.Contains(all.String(), value) {
			t.Errorf("%s is shown", value)
		}
	}
	if all.Len() < 500 {
		t.Errorf("only %d bytes were looked at", all.Len())
	}
}

func TestVariablesOfATenantAreListedWithoutSecrets(t *testing.T) {
	rt, _, _ := greeter(t)
	s := idle(t, rt, withKey)
	setVariables(t, s, "acme", "GREETING", "Hello", "KEY", "s3cret-of-acme")
	list, err := s.TenantVariables(t.Context(), "acme")
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if v := list[0]; v.Name != "GREETING" || v.State != service.VariableSet || *v.Value != "Hello" || v.SetBy != "ops/olga" || v.SetAt == nil {
		t.Errorf("the first is %+v", v)
	}
	if v := list[1]; v.Name != "KEY" || !v.Secret || v.State != service.VariableSet || v.Value != nil {
		t.Errorf("the secret is %+v", v)
	}
	if v := list[2]; v.Name != "LANGUAGE" || v.State != service.VariableDefault || *v.Value != "English" || v.SetAt != nil {
		t.Errorf("the last is %+v", v)
	}
}

func TestWhatATenantCannotSet(t *testing.T) {
	rt, _, _ := greeter(t)
	s := idle(t, rt, withKey)
	for name, tt := range map[string]struct{ tenant, name, value, want string }{
		"undeclared": {"acme", "GREETNG", "x", `name: tenants.variables does not declare "GREETNG" (did you mean "GREETING"?)`},
		"short":      {"acme", "KEY", "s3cret", "value: a secret must have at least 8 bytes"},
		"long":       {"acme", "GREETING", strings.Repeat("s3cret", 10_000), "value has 60000 bytes; at most 32768 are allowed"},
		"no text":    {"acme", "GREETING", "s3cret\x00", "value must be a text in UTF-8 without NUL"},
		"no tenant":  {"", "GREETING", "s3cret", "tenant must be a text of at most 256 bytes"},
	} {
		if _, err := s.SetTenantVariable(t.Context(), service.SetTenantVariable{Tenant: tt.tenant, Name: tt.name, Value: tt.value}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := idle(t, rt)
	if _, err := plain.SetTenantVariable(t.Context(), service.SetTenantVariable{Tenant: "acme", Name: "KEY", Value: "s3cret-of-acme"}); !errors.Is(err, service.ErrNoEncryptionKey) {
		t.Errorf("without a key: %v", err)
	}
}

// What was sealed with another key, or is moved to another tenant, is not read.
func TestSealedVariablesBelongToTheirPlace(t *testing.T) {
	rt, _, seen := greeter(t)
	kept := newMemory(t)
	s := serve(t, rt, withKey, on(kept))
	setVariables(t, s, "globex", "KEY", "s3cret-of-globex")
	moved, err := kept.TenantVariable(t.Context(), "globex", "KEY")
	if err != nil {
		t.Fatal(err)
	}
	moved.Tenant = "acme"
	if err := kept.PutTenantVariable(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	turn := ended(t, s, create(t, s, says(session(t, s, "other"), "hello")).ID)
	if *seen != "" {
		t.Errorf("the tool read %q", *seen)
	}
	if _, said := callOutcome(t, log(t, s, turn.ID), "c"); !strings.Contains(said, "the tenant variable KEY cannot be read") {
		t.Errorf("the call came to %s", said)
	}
}
