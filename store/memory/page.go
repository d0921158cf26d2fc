package memory

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/store"
)

// page cuts a page out of a list, the latest first.
func page[T any](list []T, p store.Page, at func(T) store.Cursor) (part []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(list, func(a, b T) int { return compare(at(b), at(a)) })
	if after != nil {
		list = slices.DeleteFunc(list, func(x T) bool { return compare(at(x), *after) >= 0 })
	}
	if n := p.Size(); len(list) > n {
		return list[:n], at(list[n-1]).String(), nil
	}
	return list, "", nil
}

func compare(a, b store.Cursor) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) }
