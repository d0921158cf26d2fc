package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// shelf is a cache whose cards come from a test.
type shelf struct {
	cardCache
	fetches atomic.Int64
	tags    []string
}

// newShelf returns a cache that fetches with answer.
func newShelf(answer func(ctx context.Context, tag string) (*fetched, error)) *shelf {
	s := &shelf{}
	s.cardCache = cardCache{
		ttl: 5 * time.Minute,
		fetch: func(ctx context.Context, tag string) (*fetched, error) {
			s.fetches.Add(1)
			s.tags = append(s.tags, tag)
			return answer(ctx, tag)
		},
		open: func(_ context.Context, card []byte) (*Connection, error) {
			if string(card) == "bad" {
				return nil, &CardError{Problem: "bad"}
			}
			return &Connection{}, nil
		},
	}
	return s
}

func fixed(f fetched) func(context.Context, string) (*fetched, error) {
	return func(context.Context, string) (*fetched, error) { return &f, nil }
}

func TestACardIsKeptAsLongAsItIsValid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		maxAge, want time.Duration
	}{
		"the peer does not say": {-1, 5 * time.Minute},
		"for less":              {time.Minute, time.Minute},
		"for more":              {time.Hour, 5 * time.Minute},
		"not at all":            {0, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf(fixed(fetched{Card: []byte("a"), maxAge: tt.maxAge}))
			for range 3 {
				for range 3 {
					if _, err := s.get(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(tt.want)
			}
			if n := s.fetches.Load(); n != 3 {
				t.Errorf("%s: %d fetches", name, n)
			}
		})
	}
}

func TestACardThatDidNotChangeIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(func(_ context.Context, tag string) (*fetched, error) {
			if tag == `"1"` {
				return &fetched{maxAge: time.Minute}, nil
			}
			return &fetched{Card: []byte("a"), Tag: `"1"`, maxAge: -1}, nil
		})
		first, _ := s.get(t.Context())
		time.Sleep(5 * time.Minute)
		second, _ := s.get(t.Context())
		time.Sleep(time.Minute)
		third, err := s.get(t.Context())
		if first == nil || first != second || second != third || err != nil {
			t.Errorf("connections %p, %p, %p, %v", first, second, third, err)
		}
		if s.fetches.Load() != 3 || s.tags[0] != "" || s.tags[2] != `"1"` {
			t.Errorf("asked with %q", s.tags)
		}
	})
}

func TestOneFetchServesAllThatWait(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]error{"it succeeds": nil, "it fails": errors.New("no")} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf(func(context.Context, string) (*fetched, error) {
				time.Sleep(time.Second)
				return &fetched{Card: []byte("a"), maxAge: -1}, fail
			})
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if _, err := s.get(t.Context()); !errors.Is(err, fail) {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			all.Wait()
			if n := s.fetches.Load(); n != 1 {
				t.Errorf("%s: %d fetches", name, n)
			}
		})
	}
}

// A canceled caller does not cancel the others.
func TestAFetchThatIsGivenUpIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(func(ctx context.Context, _ string) (*fetched, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return &fetched{Card: []byte("a"), maxAge: -1}, nil
			}
		})
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := s.get(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled caller got %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				if conn, err := s.get(t.Context()); conn == nil || err != nil {
					t.Errorf("who waited has %v", err)
				}
			})
		}
		impatient, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		all.Go(func() {
			if _, err := s.get(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who waited a second has %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if n := s.fetches.Load(); n > 3 { // callers may take over after a second
			t.Errorf("%d fetches", n)
		}
	})
}

func TestACardServesOnWhileItCannotBeFetched(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err     error
		refused bool
		ok      bool
	}{
		"the peer is down":              {errors.New("connection refused"), false, true},
		"it is overloaded":              {&HTTPError{Status: 503}, false, true},
		"it asks to wait":               {&HTTPError{Status: 429}, false, true},
		"the card is gone":              {&HTTPError{Status: 404}, false, false},
		"it has a page there":           {&ContentTypeError{}, false, false},
		"it has something huge there":   {&TooLargeError{}, false, false},
		"it is down and refused a call": {errors.New("connection refused"), true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var fail error
			s := newShelf(func(context.Context, string) (*fetched, error) { return &fetched{Card: []byte("a"), maxAge: -1}, fail })
			first, _ := s.get(t.Context())
			fail = tt.err
			if tt.refused {
				s.invalidateCard()
			}
			time.Sleep(5 * time.Minute)
			second, err := s.get(t.Context())
			if tt.ok != (err == nil) || tt.ok && second != first || !tt.ok && !errors.Is(err, tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			_, _ = s.get(t.Context())
			if n := s.fetches.Load(); tt.ok && n != 2 {
				t.Errorf("%s: %d fetches", name, n)
			}
			fail = nil
			time.Sleep(staleFor)
			if third, err := s.get(t.Context()); err != nil || third == first {
				t.Errorf("%s: afterwards %v", name, err)
			}
		})
	}
}

// An invalid card does not replace the current card.
func TestABadCardIsNotKept(t *testing.T) {
	t.Parallel()
	card := "bad"
	s := newShelf(func(context.Context, string) (*fetched, error) {
		return &fetched{Card: []byte(card), Tag: `"1"`, maxAge: -1}, nil
	})
	for range 2 {
		if _, err := s.get(t.Context()); err == nil {
			t.Fatal("a bad card is good")
		}
	}
	card = "a"
	if _, err := s.get(t.Context()); err != nil || s.tags[2] != "" {
		t.Errorf("%v, asked with %q", err, s.tags)
	}
	s.invalidateCard()
	card = "bad"
	if _, err := s.get(t.Context()); err == nil {
		t.Error("the card before serves on")
	}
}

func TestThePeerSaysHowLongACardIsValid(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": -1, "public": -1, "max-age=60": time.Minute, "public, Max-Age=\"60\"": time.Minute, "max-age=x": -1, "max-age=-1": -1,
		"no-store": 0, "max-age=60, no-cache": 0, "s-maxage=5": -1, "max-age": -1,
	} {
		if got := MaxAge(http.Header{"Cache-Control": {header}}); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

func TestACardIsAskedForWithItsTag(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	h.Answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Cache-Control", "max-age=1")
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		peertest.WriteJSON(w, peertest.CardOf(h.URL))
	}, nil)
	p := reach(t, h.Endpoint(""))
	first, err := p.Connect(t.Context())
	p.NoteError(&HTTPError{Status: http.StatusNotFound})
	second, err2 := p.Connect(t.Context())
	if err != nil || err2 != nil || first != second || len(h.Seen()) != 2 {
		t.Errorf("%v, %v, %d requests", err, err2, len(h.Seen()))
	}
}
