package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// machineDirs are common top-level directories.
var machineDirs = []string{"bin", "etc", "home", "opt", "private", "proc", "root", "tmp", "usr", "var", "Users", "work"}

// machinePlace matches text that looks like a file: a file URL, a Go file, and a path below one of
// machineDirs.
var machinePlace = regexp.MustCompile(`file:/+|[\w/.-]+\.go\b|(?:^|[^\w/.:-])/(?:` + strings.Join(machineDirs, "|") + `)/[^"\s]*`)

// mayNamePlaces reports whether an answer may contain a machinePlace. The search is slow, and most
// answers contain no match.
func mayNamePlaces(answer string) bool {
	return strings.Contains(answer, "file:/") || strings.Contains(answer, ".go") ||
		slices.ContainsFunc(machineDirs, func(dir string) bool { return strings.Contains(answer, "/"+dir+"/") })
}

// machinePlaces returns the parts of an answer that name a place on this machine that the request
// does not name itself.
func machinePlaces(t *testing.T, answer, request string) []string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if mayNamePlaces(answer) {
		found = machinePlace.FindAllString(answer, -1)
	}
	for _, dir := range []string{here, filepath.Clean(os.TempDir())} {
		if strings.Contains(answer, dir) {
			found = append(found, dir)
		}
	}
	var named []string
	for _, text := range found {
		if !strings.Contains(request, strings.TrimLeft(text, ` "'(=`)) {
			named = append(named, text)
		}
	}
	return named
}

// oddSchemas are schemas for which libraries report where they looked.
var oddSchemas = []string{
	`{"$ref":"#/$defs/none"}`, `{"$ref":"#none"}`, `{"$ref":"other.json"}`, `{"$ref":"../up.json#/a"}`, `{"$ref":"file:///etc/hostname"}`, `{"$ref":"/etc/hostname"}`,
	`{"$ref":"https://x.example/s"}`, `{"$ref":"%zz"}`, `{"$dynamicRef":"#none"}`, `{"$schema":"other.json"}`, `{"$schema":"file:///etc/hostname"}`, `{"$schema":"%zz"}`,
	`{"$id":"%zz"}`, `{"$id":"file:///etc/","$ref":"hostname"}`, `{"$id":"a/b","$ref":"c"}`, `{"$anchor":"?"}`, `{"$vocabulary":{"urn:x":true}}`,
	`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `{"pattern":"("}`, `{"type":"none"}`, `{"type":1}`,
	`{"properties":{"a":{"$ref":"#/properties/b"}}}`, `{"$schema":"http://json-schema.org/draft-04/schema#","id":"%zz"}`,
}

// TestNoAnswerNamesAPlaceOfTheMachine sends all surfaces input for which libraries report files and
// addresses.
func TestNoAnswerNamesAPlaceOfTheMachine(t *testing.T) {
	w := newTown(t)
	send := func(method, path, body string) {
		t.Helper()
		header := bearer(w.token(t, "acme", "ann", w.scopes...))
		if strings.Contains(path, "/v0.3") {
			header.Set("A2a-Version", "0.3")
		}
		w.ask(t, method, path, body, header)
	}
	for _, odd := range oddSchemas {
		object := strings.Replace(odd, "{", `{"type":"object",`, 1)
		for _, tools := range []string{
			`{"kind":"local","name":"a","parameters":` + object + `}`, `{"kind":"local","name":"a","outputSchema":` + object + `}`,
			`{"kind":"mcp_local","name":"a","tools":[{"name":"b","inputSchema":` + object + `}]}`,
		} {
			send(http.MethodPost, annPath+"/agent-runs", `{"systemPrompt":"s","prompt":"x","tools":[`+tools+`]}`)
			send(http.MethodPost, annPath+"/agent-sessions", `{"systemPrompt":"s","tools":[`+tools+`]}`)
		}
		send(http.MethodPost, annPath+"/agent-runs", `{"systemPrompt":"s","prompt":"x","outputSchema":{"schema":`+odd+`}}`)
		send(http.MethodPost, "/runtime/v1/turns", `{"agent_id":"clerk","input":[{"role":"user","parts":[{"type":"text","text":"x"}]}],"output_schema":`+odd+`,"overrides":{"output":{"schema":`+odd+`}}}`)
		send(http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"clerk","metadata":`+odd+`}`)
	}
	for _, odd := range []string{"", "x", "{", "[]", `"x"`, "{\"a\":\xff}", strings.Repeat("[", 2000), `{"a":1,"a":2}`, `{"id":{}}`, `null`, `{"params":{}}`, `{"message":1}`, `{"input":1,"agent_id":{}}`} {
		for pattern := range rows {
			method, path, ok := strings.Cut(pattern, " ")
			if !ok {
				method, path = http.MethodPost, pattern
			}
			path = strings.NewReplacer("{workspace}", "acme", "{agent}", "clerk", "{path...}", "message:send").Replace(path)
			send(method, wildcard.ReplaceAllString(path, "x"), odd)
		}
	}
	for _, part := range []string{`{"url":"file:///etc/hostname"}`, `{"raw":"%"}`, `{"file":{"uri":"file:///etc/hostname"}}`, `{"data":1}`, `{"kind":"file","file":{"uri":"/etc/hostname"}}`} {
		message := fmt.Sprintf(`{"messageId":%q,"role":"ROLE_USER","parts":[%s]}`, uuid.NewString(), part)
		send(http.MethodPost, "/a2a/clerk/message:send", `{"message":`+message+`}`)
		send(http.MethodPost, "/a2a/clerk", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":`+message+`}}`)
		send(http.MethodPost, "/a2a/clerk/v0.3", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":`+message+`}}`)
		send(http.MethodPost, "/api/a2a/acme/agents/clerk", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":`+message+`}}`)
	}
	if !json.Valid([]byte(oddSchemas[0])) || len(machinePlaces(t, `{"error":"open /etc/passwd: x, at main.go:7"}`, "")) != 2 {
		t.Error("the test finds nothing")
	}
}
