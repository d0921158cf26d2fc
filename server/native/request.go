package native

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// The parameters of queries.
const (
	queryState   = "state"
	queryAgent   = "agent_id"
	queryLabel   = "label"
	querySession = "session_id"
	queryStatus  = "status"
	queryID      = "id"
	queryAfter   = "after"
	queryLimit   = "limit"
	// queryDelegates asks for the events of delegates as well: true or false.
	queryDelegates = "delegates"
)

// readBody reads the body of a request, which has no fields but those that are known,
// and tolerant reads one that may. A body that is empty is an empty object.
func (c *call) readBody(into any) error { return server.ReadJSON(c.r, into, true) }

func (c *call) readTolerantBody(into any) error { return server.ReadJSON(c.r, into, false) }

// query is the query of a request.
type query struct {
	values url.Values
	err    error
}

// queryOf reads the query of a request, which has no parameters but these.
func queryOf(r *http.Request, known ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &query{err: &service.InvalidError{Field: "query", Problem: "it cannot be read"}}
	}
	q := &query{values: values}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !slices.Contains(known, name):
			q.noteProblem(clip.Text(name), "there is no such parameter")
		case len(values[name]) > 1 && name != queryLabel && name != queryStatus:
			q.noteProblem(name, "it is given more than once")
		}
	}
	return q
}

// noteProblem notes the first thing that is wrong.
func (q *query) noteProblem(field, problem string) {
	if q.err == nil {
		q.err = &service.InvalidError{Field: field, Problem: problem}
	}
}

func (q *query) readText(name string) string { return q.values.Get(name) }

// readNumber reads a number that is not negative; 0 when it is absent.
func (q *query) readNumber(name string) uint64 {
	text := q.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		q.noteProblem(name, fmt.Sprintf("%q is no number from 0 on", clip.Text(text)))
	}
	return n
}

// eventFilter reads whether the events of delegates are asked for.
func (q *query) eventFilter() service.EventFilter {
	switch text := q.values.Get(queryDelegates); text {
	case "true":
		return service.WithDelegates
	case "", "false":
	default:
		q.noteProblem(queryDelegates, fmt.Sprintf("it must be true or false, not %q", clip.Text(text)))
	}
	return service.OwnEvents
}

// setDelegates asks for the events of delegates, if a filter has them.
func setDelegates(v url.Values, filter []service.EventFilter) {
	if slices.Contains(filter, service.WithDelegates) {
		v.Set(queryDelegates, "true")
	}
}

// pageLimit reads how many records a page may have; 0 when it is absent.
func (q *query) pageLimit() int {
	n := q.readNumber(queryLimit)
	if n > service.MaxPage || n == 0 && q.values.Has(queryLimit) {
		q.noteProblem(queryLimit, fmt.Sprintf("it must be from 1 to %d", service.MaxPage))
		return 0
	}
	return int(n) //nolint:gosec // it was checked
}

func (q *query) readPage() service.Page {
	return service.Page{After: q.readText(queryAfter), Limit: q.pageLimit()}
}

// oneOf reads a word of a list; empty when it is absent.
func oneOf[T ~string](q *query, name, text string, words ...T) T {
	if text != "" && !slices.Contains(words, T(text)) {
		q.noteProblem(name, fmt.Sprintf("%q is none of %v", clip.Text(text), words))
	}
	return T(text)
}

// sessionQuery reads the query of a list of sessions.
func sessionQuery(r *http.Request) (SessionQuery, error) {
	q := queryOf(r, queryState, queryAgent, queryLabel, queryAfter, queryLimit)
	list := SessionQuery{
		State:   oneOf(q, queryState, q.readText(queryState), service.SessionActive, service.SessionArchived),
		AgentID: q.readText(queryAgent), Page: q.readPage(),
	}
	for _, label := range q.values[queryLabel] {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			q.noteProblem(queryLabel, "it must be name=value")
		}
		if list.Labels == nil {
			list.Labels = map[string]string{}
		}
		list.Labels[name] = value
	}
	return list, q.err
}

// toValues writes the query as sessionQuery reads it.
func (s *SessionQuery) toValues() url.Values {
	v := pageValues(s.Page)
	setText(v, queryState, string(s.State))
	setText(v, queryAgent, s.AgentID)
	for name, value := range s.Labels {
		v.Add(queryLabel, name+"="+value)
	}
	slices.Sort(v[queryLabel])
	return v
}

// turnQuery reads the query of a list of turns.
func turnQuery(r *http.Request) (TurnQuery, error) {
	q := queryOf(r, querySession, queryAgent, queryStatus, queryAfter, queryLimit)
	list := TurnQuery{SessionID: q.readText(querySession), AgentID: q.readText(queryAgent), Page: q.readPage()}
	for _, status := range q.values[queryStatus] {
		list.Statuses = append(list.Statuses, oneOf(q, queryStatus, status,
			service.Pending, service.Running, service.Waiting, service.Succeeded, service.Failed, service.Canceled))
	}
	return list, q.err
}

// toValues writes the query as turnQuery reads it.
func (t *TurnQuery) toValues() url.Values {
	v := pageValues(t.Page)
	setText(v, querySession, t.SessionID)
	setText(v, queryAgent, t.AgentID)
	for _, status := range t.Statuses {
		v.Add(queryStatus, string(status))
	}
	return v
}

func pageValues(p service.Page) url.Values {
	v := url.Values{}
	setText(v, queryAfter, p.After)
	if p.Limit > 0 {
		v.Set(queryLimit, strconv.Itoa(p.Size()))
	}
	return v
}

func setText(v url.Values, name, text string) {
	if text != "" {
		v.Set(name, text)
	}
}
