package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/agentruntime/agentruntime/internal/redact"
)

const (
	// keysFresh is how long an issuer's keys are used without a refresh. If the issuer does not
	// answer, the old keys remain in use.
	keysFresh = 5 * time.Minute
	// keysPause is the least time between two requests to the issuer: tokens with
	// unknown keys must not make this server flood it.
	keysPause = 30 * time.Second
	// keysTimeout bounds a request to the issuer, and maxKeys its response, in bytes.
	keysTimeout = 5 * time.Second
	maxKeys     = 1 << 20
)

// FixedKeys is a KeySource with a fixed set of keys.
type FixedKeys []jose.JSONWebKey

var _ KeySource = (FixedKeys)(nil)

// ParseKeys reads a JSON Web Key Set. Keys that cannot sign or are not public are left out; a set
// without any other key is an error.
func ParseKeys(data []byte) (FixedKeys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("read a key set: %w", err)
	}
	var keys FixedKeys
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil { // of an unsupported kind
			continue
		}
		if key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set has no public key that signs")
	}
	return keys, nil
}

// Find returns the keys with an id, or all when it is empty.
func (f FixedKeys) Find(_ context.Context, keyID string) ([]jose.JSONWebKey, error) {
	if keyID == "" {
		return f, nil
	}
	var found []jose.JSONWebKey
	for i := range f {
		if f[i].KeyID == keyID {
			found = append(found, f[i])
		}
	}
	return found, nil
}

// RemoteKeys is the KeySource of an issuer that publishes its keys. It fetches them for the first
// token, when a token names an unknown key, and every five minutes, but at most twice a minute.
type RemoteKeys struct {
	url    string
	client *http.Client
	clock  func() time.Time

	mu    sync.Mutex
	known FixedKeys
	// asked is the time of the last request to the issuer, and err its error.
	asked time.Time
	err   error
	// asking is closed when the issuer has answered; nil if no request is in progress.
	asking chan struct{}
}

var _ KeySource = (*RemoteKeys)(nil)

// NewRemoteKeys returns the keys at a URL. A nil client means one that follows no redirects; a nil
// clock means time.Now.
func NewRemoteKeys(url string, client *http.Client, clock func() time.Time) *RemoteKeys {
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if clock == nil {
		clock = time.Now
	}
	return &RemoteKeys{url: url, client: client, clock: clock}
}

// Find returns the keys with an id, or all when it is empty.
func (k *RemoteKeys) Find(ctx context.Context, keyID string) ([]jose.JSONWebKey, error) {
	for {
		k.mu.Lock()
		found, _ := k.known.Find(ctx, keyID)
		age := k.clock().Sub(k.asked)
		never := k.asked.IsZero()
		wanted := never || age >= keysFresh || age >= keysPause && (len(found) == 0 || k.known == nil)
		switch {
		case k.asking != nil && len(found) == 0:
			asking := k.asking
			k.mu.Unlock()
			select {
			case <-asking:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case k.asking == nil && wanted:
			k.asking = make(chan struct{})
			k.mu.Unlock()
			k.askIssuer(ctx)
			continue
		}
		err := k.err
		if k.known != nil { // last known keys stay valid
			err = nil
		}
		k.mu.Unlock()
		return found, err
	}
}

// askIssuer fetches the keys for all waiters, even if the request that started it is gone.
func (k *RemoteKeys) askIssuer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	keys, err := k.fetchKeys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.known = keys
	}
	k.asked, k.err = k.clock(), err
	close(k.asking)
	k.asking = nil
}

func (k *RemoteKeys) fetchKeys(ctx context.Context) (FixedKeys, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the issuer: %w", redact.WithoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answers with the status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxKeys {
		return nil, fmt.Errorf("the key set has more than %d bytes", maxKeys)
	}
	return ParseKeys(data)
}
