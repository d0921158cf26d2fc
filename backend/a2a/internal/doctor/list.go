package a2abackend

import (
	"context"
	"errors"
	"strings"
)

// list looks at the list of cards, and at each agent of it. It reports whether
// there is one: a peer with one agent needs none, unless the endpoint says so.
func (x *examiner) list(ctx context.Context) bool {
	const name = "card list"
	o := &x.peer.options
	if o.cardURL != "" {
		return false
	}
	location, err := listLocation(x.peer.endpoint, o)
	if err != nil {
		return false
	}
	got, err := x.peer.fetchDocument(ctx, location, "", "the list of agent cards", maxList)
	if err != nil {
		if o.cardList == "" {
			return false
		}
		x.fail(name, "a list of agent cards at "+location.String(), "%v", err)
		return true
	}
	cards, err := parseList(got.card)
	switch {
	case o.cardList == "" && (errors.Is(err, errNoList) || err == nil && len(cards) == 0):
		return false
	case err != nil:
		x.fail(name, "an object with the field agents, a list of agent cards", "%v", err)
		return true
	}
	names := make([]string, len(cards))
	counts := make(map[string]int, len(cards))
	for i, card := range cards {
		names[i] = listedName(card)
		counts[names[i]]++
	}
	x.ok(name, "%d agents at %s: %s", len(cards), location, strings.Join(names, ", "))
	if got.tag == "" {
		x.warn("card list caching", "an ETag", "no ETag")
	}
	for i, card := range cards {
		switch {
		case names[i] == "":
			x.fail(name, "names with letters or digits", "card %d has no name that gives an id", i)
		case counts[names[i]] > 1:
			x.fail(name, "one card for each agent", "two agents %q", names[i])
		default:
			one := &examiner{peer: x.peer, credential: x.credential, agent: names[i], found: x.found}
			one.card(ctx, card)
		}
	}
	return true
}
