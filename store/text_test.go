package store_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/store"
)

// sought are the texts by which something is only looked for: nothing has them, so
// that nothing is found.
var sought = map[string][]string{
	"EndTurn":        {"Scope.Owner.Tenant", "Scope.Owner.Subject", "TurnID", "Event.TurnID", "Event.SessionID"},
	"Commit":         {"TurnID", "Events[0].TurnID", "Events[0].SessionID", "Asked[0].AgentID"},
	"Answer":         {"Scope.Owner.Tenant", "Scope.Owner.Subject", "TurnID", "ID"},
	"NewWebhook":     {"Scope.Owner.Tenant", "Scope.Owner.Subject", "Webhook.TurnID", "Webhook.SessionID", "Webhook.Owner.Tenant", "Webhook.Owner.Subject"},
	"AdvanceWebhook": {"HeldWebhook.TurnID", "HeldWebhook.ID"},
	// Of a new turn, the store chooses these.
	"NewTurn":         {"Turn.Status", "Turn.Worker", "Turn.Revision"},
	"PublishRevision": {"Revision.Parent", "Expected"},
}

func TestEveryTextThatIsStoredIsChecked(t *testing.T) {
	t.Parallel()
	for _, input := range []interface{ CheckText() error }{
		new(store.NewSession), new(store.SessionPatch), new(store.NewTurn), new(store.EndTurn), new(store.Commit), new(store.Answer),
		new(store.NewWebhook), new(store.AdvanceWebhook), new(store.Revocation),
		new(store.PublishRevision), new(store.RevisionBuild), new(store.RevisionAttempt),
	} {
		kind := reflect.TypeOf(input).Elem()
		fresh := func() reflect.Value {
			v := reflect.New(kind)
			fill(v.Elem())
			return v
		}
		if err := check(fresh()); err != nil {
			t.Errorf("%s with good texts: %v", kind.Name(), err)
		}
		paths := texts(fresh().Elem(), "")
		for _, text := range []string{"a\x00b", "a\xffb"} {
			for n, path := range paths {
				v := fresh()
				setText(v.Elem(), n, text)
				if want := !slices.Contains(sought[kind.Name()], path); errors.Is(check(v), store.ErrText) != want {
					t.Errorf("%s.%s is %q: %v", kind.Name(), path, text, check(v))
				}
			}
		}
	}
}

func check(v reflect.Value) error { return v.Interface().(interface{ CheckText() error }).CheckText() }

// fill gives a value one element of each list and map, and something for each
// pointer.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"name": "value"}))
	}
}

// texts returns the places of all texts of a value.
func texts(v reflect.Value, path string) (paths []string) {
	walkTexts(v, path, func(path string, _ func(string)) { paths = append(paths, path) })
	return paths
}

// setText sets the text with the number n.
func setText(v reflect.Value, n int, text string) {
	walkTexts(v, "", func(_ string, set func(string)) {
		if n == 0 {
			set(text)
		}
		n--
	})
}

func walkTexts(v reflect.Value, path string, visit func(path string, set func(string))) {
	switch v.Kind() {
	case reflect.String:
		visit(path, v.SetString)
	case reflect.Pointer:
		walkTexts(v.Elem(), path, visit)
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			if v.Field(i).CanSet() {
				walkTexts(v.Field(i), name, visit)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			walkTexts(v.Index(0), path+"[0]", visit)
		}
	case reflect.Map:
		visit(path+" name", func(text string) { v.Set(reflect.ValueOf(map[string]string{text: "value"})) })
		visit(path+" value", func(text string) { v.Set(reflect.ValueOf(map[string]string{"name": text})) })
	}
}
