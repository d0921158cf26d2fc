package a2a

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

func TestAConfigurationIsCheckedWhenItIsMade(t *testing.T) {
	t.Parallel()
	p := newPushTest(t, PushSettings{AllowPrivate: []string{"hooks.internal", "10.1.0.0/16", "192.168.1.5:8443"}})
	for _, good := range []string{
		"https://hooks.example.com/a?b=c", "https://hooks.internal", "http://hooks.internal:8080/x", "https://10.1.2.3", "http://10.1.2.3:81",
		"https://192.168.1.5:8443", "https://8.8.8.8", "https://[2001:4860:4860::8888]/x",
	} {
		if err := p.handler.over(v10, pushCaller).checkPush(&a2a.PushConfig{URL: good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "hooks.example.com", "//hooks.example.com", "http://hooks.example.com", "http://8.8.8.8", "ftp://hooks.internal", "file:///etc/passwd",
		"https://", "https://u:p@hooks.example.com", "https://hooks.example.com/#x", "https://127.0.0.1", "https://localhost", "https://LOCALHOST.",
		"https://a.localhost/", "https://[::1]", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/latest/meta-data", "https://10.2.0.1",
		"https://100.64.0.1", "https://[64:ff9b::a00:1]", "https://0.0.0.0", "https://192.168.1.5", "https://192.168.1.5:444", "http://192.168.1.5:8080",
		"https://hooks.example.com:99999", "https://hooks.example.com/" + strings.Repeat("x", maxPushURL), "javascript:alert(1)", "https://h\x00.example",
	} {
		err := p.handler.over(v10, pushCaller).checkPush(&a2a.PushConfig{URL: bad})
		if !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: the error is %v", bad, err)
		}
	}
	for name, bad := range map[string]*a2a.PushConfig{
		"a token with a line break":     {Token: "a\r\nX: y"},
		"a scheme with a blank":         {Auth: &a2a.PushAuthInfo{Scheme: "Bearer x"}},
		"no scheme":                     {Auth: &a2a.PushAuthInfo{Credentials: "x"}},
		"credentials with a line break": {Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "a\nb"}},
		"a long token":                  {Token: strings.Repeat("x", maxPushCredential+1)},
		"a long id":                     {ID: strings.Repeat("x", 256)},
	} {
		bad.URL = "https://hooks.example.com"
		if err := p.handler.over(v10, pushCaller).checkPush(bad); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestTheSchemeHasTheNameOfTheVersion(t *testing.T) {
	t.Parallel()
	p := newPushTest(t, PushSettings{})
	for v, name := range map[version]string{v10: "authentication.scheme ", v03: "authentication.schemes "} {
		err := p.handler.over(v, pushCaller).checkPush(&a2a.PushConfig{URL: "https://hooks.example.com", Auth: &a2a.PushAuthInfo{Scheme: "a b"}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", v, err)
		}
	}
}

func TestThePageOfConfigurationsStandsInTheQuery(t *testing.T) {
	t.Parallel()
	asked := &a2a.ListTaskPushConfigRequest{PageSize: 3, PageToken: "t"}
	for _, c := range []struct {
		envelope *envelope
		size     int
		token    string
		fails    bool
	}{
		{envelope: &envelope{spoken: v10}, size: 3, token: "t"},
		{envelope: &envelope{spoken: v10, query: url.Values{"pageSize": {"2"}, "pageToken": {"u"}}}, size: 2, token: "u"},
		{envelope: &envelope{spoken: v10, query: url.Values{"pageSize": {"x"}}}, fails: true},
		{envelope: &envelope{spoken: v03, query: url.Values{"pageSize": {"2"}}}, size: 3, token: "t"},
	} {
		size, token, err := pageOf(withEnvelope(t.Context(), c.envelope), asked)
		if size != c.size || token != c.token || (err != nil) != c.fails {
			t.Errorf("%+v: %d, %q, %v", c.envelope.query, size, token, err)
		}
	}
}

func TestAConfigurationIsReadListedAndDeleted(t *testing.T) {
	t.Parallel()
	p := newPushTest(t, PushSettings{Key: bytes.Repeat([]byte{7}, 32)})
	ctx := t.Context()
	list, err := p.handler.over(v10, pushCaller).listPush(ctx, "t", 0, "")
	if err != nil || list.Configs == nil || len(list.Configs) != 0 {
		t.Fatalf("the empty list is %v, %v", list, err)
	}
	for i := range 3 {
		made, err := p.create(v10, &a2a.PushConfig{
			TaskID: "t", ID: fmt.Sprint("h", i), URL: "https://hooks.example.com/?sig=s3cret", Token: "tok", Auth: &a2a.PushAuthInfo{Scheme: "Basic", Credentials: "s3cret"},
		})
		p.must(err)
		got, err := p.handler.over(v10, pushCaller).getPush(ctx, "t", made.ID)
		p.must(err)
		for _, c := range []*a2a.PushConfig{made, got} {
			if c.TaskID != "t" || c.ID != fmt.Sprint("h", i) || c.Auth.Scheme != "Basic" {
				t.Errorf("the configuration is %+v", c)
			}
			if c.Token != "" || c.Auth.Credentials != "" || c.URL != "https://hooks.example.com/?sig=***" {
				t.Error("its secrets are shown")
			}
		}
	}
	first, err := p.handler.over(v10, pushCaller).listPush(ctx, "t", 2, "")
	p.must(err)
	second, err := p.handler.over(v10, pushCaller).listPush(ctx, "t", 2, first.NextPageToken)
	p.must(err)
	if len(first.Configs) != 2 || len(second.Configs) != 1 || second.NextPageToken != "" {
		t.Errorf("the pages have %d and %d", len(first.Configs), len(second.Configs))
	}
	eve := service.Caller{Tenant: "acme", Subject: "eve"}
	for name, err := range map[string]error{
		"an unknown one":     func() error { _, err := p.handler.over(v10, pushCaller).getPush(ctx, "t", "none"); return err }(),
		"that of another":    func() error { _, err := p.handler.over(v10, eve).getPush(ctx, "t", "h0"); return err }(),
		"one without an id":  func() error { _, err := p.handler.over(v10, pushCaller).getPush(ctx, "t", ""); return err }(),
		"that of no surface": func() error { _, err := p.handler.over(v10, pushCaller).getPush(ctx, "none", "h0"); return err }(),
	} {
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("the error of %s is %v", name, err)
		}
	}
	p.must(p.handler.over(v10, eve).deletePush(ctx, "t", "h0")) // changes nothing
	for range 2 {
		p.must(p.handler.over(v10, pushCaller).deletePush(ctx, "t", "h1"))
	}
	list, err = p.handler.over(v10, pushCaller).listPush(ctx, "t", 0, "")
	p.must(err)
	if len(list.Configs) != 2 || list.Configs[0].ID != "h2" || list.Configs[1].ID != "h0" {
		t.Errorf("%d are left", len(list.Configs))
	}
	for i := range service.MaxWebhooks {
		_, err = p.create(v10, &a2a.PushConfig{TaskID: "t", ID: fmt.Sprint("more-", i), URL: "https://hooks.example.com"})
	}
	if !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("the error of too many is %v", err)
	}
}

func TestWithoutASenderThereIsNoPush(t *testing.T) {
	t.Parallel()
	s := service.New(service.Settings{Store: memory.New(store.Settings{})})
	t.Cleanup(s.Close)
	c := (&handler{service: s}).over(v10, pushCaller)
	_, err := c.createPush(t.Context(), a2a.TaskInfo{TaskID: "t"}, &a2a.PushConfig{URL: "https://hooks.example.com"}, false)
	if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
		t.Errorf("the error is %v", err)
	}
}

// FuzzAURLThatIsTakenIsNotPrivate holds for what a URL says by itself: what is
// taken can be sent to, by https, and not to an address of a private network.
func FuzzAURLThatIsTakenIsNotPrivate(f *testing.F) {
	for _, seed := range []string{
		"https://hooks.example.com/a?b=c", "https://127.0.0.1", "https://[::1]:8443/", "https://[fe80::1%25eth0]/", "http://x", "https://0x7f.1",
		"https://user@host", "//host", "https:///path", "https://%31%32%37.0.0.1", "HTTPS://LOCALHOST", "https://host:0x50/",
	} {
		f.Add(seed)
	}
	sender, err := NewPushSender(PushSettings{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sender.checkURL(text) != nil {
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, text, nil)
		if err != nil || req.URL.Scheme != "https" || req.URL.User != nil {
			t.Fatalf("%q is taken: %v", text, err)
		}
		if addr, err := netip.ParseAddr(req.URL.Hostname()); err == nil && public.Check("", netip.AddrPortFrom(addr, 443)) != nil {
			t.Fatalf("%q is taken, which is the private %v", text, addr)
		}
	})
}
