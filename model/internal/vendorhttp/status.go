package vendorhttp

import (
	"net/http"

	"github.com/agentruntime/agentruntime/model"
)

// statusOverloaded is the status that vendors and gateways answer with when they
// are too busy.
const statusOverloaded = 529

// CallerClass returns the class of a status that clearly blames the key, its account or its limits.
func CallerClass(status int) (class model.ErrorClass, known bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return model.Unauthorized, true
	case http.StatusTooManyRequests:
		return model.RateLimited, true
	}
	return class, false
}

// StatusClass returns the class of a status that clearly blames the caller, or means that the server
// took too long, is too busy or had a conflict.
func StatusClass(status int) (class model.ErrorClass, known bool) {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusGatewayTimeout:
		return model.Timeout, true
	case http.StatusServiceUnavailable, statusOverloaded:
		return model.Overloaded, true
	case http.StatusConflict: // of a lock that the server did not get
		return model.Provider, true
	}
	return CallerClass(status)
}
