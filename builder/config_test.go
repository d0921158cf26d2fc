package builder_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// nothing is the record of a component without settings.
type nothing struct{}

// kind returns a kind whose components are made by a function.
func kind[S, T any](make func() (T, error)) spec.Kind[S, T] {
	return spec.NewKind("k", "A kind of a test.", func(S, *nothing) (T, error) { return make() })
}

func entry[K any](id string, k K) config.Entry[K] {
	return config.Entry[K]{ID: id, Kind: k, Config: new(nothing)}
}

// file returns a loaded configuration whose three components are made by the
// given functions, and an agent that uses them all.
func file(provider func() (model.Executor, error), tool func() (tools.Tool, error), plug func() (plugins.Plugin, error)) *config.File {
	return &config.File{
		Providers: []config.Entry[model.ProviderKind]{entry("p", kind[model.Settings](provider))},
		Tools:     []config.Entry[tools.Kind]{entry("wc", kind[tools.Settings](tool))},
		Plugins:   []config.Entry[plugins.Kind]{entry("audit", kind[plugins.Settings](plug))},
		Models:    []spec.Model{{ID: "m", ProviderID: "p", UpstreamModel: "up"}},
		Pools:     []spec.Pool{{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}}},
		RemoteAgents: []spec.RemoteSource{
			{Name: "cloud", BaseURL: "https://cloud.example"},
		},
		Agents:   []*spec.Agent{{ID: "a", PluginIDs: []string{"audit"}, AllowedTools: spec.Names{"wc", "agent_run_cloud_x"}, Delegates: []string{"cloud/x"}}},
		Defaults: &spec.Defaults{Agent: spec.Agent{ModelID: "pool"}},
	}
}

func goodProvider() (model.Executor, error) { return says("hello"), nil }
func goodTool() (tools.Tool, error)         { return plain{}, nil }
func goodPlugin() (plugins.Plugin, error)   { return plugin{}, nil }

func TestWithConfigAddsWhatAFileDeclares(t *testing.T) {
	t.Parallel()
	f := file(goodProvider, goodTool, goodPlugin)
	f.Agents[0].AllowedTools = append(f.Agents[0].AllowedTools, "agent_run_cloud_x")
	rt, err := builder.New().WithLogger(zap.NewNop()).WithDelegationDepth(3).WithBackend(peers{kind: "a2a"}).WithConfig(f).Build()
	if err != nil {
		t.Fatal(err)
	}
	if list := rt.Diagnostics(); len(list) > 0 {
		t.Errorf("diagnostics: %v", list)
	}
	p, err := rt.Resolve(t.Context(), "a", resolve.Options{})
	if err != nil || p.Model != "pool" || p.Local.Tools.Len() != 2 {
		t.Errorf("Resolve = %+v, %v", p, err)
	}
}

func TestProvidersWriteToTheLogOfTheRuntime(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	f := file(goodProvider, goodTool, goodPlugin)
	f.Providers[0].Kind = spec.NewKind("k", "A kind of a test.", func(s model.Settings, _ *nothing) (model.Executor, error) {
		s.Logger.Warn("a field is rejected")
		return says("hello"), nil
	})
	builder.New().WithLogger(zap.New(core)).WithConfig(f)
	if all := logs.All(); len(all) != 1 || all[0].LoggerName != "provider.p" || all[0].Message != "a field is rejected" {
		t.Errorf("logged: %v", all)
	}
}

// A component that cannot be made causes one error, however many entries refer to it.
func TestComponentsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	panics := func() { panic("out of its mind") }
	for name, tt := range map[string]struct {
		file *config.File
		want []string
	}{
		"a provider": {
			file(func() (model.Executor, error) { return nil, boom }, goodTool, goodPlugin),
			[]string{`invalid-value: providers.p: provider "p" cannot be made: boom`},
		},
		"a tool": {
			file(goodProvider, func() (tools.Tool, error) { return nil, boom }, goodPlugin),
			[]string{`invalid-value: tools.wc: tool "wc" cannot be made: boom`},
		},
		"a plugin": {
			file(goodProvider, goodTool, func() (plugins.Plugin, error) { return nil, boom }),
			[]string{`invalid-value: plugins.audit: plugin "audit" cannot be made: boom`},
		},
		"panics": {
			file(func() (model.Executor, error) { panics(); return nil, nil }, func() (tools.Tool, error) { panics(); return nil, nil }, goodPlugin),
			[]string{
				`invalid-value: providers.p: provider "p" cannot be made: panic: out of its mind`,
				`invalid-value: tools.wc: tool "wc" cannot be made: panic: out of its mind`,
			},
		},
		"nothing": {
			file(func() (model.Executor, error) { return nil, nil }, func() (tools.Tool, error) { return nil, nil }, func() (plugins.Plugin, error) { return nil, nil }),
			[]string{
				`invalid-value: providers.p: provider "p" is nil`, `invalid-value: tools.wc: tool "wc" is nil`, `invalid-value: plugins.audit: plugin "audit" is nil`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := builder.New().WithBackend(peers{kind: "a2a"}).WithConfig(tt.file).Check(t.Context())
			var got []string
			for _, d := range list {
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// The loader's findings are not reported again, and nothing is built from the broken entries.
func TestBrokenEntriesAreNotMade(t *testing.T) {
	t.Parallel()
	f := file(func() (model.Executor, error) { t.Error("it was made"); return nil, nil }, goodTool, goodPlugin)
	f.Providers[0].Broken = true
	rev, list := builder.New().WithBackend(peers{kind: "a2a"}).WithConfig(f).Check(t.Context())
	if len(list) > 0 {
		t.Errorf("Check = %v", list)
	}
	exec, _ := rev.Set().Providers.Get("p")
	for _, err := range exec.Stream(context.Background(), &model.Request{}) {
		if err == nil {
			t.Error("a broken provider answers")
		}
	}
}

var _ diag.Diagnoser = (*builder.DiscoveryError)(nil)

// A kind of plugins declares the sections that its plugins read, so that a guarding section is an
// error if the configuration declares no plugin of the kind.
func TestASectionOfAKindThatIsNotDeclared(t *testing.T) {
	t.Parallel()
	quota := kind[plugins.Settings](func() (plugins.Plugin, error) { return claims("quota", `true`), nil })
	quota.Type, quota.Sections = "quota", []spec.KindSection{{Key: "quota", Guards: true}}
	file := &config.File{
		PluginKinds: []plugins.Kind{quota},
		Agents:      []*spec.Agent{{ID: "a", ModelID: "m", Sections: spec.Sections{"quota": []byte(`{}`)}}},
	}
	_, found := demo().WithConfig(file).Check(t.Context())
	want := `unclaimed-section: agents.a.sections.quota: section "quota" guards nothing: no plugin of agent "a" claims it ` +
		`(plugins of type "quota" claim it: declare one and add it to plugin_ids)`
	if len(found) != 1 || found[0].Severity != diag.Error || found[0].Error() != want {
		t.Errorf("Check says %v, want %s", found, want)
	}
	file.Plugins = []config.Entry[plugins.Kind]{entry("limits", quota)}
	file.Agents[0].PluginIDs = []string{"limits"}
	if _, found := demo().WithConfig(file).Check(t.Context()); len(found) != 0 {
		t.Errorf("with a plugin of the kind, Check says %v", found)
	}
}
