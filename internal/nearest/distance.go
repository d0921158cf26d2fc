package nearest

// table computes distances and reuses its rows.
type table struct {
	rows [3][]int
}

// distance returns the optimal string alignment distance of a and b: the minimum number of
// insertions, deletions, replacements and swaps of neighbors that turn a into b, with no character
// edited twice. ok is false if it exceeds limit. Only cells within limit of the diagonal are
// computed, because all others exceed limit.
func (t *table) distance(a, b []rune, limit int) (d int, ok bool) {
	a, b = trimCommon(a, b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return 0, false
	}
	if len(a) == 0 {
		return len(b), true
	}
	older, old, row := t.startRows(len(b) + 1)
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-limit), min(len(b), i+limit)
		row[lo-1] = i // exact in the first column, and beyond limit elsewhere
		least := i
		for j := lo; j <= hi; j++ {
			d := old[j-1]
			if a[i-1] != b[j-1] {
				d = 1 + min(d, old[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, older[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return 0, false
		}
		if hi < len(b) {
			row[hi+1] = limit + 1 // the next row reads one cell further
		}
		older, old, row = old, row, older
	}
	d = old[len(b)]
	return d, d <= limit
}

// startRows returns three rows of n cells, the second filled with the distances from the empty
// text.
func (t *table) startRows(n int) (older, old, row []int) {
	if cap(t.rows[0]) < n {
		for i := range t.rows {
			t.rows[i] = make([]int, 2*n)
		}
	}
	older, old, row = t.rows[0][:n], t.rows[1][:n], t.rows[2][:n]
	for j := range old {
		old[j] = j
	}
	return older, old, row
}

// trimCommon removes the common prefix and suffix of a and b, which cost no edits.
func trimCommon(a, b []rune) (restA, restB []rune) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
