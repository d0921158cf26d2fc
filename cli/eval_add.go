package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service/evalcase"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// evalAddOptions are the flags of eval add.
type evalAddOptions struct {
	to    string
	id    string
	turns string
}

func newEvalAdd(p *program) *cobra.Command {
	var at target
	var o evalAddOptions
	cmd := &cobra.Command{
		Use:   "add (FILE… | --server URL) TURN",
		Short: "Make a case of a stored turn",
		Long: `add makes a case of a stored turn and adds it to the file of cases --to. The model's
answers become a script, and the results of tools are kept beside the file, so the case
runs without keys and calls nothing. It expects the status, calls and text of the turn:
edit it to what the agent should have done. The values of the turn's variables are not
stored with the case: add names them, and the case has placeholders. Values of the secrets of FILE are redacted,
but with --server none are: check the case before you commit it. Earlier turns of its
session are the first turns of the case.

With --from-turns FILTER instead of TURN, add makes cases of all turns that match, at most
100: status=, agent= and since= (as in since=7d), separated by blanks. max_score= and
feedback= select turns by their feedback: "max_score=0.5 feedback=helpful since=7d".
Turns that do not fit into a case are listed and left out.

Exit codes: 0 done, 1 the store or the server cannot be used, the turn does not exist or
does not fit into a case, 2 usage or a file cannot be read.`,
		Args: func(cmd *cobra.Command, args []string) error {
			n := 1
			if o.turns != "" {
				n = 0
			}
			return at.arguments(n)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []string
			if o.turns == "" {
				ids = at.take(args, 1)[:1]
			} else {
				at.take(args, 0)
			}
			return p.lookAt(cmd.Context(), &at, func(from *place) error { return p.addCases(cmd.Context(), from, ids, &o) })
		},
	}
	at.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.to, "to", filepath.Join("evals", "turns.yaml"), "add the case to this `FILE`")
	cmd.Flags().StringVar(&o.id, "id", "", "the ID of the case; defaults to turn- and the ID of the turn")
	cmd.Flags().StringVar(&o.turns, "from-turns", "", "add the turns that match `FILTER`, as in \"status=failed since=7d\"")
	command.ExcludeFlags(cmd, "id", "from-turns")
	return cmd
}

// maxAddedTurns bounds the cases that one command adds.
const maxAddedTurns = 100

// addCases creates cases from turns. With a filter, it lists turns that cannot become a case and
// continues.
func (p *program) addCases(ctx context.Context, from *place, ids []string, o *evalAddOptions) error {
	filtered := o.turns != ""
	if filtered {
		var err error
		if ids, err = matchTurns(ctx, from, o.turns); err != nil {
			return err
		}
	}
	suite, err := suiteFiles(o.to)
	if err != nil {
		return err
	}
	omitted := 0
	for _, id := range ids {
		name := cmp.Or(o.id, "turn-"+event.ShownID(id))
		unknown, err := addCase(ctx, from, id, name, o.to, suite)
		unfit, isUnfit := errors.AsType[*evalcase.Error](err)
		switch {
		case err == nil:
			fmt.Fprintf(p.Out, "added case %s to %s\n", terminal.OneLine(name), o.to)
			if len(unknown) > 0 {
				fmt.Fprintf(p.Err, "warning: set the values of variables in case %s, which no server shows: %s\n", terminal.OneLine(name), terminal.OneLine(strings.Join(unknown, ", ")))
			}
		case filtered && errors.Is(err, evals.ErrCaseExists):
			fmt.Fprintf(p.Out, "turn %s is already a case\n", event.ShownID(id))
		case filtered && isUnfit:
			omitted++
			fmt.Fprintf(p.Err, "left out turn %s: %s\n", event.ShownID(id), terminal.OneLine(from.redact(unfit.Reason)))
		default:
			return fmt.Errorf("turn %s: %w", id, err)
		}
	}
	if len(ids) == 0 {
		fmt.Fprintln(p.Out, "no turn matches")
	}
	if omitted > 0 {
		return fmt.Errorf("%s did not fit into a case", terminal.Count(omitted, "turn", "turns"))
	}
	return nil
}

// addCase creates a case from a turn. It returns the variables whose values are unknown.
func addCase(ctx context.Context, from *place, id, name, to string, suite []string) (unknown []string, err error) {
	draft, err := native.DraftEvalCase(ctx, from, id, name)
	if err != nil {
		return nil, err
	}
	return draft.Unknown, evals.WriteDraft(draft, to, suite, from.redact)
}

// suiteFiles returns the case files in the suite of a file: those in its directory, or anywhere in
// the evals directory that contains it.
func suiteFiles(to string) ([]string, error) {
	dir := filepath.Dir(to)
	files, err := fs.Glob(os.DirFS(dir), "*.y*ml") // the directory is not a pattern
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i] = filepath.Join(dir, files[i])
	}
	up, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for ; up != filepath.Dir(up); up = filepath.Dir(up) {
		if filepath.Base(up) != "evals" {
			continue
		}
		if files, err = yamlFiles(up); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		break
	}
	return append(files, to), nil
}

// matchTurns returns the turns that a filter matches, the newest first.
func matchTurns(ctx context.Context, from *place, filter string) ([]string, error) {
	q := native.TurnQuery{Page: store.Page{Limit: maxAddedTurns}}
	var rated native.FeedbackQuery
	var since time.Time
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(filter) {
		name, value, _ := strings.Cut(word, "=")
		if value == "" || seen[name] && name != "status" {
			return nil, fmt.Errorf("--from-turns: %q must be a name and a value, and each name can be given once", word)
		}
		seen[name] = true
		switch name {
		case "status":
			if err := (&command.Choice{Allowed: turnStatuses}).Set(value); err != nil {
				return nil, fmt.Errorf("--from-turns: status: %w", err)
			}
			q.Statuses = append(q.Statuses, store.Status(value))
		case "agent":
			q.AgentID = value
		case "feedback":
			rated.Name = value
		case "max_score":
			score, err := strconv.ParseFloat(value, 64)
			if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
				return nil, fmt.Errorf("--from-turns: max_score: %q is not a number", value)
			}
			rated.MaxScore = &score
		case "since":
			span, err := parseSpan(value)
			if err != nil {
				return nil, fmt.Errorf("--from-turns: since: %w", err)
			}
			since = time.Now().Add(-span)
		default:
			return nil, fmt.Errorf("--from-turns: %q is not status=, agent=, since=, feedback= or max_score=", word)
		}
	}
	if rated.Name != "" || rated.MaxScore != nil {
		if len(q.Statuses) > 0 {
			return nil, errors.New("--from-turns: status= cannot be combined with feedback= or max_score=")
		}
		rated.AgentID, rated.Since, rated.Page = q.AgentID, since, q.Page
		return ratedTurns(ctx, from, rated)
	}
	list, err := from.ListTurns(ctx, q)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range list.Turns {
		if t := &list.Turns[i]; t.Outcome != nil && t.CreatedAt.After(since) {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// ratedTurns returns the turns with selected feedback, each once.
func ratedTurns(ctx context.Context, from *place, q native.FeedbackQuery) ([]string, error) {
	list, err := from.ListFeedback(ctx, q)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range list.Feedback {
		if id := list.Feedback[i].TurnID; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// parseSpan parses a time span, which may be a number of days: 7d.
func parseSpan(text string) (time.Duration, error) {
	const maxDays = 36_500
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= maxDays {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if span, err := time.ParseDuration(text); err == nil && span > 0 {
		return span, nil
	}
	return 0, fmt.Errorf("%q is not a span of time like 12h or 7d", text)
}
