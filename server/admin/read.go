package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// none is the body of requests without one.
type none struct{}

// revisionRef names a revision.
type revisionRef struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

func refOf(r *fleet.Revision) revisionRef { return revisionRef{r.Number, r.Hash} }

// entry is a registry entry, in the form of documents.
type entry struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
	// Patched is set if the document has a patch that changes the value of the entry.
	Patched bool `json:"patched,omitempty"`
}

func entryOf(e *fleet.Entry) entry { return entry{e.ID, e.Value, e.IsPatched} }

// entryList is a page of entries.
type entryList struct {
	Revision revisionRef `json:"revision"`
	Entries  []entry     `json:"entries"`
	// Next is the after of the next page; empty for the last.
	Next string `json:"next,omitempty"`
}

// ETag returns the hash of the revision.
func (l *entryList) ETag() string { return l.Revision.Hash }

// entryAnswer is one entry.
type entryAnswer struct {
	Revision revisionRef `json:"revision"`
	entry
}

// ETag returns the hash of the revision.
func (a *entryAnswer) ETag() string { return a.Revision.Hash }

// entries handles requests for one registry.
type entries struct {
	*Surface

	registry string
}

const (
	defaultPage = 50
	maxPage     = 1000
)

// pageQueryNames are the parameters that pageOf reads.
var pageQueryNames = []string{"after", "limit"}

// pageOf reads which part of a list a request wants.
func pageOf(r *http.Request) (fleet.Page, error) {
	page := fleet.Page{After: r.URL.Query().Get("after"), Limit: defaultPage}
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return page, &service.InvalidError{Field: "limit", Problem: "must be a number from 1 to " + strconv.Itoa(maxPage)}
		}
		page.Limit = n
	}
	return page, nil
}

// maySee reports whether a caller may read an entry: all of them, or only agents that it
// may use.
func maySee(caller service.Caller, registry, id string) bool {
	return caller.Agents == nil || registry == "agents" && caller.Agents.Has(id)
}

func (e entries) list(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*entryList, error) {
	if caller.Agents != nil && e.registry != "agents" {
		return nil, errRestricted
	}
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	all, revision, err := e.fleet.Entries(ctx, e.registry)
	if err != nil {
		return nil, refuse(err)
	}
	if caller.Agents != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(one fleet.Entry) bool { return !maySee(caller, e.registry, one.ID) })
	}
	if page.After != "" {
		at := slices.IndexFunc(all, func(e fleet.Entry) bool { return e.ID == page.After })
		if at < 0 {
			return nil, service.ErrCursor
		}
		all = all[at+1:]
	}
	out := &entryList{Revision: refOf(revision), Entries: []entry{}}
	for i := range all {
		if len(out.Entries) == page.Limit {
			out.Next = out.Entries[page.Limit-1].ID
			break
		}
		out.Entries = append(out.Entries, entryOf(&all[i]))
	}
	return out, nil
}

func (e entries) read(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*entryAnswer, error) {
	id := r.PathValue("id")
	if !maySee(caller, e.registry, id) {
		return nil, &service.NotFoundError{Kind: e.registry, ID: id}
	}
	found, revision, err := e.fleet.Entry(ctx, e.registry, id)
	if err != nil {
		return nil, refuse(err)
	}
	return &entryAnswer{refOf(revision), entryOf(&found)}, nil
}

// explanation is a resolved agent, in the form of "runtime explain --format json".
type explanation struct {
	Explanation any `json:"explanation"`
}

func (s *Surface) explainAgent(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*explanation, error) {
	id := r.PathValue("id")
	if !caller.Agents.Has(id) {
		return nil, &service.NotFoundError{Kind: "agents", ID: id}
	}
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	summary, err := of.Explain(ctx, id)
	if err != nil {
		return nil, refuse(err)
	}
	return &explanation{summary}, nil
}

// callRequest is a hypothetical call of an agent.
type callRequest struct {
	Tool string `json:"tool"`
	// Arguments are an empty object by default.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// callAnswer describes what would happen to the call: a fleet.CallCheck.
type callAnswer struct {
	Call json.RawMessage `json:"call"`
}

func (s *Surface) checkCall(ctx context.Context, caller service.Caller, r *http.Request, in callRequest) (*callAnswer, error) {
	id := r.PathValue("id")
	if !caller.Agents.Has(id) {
		return nil, &service.NotFoundError{Kind: "agents", ID: id}
	}
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	if in.Tool == "" {
		return nil, &service.InvalidError{Field: "tool", Problem: "is required"}
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	check, err := of.ExplainCall(ctx, id, in.Tool, in.Arguments)
	if err != nil {
		return nil, refuse(err)
	}
	return &callAnswer{check}, nil
}

// findingList lists errors and warnings.
type findingList struct {
	Findings []diag.Diagnostic `json:"findings"`
}

func (s *Surface) listDiagnostics(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*findingList, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	list, err := of.Diagnostics(ctx)
	return &findingList{append([]diag.Diagnostic{}, visibleFindings(caller, list)...)}, refuse(err)
}

// documentRequest is a document to prove.
type documentRequest struct {
	Document json.RawMessage `json:"document"`
}

// Proof is the result of a dry run of a document.
type Proof struct {
	Valid    bool                `json:"valid"`
	Findings []diag.Diagnostic   `json:"findings"`
	Diff     *resolve.DiffReport `json:"diff,omitempty"`
}

func (s *Surface) validateDocument(ctx context.Context, caller service.Caller, r *http.Request, in documentRequest) (*Proof, error) {
	if len(in.Document) == 0 {
		return nil, &service.InvalidError{Field: "document", Problem: "is required"}
	}
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	findings, report, err := of.Validate(ctx, in.Document)
	if err != nil {
		return nil, refuse(err)
	}
	return &Proof{Valid: !findings.HasErrors(), Findings: append([]diag.Diagnostic{}, findings...), Diff: report}, nil
}

// Revision is one publication.
type Revision struct {
	Number    uint64    `json:"number"`
	Hash      string    `json:"hash"`
	Parent    string    `json:"parent,omitempty"`
	Author    string    `json:"author"`
	Note      string    `json:"note,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Current is set for the revision that this process runs, or a tenant's current one.
	Current bool `json:"current"`
	// Findings and Document are set when a single revision is read.
	Findings any `json:"findings,omitempty"`
	Document any `json:"document,omitempty"`
}

// ETag returns the hash.
func (r *Revision) ETag() string { return r.Hash }

func revisionOf(r *fleet.Revision, current uint64) Revision {
	return Revision{
		Number: r.Number, Hash: r.Hash, Parent: r.Parent, Author: r.Author, Note: r.Note, CreatedAt: r.CreatedAt,
		Current: current == r.Number,
	}
}

// RevisionList is a page of revisions.
type RevisionList struct {
	Revisions []Revision `json:"revisions"`
	Next      string     `json:"next,omitempty"`
}

func (s *Surface) listRevisions(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*RevisionList, error) {
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	found, err := of.Revisions(ctx, page)
	if err != nil {
		return nil, err
	}
	current, err := currentNumber(ctx, of)
	if err != nil {
		return nil, err
	}
	out := &RevisionList{Revisions: []Revision{}, Next: found.Next}
	for _, one := range found.Revisions {
		out.Revisions = append(out.Revisions, revisionOf(one, current))
	}
	return out, nil
}

func (s *Surface) readRevision(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*Revision, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	found, err := of.Revision(ctx, r.PathValue("hash"))
	if err != nil {
		return nil, refuse(err)
	}
	current, err := currentNumber(ctx, of)
	if err != nil {
		return nil, err
	}
	return s.wholeRevision(found, current), nil
}

// wholeRevision returns a revision with its document and findings.
func (s *Surface) wholeRevision(found *fleet.Revision, current uint64) *Revision {
	out := revisionOf(found, current)
	out.Document = s.fleet.MaskDocument(found.Document)
	if len(found.Findings) > 0 {
		out.Findings = json.RawMessage(found.Findings)
	}
	return &out
}

// diffRevision compares a revision with the one in from, by default its predecessor. The
// predecessor of a tenant's first revision is the base.
func (s *Surface) diffRevision(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*resolve.DiffReport, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	to := r.PathValue("hash")
	from := r.URL.Query().Get("from")
	if from == "" {
		found, err := of.Revision(ctx, to)
		if err != nil {
			return nil, refuse(err)
		}
		if from = found.Parent; from == "" && r.PathValue("tenant") == "" {
			return nil, &service.InvalidError{Field: "from", Problem: "is required: the first revision replaced none"}
		}
	}
	report, err := of.Diff(ctx, from, to)
	return report, refuse(err)
}

// attempt records an attempt to publish.
type attempt struct {
	Hash     string    `json:"hash,omitempty"`
	Expected string    `json:"expected,omitempty"`
	Author   string    `json:"author"`
	Note     string    `json:"note,omitempty"`
	Outcome  string    `json:"outcome"`
	Findings any       `json:"findings,omitempty"`
	At       time.Time `json:"at"`
}

// attemptList is a page of attempts.
type attemptList struct {
	Attempts []attempt `json:"attempts"`
	Next     string    `json:"next,omitempty"`
}

func (s *Surface) listAttempts(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*attemptList, error) {
	page, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	found, err := of.Attempts(ctx, page)
	if err != nil {
		return nil, err
	}
	out := &attemptList{Attempts: []attempt{}, Next: found.Next}
	for i := range found.Attempts {
		a := &found.Attempts[i]
		one := attempt{Hash: a.Hash, Expected: a.Expected, Author: a.Author, Note: a.Note, Outcome: string(a.Outcome), At: a.At}
		if len(a.Findings) > 0 {
			one.Findings = json.RawMessage(a.Findings)
		}
		out.Attempts = append(out.Attempts, one)
	}
	return out, nil
}
