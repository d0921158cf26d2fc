package config_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// TestWhatAProgramWasBuiltWithoutIsAMistakeAtItsPlace loads configurations in programs with only
// some of the stores and protocols.
func TestWhatAProgramWasBuiltWithoutIsAMistakeAtItsPlace(t *testing.T) {
	t.Parallel()
	own := []string{"sqlite", "ledger"}
	for _, tt := range []struct {
		name, text       string
		stores, surfaces []string
		// want holds the positions and texts, line by line.
		want string
	}{
		{name: "a store", text: "store: {driver: memory}", stores: own, want: "2:17 invalid-value driver is \"memory\", but this program was built without it (it has sqlite, ledger)"},
		{name: "a misspelled store", text: "store: {driver: legder}", stores: own, want: `2:17 invalid-value driver cannot be "legder"; allowed are sqlite or ledger (did you mean "ledger"?)`},
		{name: "a store of its own", text: "store: {driver: ledger, dsn: x}", stores: own},
		{name: "the default store", text: "store: {retention: {keys: 1h}}", stores: []string{"ledger"}, want: `2:1 invalid-value driver is "sqlite", but this program was built without it (it has ledger)`},
		{name: "no store", text: "store: {driver: sqlite}", stores: []string{}, want: `2:17 invalid-value driver is "sqlite", but this program was built without it (it has none)`},
		{name: "no store and an unknown one", text: "store: {driver: ledger}", stores: []string{}, want: `2:17 invalid-value driver is "ledger", but this program was built without it (it has none)`},
		{name: "nothing is said of stores", text: "turns: {}", stores: []string{}},
		{name: "all stores", text: "store: {driver: memory}"},
		{
			name: "protocols", text: "server:\n  a2a: {push: {enabled: true}}\n  native: {}\n  agent_runs:", surfaces: []string{"native"},
			want: "3:3 unknown-field this program was built without the protocol a2a (it has native)\n" +
				"5:3 unknown-field this program was built without the protocol agent_runs (it has native)",
		},
		{name: "a protocol that is switched off", text: "server: {native: {enabled: false}}", surfaces: []string{}, want: "2:10 unknown-field this program was built without the protocol native (it has none)"},
		{name: "all protocols", text: "server: {a2a: {}, native: {}, agent_runs: {}}"},
		{
			name: "an encryption key that nothing needs", text: "server: {encryption_key: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}", surfaces: []string{"native"},
			want: "2:26 no-effect encryption_key has no effect: nothing is encrypted without access tokens, runs, notifications or tenant secrets ()",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte("version: 1\n" + tt.text + "\n")}}, config.Options{Kinds: config.Kinds{Stores: tt.stores, Surfaces: tt.surfaces}})
			var got []string
			for _, d := range list {
				if d.Code != diag.PlainSecret {
					got = append(got, strings.TrimPrefix(d.Place(), "c.yaml:")+" "+string(d.Code)+" "+d.Message+" ("+d.Hint+")")
				}
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("got\n%s\nwant\n%s", text, tt.want)
			}
		})
	}
}

// TestThePasswordOfAStoreThatIsLeftOutIsNotShown loads a DSN that is not a URL.
func TestThePasswordOfAStoreThatIsLeftOutIsNotShown(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte("version: 1\nstore: {driver: postgres, dsn: \"host=db password=hunter22\"}\n")}},
		config.Options{Kinds: config.Kinds{Stores: []string{"sqlite"}}})
	if len(list) == 0 || strings.Contains(string(f.Source("c.yaml")), "hunter22") {
		t.Errorf("%v\n%s", list, f.Source("c.yaml"))
	}
}

// TestTheSchemaAndTheReferenceDescribeWhatAProgramHas compares a program with one store and one
// protocol with a complete program.
func TestTheSchemaAndTheReferenceDescribeWhatAProgramHas(t *testing.T) {
	t.Parallel()
	small := config.Kinds{Stores: []string{"sqlite"}, Surfaces: []string{"native"}}
	for _, text := range []string{string(config.Schema(small)), config.Reference(small)} {
		for _, absent := range []string{`"postgres"`, "`postgres`", `"memory"`, "`memory`", "server_a2a", "server_agent_runs", "agent_runs`"} {
			if strings.Contains(text, absent) {
				t.Errorf("%s is there", absent)
			}
		}
		if !strings.Contains(text, "server_native") || !strings.Contains(text, "sqlite") {
			t.Error("what the program has is missing")
		}
	}
	if all := string(config.Schema(config.Kinds{})); !strings.Contains(all, "server_a2a") || !strings.Contains(all, `"postgres"`) {
		t.Error("without lists something is missing")
	}
}
