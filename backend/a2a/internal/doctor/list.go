package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// checkList checks the list of cards and each of its agents. It reports whether there is a list: a
// peer with one agent needs none, unless the endpoint names one.
func (x *examiner) checkList(ctx context.Context, look func(one *examiner, card []byte)) bool {
	const name = "card list"
	o := &x.peer.Options
	if o.Card.URL != "" {
		return false
	}
	location, err := client.ListLocation(x.peer.Endpoint, o)
	if err != nil {
		return false
	}
	got, err := x.peer.FetchDocument(ctx, location, "", "the list of agent cards", client.MaxList)
	if err != nil {
		if o.Card.List == "" {
			return false
		}
		x.addFailure(name, "a list of agent cards at "+location.String(), "%v", err)
		return true
	}
	cards, err := client.ParseList(got.Card)
	switch {
	case o.Card.List == "" && (errors.Is(err, client.ErrNoList) || err == nil && len(cards) == 0):
		return false
	case err != nil:
		x.addFailure(name, "an object with the field agents, a list of agent cards", "%v", err)
		return true
	}
	names := make([]string, len(cards))
	counts := make(map[string]int, len(cards))
	for i, card := range cards {
		names[i] = client.ListedName(card)
		counts[names[i]]++
	}
	x.addPass(name, "%d agents at %s: %s", len(cards), location, strings.Join(names, ", "))
	if got.Tag == "" {
		x.addWarning("card list caching", "an ETag", "no ETag")
	}
	for i, card := range cards {
		switch {
		case names[i] == "":
			x.addFailure(name, "names with letters or digits", "card %d has no name that gives an id", i)
		case counts[names[i]] > 1:
			x.addFailure(name, "one card for each agent", "two agents %q", names[i])
		default:
			look(&examiner{peer: x.peer, credential: x.credential, agent: names[i], found: x.found}, card)
		}
	}
	return true
}
