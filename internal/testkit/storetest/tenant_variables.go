package storetest

import (
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var tenantVariableTests = []test{
	{name: "AVariableIsKeptAsItIs", run: aVariableIsKeptAsItIs},
	{name: "AVariableTakesThePlaceOfItsNamesake", run: aVariableTakesThePlaceOfItsNamesake},
	{name: "AVariableIsReplacedOnlyIfItsValueIsTheExpectedOne", run: aVariableIsReplacedOnlyIfItsValueIsTheExpectedOne},
	{name: "TenantsHaveVariablesOfTheirOwn", run: tenantsHaveVariablesOfTheirOwn},
	{name: "VariablesAreListedByName", run: variablesAreListedByName},
	{name: "AVariableThatIsNoTextIsRefused", run: aVariableThatIsNoTextIsRefused},
}

func variableOf(f *fixture, tenant, name, value string) *store.TenantVariable {
	return &store.TenantVariable{Tenant: tenant, Name: name, Value: []byte(value), Author: tenant + "/ann", UpdatedAt: f.now}
}

func putVariables(f *fixture, list ...*store.TenantVariable) {
	f.Helper()
	for _, v := range list {
		wantOK(f, f.PutTenantVariable(f.Context(), v))
	}
}

func getKeyVariable(f *fixture, tenant string) *store.TenantVariable {
	f.Helper()
	return try(f.TenantVariable(f.Context(), tenant, "KEY")).wantOK(f)
}

func aVariableIsKeptAsItIs(f *fixture) {
	secret := variableOf(f, "acme", "KEY", "\x00\xff is sealed")
	secret.Secret = true
	putVariables(f, secret)
	secret.Value = []byte("changed afterwards")
	want := variableOf(f, "acme", "KEY", "\x00\xff is sealed")
	want.Secret = true
	got := getKeyVariable(f, "acme")
	wantEqual(f, "the variable", got, want)
	got.Value[0] = 'x'
	wantEqual(f, "the variable", getKeyVariable(f, "acme"), want)
	if _, err := f.TenantVariable(f.Context(), "acme", "key"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("in other letters: %v", err)
	}
}

func aVariableTakesThePlaceOfItsNamesake(f *fixture) {
	secret := variableOf(f, "acme", "KEY", `"a"`)
	secret.Secret = true
	putVariables(f, secret)
	f.now = f.now.Add(time.Minute)
	next := variableOf(f, "acme", "KEY", `"b"`)
	next.Author = "ops/eve"
	putVariables(f, next)
	wantEqual(f, "the variable", getKeyVariable(f, "acme"), next)
}

func aVariableIsReplacedOnlyIfItsValueIsTheExpectedOne(f *fixture) {
	for _, step := range []struct {
		old, next []byte
		done      bool
	}{
		{[]byte("a"), []byte("b"), false},
		{nil, []byte("a\x00"), true},
		{nil, []byte("b"), false},
		{[]byte("a"), []byte("b"), false},
		{[]byte("a\x00"), []byte("b"), true},
		{[]byte("a\x00"), []byte("c"), false},
	} {
		done := try(f.ReplaceTenantVariable(f.Context(), variableOf(f, "acme", "KEY", string(step.next)), step.old)).wantOK(f)
		wantEqual(f, "replaced "+string(step.old), done, step.done)
	}
	wantEqual(f, "the value", string(getKeyVariable(f, "acme").Value), "b")
	if _, err := f.ReplaceTenantVariable(f.Context(), variableOf(f, "acme", foul[0], "x"), nil); !errors.Is(err, store.ErrText) {
		f.Errorf("an unclean name: %v", err)
	}
}

func tenantsHaveVariablesOfTheirOwn(f *fixture) {
	putVariables(f, variableOf(f, "acme", "KEY", `"a"`), variableOf(f, "globex", "KEY", `"b"`))
	wantEqual(f, "that of acme", string(getKeyVariable(f, "acme").Value), `"a"`)
	wantEqual(f, "that of globex", string(getKeyVariable(f, "globex").Value), `"b"`)
	wantOK(f, f.DeleteTenantVariable(f.Context(), "acme", "KEY"))
	if err := f.DeleteTenantVariable(f.Context(), "acme", "KEY"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("deleted twice: %v", err)
	}
	if _, err := f.TenantVariable(f.Context(), "acme", "KEY"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("that of acme after it was deleted: %v", err)
	}
	wantEqual(f, "that of globex", string(getKeyVariable(f, "globex").Value), `"b"`)
}

func variablesAreListedByName(f *fixture) {
	putVariables(f, variableOf(f, "acme", "b", `2`), variableOf(f, "globex", "a", `0`), variableOf(f, "acme", "_", `1`), variableOf(f, "acme", "C", `3`))
	list := func(after string, limit int) (names []string) {
		f.Helper()
		found := try(f.TenantVariables(f.Context(), "acme", after, limit)).wantOK(f)
		for _, v := range found {
			names = append(names, v.Name+"="+string(v.Value))
		}
		return names
	}
	wantEqual(f, "all", list("", 10), []string{"C=3", "_=1", "b=2"})
	wantEqual(f, "the first two", list("", 2), []string{"C=3", "_=1"})
	wantEqual(f, "those after them", list("_", 2), []string{"b=2"})
	wantEqual(f, "those after the last", list("b", 2), nil)
}

func aVariableThatIsNoTextIsRefused(f *fixture) {
	for _, text := range foul {
		author := variableOf(f, "acme", "KEY", `1`)
		author.Author = text
		for what, v := range map[string]*store.TenantVariable{
			"the tenant": variableOf(f, text, "KEY", `1`), "the name": variableOf(f, "acme", text, `1`), "the author": author,
		} {
			if err := f.PutTenantVariable(f.Context(), v); !errors.Is(err, store.ErrText) {
				f.Errorf("%s is %q: %v", what, text, err)
			}
		}
	}
}
