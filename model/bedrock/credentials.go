package bedrock

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// instanceAddress is the address where virtual machines get the keys of their role.
	instanceAddress = "http://169.254.169.254"
	rolePath        = "/latest/meta-data/iam/security-credentials/"
	// taskAddress is the address where ECS tasks get the keys of their role.
	taskAddress = "http://169.254.170.2"
	// fileTime is how long keys from a file, which have no expiry, are used before the file is read
	// again.
	fileTime = 10 * time.Minute
	// sessionName appears in the logs of the account.
	sessionName = "agentruntime"
)

// keySource gets keys.
type keySource struct {
	*Credentials
	region, domain   string
	vendor, metadata *cloudauth.Client
}

// transports reach the vendor and the machine's metadata service.
type transports struct{ vendor, metadata http.RoundTripper }

// fetch returns keys and their expiry time.
func (s *keySource) fetch(ctx context.Context) (aws.Credentials, time.Time, error) {
	switch s.From {
	case fromEnvironment:
		return s.checked("environment", aws.Credentials{
			AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
		})
	case fromProfile:
		return s.fromProfile()
	case fromContainer:
		return s.fromContainer(ctx)
	case fromInstance:
		return s.fromInstance(ctx)
	case fromWebIdentity:
		return s.fromWebIdentity(ctx)
	default:
		return s.checked("configuration", aws.Credentials{AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey, SessionToken: s.SessionToken})
	}
}

// checked returns keys without an expiry, or an error if the keys are missing.
func (s *keySource) checked(where string, keys aws.Credentials) (aws.Credentials, time.Time, error) {
	if !keys.HasKeys() {
		return keys, time.Time{}, s.vendor.Invalid("the " + where + " has no access key ID and secret access key")
	}
	return keys, time.Now().Add(fileTime), nil
}

// fromProfile reads a profile of a credentials file.
func (s *keySource) fromProfile() (aws.Credentials, time.Time, error) {
	path := s.CredentialsFile
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return aws.Credentials{}, time.Time{}, s.vendor.Invalid(err.Error())
		}
		path = filepath.Join(home, ".aws", "credentials")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return aws.Credentials{}, time.Time{}, s.vendor.Invalid(err.Error())
	}
	name := cmp.Or(s.Profile, "default")
	return s.checked(fmt.Sprintf("profile %q of %s", name, path), readProfile(data, name))
}

// readProfile returns the keys of a profile.
func readProfile(data []byte, name string) (keys aws.Credentials) {
	within := false
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			within = strings.TrimSpace(strings.Trim(line, "[]")) == name
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if !within {
			continue
		}
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(key)) {
		case "aws_access_key_id":
			keys.AccessKeyID = value
		case "aws_secret_access_key":
			keys.SecretAccessKey = value
		case "aws_session_token":
			keys.SessionToken = value
		}
	}
	return keys
}

// fromContainer requests the keys of a task or pod.
func (s *keySource) fromContainer(ctx context.Context) (aws.Credentials, time.Time, error) {
	address, err := containerAddress(os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
	if err != nil {
		return aws.Credentials{}, time.Time{}, s.metadata.Invalid(err.Error())
	}
	token := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		data, err := os.ReadFile(file) //nolint:gosec // the operator chose the source that names the file
		if err != nil {
			return aws.Credentials{}, time.Time{}, s.metadata.Invalid(err.Error())
		}
		token = strings.TrimSpace(string(data))
	}
	return s.request(ctx, http.MethodGet, address, "Authorization", token)
}

var errContainer = errors.New("neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set")

// containerAddress returns the address where a container gets its keys. Without TLS it must be one
// of the machine itself.
func containerAddress(relative, full string) (string, error) {
	switch {
	case relative != "":
		return taskAddress + "/" + strings.TrimPrefix(relative, "/"), nil
	case full == "":
		return "", errContainer
	}
	u, err := url.Parse(full)
	if err != nil {
		return "", errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL")
	}
	host := u.Hostname()
	usable := u.Scheme == "https" || u.Scheme == "http" && (hostlist.IsLoopback(host) || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23")
	if !usable {
		return "", errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI must use https, or an address of the machine")
	}
	return full, nil
}

// fromInstance requests the keys of a virtual machine, with version 2 of the protocol.
func (s *keySource) fromInstance(ctx context.Context) (aws.Credentials, time.Time, error) {
	token, err := s.metadata.FetchText(ctx, http.MethodPut, instanceAddress+"/latest/api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	const header = "X-Aws-Ec2-Metadata-Token"
	roles, err := s.metadata.FetchText(ctx, http.MethodGet, instanceAddress+rolePath, header, token)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	role, _, _ := strings.Cut(roles, "\n")
	return s.request(ctx, http.MethodGet, instanceAddress+rolePath+url.PathEscape(strings.TrimSpace(role)), header, token)
}

// request requests keys from a server of the machine.
func (s *keySource) request(ctx context.Context, method, address, header, value string) (aws.Credentials, time.Time, error) {
	text, err := s.metadata.FetchText(ctx, method, address, header, value)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	var answer struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.AccessKeyID == "" || answer.SecretAccessKey == "" {
		return aws.Credentials{}, time.Time{}, s.metadata.Invalid("the answer has no keys")
	}
	return aws.Credentials{AccessKeyID: answer.AccessKeyID, SecretAccessKey: answer.SecretAccessKey, SessionToken: answer.Token}, answer.Expiration, nil
}

// fromWebIdentity assumes a role.
func (s *keySource) fromWebIdentity(ctx context.Context) (aws.Credentials, time.Time, error) {
	token, err := os.ReadFile(s.TokenFile)
	if err != nil {
		return aws.Credentials{}, time.Time{}, s.vendor.Invalid(err.Error())
	}
	req, err := cloudauth.NewForm(ctx, "https://sts."+s.region+"."+s.domain+"/", url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {s.RoleARN},
		"RoleSessionName": {sessionName}, "WebIdentityToken": {strings.TrimSpace(string(token))},
	})
	if err != nil {
		return aws.Credentials{}, time.Time{}, s.vendor.Invalid(err.Error())
	}
	req.Header.Set("Accept", "text/xml")
	body, err := s.vendor.Fetch(req)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	keys := aws.Credentials{AccessKeyID: xmlText(body, "AccessKeyId"), SecretAccessKey: xmlText(body, "SecretAccessKey"), SessionToken: xmlText(body, "SessionToken")}
	expiry, err := time.Parse(time.RFC3339, xmlText(body, "Expiration"))
	if err != nil || !keys.HasKeys() {
		return aws.Credentials{}, time.Time{}, s.vendor.Invalid("the answer has no keys")
	}
	return keys, expiry, nil
}

var xmlElement = regexp.MustCompile(`<(AccessKeyId|SecretAccessKey|SessionToken|Expiration|Code)>([^<&]*)</`)

// xmlText returns the text of the first element with a name. The relevant parts of STS responses
// have neither entities nor attributes.
func xmlText(body []byte, name string) string {
	for _, found := range xmlElement.FindAllSubmatch(body, -1) {
		if string(found[1]) == name {
			return string(found[2])
		}
	}
	return ""
}

// stsCode returns the error code of STS or of a metadata server.
func stsCode(body []byte) string {
	var failure struct{ Code string }
	if json.Unmarshal(body, &failure) == nil {
		return failure.Code
	}
	return xmlText(body, "Code")
}

// newKeySource returns the key source of a configuration.
func newKeySource(c *Config, t transports) *keySource {
	return &keySource{
		Credentials: c.Credentials, region: c.Region, domain: c.domain(),
		vendor:   &cloudauth.Client{What: "keys of AWS", Transport: t.vendor, Code: stsCode},
		metadata: &cloudauth.Client{What: "keys of the machine's role", Transport: t.metadata, Code: stsCode},
	}
}
