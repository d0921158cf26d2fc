package a2a_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestASlashTooManyChangesNothing asks at addresses as clients build them that join
// them without looking.
func TestASlashTooManyChangesNothing(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03, s.settings.DefaultAgent = true, "clerk" })
	const rpc10, rpc03 = "SendMessage", "message/send"
	for path, c := range map[string]struct {
		method, body, version, want string
		status                      int
	}{
		"/a2a/clerk/":                             {http.MethodPost, rpc(rpc10, hello), "1.0", `"result"`, 200},
		"/a2a/clerk//":                            {http.MethodPost, rpc(rpc10, hello), "1.0", `"result"`, 200},
		"//a2a/clerk":                             {http.MethodPost, rpc(rpc10, hello), "1.0", `"result"`, 200},
		"/a2a/clerk/?x=1":                         {http.MethodPost, rpc(rpc03, old), "", `"result"`, 200},
		"/a2a/clerk/v0.3/":                        {http.MethodPost, rpc(rpc03, old), "", `"result"`, 200},
		"/a2a/clerk//v0.3/":                       {http.MethodPost, rpc(rpc03, old), "", `"result"`, 200},
		"/a2a/clerk//message:send":                {http.MethodPost, hello, "1.0", `"task"`, 200},
		"/a2a/clerk/message:send/":                {http.MethodPost, hello, "1.0", `"task"`, 200},
		"/a2a/clerk//message:stream":              {http.MethodPost, hello, "1.0", `data: `, 200},
		"/a2a/clerk/tasks/":                       {http.MethodGet, "", "1.0", `"tasks"`, 200},
		"/a2a/clerk//tasks?pageSize=1":            {http.MethodGet, "", "1.0", `"tasks"`, 200},
		"/a2a/clerk/v0.3//v1/tasks/":              {http.MethodGet, "", "", `{`, 200},
		"/a2a/clerk//.well-known/agent-card.json": {http.MethodGet, "", "", `"name":"clerk"`, 200},
		"//.well-known/agent-card.json":           {http.MethodGet, "", "", `"name":"clerk"`, 200},
		"/a2a/nobody/":                            {http.MethodPost, rpc(rpc10, hello), "1.0", "-32001", 200},
		"/a2a/clerk//nothing":                     {http.MethodPost, hello, "1.0", "METHOD_NOT_FOUND", 404},
		"/a2a/clerk/%2F":                          {http.MethodPost, rpc(rpc10, hello), "1.0", "METHOD_NOT_FOUND", 404},
	} {
		at, body := w.plainly(c.method, path, c.body, "Content-Type", asJSON, "A2A-Version", c.version)
		if at.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s gives %d %s", c.method, path, at.StatusCode, body)
		}
	}
}

// TestARefusalBehindASlashIsOneOfTheBinding shows no credential.
func TestARefusalBehindASlashIsOneOfTheBinding(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	for path, want := range map[string]string{
		"/a2a/clerk": `"jsonrpc"`, "/a2a/clerk/": `"jsonrpc"`, "/a2a/clerk/v0.3/": `"jsonrpc"`, "/a2a/clerk/v0.3": `"jsonrpc"`,
		"/a2a/clerk/message:send/": `"UNAUTHENTICATED"`, "/a2a/clerk/v0.3/v1/message:send": `"UNAUTHENTICATED"`,
	} {
		if at, body := w.plainly(http.MethodPost, path, "{}", "Content-Type", asJSON, "Authorization", ""); at.StatusCode != http.StatusUnauthorized || !strings.Contains(body, want) {
			t.Errorf("%s gives %d %s", path, at.StatusCode, body)
		}
	}
}
