package native

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// queryDelegates includes the events of delegates: true or false.
	queryDelegates = "delegates"
	// querySearch is a text to find in agents or turns.
	querySearch = "q"
	// queryIDs are the ids of agents. It may be given more than once.
	queryIDs = "ids"
	// queryMinCost and queryMinDuration are the least cost and milliseconds of turns.
	queryMinCost     = "min_cost"
	queryMinDuration = "min_duration_ms"
)

// readBody reads the body of a request and rejects unknown fields; readTolerantBody allows them. An
// empty body is an empty object.
func (c *call) readBody(into any) error { return server.ReadJSON(c.r, into, true) }

func (c *call) readTolerantBody(into any) error { return server.ReadJSON(c.r, into, false) }

// query is the query of a request.
type query struct {
	values url.Values
	err    error
}

// queryOf reads the query of a request and allows only known parameters.
func queryOf(r *http.Request, known ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &query{err: &service.InvalidError{Field: "query", Problem: "cannot be read"}}
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
			q.noteProblem(clip.Text(name), "unknown parameter")
		case len(values[name]) > 1 && name != queryLabel && name != queryStatus && name != queryIDs && name != queryGroupBy:
			q.noteProblem(name, "is given more than once")
		}
	}
	return q
}

// noteProblem records the first problem.
func (q *query) noteProblem(field, problem string) {
	if q.err == nil {
		q.err = &service.InvalidError{Field: field, Problem: problem}
	}
}

// readTime reads a time; zero if it is missing.
func (q *query) readTime(name string) time.Time {
	text := q.readText(name)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		q.noteProblem(name, "must be a time such as 2026-01-02T15:04:05Z")
	}
	return at
}

func (q *query) readText(name string) string { return q.values.Get(name) }

// readNumber reads a non-negative number; 0 if it is missing.
func (q *query) readNumber(name string) uint64 {
	text := q.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		q.noteProblem(name, fmt.Sprintf("%q must be a number, 0 or more", clip.Text(text)))
	}
	return n
}

// eventFilter reads whether the events of delegates are requested.
func (q *query) eventFilter() service.EventFilter {
	switch text := q.values.Get(queryDelegates); text {
	case "true":
		return service.WithDelegates
	case "", "false":
	default:
		q.noteProblem(queryDelegates, fmt.Sprintf("must be true or false, not %q", clip.Text(text)))
	}
	return service.OwnEvents
}

// setDelegates requests the events of delegates if a filter includes them.
func setDelegates(v url.Values, filter []service.EventFilter) {
	if slices.Contains(filter, service.WithDelegates) {
		v.Set(queryDelegates, "true")
	}
}

// pageLimit reads the maximum page size, up to most; 0 if it is missing.
func (q *query) pageLimit(most uint64) int {
	n := q.readNumber(queryLimit)
	if n > most || n == 0 && q.values.Has(queryLimit) {
		q.noteProblem(queryLimit, fmt.Sprintf("must be from 1 to %d", most))
		return 0
	}
	return int(n) //nolint:gosec // it was checked
}

func (q *query) readPage() service.Page {
	return service.Page{After: q.readText(queryAfter), Limit: q.pageLimit(service.MaxPage)}
}

// oneOf reads one of a list of words; empty if it is missing.
func oneOf[T ~string](q *query, name, text string, words ...T) T {
	if text != "" && !slices.Contains(words, T(text)) {
		q.noteProblem(name, fmt.Sprintf("%q must be one of %v", clip.Text(text), words))
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
	list.Labels = q.readLabels()
	return list, q.err
}

// readLabels reads labels; nil if they are missing.
func (q *query) readLabels() (labels map[string]string) {
	for _, label := range q.values[queryLabel] {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			q.noteProblem(queryLabel, "must be name=value")
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	return labels
}

// setLabels encodes labels for readLabels.
func setLabels(v url.Values, labels map[string]string) {
	for name, value := range labels {
		v.Add(queryLabel, name+"="+value)
	}
	slices.Sort(v[queryLabel])
}

// readDecimal reads a number; 0 if it is missing.
func (q *query) readDecimal(name string) float64 {
	text := q.readText(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		q.noteProblem(name, "must be a number, not "+strconv.Quote(clip.Text(text)))
	}
	return n
}

// toValues encodes the query for sessionQuery.
func (s *SessionQuery) toValues() url.Values {
	v := pageValues(s.Page)
	setText(v, queryState, string(s.State))
	setText(v, queryAgent, s.AgentID)
	setLabels(v, s.Labels)
	return v
}

// turnQuery reads the query of a list of turns.
func turnQuery(r *http.Request) (TurnQuery, error) {
	q := queryOf(r, queryTenant, querySession, queryAgent, queryStatus, queryLabel, querySearch, queryMinCost, queryMinDuration, queryAfter, queryLimit)
	list := TurnQuery{
		Tenant: q.readText(queryTenant), SessionID: q.readText(querySession), AgentID: q.readText(queryAgent), Labels: q.readLabels(),
		Text: q.readText(querySearch), MinCost: q.readDecimal(queryMinCost), Page: q.readPage(),
	}
	if list.MinCost < 0 {
		q.noteProblem(queryMinCost, "must not be negative")
	}
	ms := q.readNumber(queryMinDuration)
	if ms > maxMilliseconds {
		q.noteProblem(queryMinDuration, fmt.Sprintf("must be at most %d", maxMilliseconds))
	}
	list.MinDuration = time.Duration(min(ms, maxMilliseconds)) * time.Millisecond //nolint:gosec // it is bounded
	for _, status := range q.values[queryStatus] {
		list.Statuses = append(list.Statuses, oneOf(q, queryStatus, status,
			service.Pending, service.Running, service.Waiting, service.Succeeded, service.Failed, service.Canceled))
	}
	return list, q.err
}

// maxMilliseconds is the longest duration in milliseconds that a time.Duration holds.
const maxMilliseconds = uint64(math.MaxInt64 / time.Millisecond)

// toValues encodes the query for turnQuery. The duration is rounded up to milliseconds.
func (t *TurnQuery) toValues() url.Values {
	v := pageValues(t.Page)
	setText(v, queryTenant, t.Tenant)
	setLabels(v, t.Labels)
	setText(v, querySearch, t.Text)
	if t.MinCost != 0 {
		v.Set(queryMinCost, strconv.FormatFloat(t.MinCost, 'g', -1, 64))
	}
	if t.MinDuration != 0 {
		v.Set(queryMinDuration, strconv.FormatInt(int64((t.MinDuration+time.Millisecond-1)/time.Millisecond), 10))
	}
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
