package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tenant has what one tenant has set.
type tenant struct {
	name   string
	values map[string]tools.TenantValue
}

func (n *tenant) TenantName() string { return n.name }

func (n *tenant) ReadTenantVariable(_ context.Context, name string) (tools.TenantValue, bool, error) {
	v, ok := n.values[name]
	return v, ok, nil
}

// tenantOf returns a tenant with values; KEY is a secret.
func tenantOf(name string, values ...string) *tenant {
	n := &tenant{name, make(map[string]tools.TenantValue)}
	for i := 0; i < len(values); i += 2 {
		n.values[values[i]] = tools.TenantValue{Text: values[i+1], Secret: values[i] == "KEY"}
	}
	return n
}

func (n *tenant) variables() *tools.TenantVariables {
	return &tools.TenantVariables{Source: n, Declared: &spec.Tenants{Variables: map[string]spec.TenantVariable{
		"BASE": {}, "HOST": {}, "ACCOUNT": {}, "KEY": {Secret: true},
	}}}
}

// mirror is a server over HTTP whose tool repeats what it was asked with. Requests are counted
// by their paths.
type mirror struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	ended chan struct{}
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{asked: make(map[string]int), ended: make(chan struct{})}
	inner := mcp.NewServer(&mcp.Implementation{Name: "mirror", Version: "1"}, nil)
	inner.AddTool(&mcp.Tool{Name: "whoami", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said := fmt.Sprintf("%s %s", r.Extra.Header.Get("X-Account"), r.Extra.Header.Get("Authorization"))
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: said})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}, StructuredContent: map[string]string{"said": said}}, nil
	})
	plainTool(inner, "refuse", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("refused with %s", r.Extra.Header.Get("Authorization"))
	})
	plainTool(inner, "slow", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-m.ended: // the client was gone before it could cancel the call
		}
		return nil, context.Canceled
	})
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked[r.URL.Path]++
		return inner
	}, nil)
	m.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		close(m.ended)
		for session := range inner.Sessions() {
			_ = session.Close()
		}
		m.Close()
	})
	return m
}

func (m *mirror) reached(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[path] > 0
}

// places returns the paths that were asked for.
func (m *mirror) places() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.asked))
}

// sessionOf returns the session of a tenant.
func sessionOf(s *server, name string) *session {
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	one := s.tenants.open[name]
	if one == nil {
		return nil
	}
	one.link.mu.Lock()
	defer one.link.mu.Unlock()
	return one.link.current
}

// listed makes a server whose tools were listed for a tenant.
func listed(t *testing.T, c config, n *tenant) *server {
	t.Helper()
	c.Catalog = filepath.Join(t.TempDir(), "c.json")
	s := start(t, c)
	if err := s.RefreshFor(t.Context(), n.variables()); err != nil {
		t.Fatal(err)
	}
	return s
}

// askFor calls a tool for a tenant, and returns all that anybody sees of it.
func askFor(t *testing.T, s *server, name string, n *tenant) (text string, failed bool) {
	t.Helper()
	entry := entries(t, s)[toolID(s.Prefix(), name)]
	if entry == nil {
		t.Fatalf("there is no tool %s", name)
	}
	h := new(host)
	r := entry.Execute(t.Context(), &tools.Call{ID: "c", Tool: entry.ID, Arguments: json.RawMessage(`{}`), Host: h, Tenant: n.variables()})
	return model.PartsText(r.Content) + string(r.Data) + strings.Join(h.kept(), ""), r.IsError
}

// Two tenants have connections of their own, each with its values alone; the next call has
// the values of then.
func TestTenantsReachAServerWithValuesOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	s := listed(t, config{
		URL:     m.URL + "/of/${tenant.ACCOUNT}",
		Headers: map[string]string{"Authorization": "Bearer ${tenant.KEY}", "X-Account": "$${tenant.X} ${tenant.ACCOUNT}"},
	}, tenantOf("lister", "ACCOUNT", "lister", "KEY", "key-of-lister"))
	acme, globex := tenantOf("acme", "ACCOUNT", "a", "KEY", "s3cret-of-acme"), tenantOf("globex", "ACCOUNT", "g", "KEY", "s3cret-of-globex")
	before := map[string]*session{}
	for round := range 2 {
		for _, n := range []*tenant{acme, globex} {
			got, failed := askFor(t, s, "whoami", n)
			if account := n.values["ACCOUNT"].Text; failed || !strings.Contains(got, "${tenant.X} "+account+" Bearer ***") || strings.Contains(got, "s3cret") {
				t.Errorf("%s sees %s", n.name, got)
			}
			if now := sessionOf(s, n.name); round == 0 {
				before[n.name] = now
			} else if now != before[n.name] {
				t.Errorf("%s has another connection", n.name)
			}
		}
	}
	if before["acme"] == before["globex"] {
		t.Error("they share a connection")
	}
	// The same values are not the same tenant.
	twin := tenantOf("twin", "ACCOUNT", "a", "KEY", "s3cret-of-acme")
	if _, failed := askFor(t, s, "whoami", twin); failed || sessionOf(s, "twin") == before["acme"] {
		t.Errorf("a tenant with the values of another has its connection")
	}
	for _, name := range []string{"ACCOUNT", "KEY"} {
		stranger := tenantOf("stranger", "ACCOUNT", "x", "KEY", "s3cret-of-stranger")
		delete(stranger.values, name)
		if got, failed := askFor(t, s, "whoami", stranger); !failed || !strings.Contains(got, "the tenant variable "+name+" is not set") {
			t.Errorf("without %s a tenant sees %s", name, got)
		}
	}
	if m.reached("/of/x") {
		t.Error("a tenant without its variables reached the server")
	}
	if got, failed := askFor(t, s, "refuse", acme); !failed || strings.Contains(got, "s3cret") || !strings.Contains(got, "refused with ***") {
		t.Errorf("an error is shown as %s", got)
	}
	acme.values["ACCOUNT"] = tools.TenantValue{Text: "b c/d"}
	if got, _ := askFor(t, s, "whoami", acme); !strings.Contains(got, "b c/d Bearer") || !m.reached("/of/b c/d") {
		t.Errorf("with another value it sees %s", got)
	}
	if n := len(s.tenants.open); n != 3 {
		t.Errorf("%d connections are kept, want one for each tenant", n)
	}
}

func TestTenantsChooseTheHostOfAServer(t *testing.T) {
	t.Parallel()
	one, two := newMirror(t), newMirror(t)
	c := config{URL: "${tenant.BASE}/mcp?key=${tenant.KEY}", AllowPrivate: []string{"127.0.0.1"}}
	first := tenantOf("one", "BASE", one.URL+"/v1/", "KEY", "s3cret-of-one")
	s := listed(t, c, first)
	_, _ = askFor(t, s, "whoami", first)
	_, _ = askFor(t, s, "whoami", tenantOf("two", "BASE", two.URL, "KEY", "s3cret-of-two"))
	if at, other := one.places(), two.places(); !slices.Equal(at, []string{"/v1/mcp"}) || !slices.Equal(other, []string{"/mcp"}) {
		t.Errorf("they reached %q and %q", at, other)
	}
	guarded := listed(t, c, first)
	guarded.tenants = places{most: maxTenants}
	c.AllowPrivate = nil
	closed := start(t, c)
	closed.setCatalog(guarded.catalog)
	port := one.URL[strings.LastIndexByte(one.URL, ':'):]
	for name, tt := range map[string]struct {
		server *server
		base   string
		want   string
	}{
		"this machine":     {closed, one.URL, "not a public address"},
		"by a name":        {closed, "http://localhost" + port, "not a public address"},
		"the metadata":     {closed, "http://169.254.169.254", "not a public address"},
		"nobody there":     {guarded, "http://127.0.0.1:1/s3cret", "mcp server fake"},
		"no url":           {guarded, "s3cret", "must be the beginning of a url"},
		"with a user":      {guarded, "http://s3cret@127.0.0.1", "must be the beginning of a url"},
		"with a query":     {guarded, "http://127.0.0.1/?s3cret", "must be the beginning of a url"},
		"another path":     {guarded, "http://127.0.0.1/s3cret/..", "must not make a segment"},
		"another protocol": {guarded, "file:///s3cret", "must be the beginning of a url"},
	} {
		got, failed := askFor(t, tt.server, "whoami", tenantOf("x", "BASE", tt.base, "KEY", "s3cret-of-x"))
		if !failed || !strings.Contains(got, tt.want) || strings.Contains(got, "s3cret") || strings.Contains(got, "127.0.0.1") || strings.Contains(got, "169.254") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// There are only so many connections of tenants: the one that was not used for longest makes
// room, and none whose call goes on does.
func TestConnectionsOfTenantsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	nth := func(i int) *tenant { return tenantOf(fmt.Sprint("t", i), "ACCOUNT", fmt.Sprint("a", i)) }
	s := listed(t, config{URL: m.URL + "/of/${tenant.ACCOUNT}"}, nth(0))
	s.tenants.most = 2
	before := runtime.NumGoroutine()
	for i := range 20 {
		if got, failed := askFor(t, s, "whoami", nth(i)); failed {
			t.Fatal(got)
		}
		if n := len(s.tenants.open); n > 2 {
			t.Fatalf("there are %d connections", n)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	entry := entries(t, s)[toolID(s.Prefix(), "slow")]
	for i := range 2 {
		busy.Go(func() {
			entry.Execute(ctx, &tools.Call{ID: "c", Tool: entry.ID, Arguments: json.RawMessage(`{}`), Host: new(host), Tenant: nth(i).variables()})
		})
	}
	soon(t, "two calls", func() bool {
		s.tenants.mu.Lock()
		defer s.tenants.mu.Unlock()
		return s.tenants.open["t0"] != nil && s.tenants.open["t1"] != nil
	})
	if got, failed := askFor(t, s, "whoami", nth(5)); !failed || !strings.Contains(got, "too many tenants") {
		t.Errorf("beside two calls another tenant sees %s", got)
	}
	// A value that changes while a call goes on does not make more room either.
	other := nth(0)
	other.values["ACCOUNT"] = tools.TenantValue{Text: "changed"}
	if got, failed := askFor(t, s, "whoami", other); !failed {
		t.Errorf("beside its own call the tenant sees %s", got)
	}
	stop()
	busy.Wait()
	if got, failed := askFor(t, s, "whoami", nth(5)); failed {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	soon(t, "no goroutine of a connection", func() bool { return runtime.NumGoroutine() <= before+20 })
}

func TestIdleConnectionsOfTenantsEnd(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	acme := tenantOf("acme", "ACCOUNT", "a")
	s := listed(t, config{URL: m.URL + "/of/${tenant.ACCOUNT}"}, acme)
	s.tenants.idle = 10 * time.Millisecond
	_, _ = askFor(t, s, "whoami", acme)
	soon(t, "end of the idle connection", func() bool {
		s.tenants.mu.Lock()
		defer s.tenants.mu.Unlock()
		return len(s.tenants.open) == 0
	})
	if got, failed := askFor(t, s, "whoami", acme); failed {
		t.Error(got)
	}
}

func TestReferencesToTenantsInServersAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config config
		want   string
	}{
		"beginning without a path": {config{URL: "${tenant.BASE}x"}, "url: after the variable"},
		"two beginnings":           {config{URL: "${tenant.BASE}${tenant.HOST}"}, "url: a variable may replace"},
		"the scheme":               {config{URL: "ht${tenant.BASE}"}, "url: a variable may replace"},
		"of a turn":                {config{URL: "https://a.example/${turn.A}"}, "url: a variable of a turn"},
		"a header of a turn":       {config{URL: "https://a.example/", Headers: map[string]string{"X": "${turn.A}"}}, "headers.X: a variable of a turn"},
		"dots":                     {config{URL: "https://a.example/${tenant.A}/../x"}, `url: the path of url must not have a "." or ".."`},
		"credentials":              {config{URL: "https://${tenant.HOST}/", Auth: &serverAuth{Type: authBearer, Token: "t"}}, "auth: a tenant decides the host"},
		"private for nothing":      {config{URL: "https://a.example/${tenant.A}", AllowPrivate: []string{"10.0.0.1"}}, "allow_private: allow_private goes with"},
		"private for a program":    {config{Command: []string{"x"}, AllowPrivate: []string{"10.0.0.1"}}, "allow_private: allow_private goes with url only"},
		"credentials of its own":   {config{URL: "https://a.example/${tenant.A}", Auth: &serverAuth{Type: authBearer, Token: "t"}}, ""},
	} {
		var got []string
		for _, d := range tt.config.Validate() {
			got = append(got, d.Path+": "+d.Message)
		}
		if text := strings.Join(got, "\n"); !strings.Contains(text, tt.want) || (tt.want == "") != (text == "") {
			t.Errorf("%s: %s", name, text)
		}
	}
	s := start(t, config{URL: "https://${tenant.HOST}.example/${tenant.A}?q=${tenant.A}", Headers: map[string]string{"X": "${tenant.KEY} $${tenant.X}"}})
	want := []tools.TenantReference{{Path: "url", Name: "HOST", Plain: true}, {Path: "url", Name: "A"}, {Path: "url", Name: "A"}, {Path: "headers.X", Name: "KEY"}}
	if got := s.TenantReferences(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it refers to %v", got)
	}
	_, list := s.Members()
	if len(list) != 1 || list[0].Code != diag.NoCatalog || !strings.Contains(list[0].Hint, "--tenant-variable") {
		t.Errorf("without a catalog: %v", list)
	}
	if err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "only for a tenant") {
		t.Errorf("without a tenant: %v", err)
	}
}

// What somebody outside names refers to nothing.
func TestServersOfVisitsReferToNothing(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	v := &Visit{Name: "x", URL: m.URL + "/$%7Btenant.KEY}", Headers: map[string]string{"X-Account": "${tenant.KEY}"}, AllowPrivate: []string{"127.0.0.1"}}
	members, release, err := v.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, one := range members {
		if one.ID != "x_whoami" {
			continue
		}
		r, err := one.Tool.Call(t.Context(), &tools.Call{Host: new(host), Tenant: tenantOf("acme", "KEY", "s3cret-of-acme").variables()})
		if text := model.PartsText(r.Content); err != nil || !strings.Contains(text, "${tenant.KEY}") {
			t.Errorf("it has %s: %v", text, err)
		}
	}
}
