package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/service"
)

func TestConversations(t *testing.T) {
	t.Parallel()
	w := serving(t)
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{"metadata":{"a":"b"},"items":[{"role":"user","content":"one"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}]}`)
	path := "/v1/conversations/" + v.ID
	if again := get[responses.ConversationView](w, "GET "+path, ""); v.Metadata["a"] != "b" || !strings.HasPrefix(v.ID, "conv_") || v.Object != "conversation" || again.CreatedAt != v.CreatedAt {
		t.Errorf("it is %+v", v)
	}
	r := get[result](w, "POST /v1/responses", respond(`"history"`, `,"conversation":"`+v.ID+`"`))
	if r.text() != "system:Answer.|user:one|assistant:two|user:history" {
		t.Errorf("the answer is %q", r.text())
	}
	w.Ask("alice", "POST "+path+"/items", `{"items":[{"type":"message","role":"user","content":"three"}]}`, http.StatusOK)
	surfacetest.Golden(t, "conversation.json", w.Ask("alice", "GET "+path+"/items?order=asc", "", http.StatusOK))
	var ids []string
	for after := ""; ; {
		page := get[responses.ItemList](w, "GET "+path+"/items?limit=1&order=asc&after="+after, "")
		for _, raw := range page.Data {
			ids = append(ids, responses.IDOf(raw))
			w.Ask("alice", "GET "+path+"/items/"+responses.IDOf(raw), "", http.StatusOK)
		}
		if !page.HasMore {
			break
		}
		after = *page.LastID
	}
	if len(ids) != 5 {
		t.Errorf("the items are %v", ids)
	}
	again := get[result](w, "POST /v1/responses", respond(`"history"`, fmt.Sprintf(`,"conversation":{"id":%q}`, v.ID)))
	if !strings.HasSuffix(again.text(), "|user:three|user:history") || strings.Count(again.text(), "user:one|assistant:two|user:history|") != 2 {
		t.Errorf("the answer is %q", again.text())
	}
	list := get[responses.ItemList](w, "GET "+path+"/items?order=asc&limit=100", "")
	if len(list.Data) != 7 || !slices.EqualFunc(list.Data[:5], ids, func(raw json.RawMessage, id string) bool { return responses.IDOf(raw) == id }) {
		t.Errorf("the items are %s, and were %v", list.Data, ids)
	}
	w.failing("alice", "DELETE "+path+"/items/"+ids[4], "", http.StatusBadRequest)
	added := get[responses.ItemList](w, "POST "+path+"/items", `{"items":[{"role":"user","content":"four"}]}`)
	w.Ask("alice", "DELETE "+path+"/items/"+*added.FirstID, "", http.StatusOK)
	w.failing("alice", "GET "+path+"/items/"+*added.FirstID, "", http.StatusNotFound)
	if changed := get[responses.ConversationView](w, "POST "+path, `{"metadata":{"c":"d"}}`); len(changed.Metadata) != 1 || changed.Metadata["c"] != "d" {
		t.Errorf("changed it is %+v", changed)
	}
	if d := get[responses.DeletedView](w, "DELETE "+path, ""); d.Object != "conversation.deleted" || !d.Deleted {
		t.Errorf("deleted it is %+v", d)
	}
	w.failing("alice", "GET "+path, "", http.StatusNotFound)
	w.failing("alice", "POST /v1/responses", respond(`"x"`, `,"conversation":"`+v.ID+`"`), http.StatusNotFound)
	if kept := get[result](w, "GET /v1/responses/"+r.ID, ""); kept.text() != r.text() {
		t.Errorf("its response is %+v", kept)
	}
	w.failing("alice", "POST /v1/conversations", `{"items":[`+strings.Repeat(`{"role":"user","content":"x"},`, 20)+`{"role":"user","content":"x"}]}`, http.StatusBadRequest)
}

func TestItemsAddedAtTheSameTimeAreAllKept(t *testing.T) {
	t.Parallel()
	w := serving(t)
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{}`)
	path := "/v1/conversations/" + v.ID
	var adding sync.WaitGroup
	for i := range 10 {
		adding.Go(func() {
			w.Ask("alice", "POST "+path+"/items", fmt.Sprintf(`{"items":[{"role":"user","content":"item %d"}]}`, i), http.StatusOK)
			w.Ask("alice", "POST "+path, `{"metadata":{"a":"b"}}`, http.StatusOK)
		})
	}
	adding.Wait()
	list := get[responses.ItemList](w, "GET "+path+"/items?limit=100", "")
	ids := map[string]bool{}
	for _, raw := range list.Data {
		ids[responses.IDOf(raw)] = true
	}
	if len(ids) != 10 {
		t.Errorf("there are %d items: %s", len(ids), list.Data)
	}
	for id := range ids {
		adding.Go(func() { w.Ask("alice", "DELETE "+path+"/items/"+id, "", http.StatusOK) })
	}
	adding.Wait()
	if list := get[responses.ItemList](w, "GET "+path+"/items?limit=100", ""); len(list.Data) > 0 {
		t.Errorf("there are the items %s", list.Data)
	}
}

func TestAConversationWaitsForFunctionsAndIsNotSharedByResponses(t *testing.T) {
	t.Parallel()
	w := serving(t)
	v := get[responses.ConversationView](w, "POST /v1/conversations", `{}`)
	in := `,"tools":[` + weatherFunction + `],"conversation":"` + v.ID + `"`
	r := get[result](w, "POST /v1/responses", respond(`"weather"`, in))
	w.failing("alice", "POST /v1/responses", respond(`"never mind"`, in), http.StatusBadRequest)
	other := strings.Replace(respond(`[`+output(r.Output[0].CallID, "sunny")+`]`, in), "clerk", "plain", 1)
	if got := w.failing("alice", "POST /v1/responses", other, http.StatusBadRequest); got != "invalid_value model" {
		t.Errorf("another model gives %s", got)
	}
	done := get[result](w, "POST /v1/responses", respond(`[`+output(r.Output[0].CallID, "sunny")+`]`, in))
	if done.text() != "It is sunny." {
		t.Errorf("the answer is %+v", done)
	}
	surfacetest.Golden(t, "conversation-function.json", w.Ask("alice", "GET /v1/conversations/"+v.ID+"/items?order=asc", "", http.StatusOK))
	get[result](w, "POST /v1/responses", respond(`"hang"`, in+`,"background":true`))
	w.turnOf(service.Caller{Tenant: "acme", Subject: "alice"}, func(turn *service.Turn) bool { return turn.Status == service.Running })
	if got := w.failing("alice", "POST /v1/responses", respond(`"x"`, in), http.StatusConflict); got != "busy -" {
		t.Errorf("a second response gives %s", got)
	}
	for _, request := range []string{"GET /v1/conversations/ID", "POST /v1/conversations/ID", "DELETE /v1/conversations/ID", "GET /v1/conversations/ID/items", "POST /v1/conversations/ID/items", "GET /v1/conversations/ID/items/x", "DELETE /v1/conversations/ID/items/x"} {
		foreign := string(w.Ask("bob", strings.Replace(request, "ID", v.ID, 1), "{}", http.StatusNotFound))
		unknown := string(w.Ask("bob", strings.Replace(request, "ID", "conv_x", 1), "{}", http.StatusNotFound))
		if strings.ReplaceAll(foreign, v.ID, "conv_x") != unknown {
			t.Errorf("%s: %s, and an unknown one %s", request, foreign, unknown)
		}
		w.failing("", strings.Replace(request, "ID", v.ID, 1), "{}", http.StatusUnauthorized)
		w.failing("joe", strings.Replace(request, "ID", v.ID, 1), "{}", http.StatusForbidden)
	}
	w.failing("bob", "POST /v1/responses", respond(`"x"`, in), http.StatusNotFound)
}
