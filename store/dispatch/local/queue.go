package local

import (
	"container/heap"

	"github.com/agentruntime/agentruntime/store"
)

// fifo is a queue of turn ids.
type fifo struct {
	ids  []string
	head int // of the first id in ids
}

func (q *fifo) len() int { return len(q.ids) - q.head }

func (q *fifo) pushID(id string) {
	// A queue that never runs empty is compacted before it grows, once half of it lies before the
	// head. Each id moves at most once on average.
	if len(q.ids) == cap(q.ids) && q.head > len(q.ids)/2 {
		n := copy(q.ids, q.ids[q.head:])
		clear(q.ids[n:])
		q.ids, q.head = q.ids[:n], 0
	}
	q.ids = append(q.ids, id)
}

func (q *fifo) popID() string {
	id := q.ids[q.head]
	q.ids[q.head] = ""
	q.head++
	if q.head == len(q.ids) {
		q.ids, q.head = q.ids[:0], 0
	}
	return id
}

// schedule is a heap of jobs that are not due, earliest first. It may hold several jobs of one
// turn, but the same job only once.
type schedule struct {
	heap []store.Job
	jobs map[key]struct{}
}

// key tells delayed jobs apart.
type key struct {
	turnID string
	at     int64
}

func keyOf(j store.Job) key { return key{j.TurnID, j.NotBefore.UnixNano()} }

// addJob adds a job and reports whether it is new.
func (s *schedule) addJob(j store.Job) bool {
	if _, known := s.jobs[keyOf(j)]; known {
		return false
	}
	heap.Push(s, j)
	return true
}

// firstDue returns the job that is due first.
func (s *schedule) firstDue() store.Job { return s.heap[0] }

// Len implements heap.Interface.
func (s *schedule) Len() int { return len(s.heap) }

// Less implements heap.Interface.
func (s *schedule) Less(i, k int) bool { return s.heap[i].NotBefore.Before(s.heap[k].NotBefore) }

// Swap implements heap.Interface.
func (s *schedule) Swap(i, k int) { s.heap[i], s.heap[k] = s.heap[k], s.heap[i] }

// Push implements heap.Interface; addJob calls it.
func (s *schedule) Push(x any) {
	job := x.(store.Job)
	s.jobs[keyOf(job)] = struct{}{}
	s.heap = append(s.heap, job)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(s.heap) - 1
	job := s.heap[last]
	s.heap[last] = store.Job{}
	s.heap = s.heap[:last]
	delete(s.jobs, keyOf(job))
	return job
}
